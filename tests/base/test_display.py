"""Objects that people look at: reprs that fit a line or two, notebook cards, pictures, tables for data frames."""

import base64
import inspect
import json
import re
import sys
from dataclasses import fields, is_dataclass
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.display import Card, WithCard
from sparsehead._base.frame import Frame, table_html
from sparsehead._base.lazy import install_command
from sparsehead.capacity.forms import FORMS
from sparsehead.floor.floor import Floor
from sparsehead.laws.curves import Cell
from sparsehead.laws.fits import fit_laws
from sparsehead.laws.law import LawResult
from sparsehead.laws.thresholds import Threshold
from sparsehead.train.outcome import Outcome, Run
from sparsehead.train.spec import TrainSpec

LONGEST = 400


def trial(model=None, **changes):
    """A run as `learn` returns it, made by hand."""
    steps = list(range(10, 1010, 10))
    history: dict[str, Any] = {
        "step": steps, "loss": [1 / t for t in steps], "check_step": steps[::2], "val_accuracy": [0.5] * 50,
        "train_accuracy": [0.9] * 50, "mass_step": [500, 1000], "support_mass": [0.2, 0.8],
    }  # fmt: skip
    outcome = Outcome("0" * 16, "solved", 1000, 1, 1.0, 0.995, 0.8, 1.5, history, {"engine": "compiled"})
    return Run(TrainSpec(function="x2 & x5 & x11", T=16, m=50, seed=0, **changes), outcome, model)


def law_result():
    cells = {T: [Cell(20, 5, 20), Cell(40, 12, 20), Cell(80, 19, 20)] for T in (20, 60, 180, 540, 1620)}
    thresholds = {T: Threshold(T, 60.0, 50.0, None, 60, "a note") for T in cells}
    laws = fit_laws(cells)
    return LawResult(
        thresholds=thresholds, fits=laws.fits, best=laws.best, note=laws.note, floor={20: Floor(20, 10, 12)},
        cells=cells, seconds=1.5,
    )  # fmt: skip


@pytest.fixture(scope="module")
def objects():
    f = sh.parse("x2 & x5 & x11", T=16)
    model, heads = sh.build(f), sh.build(f, heads="s")
    bits = np.random.default_rng(0).integers(0, 2, (60, 16))
    bits[:9, [2, 5, 11]] = 1  # both labels occur in every split
    long = sh.random_function(T=500, s=9, rng=np.random.default_rng(0))
    norms = {"V21": 1, "V": 1, "QK": 9, "BX": 1.4, "H": 10**6}
    failed = Outcome("0" * 16, "budget_spent", 1, 1, 1.0, 0.5, None, 0.1)
    tree = TrainSpec(function="and", s=3, T=16, m=50, seed=0, learner="tree")
    return {
        "function": f, "long function": long, "task": sh.Task.balanced(long), "model": model, "heads": heads,
        "certificate": sh.verify(model, f), "counterexample": sh.verify(sh.build("x2", T=300), "x2 & x299"),
        "bound": sh.bound(model, m=1000), "bound by norms": sh.bound(norms=norms, T=10**9, m=10**12),
        "norms": sh.norms(heads), "reading": sh.read(model, seed=0, data=(bits, f(bits))),
        "reading of noise": sh.read(lambda b: (b.sum(axis=1) % 3 == 0), seed=0, T=16, most=2),
        "cover": sh.covering_number([["0.5", "0.7"], ["0.2", "0.3"], ["1.6", "0.65"]], eps="0.5"),
        "cover of a line": sh.covering_number(np.arange(60.0), eps=3.5),
        "run": trial(model), "run without curves": Run(tree, failed, None), "law": law_result(),
        "network": sh.Network(2, lambda b: b[:, 0], why="no Model: " + "a reason " * 20, source="<b>Net</b>"),
        "dataset": sh.dataset(bits, f(bits)), "atlas": sh.atlas(model, m=1000), "form": FORMS["ours"],
        "form check": sh.check_form("ours", classes=4),
        "learner": sh.Learner.of(lambda bits, labels, rng: lambda b: b[:, 0], name="first-bit", version="2"),
        "table run": sh.learn(bits, f(bits), seed=0, n_steps=20, restarts=1, most=2),
        "curve": sh.learning_curve(bits, f(bits), seed=0, sizes=[40], draws=2, n_steps=20, most=2),
        "planted": (planted := sh.plant(f, difficulty=1, seed=0)), "recovery": planted.score(np.arange(16)),
        "encoding": model.encoding, "frame": law_result().to_frame(), "picture": model.plot(), "probe": probed(),
    }  # fmt: skip


