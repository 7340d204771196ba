"""Learners of the user's own in this process: functions, estimators, modules, names to import."""

import random
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from torch import nn

import sparsehead as sh
from sparsehead._base.errors import LearnerError, SparseheadError
from sparsehead._base.plugins import imported, search_path
from sparsehead._base.rng import stream
from sparsehead.cli.app import main
from sparsehead.train.data import training_set
from sparsehead.train.learn import read_back
from sparsehead.train.learners.own import known_learner
from sparsehead.train.learners.source import digest, name_of
from sparsehead.train.learners.travel import packed, unpack
from sparsehead.train.loop import run_trials
from sparsehead.train.spec import LEARNERS, TrainSpec, preset, spec_id

EASY: dict[str, Any] = {"f": "x1 & x4", "T": 12, "m": 100, "seed": 1, "holdout": 500}


def agreeing(bits, labels, rng):
    """The two positions that agree best with the labels."""
    best = np.argsort(-(bits == labels[:, None]).mean(axis=0))[:2]
    return lambda b: b[:, best].all(axis=1)


class Linear(nn.Module):
    def __init__(self, T):
        super().__init__()
        self.drop, self.map = nn.Dropout(0.2), nn.Linear(T, 1)

    def forward(self, bits):
        return self.map(self.drop(2 * bits - 1))


def linear(**more):
    return sh.module(lambda T: Linear(T), **{"steps": 60, "learning_rate": 0.1, "restarts": 2, **more})


@pytest.mark.parametrize(
    "learner",
    [agreeing, sh.Learner.of(agreeing, version="2"), DecisionTreeClassifier(max_depth=4),
     make_pipeline(StandardScaler(), LogisticRegression()), linear(), linear(batch=32),
     sh.module(Linear, steps=60, restarts=2, optimiser=lambda weights: torch.optim.RMSprop(weights, lr=0.05))],
)  # fmt: skip
def test_an_easy_function_is_learned_twice_in_the_same_way(learner):
    runs = []
    for _ in range(2):
        torch.rand(1)  # whatever else draws from the global generator
        runs.append(sh.learn(**EASY, learner=learner))
    assert runs[0].solved and runs[0].model is None
    assert [
        getattr(runs[0].outcome, name) for name in ("steps", "val_accuracy", "history", "restarts_used")
    ] == [getattr(runs[1].outcome, name) for name in ("steps", "val_accuracy", "history", "restarts_used")]


