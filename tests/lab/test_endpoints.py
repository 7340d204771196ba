"""The endpoints answer with the records of the command line, and with one sentence where they cannot."""

import asyncio
import json
import re
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import sparsehead as sh
from sparsehead.cli.app import main
from sparsehead.heads.model_file import packed
from sparsehead.lab import remembered
from sparsehead.lab.answers import Busy
from sparsehead.lab.endpoints import build as build_page
from sparsehead.lab.endpoints import law as law_endpoints
from sparsehead.lab.endpoints.jobs import LearnRequest
from sparsehead.lab.work import spec_of
from sparsehead.train.spec import LEARNERS, PRESETS, SETTINGS, preset, spec_text

from .serving import elsewhere


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
    asked: dict[str, Any] = {"V21": 2.0, "V": 1.0, "QK": 3.0, "BX": 1.5, "T": 100, "m": 1000}
    answer = api.post("/api/bound", asked).json()
    norms = "V21=2,V=1,QK=3,BX=1.5,H=1,d=64"
    assert answer == printed(
        capsys, "bound", "--norms", norms, "--T", "100", "--m", "1000", "--form", "ours", "--margin", "1"
    )


def test_what_learn_leaves_open_is_the_presets():
    spec = spec_of(LearnRequest(function="x1", T=9, m=30, preset="best").model_dump())
    best = preset("best", function="x1", T=9, m=30, seed=0)
    assert (spec.n_steps, spec.learning_rate) == (best.n_steps, best.learning_rate) != (1000, 1e-3)


def test_the_presets_that_the_page_shows_are_the_presets(api):
    found = api.get("/api/learn/presets").json()["presets"]
    assert list(found) == list(PRESETS)
    for name, shown in found.items():
        asked: dict[str, Any] = {"function": "x1", "T": 9, "m": 30, "seed": 0}
        request = LearnRequest(**asked, preset=name, **shown).model_dump()
        assert spec_of(request) == preset(name, **asked), "what is shown is allowed, and is the preset"


