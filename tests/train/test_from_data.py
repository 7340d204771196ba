"""Learning from a table: planted functions come back by name, with a bound; what is claimed is proved."""

import json
import math
from html import escape
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

import sparsehead as sh
from sparsehead.cli.app import main
from sparsehead.functions import assignments
from sparsehead.heads.model import Model
from sparsehead.reading.occam import log_price, tail_inversion
from sparsehead.train.formulas import better_than_constants, filled, least_bound
from sparsehead.train.from_data import split_rows

PLANTED = ("{a} & {b} & {c}", "maj({a}, {b}, {c})", "{a} & ({b} | {c})")


def planted_table(number, *, m=500, T=30, noise=0.05):
    """Rows with fair bits, labels of a function of three columns, a share of them flipped; and the function."""
    rng = np.random.default_rng([33, number])
    a, b, c = (f"x{t}" for t in rng.choice(T, 3, replace=False))
    f = sh.parse(PLANTED[number % 3].format(a=a, b=b, c=c), T=T)
    bits = (rng.random((m, T)) < 0.5).astype(np.uint8)
    return f, bits, f(bits) ^ (rng.random(m) < noise)


NAMES = [f"column {t}" for t in range(30)]


def found_by_name(number):
    f, bits, labels = planted_table(number)
    data = sh.dataset(bits, labels, names=NAMES)
    run = sh.learn(data, seed=number)
    return run.reading.formula == data.formula(f) and run.reading.certificate.bound < 0.2


@pytest.mark.parametrize("number", range(3))
def test_a_planted_function_of_three_columns_is_found_by_name(number):
    assert found_by_name(number)


@pytest.mark.slow
def test_95_of_100_planted_functions_are_found_by_name_with_a_bound_below_a_fifth():
    assert sum(found_by_name(number) for number in range(100)) >= 95


@pytest.fixture(scope="module")
def run():
    f, bits, labels = planted_table(2)
    return f, sh.learn(bits, labels, seed=4)


def test_the_result_says_all_that_was_asked(run):
    f, found = run
    reading = found.reading
    assert found.solved and reading.function == f and reading.formula == str(f)
    assert isinstance(found.model, Model) and found.model.T == 30
    assert reading.agreement.n == 100 and reading.agreement.low < 0.95 < reading.agreement.high
    assert (
        reading.certificate.m == 500 and reading.certificate.assumed == "independent rows of one distribution"
    )
    assert [rival.name for rival in found.rivals] == ["decision tree", "logistic regression"]
    assert found.rivals[0].says == str(f) and all(rival.agreement.n == 100 for rival in found.rivals)
    assert json.loads(json.dumps(found.to_dict()))["reading"]["formula"] == str(f)
    assert [row["method"] for row in found.to_frame()] == ["head", "decision tree", "logistic regression"]
    assert str(f) in repr(found) and escape(str(f)) in found._repr_html_()


def test_the_same_seed_gives_the_same_result(run):
    _, bits, labels = planted_table(2)
    again, other = sh.learn(bits, labels, seed=4), sh.learn(bits, labels, seed=5, n_steps=100)
    assert again.reading == run[1].reading and again.steps == run[1].steps
    assert other.reading.flips != again.reading.flips


def test_held_out_rows_are_seen_by_nothing_but_the_agreement(run):
    _, bits, labels = planted_table(2)
    data = sh.dataset(bits, labels)
    order = np.random.default_rng(0).permutation(500)
    seen, kept = map(data.rows, split_rows(data, 0.2, 4))
    assert len(seen[1]) == 400 and len(kept[1]) == 100
    together = np.vstack([np.c_[seen[0], seen[1]], np.c_[kept[0], kept[1]]])
    assert (np.unique(together, axis=0) == np.unique(np.c_[bits, labels][order], axis=0)).all()
    # labels of held-out rows turned round change nothing that was learned
    changed = labels.copy()
    rows = {row.tobytes() for row in kept[0]}
    changed[[row.tobytes() in rows for row in bits]] ^= 1
    found = sh.learn(bits, changed, seed=4)
    assert found.reading.formula == run[1].reading.formula and found.reading.flips == run[1].reading.flips
    assert found.reading.agreement.value == pytest.approx(1 - run[1].reading.agreement.value)


def test_labels_by_chance_are_not_called_learned():
    rng = np.random.default_rng(7)
    bits = (rng.random((300, 12)) < 0.5).astype(np.uint8)
    found = sh.learn(bits, rng.integers(0, 2, 300), seed=0, n_steps=100)
    assert not found.solved and "not proved better" in found.verdict and found.reading.certificate.bound > 0.4


