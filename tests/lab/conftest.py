"""A lab without a network: the application behind its guard, and a client that has the token."""

import pytest
from starlette.testclient import TestClient

import sparsehead as sh
from sparsehead.lab.app import Settings, make_app

from .serving import served

HOST = "127.0.0.1:8377"
TOKEN = "a-token-for-tests"


@pytest.fixture(scope="session")
def settings(tmp_path_factory):
    db = tmp_path_factory.mktemp("lab") / "results.db"
    return Settings(db=db, hosts=(HOST, "localhost:8377"), token=TOKEN, cookie="sparsehead-8377")


@pytest.fixture(scope="session")
def lab(settings):
    """A client without a token."""
    with TestClient(make_app(settings), base_url=f"http://{HOST}", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A lab as a user starts it, with one model for the Probe page; tests share it."""
    folder = tmp_path_factory.mktemp("served")
    sh.save(sh.build(sh.parse("x1 & x4", T=8)), folder / "planted.safetensors")
    with served(folder, "--probe", "planted.safetensors") as started:
        yield started


class Api:
    """Requests with the token."""

    def __init__(self, client):
        self.client = client

    def get(self, path, **more):
        return self.client.get(
            path, headers={"authorization": f"Bearer {TOKEN}", **more.pop("headers", {})}, **more
        )

    def post(self, path, body=None, **more):
        headers = {"authorization": f"Bearer {TOKEN}", **more.pop("headers", {})}
        return self.client.post(path, json=body, headers=headers, **more)

    def send(self, path, content, kind="application/octet-stream"):
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": kind}
        return self.client.post(path, content=content, headers=headers)

    def delete(self, path):
        return self.client.delete(path, headers={"authorization": f"Bearer {TOKEN}"})


@pytest.fixture
def api(lab):
    lab.cookies.clear()
    return Api(lab)