def probed():
    """Two random heads, measured on one sequence of vectors."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    tokens = np.random.default_rng(0).normal(size=(1, 12, 8))
    return sh.probe(
        torch.nn.TransformerEncoder(layer, 1).eval(), tokens=tokens, baselines=False, bounds=False
    )


CHART, TABLE, PLAIN = "plot", "to_frame", "to_dict"
# What each public object has besides a repr and a card.
OFFERS = {
    "model": {CHART, TABLE, PLAIN}, "bound": {CHART, TABLE, PLAIN}, "reading": {CHART, TABLE, PLAIN},
    "cover": {CHART, TABLE, PLAIN}, "run": {CHART, TABLE, PLAIN}, "law": {CHART, TABLE, PLAIN},
    "probe": {CHART, TABLE, PLAIN}, "certificate": {TABLE, PLAIN}, "norms": {TABLE, PLAIN},
    "planted": {TABLE, PLAIN}, "recovery": {TABLE, PLAIN},
    "function": {TABLE, PLAIN}, "table run": {TABLE, PLAIN}, "curve": {TABLE, PLAIN},
    "atlas": {CHART, TABLE, PLAIN}, "form check": {TABLE, PLAIN}, "form": set(),
    "dataset": set(), "learner": set(), "task": set(), "encoding": set(), "network": set(),
    "frame": {PLAIN}, "picture": set(),
}  # fmt: skip


@pytest.mark.parametrize("name", OFFERS)
def test_a_public_object_shows_itself_in_every_way_that_it_offers(name, objects):
    thing = objects[name]
    assert {way for way in (CHART, TABLE, PLAIN) if hasattr(thing, way)} == OFFERS[name]
    assert len(repr(thing)) < LONGEST and shape(thing._repr_html_()).tags
    if CHART in OFFERS[name]:
        assert thing.plot()._repr_svg_().startswith("<svg")
    if PLAIN in OFFERS[name]:
        assert json.loads(json.dumps(thing.to_dict(), allow_nan=False))
    if TABLE in OFFERS[name]:
        frame = thing.to_frame()
        pandas = pytest.importorskip("pandas")
        taken = pandas.DataFrame(frame)
        assert list(taken.columns) == list(frame.columns) and len(taken) == len(frame) > 0


def test_every_type_that_a_public_function_returns_is_among_them(objects):
    kinds = {getattr(sh, name) for name in sh.__all__ if isinstance(getattr(sh, name), type)}
    for function in (getattr(sh, name) for name in sh.__all__):
        kinds |= {inspect.get_annotations(function).get("return")} if inspect.isfunction(function) else set()
    mine = {kind for kind in kinds if isinstance(kind, type) and kind.__module__.startswith("sparsehead")}
    assert mine - {sh.SparseheadError} <= {type(objects[name]) for name in OFFERS}


def parts(thing, seen):
    """The thing, and every dataclass, tuple member and mapped value inside it."""
    yield thing
    inside = [getattr(thing, f.name) for f in fields(thing)] if is_dataclass(thing) else []
    inside += list(thing.values()) if isinstance(thing, dict) else []
    inside += list(thing) if isinstance(thing, tuple | list) and not isinstance(thing, Frame) else []
    for part in inside:
        if (is_dataclass(part) or isinstance(part, tuple | list | dict)) and id(part) not in seen:
            seen.add(id(part))
            yield from parts(part, seen)


def test_every_repr_is_short_and_on_one_line(objects):
    found = [
        part
        for thing in objects.values()
        for part in parts(thing, set())
        if not isinstance(part, tuple | list)
    ]
    mine = [part for part in found if type(part).__module__.startswith("sparsehead")]
    assert len({type(part) for part in mine}) >= 20
    assert {type(p).__name__: len(repr(p)) for p in mine if len(repr(p)) >= LONGEST or "\n" in repr(p)} == {}


def test_reprs_say_what_matters(objects):
    assert repr(objects["model"]) == "<Model: 1 layer of 1 head, T=16, d=19; from build: x2 & x5 & x11>"
    assert "learned, step 1000 of restart 1" in repr(objects["run"])
    assert repr(objects["cover"]) == "<Cover: covering number 2 of 3 points, eps=0.5>"
    assert "T=20: 60.0 [50.0, ?]" in repr(objects["law"]) and "5 T in all" in repr(objects["law"])
    assert repr(objects["function"]) == "parse('x2 & x5 & x11', T=16)"  # can be pasted


class Shape(HTMLParser):
    """Which elements and attributes a page has; every element must be closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def shape(html):
    found = Shape()
    found.feed(html)
    assert found.open == []
    return found


