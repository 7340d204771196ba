"""The endpoints answer with the records of the command line, and with one sentence where they cannot."""

import json

import numpy as np
import pytest

import sparsehead as sh
from sparsehead.cli.app import main
from sparsehead.lab.endpoints import build as build_page
from sparsehead.model_file import packed


def printed(capsys, *arguments):
    """What the command prints with --json."""
    with pytest.raises(SystemExit) as done:
        main([*arguments, "--json"])
    assert done.value.code == 0
    return json.loads(capsys.readouterr().out)


def test_build_answers_with_the_record_of_the_command(api, capsys):
    answer = api.post("/api/build", {"function": "x2 & !x5", "T": 9, "readout": "mlp"}).json()
    own = {name: answer.pop(name) for name in ("verdict", "head", "weights")}
    record = printed(capsys, "build", "x2 & !x5", "--T", "9", "--readout", "mlp")
    record.pop("out")
    record.pop("seconds", None), answer.pop("seconds", None)
    assert answer == record
    assert own["verdict"].startswith("exact on all 2^9 inputs")
    assert set(own["weights"]) == {"W_Q", "W_K", "W_V", "W_C^T"}


def test_bound_answers_with_the_record_of_the_command(api, capsys):
    asked = {"V21": 2.0, "V": 1.0, "QK": 3.0, "BX": 1.5, "T": 100, "m": 1000}
    answer = api.post("/api/bound", asked).json()
    norms = "V21=2,V=1,QK=3,BX=1.5,H=1,d=64"
    assert answer == printed(
        capsys, "bound", "--norms", norms, "--T", "100", "--m", "1000", "--form", "ours", "--margin", "1"
    )


def test_cover_answers_with_the_record_of_the_command(api, capsys, tmp_path):
    (tmp_path / "points.csv").write_text("0.5,0.7\n0.2,0.3\n0.6,0.65\n")
    points = [["0.5", "0.7"], ["0.2", "0.3"], ["0.6", "0.65"]]
    answer = api.post("/api/cover", {"points": points, "eps": "0.5"}).json()
    assert answer == printed(capsys, "cover", str(tmp_path / "points.csv"), "--eps", "0.5")
    assert answer["size"] == 1  # the lecture notes say 2


def test_a_model_can_be_taken_home_and_read(api, tmp_path):
    asked = {"function": "x1 ^ x3", "T": 6}
    content = api.post("/api/build/model", asked).content
    (tmp_path / "head.safetensors").write_bytes(content)
    f = sh.parse("x1 ^ x3", T=6)
    assert sh.verify(sh.load(tmp_path / "head.safetensors"), f).exact
    read = api.send("/api/read", content).json()
    assert (read["function"], read["support"], read["proved"]) == ("x1 ^ x3", [1, 3], True)
    assert read["verdict"].endswith("proved on all 2^6 inputs.")
    bound = api.send("/api/bound/model?m=500", content).json()
    assert (bound["T"], bound["m"]) == (6, 500)


def test_files_are_refused_with_a_sentence(api):
    content = packed(sh.build(sh.parse("x0 & x1", T=3)))
    damaged = content[:-3] + b"abc"
    for path, file, kind, status, words in (
        ("/api/read", damaged, "application/octet-stream", 422, "checksum"),
        ("/api/read", b"not a model", "application/octet-stream", 422, "safetensors"),
        ("/api/read", content, "application/x-python-pickle", 415, "octet-stream"),
        ("/api/cover/points", b"1,2\n3\n", "text/csv", 422, "line 2"),
        ("/api/cover/points", b"\xff\xfe\x00", "text/csv", 422, "text file"),
        ("/api/cover/points", b"1,2\n" * 300, "text/csv", 413, "300 points"),
    ):
        answer = api.send(path, file, kind)
        assert answer.status_code == status, answer.text
        assert words in answer.json()["error"]
        assert "/tmp" not in answer.text and "Traceback" not in answer.text


def test_points_of_a_csv_stay_exact(api):
    answer = api.send("/api/cover/points", b"a,b\n0.1,1/3\n-2,0.30\n", "text/csv")
    assert answer.json() == {"points": [["0.1", "1/3"], ["-2", "0.30"]]}


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/api/build", {"function": "x2 & x99", "T": 9}, "x99"),
        ("/api/build", {"function": "x2 &", "T": 9}, "x2 &"),
        ("/api/build", {"function": "x2", "T": 10**6}, "T:"),
        ("/api/build", {"function": "x2", "T": 9, "out": "/etc/passwd"}, "out"),
        ("/api/build", {"function": "(" * 1990, "T": 9}, ""),
        (
            "/api/build",
            {"function": "^".join(f"x{i}" for i in range(12)), "T": 4000},
            "more than the page builds",
        ),
        ("/api/bound", {"V21": -1, "V": 1, "QK": 1, "BX": 1, "T": 3, "m": 3}, "V21"),
        ("/api/cover", {"points": [["a"]], "eps": "1"}, ""),
        ("/api/cover", {"points": [["1", "2"], ["1"]], "eps": "1"}, ""),
        ("/api/cover", {"points": [["1"]], "eps": "0"}, "eps"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(api, path, body, words):
    answer = api.post(path, body)
    assert answer.status_code in (413, 422)
    assert words in answer.json()["error"] and "\n" not in answer.json()["error"]


def test_json_that_is_none_is_refused(api, lab):
    headers = {"authorization": "Bearer a-token-for-tests", "content-type": "application/json"}
    for content in (b"", b"{", b"[1]", b"null", b"\xff", b'{"function": "x0", "T": NaN}', b"[" * 100_000):
        answer = lab.post("/api/build", content=content, headers=headers)
        assert answer.status_code in (400, 422), content[:20]
        assert list(answer.json()) == ["error"]


def test_the_description_names_every_endpoint_and_its_problems(api):
    described = api.get("/api/openapi.json").json()
    assert {"/api/build", "/api/bound", "/api/cover", "/api/read"} <= set(described["paths"])
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert operation["description"], (method, path)
            assert "422" in operation["responses"]


def test_charts_are_the_definitions_of_the_report(api):
    from sparsehead.figures.render import specification
    from sparsehead.report.library import built_figure

    spec = api.post("/api/build/chart", {"function": "x2 ^ x5 ^ x11", "T": 16, "readout": "mlp"}).json()
    assert spec == json.loads(json.dumps(specification(built_figure())))


def test_equal_requests_are_computed_once(api):
    asked = {"function": "x0 | x7", "T": 11}
    before = build_page._answer.cache_info().misses
    for _ in range(3):
        api.post("/api/build", asked)
    assert build_page._answer.cache_info().misses == before + 1


def test_the_floor_is_the_one_of_the_command(api):
    found = api.get("/api/floor?s=2&T=50").json()
    from sparsehead.records.bound import information_floor

    assert found["m"] == information_floor(2, 50).m
    assert api.get("/api/floor?s=9&T=50").status_code == 422


def test_head_tables_are_none_for_what_is_no_small_head():
    from sparsehead.lab.head import head_tables

    model = sh.build(sh.parse("x0 & x1", T=3))
    assert head_tables(model) is not None
    assert head_tables(sh.build(sh.parse("x0 ^ x1", T=30_000))) is None
    assert np.isfinite(
        np.array(head_tables(sh.build(sh.parse("x0", T=3), attends_cls=False))["scores"])
    ).all()