def test_forms_offer_every_setting_and_every_name_of_the_registries(api):
    found = api.get("/api/settings").json()
    assert found["presets"] == list(PRESETS)
    rows = {row["name"]: row for row in found["settings"]}
    assert list(rows) == list(SETTINGS)
    assert rows["learner"]["choices"] == list(LEARNERS) and rows["H"]["help"] == SETTINGS["H"].help
    base: dict[str, Any] = {"function": "x1", "T": 9, "m": 30}
    for name, row in rows.items():
        if row["kind"] == "int" and name not in base:
            assert LearnRequest(**base, **{name: row["most"] or 0})
            if row["most"]:
                with pytest.raises(ValidationError):
                    LearnRequest(**base, **{name: row["most"] + 1})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"preset": "fats"}, "preset is one of .*Did you mean 'fast'"),
        ({"learner": "tre"}, "Did you mean 'tree'"),
        ({"H": 99}, "^H.*16"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_would_work(api, wrong, words):
    answer = api.post("/api/jobs/learn", {"function": "x1", "T": 9, "m": 30, **wrong})
    assert answer.status_code == 422 and re.search(words, answer.json()["error"]), answer.text


def test_cover_answers_with_the_record_of_the_command(api, capsys, tmp_path):
    (tmp_path / "points.csv").write_text("0.5,0.7\n0.2,0.3\n0.6,0.65\n")
    points = [["0.5", "0.7"], ["0.2", "0.3"], ["0.6", "0.65"]]
    answer = api.post("/api/cover", {"points": points, "eps": "0.5"}).json()
    assert answer == printed(capsys, "cover", str(tmp_path / "points.csv"), "--eps", "0.5")
    assert answer["size"] == 1  # the lecture notes say 2


def test_a_model_can_be_taken_home_and_read(api, tmp_path):
    asked: dict[str, Any] = {"function": "x1 ^ x3", "T": 6}
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


def test_a_cover_of_fractions_is_a_picture(api):
    answer = api.post("/api/cover/picture", {"points": [["1/3", "0"], ["1", "2"]], "eps": "1/2"})
    assert answer.status_code == 200, answer.text
    assert answer.content.startswith(b"\x89PNG")


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
        ("/api/cover/picture", {"points": [["1e308", "0"], ["-1e308", "2"]], "eps": "0.5"}, "inf by"),
        ("/api/cover/picture", {"points": [["1e20", "1e20"]], "eps": "0.5"}, "0 by 0"),
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
    from sparsehead_paper.figures.examples import built_figure

    spec = api.post("/api/build/chart", {"function": "x2 ^ x5 ^ x11", "T": 16, "readout": "mlp"}).json()
    assert spec == json.loads(json.dumps(specification(built_figure())))


def test_equal_requests_are_computed_once(api, monkeypatch):
    computed, answer = [], build_page.built_for
    monkeypatch.setattr(build_page, "built_for", lambda asked: computed.append(asked) or answer(asked))
    asked: dict[str, Any] = {"function": "x0 | x7", "T": 11}
    found = [api.post("/api/build", asked) for _ in range(3)]
    assert len(computed) == 1
    assert found[0].content == found[2].content and found[0].headers == found[2].headers
    assert api.post("/api/build", {**asked, "T": 12}).json()["T"] == 12
    assert api.send("/api/build", b'{"function": "x0 | x7", "T": 11}', "text/plain").status_code == 422


def test_a_request_that_cannot_be_answered_is_tried_again(api, monkeypatch):
    def busy(asked):
        raise Busy("later.")

    asked: dict[str, Any] = {"function": "x0 & x9", "T": 11}
    with monkeypatch.context() as patch:
        patch.setattr(build_page, "built_for", busy)
        assert api.post("/api/build", asked).status_code == 429
    assert api.post("/api/build", asked).status_code == 200


def test_answers_that_are_kept_are_bounded_and_asked_at_once_are_computed_once(monkeypatch):
    calls = []

    async def app(scope, receive, send):
        body = (await receive())["body"]
        calls.append(body)
        await asyncio.sleep(0)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body * 100})

    async def ask(body):
        said = []

        async def receive():
            return {"type": "http.request", "body": body}

        async def send(message):
            said.append(message)

        scope = {"type": "http", "method": "POST", "path": "/api/build", "headers": []}
        await kept(scope, receive, send)
        return said[1]["body"]

    async def all_at_once():
        return await asyncio.gather(*(ask(b"same") for _ in range(50)))

    monkeypatch.setattr(remembered, "MOST_BYTES", 20_000)
    kept = remembered.Remembered(app)
    assert set(elsewhere(asyncio.run, all_at_once())) == {b"same" * 100}
    assert calls == [b"same"]
    for i in range(100):
        elsewhere(asyncio.run, ask(b"%03d" % i))
    assert kept._bytes <= 20_000 and len(kept._kept) == 20_000 // (500 + 303)
    elsewhere(asyncio.run, ask(b"099"))
    assert len(calls) == 101  # the last is still known
    elsewhere(asyncio.run, ask(b"000"))
    assert len(calls) == 102  # the first is not


def test_the_smallest_numbers_are_answered(api):
    """What a fuzzer found: 1 / 5e-324 is no float, half of it is 0, and no width gives a leak of 5e-324."""
    norms = {"V21": 1.0, "V": 1.0, "QK": 9.4, "BX": 1.42, "T": 100, "m": 1000}
    found = api.post("/api/bound", {**norms, "w": 0.0, "delta": 5e-324}).json()
    # a class of one function: nothing but the confidence is left
    assert found["gap"] == pytest.approx((1074 * np.log(2) / 2000) ** 0.5)
    found = api.post("/api/bound", {**norms, "margin": 5e-324, "form": None}).json()
    assert found["vacuous"] and found["form"] == "minimum" and found["samples_needed"] > 10**9
    asked: dict[str, Any] = {
        "function": "x2 & x5 & x11",
        "T": 16,
        "encoding": "random",
        "d": 1,
        "epsilon": 5e-324,
    }
    assert api.post("/api/build/model", asked).status_code == 422


def test_the_floor_is_the_one_of_the_command(api):
    found = api.get("/api/floor?s=2&T=50").json()
    from sparsehead.floor.floor import conjunction_floor

    assert found["m"] == conjunction_floor(2, 50).m
    assert api.get("/api/floor?s=9&T=50").status_code == 422


