"""The page Check: in the lab, and as one file that loads and sends nothing."""

import base64
import json
import re

import pytest

import sparsehead as sh
from sparsehead.lab.alone import single_page

from .test_browser import visit  # noqa: F401  (a fixture)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model and three certificates: a good one, one that claims too much, one that is cut off."""
    folder = tmp_path_factory.mktemp("check")
    model = sh.build("x2 & x5", T=20)
    path = sh.save(model, folder / "head.safetensors")
    good = sh.verify(path, "x2 & x5").save(folder / "head.cert.json")
    bad, cut = folder / "bad.cert.json", folder / "cut.cert.json"
    bad.write_text(good.read_text().replace('"value": 1', '"value": 0'))
    cut.write_text(good.read_text()[:-1])
    return path, good, bad, cut


def test_the_single_file_holds_its_modules_and_names_nobody_else():
    page = single_page("check", title="Check a certificate")
    imports = json.loads(re.search(r'<script type="importmap">(.*?)</script>', page)[1])["imports"]
    assert set(imports) == {"pages/check.js", "checker.js", "parts.js", "vendor/preact-htm.js"}
    for address in imports.values():
        text = base64.b64decode(address.removeprefix("data:text/javascript;base64,")).decode()
        assert set(re.findall(r'from "([^"]+)";', text)) <= set(imports)
    assert not re.search(r"https?://|src=", page) and "default-src 'none'" in page


@pytest.mark.browser
def test_the_single_file_checks_certificates_from_the_disk(browser, files, tmp_path):
    path, good, bad, cut = files
    (tmp_path / "check.html").write_text(single_page("check", title="Check a certificate"))
    page = browser.new_page()
    requests, problems = [], []
    page.on("request", lambda r: requests.append(r.url.partition(":")[0]))
    page.on("console", lambda m: problems.append(m.text))
    page.on("pageerror", lambda e: problems.append(str(e)))
    page.goto((tmp_path / "check.html").as_uri())
    page.wait_for_selector("text=Waiting for the model and the certificate")
    page.set_input_files("input[type=file]", [path, good])
    page.wait_for_selector("[data-holds=true] >> text=On all 2^20 inputs")
    assert page.inner_text("tbody tr >> nth=3").split()[:2] == ["11", "1"]
    page.set_input_files("input[type=file]", bad)
    page.wait_for_selector("[data-holds=false] >> text=do not all predict 0")
    page.set_input_files("input[type=file]", cut)
    page.wait_for_selector("h2 >> text=The files cannot be read")
    assert set(requests) <= {"file", "data"} and problems == []
    page.context.close()


@pytest.mark.browser
def test_the_lab_checks_certificates(visit, files):  # noqa: F811
    path, good, bad, _ = files
    v = visit("/check")
    v.page.set_input_files("input[type=file]", [good, path])
    v.page.wait_for_selector("[data-holds=true] >> text=On all 2^20 inputs")
    v.page.set_input_files("input[type=file]", bad)
    v.page.wait_for_selector("[data-holds=false]")
    assert v.text("[data-file=certificate]") == bad.name