def test_the_function_with_the_least_bound_is_chosen():
    f, bits, labels = planted_table(1, m=300, T=6)
    sample = bits, labels.astype(np.uint8)
    best = least_bound(sample, list(range(6)), most=4, delta=0.05)

    def bound(table, support):
        g = sh.from_table(T=6, support=support, table=table)
        wrong = int((g(bits) != labels).sum())
        # the definition: the largest q at which so few mistakes are not too unlikely
        q = tail_inversion(wrong, 300, log_price(g.s, 6) + math.log(40))
        assert binom.cdf(wrong, 300, q) == pytest.approx(0.025 * math.exp(-log_price(g.s, 6)), rel=1e-6)
        return q

    assert best == f
    wrong_ones = [(table, (0, 1)) for table in product((0, 1), repeat=4)]
    assert all(bound(best.table, best.support) < bound(*other) for other in wrong_ones)


def test_better_than_a_constant_is_a_sign_test_with_the_prior_s_price():
    f = sh.parse("x0", T=4)
    bits = np.tile(assignments(4).astype(np.uint8), (10, 1))
    labels = bits[:, 0].copy()
    assert better_than_constants(f, (bits, labels), delta=0.05)
    price = log_price(1, 4) + math.log(4 / 0.05)
    for wrong in range(81):
        labels = bits[:, 0].copy()
        labels[np.flatnonzero(bits[:, 0])[:wrong]] = 0
        proved = binom.cdf(wrong, 80, 0.5) < math.exp(-price)
        assert better_than_constants(f, (bits, labels), delta=0.05) == proved
    assert not better_than_constants(sh.parse("0", T=4), (bits, labels * 0), delta=0.05)


def test_a_pattern_that_no_row_has_is_decided_by_the_head():
    head = sh.build("x0 & x1", T=4)
    bits = assignments(4).astype(np.uint8)
    bits = bits[~((bits[:, 0] == 1) & (bits[:, 1] == 1))]
    g, unseen = filled(sh.parse("x0 ^ x1", T=4), head, bits)
    assert unseen == 1 and g == sh.parse("x0 | x1", T=4)


def test_copied_rows_are_noted():
    _, bits, labels = planted_table(0, m=100, T=12)
    found = sh.learn(np.vstack([bits] * 3), np.concatenate([labels] * 3), seed=0, n_steps=50)
    assert any("they were copied" in note for note in found.reading.notes)


def test_without_scikit_learn_there_are_no_rivals(monkeypatch):
    monkeypatch.setattr("sparsehead._base.lazy.find_spec", lambda module: None)
    _, bits, labels = planted_table(0, m=100, T=8)
    assert sh.learn(bits, labels, seed=0, n_steps=30).rivals == ()


def test_the_learning_curve_rises_to_the_formula_of_all_rows():
    f, bits, labels = planted_table(1)
    curve = sh.learning_curve(bits, labels, seed=1, sizes=[30, 300], draws=3, most=3, n_steps=150)
    few, many = curve.points
    assert curve.formula == str(f) and (few.m, many.m, many.same) == (30, 300, 1.0)
    assert few.accuracy < many.accuracy and all(p.low < p.accuracy < p.high for p in curve.points)
    assert many.high - many.low > 0.05  # 100 held-out rows say no more
    assert curve.to_dict()["points"][1]["draws"] == 3 and "m=300" in repr(curve)


def test_the_command_learns_from_a_file_and_writes_the_head(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    f, bits, labels = planted_table(0)
    rows = "\n".join(",".join(map(str, (*row, int(label)))) for row, label in zip(bits.tolist(), labels))
    (tmp_path / "t.csv").write_text(",".join([*(f"x{t}" for t in range(30)), "ill"]) + "\n" + rows)
    asked = ["learn", "--data", "t.csv", "--label", "ill", "--seed", "2", "--restarts", "1", "--steps", "100"]
    with pytest.raises(SystemExit) as ended:
        main([*asked, "--out", "h.safetensors", "--json"])
    said = json.loads(capsys.readouterr().out)
    same = sh.learn("t.csv", "ill", seed=2, restarts=1, n_steps=100)
    assert ended.value.code == 0 and said["reading"] == same.to_dict()["reading"]
    assert said["reading"]["formula"] == str(f) and sh.load("h.safetensors").T == 30
    with pytest.raises(SystemExit):
        main(asked)
    shown = capsys.readouterr().out
    assert f"ill = {f}" in shown and "decision tree" in shown and "proved better than a constant" in shown