def test_head_tables_are_none_for_what_is_no_small_head():
    from sparsehead.lab.head import head_tables

    model = sh.build(sh.parse("x0 & x1", T=3))
    assert head_tables(model) is not None
    assert head_tables(sh.build(sh.parse("x0 ^ x1", T=30_000))) is None
    assert np.isfinite(
        np.array(head_tables(sh.build(sh.parse("x0", T=3), attends_cls=False))["scores"])
    ).all()


def test_a_probed_file_has_the_record_of_the_command_its_rows_and_its_chart(api, tmp_path, capsys):
    from sparsehead.figures.heads import head_map
    from sparsehead.figures.render import specification

    model = sh.build(sh.parse("x1 & x2", T=8))
    answer = api.send("/api/probe?s=2", packed(model)).json()
    sh.save(model, tmp_path / "model.safetensors")
    record = printed(capsys, "probe", str(tmp_path / "model.safetensors"), "--s", "2")
    own = {name: answer.pop(name) for name in ("summary", "rows", "chart")}
    assert answer == record
    assert own["rows"][0]["score"] == record["heads"][0]["measured"]["score"]["2"]
    chart = specification(head_map(own["rows"], name=record["name"], s=2))  # as `probe --chart` draws it
    assert own["chart"] == json.loads(json.dumps(chart))


def test_the_heads_that_the_page_asks_for_a_state_dict_are_no_matter_to_a_model_of_ours(api):
    found = api.send("/api/probe?heads=12", packed(sh.build(sh.parse("x1 & x2", T=8)))).json()
    assert found["heads_per_layer"] == 1


def test_a_state_dict_is_probed_by_its_weights_and_says_what_it_needs(api):
    from safetensors.numpy import save

    rng = np.random.default_rng(0)
    state = {
        f"0.{name}_proj.weight": rng.normal(size=(8, 8)).astype(np.float32) for name in ("q", "k", "v", "out")
    }
    content = save(state)
    assert "heads" in api.send("/api/probe", content).json()["error"]
    found = api.send("/api/probe?heads=2", content).json()
    assert (found["layers"], found["heads_per_layer"], found["chart"]) == (1, 2, None)
    assert found["rows"][0]["QK_spectral"] > 0


@pytest.mark.slow
def test_what_a_state_dict_cannot_be_probed_with_is_refused(api):
    from safetensors.numpy import save

    content = save({f"0.{name}_proj.weight": np.eye(8, dtype=np.float32) for name in ("q", "k", "v", "out")})
    assert "s is one of 1, 2, 4" in api.send("/api/probe?s=3", content).json()["error"]
    refused = api.send("/api/probe?heads=3", content)
    assert refused.status_code == 422 and "tmp" not in refused.text


def test_only_models_that_the_lab_was_started_with_are_probed(api):
    assert api.get("/api/probe").json() == {"models": []}
    for name in ("/etc/passwd", "..", "bert"):
        assert api.post("/api/jobs/probe", {"model": name}).status_code == 404


def test_a_series_of_preset_best_is_one_series_over_T():
    """Its eps falls with T by a rule; another eps is another series."""

    def spec(T, **settings):
        return asdict(preset("best", function="and", s=3, T=T, m=50, seed=0, **settings))

    assert law_endpoints._key(spec(100)) == law_endpoints._key(spec(1000))
    assert law_endpoints._key(spec(100)) != law_endpoints._key(spec(1000, adam_eps=0.03))
    assert law_endpoints._name(spec(1000)) == "AND of 3 bits, transformer, preset best"
    assert "adam_eps 0.5" in law_endpoints._name(spec(1000, adam_eps=0.5))


def test_a_value_that_is_a_rules_by_chance_does_not_part_a_series():
    """The default decay of 1e-4 is that of preset best at T = 1000."""
    fast, stored = ([_spec_in_store(name, T) for T in (100, 1000)] for name in ("fast", "best"))
    assert (
        len({law_endpoints._key(spec) for spec in fast})
        == len({law_endpoints._key(spec) for spec in stored})
        == 1
    )
    names = [law_endpoints._name(spec) for spec in (*fast, *stored, _spec_in_store("literal", 100))]
    assert [name.rpartition(" ")[2] for name in names] == ["fast", "fast", "best", "best", "literal"]


def _spec_in_store(name, T):
    return json.loads(spec_text(preset(name, function="and", s=3, T=T, m=50, seed=0)))
