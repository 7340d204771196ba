"""Jobs: from start to result, asked for twice, refused when too many wait, cancelled, resumed, found after a kill."""

import asyncio
import json
import os
import re
import subprocess
import sys

import pytest
from starlette.testclient import TestClient

from sparsehead import __version__
from sparsehead.lab.answers import Busy, Unknown
from sparsehead.lab.app import Settings, make_app
from sparsehead.lab.endpoints.jobs import CHECKS
from sparsehead.lab.jobs import Job, Jobs, job_id
from sparsehead.lab.journal import Finished, keep_finished
from sparsehead.store import Store
from sparsehead.train.spec import spec_id
from sparsehead_paper.lab.claims import check_claims, findings_file, kept_findings

from .conftest import HOST, TOKEN, Api
from .serving import elsewhere

LEARN = {"function": "x1 & x4", "T": 8, "m": 120, "n_steps": 200, "check_every": 5, "keep_training": True}


def events(answer):
    """The server-sent events of an answer, as (name, data)."""
    found = []
    for block in answer.text.strip().split("\n\n"):
        name, data = (line.partition(": ")[2] for line in block.split("\n"))
        found.append((name, json.loads(data)))
    return found


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A lab in which one small training job has come to its end, and what its followers were told."""
    db = tmp_path_factory.mktemp("jobs") / "results.db"
    settings = Settings(db=db, hosts=(HOST,), token=TOKEN, cookie="c")
    with TestClient(make_app(settings), base_url=f"http://{HOST}") as client:
        api = Api(client)
        job = api.post("/api/jobs/learn", LEARN).json()
        told = events(api.get(f"/api/jobs/{job['id']}/events"))
        yield api, db, job, told


def test_a_training_job_ends_with_the_formula_and_its_certificate(trained):
    _, _, _, told = trained
    result = dict(told)["result"]
    assert result["solved"] and result["reading"]["function"] == "x1 & x4"
    assert result["support"] == [1, 4]
    assert 0 < result["reading"]["certificate"]["bound"] < 1
    assert "computes x1 & x4" in result["verdict"]
    rows, steps = result["attention"]["rows"], result["attention"]["steps"]
    assert len(rows) == len(steps) > 1 and all(len(row) == 9 for row in rows)
    assert rows[-1][1] + rows[-1][4] > rows[0][1] + rows[0][4]  # it sharpens


def test_followers_see_states_in_order_and_a_late_one_gets_it_all(trained):
    api, _, job, told = trained
    states = [data["state"] for name, data in told if name == "job"]
    assert states[-1] == "done" and set(states) <= {"waiting", "running", "done"}
    assert told[-1] == ("end", {})
    late = events(api.get(f"/api/jobs/{job['id']}/events"))
    assert dict(late)["result"] == dict(told)["result"]


def test_results_land_in_the_store_and_the_model_can_be_taken_home(trained, tmp_path):
    import sparsehead as sh

    api, db, _, told = trained
    result = dict(told)["result"]
    key = result["id"]
    with Store(db, readonly=True) as store:
        record = store.get(key)
        assert record is not None and record.solved
        assert spec_id_of(record) == result["spec_id"]
    (tmp_path / "m.safetensors").write_bytes(api.post(f"/api/learn/{key}/model", {}).content)
    assert sh.read(sh.load(tmp_path / "m.safetensors"), seed=0).formula == "x1 & x4"
    assert api.post(f"/api/learn/{'0' * 16}/model", {}).status_code == 404


def spec_id_of(record):
    from sparsehead.train.spec import TrainSpec

    return spec_id(TrainSpec(**record.spec))


def test_asking_twice_is_asking_once(trained):
    api, db, job, _ = trained
    again = api.post("/api/jobs/learn", LEARN).json()
    assert (again["id"], again["state"]) == (job["id"], "done")
    with Store(db, readonly=True) as store:
        assert len(store) == 1


def test_jobs_that_cannot_be_meant_are_refused_at_once(trained):
    api = trained[0]
    for path, body in (
        ("/api/jobs/learn", {**LEARN, "function": "x1 & x99"}),
        ("/api/jobs/learn", {**LEARN, "T": 10**6}),
        ("/api/jobs/learn", {**LEARN, "db": "/etc/passwd"}),
        ("/api/jobs/law", {"function": "and", "s": 30, "T": [10]}),
        ("/api/jobs/law", {"function": "and", "s": None, "T": [10]}),
        ("/api/jobs/claims", {"labels": ["no-such-claim"]}),
    ):
        assert api.post(path, body).status_code == 422
    assert api.get("/api/jobs/0000000000000000").status_code == 404
    assert api.get("/api/jobs/../../etc").status_code in (404, 422)


@pytest.mark.parametrize(
    ("body", "s"),
    [({"function": "x1 & x3"}, None), ({"function": "and"}, 3), ({"function": "x1", "s": 1}, 1)],
)
def test_an_expression_says_itself_how_many_positions_it_has(body, s, trained, monkeypatch):
    asked = []

    def start(self, kind, request):
        asked.append(request)
        return Job("id", kind, request)

    monkeypatch.setattr(Jobs, "start", start)
    assert trained[0].post("/api/jobs/law", {"T": [10], **body}).status_code == 202
    assert asked[0].get("s") == s


def in_loop(db, work, **settings):
    """Run `work(jobs)` in an event loop of its own; the jobs' processes are never started."""

    async def main():
        jobs = Jobs(db, **{"kinds": {"learn": dict}, "running": 1, "waiting": 3, **settings})
        jobs._run = lambda job: asyncio.sleep(3600)
        try:
            return await work(jobs)
        finally:
            await jobs.close()

    return elsewhere(asyncio.run, main())