def test_a_module_is_trained_as_a_plain_loop_trains_it():
    spec = preset("fast", function="and", s=2, T=10, m=40, seed=5, learner=linear().register(), restarts=1,
                  n_steps=30, learning_rate=0.1, holdout=300, target=0.999)  # fmt: skip
    (outcome,) = run_trials([spec], record_every=1)
    bits, labels = (torch.from_numpy(x).float() for x in training_set(spec))
    torch.manual_seed(int(stream(spec.seed, "init", 0).integers(2**62)))
    net = Linear(10)
    weights: list[dict[str, Any]] = [
        {"params": [net.map.weight]},
        {"params": [net.map.bias], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(weights, lr=0.1, weight_decay=1e-4)
    wanted = []
    for _ in outcome.history["step"]:
        loss = nn.functional.softplus((1 - 2 * labels) * net(bits)[:, 0]).mean()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        wanted.append(loss.item())
    assert len(wanted) >= 10 and outcome.history["loss"] == pytest.approx(wanted, rel=1e-4)


def test_batches_go_through_all_samples_in_a_new_order_each_round():
    seen = []

    class Watched(Linear):
        def forward(self, bits):
            if self.training:
                seen.append(bits[:, :7] @ 2.0 ** torch.arange(7))
            return super().forward(bits)

    spec = preset("fast", function="x0", T=7, m=12, seed=2, n_steps=9, restarts=1, check_every=9, unique=False,
                  learner=sh.module(Watched, batch=4).register(), holdout=50)  # fmt: skip
    run_trials([spec])
    rounds = [torch.cat(seen[i : i + 3]).sort().values.tolist() for i in (0, 3, 6)]
    assert len(seen) == 9 and rounds[0] == rounds[1] == rounds[2] and not torch.equal(seen[0], seen[3])


def forgetful(bits, labels, rng):
    """Spoils what it got, draws from every global generator, and prints."""
    assert bits.any() and not labels.all()
    bits[:], labels[:] = 0, 1
    drawn = [random.random(), np.random.rand(), torch.rand(1).item(), rng.random()]  # noqa: NPY002
    print("drawn", drawn)
    return lambda b: np.full(len(b), int(sum(drawn) > 2))


def global_states():
    numpy: Any = np.random.get_state()  # noqa: NPY002
    return random.getstate(), numpy[1].tolist(), torch.get_rng_state().tolist()


def test_global_generators_and_samples_are_the_trial_s_own_and_prints_go_elsewhere(capsys, unchecked):
    before, said = global_states(), []
    for _ in range(2):
        sh.learn(**EASY, learner=sh.Learner.of(forgetful))
        out, err = capsys.readouterr()
        assert out == ""
        said.append(err)
    # five tries, each with numbers of its own
    assert said[0] == said[1] and len(set(said[0].splitlines())) == 5 and before == global_states()


def returning(value):
    return lambda bits, labels, rng: lambda b: value(len(b))


def raising(bits, labels, rng):
    raise ZeroDivisionError("no such luck\nand more")


def leaving(bits, labels, rng):
    sys.exit(3)


def sleeping(bits, labels, rng):
    try:
        time.sleep(60)
    except Exception:
        time.sleep(60)


class Breaks(Linear):
    def forward(self, bits):
        if len(bits) > 2:
            raise RuntimeError("out of luck")
        return super().forward(bits)


@pytest.mark.parametrize(
    ("learner", "says"),
    [
        (raising, "the learner raised ZeroDivisionError: no such luck$"),
        (leaving, "raised SystemExit: 3"),
        (sh.Learner.of(sleeping, limit_seconds=0.2), "longer than its limit of 0.2 s"),
        (lambda bits, labels, rng: None, "returned a NoneType, None"),
        (returning(lambda n: np.zeros((n, 1))), r"shape \(100, 1\) for 100 inputs"),
        (returning(lambda n: np.zeros(3)), r"shape \(3,\)"),
        (returning(lambda n: None), r"shape \(\)"),
        (returning(lambda n: np.full(n, np.nan)), "predicted nan"),
        (returning(lambda n: np.full(n, 0.3)), "predicted 0.3"),
        (returning(lambda n: np.full(n, 2)), "predicted 2"),
        (returning(lambda n: ["yes"] * n), "predicted 'yes'"),
        (returning(lambda n: np.full(n, -1)), "predicted -1; labels are 0 or 1"),
        (sh.module(Breaks), "raised RuntimeError: out of luck"),
        (LogisticRegression(C=-1.0), "raised InvalidParameterError"),
    ],
)
def test_a_learner_that_fails_says_so_in_one_line(learner, says, unchecked):
    with pytest.raises(LearnerError, match=says) as failed:
        sh.learn(**EASY, learner=learner)
    assert "\n" not in str(failed.value) and failed.value.trial


def made(text, name="f", **around):
    """A function or class from source, as a notebook would define it."""
    names = {"__name__": "__main__", **around}
    exec(compile(textwrap.dedent(text), "<cell>", "exec"), names)
    return names[name]


BASE = "def help(x):\n    return x + 1\nRATE = 2\ndef f(bits, labels, rng):\n    return lambda b: help(b) * RATE\n"


def test_the_hash_is_that_of_the_code_that_runs():
    of = {what: digest(made(text)) for what, text in {
        "itself": BASE,
        "comment": BASE.replace("RATE = 2", "RATE = 2  # fast\n\n"),
        "docstring": BASE.replace("def f(bits, labels, rng):\n", "def f(bits, labels, rng):\n    'Fit.'\n"),
        "body": BASE.replace("* RATE", "- RATE"),
        "helper": BASE.replace("x + 1", "x + 2"),
        "global": BASE.replace("RATE = 2", "RATE = 3"),
        "default": BASE.replace("rng)", "rng, k=3)"),
    }.items()}  # fmt: skip
    assert of["itself"] == of["comment"] == of["docstring"] and len(set(of.values())) == 5
    net = "class Net:\n    width = 4\n    def forward(self, b):\n        return b\nf = lambda T: Net()\n"
    assert (
        len(
            {
                digest(made(text))
                for text in (net, net.replace("4", "5"), net.replace("return b", "return -b"))
            }
        )
        == 3
    )
    assert digest(DecisionTreeClassifier(max_depth=3)) != digest(DecisionTreeClassifier(max_depth=4))
    assert digest(*[returning(np.zeros)] * 2) != digest(returning(np.ones))
    assert (
        name_of(made(net)) == "Net" and name_of(made(BASE)) == "f" and name_of(agreeing).endswith(":agreeing")
    )


def test_the_hash_is_the_same_in_every_process():
    """Sets of texts have another order in each."""
    code = (
        "from sparsehead.train.learners.source import digest\n"
        "print(digest(lambda b, l, r: b if l in {'a', 'b', 'c', 'd'} else {'e', 'f'}))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1] and len(runs[0]) == 13


def test_names_have_version_and_hash_and_specs_of_a_store_can_be_read_without_the_code():
    name = sh.Learner.of(agreeing, name="mine", version="1.2").register()
    assert name.startswith("mine==1.2@") and name in LEARNERS and name not in list(LEARNERS)
    spec = TrainSpec(function="x0", T=4, m=3, seed=0, learner="gone@123456789abc")
    assert spec.learner == "gone@123456789abc" and len(spec_id(spec)) == 16
    other = sh.module(Linear, batch=8).register(), sh.module(Linear, batch=9).register()
    assert other[0].split("@")[0] == other[1].split("@")[0] and other[0] != other[1]


def test_ids_of_specs_are_those_of_before():
    spec = preset("fast", function="and", s=3, T=50, m=40, seed=7, learner="tree")
    assert spec_id(spec) == "7ac0cac70d891318"


def test_what_travels_is_the_learner(unchecked):
    name = sh.Learner.of(made("def f(bits, labels, rng):\n    return lambda b: b[:, 0]")).register()
    parcel = packed(name)
    del LEARNERS._loaded[name]
    unpack(parcel)
    assert sh.learn("x0", T=3, m=40, seed=0, learner=LEARNERS[name]).solved
    assert packed("mlp") is None


@pytest.fixture
def own_package(tmp_path, monkeypatch):
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "own_lib.py").write_text(
        "def fit(bits, labels, rng):\n    return lambda b: b[:, 0]\n"
        "answer = 42\ntext = 'mlp'\n\ndef short(bits):\n    return bits\n"
    )
    (folder / "own_broken.py").write_text("raise OSError('no disk')\n")
    (folder / "own_needs.py").write_text("import no_such_package_at_all\n")
    monkeypatch.syspath_prepend(str(folder))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    yield here
    for name in ("own_lib", "own_broken", "own_needs"):
        sys.modules.pop(name, None)


def test_a_learner_by_its_import_path_on_the_command_line(own_package, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["learn", "x0", "--T", "5", "--m", "40", "--learner", "own_lib:fit", "--json"])
    assert ended.value.code == 0 and '"solved": true' in capsys.readouterr().out
    assert known_learner("own_lib:fit")[0].startswith("own_lib:fit@")


def test_files_of_the_current_folder_are_not_imported(own_package, monkeypatch):
    (own_package / "stray.py").write_text("raise SystemExit('imported')\n")
    for first in ("", str(own_package)):
        monkeypatch.setattr(sys, "path", [first, *sys.path])
        with pytest.raises(SparseheadError, match=r"no module 'stray'.*PYTHONPATH=\$PWD"):
            imported("stray:f", what="learner")
        assert sys.path[0] == first
        monkeypatch.undo()
        monkeypatch.chdir(own_package)
    monkeypatch.setattr(sys, "path", ["/x", str(own_package)])
    assert search_path() == ["/x", str(own_package)]  # where PYTHONPATH, or an installed package, put it


LOCK = threading.Lock()


class Odd(nn.Module):
    def __init__(self, T, columns=2):
        super().__init__()
        self.map = nn.Linear(T, columns)

    def forward(self, bits):
        return self.map(bits)


class Listed(Odd):
    def forward(self, bits):
        return [0.0] * len(bits)


def refuses_T(T):
    raise ValueError("T is odd")


async def later(bits, labels, rng):
    return None


def piece_by_piece(bits, labels, rng):
    yield None


def locked(lock):
    return lambda bits, labels, rng: lambda b: lock


anything: Any = sh  # wrong uses are wrong types too
WRONG: list[tuple[Any, str]] = [
    # what is no learner
    (lambda: 3, "a learner is a name such as"),
    (lambda: None, "got a NoneType"),
    (lambda: [], "got"),
    (lambda: {}, "got"),
    (lambda: b"mlp", "got"),
    (lambda: 3.5, "got 3.5"),
    (lambda: object(), "a learner is a name"),
    (lambda: ("mlp",), "got"),
    (lambda: np.zeros(3), "a learner is a name"),
    # names
    (lambda: "", "unknown; the learners are"),
    (lambda: "mpl", "Did you mean 'mlp'"),
    (lambda: "oracle", "the learners are"),
    (lambda: "mine@0123456789ab", "a store keeps only names"),
    (lambda: "a:b:c", "package.module:name"),
    (lambda: ":f", "package.module:name"),
    (lambda: "json:", "package.module:name"),
    (lambda: "./mine.py:f", "package.module"),
    (lambda: "own_lib:fit()", "package.module:name"),
    (lambda: "no_such_module:f", "there is no module 'no_such_module'"),
    (lambda: "own_lib.deeper:f", "no module 'own_lib.deeper'"),
    (lambda: "own_lib:ft", "Did you mean 'fit'"),
    (lambda: "own_lib:answer", "got 42"),
    (lambda: "own_lib:text", "is the text 'mlp'"),
    (lambda: "own_lib:short", "short"),
    (lambda: "own_broken:f", "importing own_broken failed: OSError: no disk"),
    (lambda: "own_needs:f", "importing own_needs failed: No module named 'no_such_package_at_all'"),
    # functions and estimators
    (lambda: DecisionTreeClassifier, "the class DecisionTreeClassifier"),
    (lambda: Linear, "the class Linear"),
    (lambda: Linear(4), r"sh.module\(lambda T: Linear"),
    (lambda: lambda: 0, "f.bits, labels, rng"),
    (lambda: lambda bits: 0, "too many"),
    (lambda: lambda a, b, c, d: 0, "missing a required argument: 'd'"),
    (lambda: later, "a coroutine"),
    (lambda: piece_by_piece, "generator"),
    (lambda: locked(LOCK), "cannot be sent to worker processes: TypeError: cannot pickle"),
    (lambda: anything.Learner.of(agreeing, nme="x"), "no setting 'nme'"),
    (lambda: anything.Learner.of(3), "got 3"),
    (lambda: anything.Learner.of(agreeing, name="a b@c"), "the name of a learner"),
    (lambda: anything.Learner.of(agreeing, version=2), "the version of a learner"),
    (lambda: anything.Learner.of(agreeing, limit_seconds=0), "limit_seconds is a finite number > 0"),
    (lambda: anything.Learner.of(agreeing, limit_seconds="1h"), "limit_seconds"),
    (lambda: anything.Learner(), "either fit= or engine="),
    (lambda: anything.Learner(fit=3), "either fit="),
    (lambda: anything.Learner(fit=agreeing, engine=agreeing), "either fit="),
    # modules
    (lambda: anything.module(3), "module takes a function of T"),
    (lambda: anything.module(Linear(4)), "module takes a function of T"),
    (lambda: anything.module("Linear"), "module takes a function of T"),
    (lambda: linear(steps=0), "steps is a whole number >= 1"),
    (lambda: linear(steps="many"), "steps"),
    (lambda: linear(optimiser="adamm"), "optimiser is one of"),
    (lambda: linear(learning_rate=0), "learning_rate"),
    (lambda: linear(learning_rate="fast"), "learning_rate"),
    (lambda: linear(batch=0), "batch is a whole number >= 1"),
    (lambda: linear(batch=1.5), "batch"),
    (lambda: linear(restarts=0), "restarts"),
    (lambda: linear(device="tpu"), "device is"),
    (lambda: linear(colour=1), "module has no setting 'colour'"),
    (lambda: linear(step=1), "did you mean 'steps'"),
    (lambda: linear(optimiser=torch.optim.Adam), "leave learning_rate out"),
    (lambda: linear(name="a@b"), "the name of"),
    (lambda: linear(limit_seconds=-1), "limit_seconds"),
    (lambda: anything.module(lambda T: T), "instead of a torch.nn.Module"),
    (lambda: anything.module(refuses_T), "cannot be trained at T=6: the learner raised ValueError: T is odd"),
    (lambda: anything.module(Odd), r"maps bits \(2, 6\) to a tensor \(2, 2\)"),
    (lambda: anything.module(Listed), "to list"),
    (lambda: anything.module(lambda T: nn.Linear(T + 1, 1)), "raised RuntimeError: mat1 and mat2"),
    (lambda: anything.module(lambda T: nn.Flatten()), "maps bits|no parameters"),
    (lambda: anything.module(lambda: 0), "raised TypeError"),
]


@pytest.mark.parametrize(("given", "says"), WRONG)
def test_a_wrong_use_is_answered_in_one_line_and_writes_nothing(given, says, own_package, unchecked):
    with pytest.raises(SparseheadError, match=says) as refused:
        sh.law("and", s=2, T=[6, 8], learner=given())
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400
    assert list(own_package.iterdir()) == []


def test_a_setting_is_given_once(own_package):
    with pytest.raises(SparseheadError, match="n_steps is given twice"):
        sh.law("and", s=2, T=6, learner=linear(), n_steps=5)
    with pytest.raises(SparseheadError, match="takes no steps"):
        sh.learn(**EASY, learner=agreeing, online=True)
    assert len(WRONG) >= 40 and list(own_package.iterdir()) == []


@pytest.mark.parametrize("name", ["own_lib:answer", "own_lib:ft", "stray:f", "x.py", "own_lib:", "mine@12"])
def test_wrong_names_on_the_command_line(name, own_package, capsys):
    (own_package / "stray.py").write_text("raise SystemExit('imported')\n")
    for verb in (["law", "and", "--s", "2", "--T", "8"], ["learn", "x0", "--T", "5", "--m", "40"]):
        with pytest.raises(SystemExit) as ended:
            main([*verb, "--learner", name])
        out, err = capsys.readouterr()
        assert ended.value.code == 2 and out == "" and len(err.strip().splitlines()) == 1
    assert [file.name for file in own_package.iterdir()] == ["stray.py"]


def test_what_an_own_learner_has_learned_is_read_by_its_predictions():
    def remember(bits, labels, rng):
        return lambda b: b[:, 1] & b[:, 4]

    run = sh.learn("x1 & x4", T=8, m=60, seed=0, learner=remember)
    assert run.model is None and run.predict is not None
    reading = read_back(run)
    assert reading is not None and reading.formula == "x1 & x4"
    shipped = sh.learn("x1 & x4", T=8, m=60, seed=0, learner="tree")
    assert read_back(shipped) is None and shipped.predict is not None
