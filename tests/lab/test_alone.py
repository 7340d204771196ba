"""Pages as files that load and send nothing: Check alone, and the export of Build, Cover and Check."""

import base64
import json
import re
from fractions import Fraction

import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.errors import DomainError, FileError
from sparsehead.certify.check import check
from sparsehead.cli.app import main
from sparsehead.lab.alone import HEADS, export, record, single_page

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
    ours = {"address.js", "checker.js", "covering.js", "drops.js", "parts.js", "recorded.js"}
    assert set(imports) == {"pages/check.js", "vendor/preact-htm.js"} | ours
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
    page.wait_for_selector("[data-holds=true] >> text=On all 2^16 inputs")
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


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "pages"
    return export(folder, functions=["x0 ^ x19", "x2 & x5 & x11"])


def test_the_export_names_nobody_else_and_has_the_heads_with_their_proofs(exported):
    assert [path.name for path in exported] == ["build.html", "cover.html", "check.html"]
    for path in exported:
        text = path.read_text()
        assert not re.search(r"https?://|src=", text) and "default-src 'none'" in text
        found = json.loads(re.search(r'id="recorded">(.*?)</script>', text)[1])
        assert [(one["function"], one["T"]) for one in found["heads"]] == [
            ("x0 ^ x19", 20), ("x2 & x5 & x11", 16), *HEADS[1:],
        ]  # fmt: skip
        assert len(found["examples"]) == 4
        for one in found["heads"]:
            assert check(*(base64.b64decode(one[name]) for name in ("model", "certificate"))).startswith(
                "holds: on all"
            )


def test_a_recorded_answer_is_the_one_of_the_server(api):
    (found,) = record([("x1 & !x3 | x8", 16)])["heads"]
    asked = {"function": "x1 & !x3 | x8", "T": 16}
    assert json.loads(json.dumps(found["answer"])) == api.post("/api/build", asked).json()
    assert base64.b64decode(found["model"]) == api.post("/api/build/model", asked).content


def test_the_export_replaces_nothing_unasked_and_refuses_what_is_no_function(exported, capsys):
    with pytest.raises(FileError, match="--force"):
        export(exported[0].parent)
    for bad in ("and", "", "x0 &", "x999999999"):
        with pytest.raises((DomainError, ValueError)):
            export(exported[0].parent / "none", functions=[bad])
    assert not (exported[0].parent / "none").exists()
    with pytest.raises(SystemExit) as ended:
        main(["lab", "--function", "x0"])
    assert ended.value.code == 2 and "--export" in capsys.readouterr().err


@pytest.fixture
def file_page(browser):
    """Opens exported pages; nothing was said and nothing asked for at the end."""
    contexts, said = [], []

    def open_page(path, query=""):
        page = browser.new_page()
        contexts.append(page.context)
        page.on(
            "request", lambda r: said.append(r.url[:80]) if not r.url.startswith(("file:", "data:")) else None
        )
        page.on("console", lambda m: said.append(m.text))
        page.on("pageerror", lambda e: said.append(str(e)))
        page.goto(path.as_uri() + query)
        page.wait_for_selector("main h1")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


@pytest.mark.browser
def test_exported_build_flips_bits_and_saves_its_proof(file_page, exported):
    page = file_page(exported[0], "?f=x0+%5E+x19&T=20")
    page.click(".bit >> nth=0 >> button")
    page.wait_for_function("() => document.querySelector('[data-predicts]').innerText === '1'")
    page.click(".bit >> nth=19 >> button")
    page.wait_for_function("() => document.querySelector('[data-predicts]').innerText === '0'")
    page.select_option("select", "x5 ^ x200, T = 256")
    page.wait_for_selector("canvas.many")
    with page.expect_download() as saved:
        page.click("text=Save certificate")
    assert saved.value.suggested_filename == "head.cert.json"
    page.click("nav a >> text=Check")
    page.wait_for_selector("[data-holds=true]")


def fewest(points, eps, p):
    """The least number of balls with centres anywhere: those of the maximum norm hold what fits into a square."""
    at = [[Fraction(x) for x in row] for row in points]
    at = at if p == "inf" else [[x + y, x - y] for x, y in at]
    best = {0: 0}
    for mask in range(1, 2 ** len(at)):
        best[mask] = len(at)
        part = mask
        while part:
            held = [row for i, row in enumerate(at) if part >> i & 1]
            if all(max(side) - min(side) <= 2 * eps for side in zip(*held)):
                best[mask] = min(best[mask], 1 + best[mask ^ part])
            part = (part - 1) & mask
    return best[2 ** len(at) - 1]


@pytest.mark.browser
def test_exported_covers_are_those_of_the_library(file_page, exported):
    """Covers of random grids, where many distances tie: sizes agree, and each cover that the page names covers."""
    rng = np.random.default_rng(7)
    page = file_page(exported[1])
    ask = "async (asked) => (await import('covering.js')).covered(asked)"
    for n in (1, 3, 7, 12):
        for p in ("1", "2", "inf"):
            for external in (False, True):
                points = [[f"{x}/4" for x in row] for row in rng.integers(-8, 9, size=(n, 2))]
                eps = str(rng.choice(["0.5", "3/4", "1.25", "2"]))
                asked = {"points": points, "eps": eps, "p": p, "external": external}
                found = page.evaluate(ask, asked)
                norm = np.inf if p == "inf" else int(p)
                least = fewest(points, Fraction(eps), p) if external and p != "2" and n < 8 else None
                ours = sh.covering_number(points, eps=eps, p=norm, external=external)
                assert found["exact"] and ours.lower <= found["size"] <= ours.upper, asked
                assert least in (None, found["size"]), asked
                at = np.array([[float(Fraction(x)) for x in row] for row in points])
                gaps = np.linalg.norm(at[:, None] - np.array(found["centers"])[None], ord=norm, axis=2)
                assert (gaps.min(axis=1) <= float(Fraction(eps)) + 1e-9).all()
                assert found["lower"] <= found["size"] <= found["greedy"]
    for bad in ({"eps": "0"}, {"eps": "x"}, {"points": [["1", "2"], ["3"]]}, {"points": [["1/0", "2"]]}):
        assert page.evaluate(f"(asked) => ({ask})(asked).then(() => '', (e) => e.message)", asked | bad)