def test_a_thousand_jobs_are_held_or_refused_and_memory_stays_bounded(tmp_path):
    async def work(jobs):
        for i in range(4):
            jobs.start("learn", {"seed": i})
        for i in range(4, 1000):
            with pytest.raises(Busy, match=r"queue is full \(3 jobs\)"):
                jobs.start("learn", {"seed": i})
        states = [job.state for job in jobs.jobs.values()]
        assert (states.count("running"), states.count("waiting"), len(states)) == (1, 3, 4)
        for job in list(jobs.jobs.values()):
            jobs.cancel(job.id)
        for i in range(60):
            jobs.cancel(jobs.start("learn", {"seed": 5000 + i}).id)
        assert len(jobs.jobs) <= 42

    in_loop(tmp_path / "r.db", work)


def test_a_cancelled_job_makes_room_and_can_be_resumed(tmp_path):
    async def work(jobs):
        first, second = jobs.start("learn", {"seed": 1}), jobs.start("learn", {"seed": 2})
        assert (first.state, second.state) == ("running", "waiting")
        jobs._tasks.pop(first.id).cancel()
        jobs.cancel(first.id)
        assert (first.state, second.state) == ("cancelled", "running")
        assert jobs.resume(first.id).state == "waiting"
        with pytest.raises(Unknown):
            jobs.cancel("none")

    in_loop(tmp_path / "r.db", work)


def test_what_was_unfinished_is_offered_by_the_next_server(tmp_path):
    async def first(jobs):
        for seed in (1, 2):
            jobs.start("learn", {"seed": seed})
        # no close: as after kill -9
        return jobs.journal.read_bytes()

    async def main():
        jobs = Jobs(tmp_path / "r.db", kinds={}, running=1, waiting=3)
        jobs._run = lambda job: asyncio.sleep(0)
        return await first(jobs)

    left = elsewhere(asyncio.run, main())
    (tmp_path / "r.db.jobs.json").write_bytes(left)

    async def second(jobs):
        assert [job.state for job in jobs.jobs.values()] == ["interrupted", "interrupted"]
        assert [job.request for job in jobs.jobs.values()] == [{"seed": 1}, {"seed": 2}]
        assert jobs.resume(job_id("learn", {"seed": 2})).state == "running"

    in_loop(tmp_path / "r.db", second)
    (tmp_path / "r.db.jobs.json").write_text("{damaged")

    async def third(jobs):
        assert jobs.jobs == {}

    in_loop(tmp_path / "r.db", third)


LAW = {"function": "and", "s": 3, "T": [30], "trials": 8}
ROW = {"kind": "law", "request": LAW, "state": "interrupted", "created": 1.8e9}


def served_with(journal, tmp_path):
    """The jobs that a lab offers which finds this journal, as its page lists them, and what else lies beside it."""
    path = tmp_path / "r.db.jobs.json"
    path.write_text(journal if isinstance(journal, str) else json.dumps(journal))
    settings = Settings(db=tmp_path / "r.db", hosts=(HOST,), token=TOKEN, cookie="c")
    with TestClient(make_app(settings), base_url=f"http://{HOST}") as client:
        answer = Api(client).get("/api/jobs")
        assert answer.status_code == 200
    return answer.json()["jobs"], (tmp_path / "r.db.jobs.json.set-aside").exists()