CARDS = (
    "model",
    "certificate",
    "bound",
    "norms",
    "reading",
    "cover",
    "run",
    "law",
    "probe",
    "function",
    "task",
    "encoding",
)
CHARTS = tuple(name for name, ways in OFFERS.items() if CHART in ways)


@pytest.mark.parametrize("name", CARDS)
def test_a_card_is_plain_html_with_its_chart_and_fetches_nothing(name, objects):
    html = objects[name]._repr_html_()
    found = shape(html)
    assert set(found.tags) <= {
        "div",
        "strong",
        "b",
        "span",
        "img",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert {key for key, _ in found.attributes} <= {"style", "class", "alt", "src", "scope"}
    sources = [value for key, value in found.attributes if key == "src"]
    assert len(sources) == (name in CHARTS)
    for source in sources:
        svg = base64.b64decode(source.removeprefix("data:image/svg+xml;base64,")).decode()
        assert svg.startswith("<svg") and "<script" not in svg and "<image" not in svg
    assert "url(" not in html and len(html) < 200_000


@pytest.mark.parametrize("name", CARDS)
def test_a_card_without_the_charts_extra_has_everything_but_the_chart(name, objects, monkeypatch):
    for module in [m for m in sys.modules if m.startswith("sparsehead.figures")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "altair", None)
    html = objects[name]._repr_html_()
    assert "img" not in shape(html).tags and len(html) > 200
    if name in CHARTS:
        sentence = f"needs altair, which is not installed; {install_command('charts')} brings it"
        with pytest.raises(sh.SparseheadError, match=re.escape(sentence)):
            objects[name].plot()


def test_what_a_card_says_is_escaped():
    class Hostile(WithCard):
        def _card(self):
            evil = "<script>alert(1)</script>\"'&"
            return Card(evil, [evil], {evil: evil}, Frame([{evil: evil}]))

    found = shape(Hostile()._repr_html_())
    assert "script" not in found.tags
    assert "".join(found.text).count("<script>alert(1)</script>\"'&") == 6


def test_a_plot_is_a_picture_and_a_file(objects, tmp_path):
    picture = objects["run"].plot(tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").read_text().startswith("<svg") and len(repr(picture)) < LONGEST
    assert picture._repr_svg_().startswith("<svg") and picture.chart.to_dict()["datasets"]
    with pytest.raises(sh.SparseheadError, match=r"it exists \(.*--force"):
        objects["run"].plot(tmp_path / "curves.svg")
    with pytest.raises(sh.SparseheadError, match=r"\.svg, \.png, \.pdf or \.html"):
        objects["run"].plot(tmp_path / "curves.gif")
    with pytest.raises(sh.SparseheadError, match="keeps no curves"):
        objects["run without curves"].plot()


def test_frames_hold_the_numbers_that_they_are_named_after(objects):
    curves = trial().to_frame()
    assert curves.columns == ("step", "loss", "train_accuracy", "val_accuracy", "support_mass")
    assert len(curves) == 100 and curves[0] == {
        "step": 10, "loss": 0.1, "train_accuracy": 0.9, "val_accuracy": 0.5, "support_mass": None
    }  # fmt: skip
    assert (
        curves["support_mass"][49] == 0.2
        and curves["support_mass"][99] == 0.8
        and curves["val_accuracy"][1] is None
    )
    law = objects["law"].to_frame()
    assert law["T"] == [20, 60, 180, 540, 1620] and law["floor"] == [10, None, None, None, None]
    shares = objects["bound"].to_frame()["share"]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(1)
    assert objects["reading"].to_frame()["position"][:3] == [2, 5, 11]
    norms = objects["norms"].to_frame()
    assert len(norms) == 12 and set(norms["matrix"]) == {"W_QK", "W_V", "W_C", "W_VO"}
    head = objects["norms"].to_dict()["layer0"][2]
    assert head["QK"]["frobenius"] == norms["frobenius"][8] == objects["norms"]["layer0"][2].QK.frobenius
    weights = {row["array"]: row for row in objects["model"].to_frame()}
    assert weights["layers.0.W_Q"]["shape"] == "1 x 19 x 1" and weights["w"]["nonzero"] == 1
    assert objects["certificate"].to_frame()[0]["correct"] is True
    assert objects["function"].to_frame()[7] == {"x2": 1, "x5": 1, "x11": 1, "f": 1}
    assert objects["cover"].to_frame()["point"] == list(objects["cover"].rows)


MIXED = Frame(
    [{"n": 1, "x": 0.5, "yes": True, "word": "é, \"a\""}, {"n": None, "x": None, "yes": None, "word": None},
     {"n": 3, "x": 2, "yes": False, "word": ""}]
)  # fmt: skip


def same(columns):
    """Columns as lists, with NaN for None where a library does so."""
    expected = MIXED.to_dict()
    for name, values in expected.items():
        for value, got in zip(values, columns[name], strict=True):
            missing = got is None or got != got
            assert missing if value is None else (got == value and not missing), (name, value, got)


def test_a_frame_passes_as_an_arrow_stream():
    pyarrow = pytest.importorskip("pyarrow")
    same(pyarrow.table(MIXED).to_pydict())
    assert pyarrow.table(Frame([], ("a",))).num_rows == 0


def test_pandas_takes_a_frame():
    pandas = pytest.importorskip("pandas")
    same(pandas.DataFrame(MIXED).to_dict("list"))
    assert list(pandas.DataFrame(trial().to_frame()).columns) == list(trial().to_frame().columns)


def test_polars_takes_a_frame():
    polars = pytest.importorskip("polars")
    same(polars.DataFrame(MIXED).to_dict(as_series=False))
    same(polars.from_dataframe(MIXED).to_dict(as_series=False))


def test_a_frame_is_a_sequence_of_rows():
    frame = Frame([{"a": np.float64(1.5), "b": [1]}, {"a": np.int64(2)}])
    assert list(frame) == [{"a": 1.5, "b": "[1]"}, {"a": 2, "b": None}] and len(frame[:1]) == 1
    assert type(frame[1]["a"]) is int and frame.to_dict() == {"a": [1.5, 2], "b": ["[1]", None]}
    with pytest.raises(KeyError, match="the columns are a, b"):
        frame["c"]
    assert re.search(r"<td[^>]*>1\.5</td>", frame._repr_html_())


def test_a_card_leaves_out_columns_that_hold_nothing():
    made = table_html(Frame([{"a": 1, "note": "", "b": None}, {"a": 2, "note": "", "b": None}]), most=5)
    assert re.findall(r"<th[^>]*>(\w+)", made) == ["a"]
