"""Refusals and addresses that do not exist, as a browser is shown them and as a script is."""

import base64
import hashlib
import re

import pytest

from .conftest import TOKEN

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def page_of(answer, status):
    """The text of an error page, whose style sheet is the one that its policy allows."""
    assert answer.status_code == status and answer.headers["content-type"] == "text/html; charset=utf-8"
    style = re.search(r"<style>(.*?)</style>", answer.text, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert f"style-src 'sha256-{digest}'" in policy and policy.startswith("default-src 'none'")
    assert answer.headers["x-content-type-options"] == "nosniff" and "<script" not in answer.text
    return answer.text


def test_without_the_token_a_browser_is_told_where_it_is(lab):
    lab.cookies.clear()
    for path in ("/", "/build", "/nothing", "/build?token=wrong"):
        assert "The lab needs its token" in page_of(lab.get(path, headers=BROWSER), 401)
    assert TOKEN not in lab.get("/", headers=BROWSER).text


@pytest.mark.parametrize("path", ["/nothing", "/static/../nothing", "/%3Cscript%3Ealert(1)%3C/script%3E"])
def test_an_address_without_a_page_is_a_page_with_a_link(api, path):
    text = page_of(api.get(path, headers=BROWSER), 404)
    assert "There is no such page" in text and '<a href="/build">' in text


def test_scripts_are_answered_with_json(lab, api):
    assert api.get("/nothing").json().keys() == {"error"}
    for path in ("/api/nothing", "/static/nothing.js"):
        assert api.get(path, headers=BROWSER).json().keys() == {"error"}
    assert api.post("/nothing", {}, headers=BROWSER).json().keys() == {"error"}
    lab.cookies.clear()
    assert lab.get("/api/jobs", headers=BROWSER).json().keys() == {"error"}


def test_another_host_is_refused_with_a_page_too(lab):
    assert "refused" in page_of(lab.get("/", headers=BROWSER | {"host": "evil.example"}), 403)