def test_a_journals_job_is_offered_with_every_field_of_a_request(tmp_path, capsys):
    (job,), aside = served_with({"jobs": [ROW]}, tmp_path)
    assert job["request"] == {
        **LAW, "learner": "transformer", "preset": "fast", "encoding": "trainable", "width": 0.4, "start": 60,
        "seed": 0, "workers": 2,
    }  # fmt: skip
    assert (job["state"], aside, capsys.readouterr().err) == ("interrupted", False, "")


@pytest.mark.parametrize(
    "bad",
    [
        {**ROW, "request": {**LAW, "cluster": "tcp://203.0.113.9:8786"}},
        {**ROW, "request": {**LAW, "db": "elsewhere.db"}},
        {**ROW, "request": {**LAW, "workers": 9000}},
        {**ROW, "request": {**LAW, "T": [10**7]}},
        {**ROW, "request": {**LAW, "function": "x1 & (" * 50}},
        {**ROW, "request": {**LAW, "s": 30}},
        {**ROW, "request": {**LAW, "seed": 10**400}},
        {**ROW, "request": {**LAW, "function": "\ud800"}},
        {**ROW, "request": [LAW]},
        {**ROW, "kind": "\ud800"},
        {**ROW, "kind": "__class__"},
        {**ROW, "kind": ["law"]},
        {**ROW, "created": "x"},
        {**ROW, "created": 10**400},
        {**ROW, "created": float("nan")},
        {**ROW, "state": "done"},
        {**ROW, "result": {}},
        {**ROW, "kind": "probe", "request": {"model": "a", "models": {"a": "/etc/passwd"}}},
        {**ROW, "kind": "learn", "request": {"function": "x0", "T": 9, "m": 9, "engine": "x"}},
        "a text", None,
    ],
)  # fmt: skip
def test_a_journal_is_data_and_what_is_no_request_is_set_aside_with_one_line(bad, tmp_path, capsys):
    """The request of a row reached `law(**request)`, where `cluster` names a scheduler that runs code here."""
    jobs, aside = served_with({"jobs": [bad, ROW]}, tmp_path)
    assert aside and len(jobs) <= 1 and all(set(job["request"]) >= set(LAW) for job in jobs)
    assert all("cluster" not in job["request"] for job in jobs)
    assert re.fullmatch(
        r"\S+r\.db\.jobs\.json: [^\n]+; it is now r\.db\.jobs\.json\.set-aside\.\n", capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "text", ["", "{damaged", "[]", '{"jobs": 3}', '{"jobs": {}}', "[" * 10**5, "1e999", '{"jobs": [1e999]}']
)
def test_a_broken_journal_is_set_aside_with_one_line(text, tmp_path, capsys):
    assert served_with(text, tmp_path) == ([], True)
    assert capsys.readouterr().err.count("\n") == 1


def test_a_line_never_says_that_a_journal_was_renamed_where_it_was_not(tmp_path, capsys):
    (tmp_path / "r.db.jobs.json.set-aside").mkdir()
    assert served_with("{damaged", tmp_path)[0] == []
    said = capsys.readouterr().err
    assert "it cannot be renamed (Is a directory)" in said and "it is now" not in said
    assert (tmp_path / "r.db.jobs.json").read_text() != ""


def test_points_stay_bounded_and_followers_are_told_to_begin_anew(tmp_path):
    async def work(jobs):
        job = jobs.start("learn", {"seed": 1})
        stream = jobs.follow(job.id)
        assert (await anext(stream))[0] == "job"
        assert (await anext(stream)) == ("points", {"from": 0, "points": []})
        for step in range(5000):
            jobs._note(job, {"progress": {"trial": {"step": step, "attention": [0.5] * 99, "support": [1]}}})
        assert len(job.points) <= 2001
        assert all(point.keys() == {"step"} for point in job.points)
        await anext(stream)
        name, data = await anext(stream)
        assert (name, data["from"], len(data["points"])) == ("points", 0, len(job.points))
        await stream.aclose()
        assert jobs.followers == 0

    in_loop(tmp_path / "r.db", work)


def test_a_job_has_the_same_name_however_its_request_is_ordered():
    assert job_id("learn", {"a": 1, "b": 2}) == job_id("learn", {"b": 2, "a": 1})
    assert job_id("learn", {"a": 1}) != job_id("law", {"a": 1})
    assert Job("x", "learn", {}).summary()["state"] == "waiting"


def test_claims_are_listed_and_what_stands_behind_one_is_named(api):
    listed = api.get("/api/claims").json()
    assert len(listed["claims"]) > 100
    assert all(row["finding"] is None for row in listed["claims"])
    behind = api.get("/api/claims/law-and").json()
    assert any("laws.law" in name for name in behind["code"])
    assert api.get("/api/claims/nothing").status_code == 404


def test_the_next_server_knows_the_result_of_a_job_and_runs_it_again_when_asked(trained):
    _, db, job, told = trained
    settings = Settings(db=db, hosts=(HOST,), token=TOKEN, cookie="c")
    with TestClient(make_app(settings), base_url=f"http://{HOST}") as client:
        api = Api(client)
        assert api.get("/api/jobs").json()["jobs"] == []  # read when it is asked for
        late = dict(events(api.get(f"/api/jobs/{job['id']}/events")))
        assert late["result"] == dict(told)["result"] and late["job"]["state"] == "done"
        assert late["points"]["points"] == api.get(f"/api/jobs/{job['id']}").json()["points"] != []
        again = api.post("/api/jobs/learn", LEARN).json()  # the code may have changed since
        assert again["id"] == job["id"] and again["state"] != "done"


KEPT = {"kind": "law", "request": LAW, "created": 1.0, "points": [], "notes": [], "result": {}}


@pytest.mark.parametrize(
    "bad",
    [
        {**KEPT, "request": {**LAW, "cluster": "tcp://203.0.113.9:8786"}},
        {**KEPT, "request": {**LAW, "seed": 5}},  # another job's
        {**KEPT, "kind": "__class__"},
        {**KEPT, "state": "running"},
        {**KEPT, "points": [3]},
        "[" * 10**5, "", [],
    ],
)  # fmt: skip
def test_a_kept_result_is_data_and_what_is_none_is_unknown(bad, tmp_path):
    async def work(jobs):
        key = job_id("law", jobs._kinds["law"](LAW))
        path = jobs.finished / f"{key}.json"
        path.parent.mkdir()
        path.write_text(json.dumps(KEPT))
        assert jobs.get(key).state == "done"
        del jobs.jobs[key]
        path.write_text(bad if isinstance(bad, str) else json.dumps(bad))
        with pytest.raises(Unknown):
            jobs.get(key)

    in_loop(tmp_path / "r.db", work, kinds=CHECKS)


def test_few_results_are_kept_the_newest(tmp_path):
    job = Finished.model_validate(KEPT)
    for i in range(45):
        keep_finished(tmp_path / "r.db.jobs", f"{i:016x}", job)
        os.utime(tmp_path / "r.db.jobs" / f"{i:016x}.json", (i, i))
    assert sorted(path.stem for path in (tmp_path / "r.db.jobs").iterdir()) == [
        f"{i:016x}" for i in range(5, 45)
    ]


def test_a_checked_claim_stays_checked_by_this_version(tmp_path):
    db, told = tmp_path / "r.db", list[dict[str, object]]()
    check_claims({"labels": ["split-lemma"]}, db, told.append)
    found = kept_findings(db)
    assert found["split-lemma"]["verdict"] == "holds" and {"point": found["split-lemma"]} in told
    settings = Settings(db=db, hosts=(HOST,), token=TOKEN, cookie="c")
    with TestClient(make_app(settings), base_url=f"http://{HOST}") as client:
        listed = {row["label"]: row["finding"] for row in Api(client).get("/api/claims").json()["claims"]}
    assert listed["split-lemma"] == found["split-lemma"] and listed["law-and"] is None
    text = findings_file(db).read_text()
    for bad in (
        text.replace(f'"{__version__}"', '"0.0.1"'),
        text.replace('"holds"', '"perhaps"'),
        "",
        '{"findings": 3}',
    ):
        findings_file(db).write_text(bad)
        assert kept_findings(db) == {}


def test_starting_the_lab_imports_no_library_of_the_studies():
    code = (
        "import sys, sparsehead.lab.server; from sparsehead.lab.extension import extensions; extensions(); "
        "print([name for name in ('torch', 'scipy', 'altair', 'pandas') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
