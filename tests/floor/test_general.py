"""Floors of any function, with noise and several guesses: against all functions of small T, and against each other."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.floor.constants import per_ln_T
from sparsehead.floor.floor import floor
from sparsehead.floor.general import best_success, missed, sum_of
from sparsehead.floor.target import overlaps, target_of
from sparsehead.functions import assignments, disjunction, from_table, parse, threshold
from sparsehead.functions.tables import relevant
from sparsehead_paper.theory.elimination import floor_slope

BALANCED = 0.5 ** (1 / 3)


def placed(values, T):
    """Every function of T bits that has this table at some positions, as its labels on bits (n, T)."""
    s = len(values).bit_length() - 1
    return sorted({from_table(T=T, support=roles, table=values) for roles in itertools.permutations(range(T), s)},
                  key=lambda f: (f.support, f.values.tolist()))  # fmt: skip


def setting(i):
    """A random table that depends on all its bits, and T, m, p, noise, guesses."""
    rng = stream(i, "setting")
    s = int(rng.integers(1, 4))
    while len(relevant(values := rng.integers(0, 2, 2**s))) < s:
        pass
    T = s + int(rng.integers(1, 4))
    noise = float(rng.choice([0.0, 0.05, 0.2]))
    return values, {"T": T, "m": int(rng.integers(1, 16)), "guesses": int(rng.choice([1, 2, 5]))}, {
        "p": float(rng.uniform(0.2, 0.8)), "noise": noise}  # fmt: skip


def simulated(functions, *, T, m, p, noise, guesses, draws, rng):
    """P_opt, the mean posterior of the best guesses among all functions, and its error, not 0 if all draws agree."""
    everything = np.array([f(assignments(T)) for f in functions])  # by function and input
    found = []
    for _ in range(draws):
        inputs = (rng.random((m, T)) < p) @ (1 << np.arange(T))
        labels = everything[:, inputs]
        y = labels[0] ^ (
            rng.random(m) < noise
        )  # all functions are alike, so that the right one may be the first
        wrong = (labels != y).sum(axis=1)
        likelihood = noise**wrong * (1 - noise) ** (m - wrong)
        found.append(np.sort(likelihood)[::-1][:guesses].sum() / likelihood.sum())
    return np.mean(found), np.std(found) / math.sqrt(draws) + 1 / draws


@pytest.mark.parametrize("block", range(4))
def test_the_best_success_rate_is_within_its_bounds_at_200_settings(block):
    for i in range(50 * block, 50 * block + 50):
        values, sizes, more = setting(i)
        functions = placed(values, sizes["T"])
        rate, error = simulated(functions, **sizes, **more, draws=100, rng=stream(i, "draws"))
        target = target_of(functions[0], s=None, **more)
        above = min(best_success(target, revealed=R, **sizes) for R in target.reveals())
        below = 1 - min(missed(target, **sizes), missed(target, **sizes, enough=1.0))
        slack = 4.5 * error + 1e-9  # 200 settings, two sides: one false alarm in 700 runs
        assert below - slack <= rate <= above + slack, (i, below, rate, above)


@pytest.mark.parametrize("i", range(20))
def test_all_wrong_functions_are_counted_with_what_they_differ_by(i):
    values, sizes, more = setting(i)
    T, p = sizes["T"], more["p"]
    functions = placed(values, T)
    target = target_of(functions[0], s=None, **more)
    inputs = assignments(T)
    weight = p ** inputs.sum(axis=1) * (1 - p) ** (T - inputs.sum(axis=1))
    right = functions[0](inputs)
    brute = sorted(float(weight[f(inputs) != right].sum()) for f in functions[1:])
    found = sorted(
        d for shared in overlaps(target, T) for d in [shared.differ] * round(math.exp(shared.ln_number))
    )
    assert found == pytest.approx(brute, abs=1e-12)
    for R in target.reveals():
        assert target.left((), T) == len(functions) and target.left(R, T) <= len(functions)


@pytest.mark.parametrize("guesses", [1, 2, 5])
@pytest.mark.parametrize("p", [0.3, 0.5])
def test_one_position_is_identified_exactly_as_listed(p, guesses):
    """s = 1: P_opt over all data sets, E min(1, guesses/N), equals the bound with nothing revealed."""
    T, m, total = 4, 3, 0.0
    for columns in itertools.product(range(2**m), repeat=T):
        ones = sum(column.bit_count() for column in columns)
        N = columns.count(columns[0])
        total += p**ones * (1 - p) ** (m * T - ones) * min(1.0, guesses / N)
    target = target_of("and", s=1, p=p)
    assert best_success(target, T=T, m=m, guesses=guesses, revealed=()) == pytest.approx(total, abs=1e-8)


def test_a_sum_is_rounded_up_and_by_little():
    values, chances, m = np.array([0.3, 1.7]), np.array([0.8, 0.2]), 60
    grid, weight = sum_of(values, chances, m)
    assert weight.sum() == pytest.approx(1, abs=1e-9)
    k = np.arange(m + 1)
    for level in (25, 30, 35, 40):
        exact = float(binom.pmf(k, m, 0.2)[0.3 * (m - k) + 1.7 * k >= level].sum())
        lower = float(binom.pmf(k, m, 0.2)[0.3 * (m - k) + 1.7 * k >= level - 0.2].sum())
        assert exact - 1e-9 <= weight[grid >= level].sum() <= lower + 1e-9


@pytest.mark.parametrize(("T", "p"), [(30, 0.5), (300, BALANCED), (10**6, 0.9)])
@pytest.mark.parametrize("s", [1, 2, 3, 5])
def test_general_brackets_meet_those_of_conjunctions(s, T, p):
    """The bounds made for conjunctions and those for any function hold for the same number."""
    f = parse(" | ".join(f"!x{i}" for i in range(s)), T=T)  # not a conjunction by name, but as hard as one
    own, general = floor("and", s=s, T=T, p=p), floor(f, T=T, p=p)
    assert general.m <= own.enough and own.m <= general.enough
    assert general.m <= own.m + (s == 1)  # swaps of all positions at once are worth more


@pytest.mark.parametrize("guesses", [1, 5])
def test_floors_do_not_depend_on_names(guesses):
    """OR with p is AND with 1 - p, thresholds contain both, and a function's own positions do not matter."""
    options = {"T": 200, "noise": 0.05, "guesses": guesses}
    one = floor("and", s=3, p=0.7, **options)
    assert one == floor("or", s=3, p=0.3, **options)
    assert one == floor(disjunction((7, 1, 5), T=9), p=0.3, **options)
    assert one == floor(threshold((0, 1, 2), 3, T=3), p=0.7, **options)
    assert floor("majority", s=5, p=0.5, T=200) == floor(threshold((0, 1, 2, 3, 4), 3, T=5), p=0.5, T=200)
    assert floor(parse("x0 & x1", T=2), T=50, p=0.6) == floor("and", s=2, T=50, p=0.6)


def test_noise_and_guesses_move_floors_as_they_must():
    quiet, loud, louder = (
        floor("majority", s=3, T=100, p=0.5, noise=noise, guesses=5) for noise in (0.0, 0.05, 0.2)
    )
    assert quiet.m < loud.m < louder.m and quiet.enough < loud.enough < louder.enough
    assert all(found.m_guesses < found.m <= found.enough for found in (quiet, loud, louder))


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("junta", {"s": 3}, "kind is one of"),
        ("majority", {}, "needs the number of positions"),
        ("majority", {"s": 9}, "at most 8 positions"),
        (parse("x0 & !x1 | x2 ^ x3 & x4", T=6), {}, "reads 5"),
        (parse("true", T=6), {}, "constant"),
        ("majority", {"s": 3, "noise": 0.5}, "below 1/2"),
        ("majority", {"s": 3, "unique": True}, "unique=True"),
        ("and", {"s": 8, "noise": 0.4, "p": 0.1}, "more than"),
    ],
)
def test_what_has_no_floor_is_refused(kind, options, message):
    with pytest.raises(DomainError, match=message):
        floor(kind, **{"T": 50, "p": 0.5, **options})


def test_the_constants_of_a_balanced_conjunction_of_three():
    """4.33 = s/ln 2, 8.66 = 2s/ln 2, and 5.88 and 7.68 as computed by others."""
    found = per_ln_T("and", s=3, p=BALANCED)
    assert found.information == pytest.approx(3 / math.log(2)) == pytest.approx(floor_slope(s=3, p=BALANCED))
    assert found.elimination == pytest.approx(6 / math.log(2))
    assert (round(found.position, 2), round(found.covariance, 2)) == (5.88, 7.68)
    assert per_ln_T("and", s=3, p=0.9).information == pytest.approx(floor_slope(s=3, p=0.9))
    assert str(per_ln_T("parity", s=3, p=0.5)) == "information 4.33"


@pytest.mark.parametrize("i", range(25))
def test_constants_follow_their_definitions(i):
    values, _, more = setting(i)
    s, p, rho = len(values).bit_length() - 1, more["p"], more["noise"]
    found = per_ln_T(from_table(T=s, support=range(s), table=values), **more)
    patterns = assignments(s)
    chance = p ** patterns.sum(axis=1) * (1 - p) ** (s - patterns.sum(axis=1))
    joint = {(tuple(x), y): c * (1 - rho if y == v else rho)
             for x, c, v in zip(patterns.tolist(), chance, values) for y in (0, 1)}  # fmt: skip

    def entropy(key):
        sums: dict[object, float] = {}
        for (x, y), c in joint.items():
            sums[key(x, y)] = sums.get(key(x, y), 0) + c
        return -sum(c * math.log(c) for c in sums.values() if c)

    def information(roles):
        seen = lambda x: tuple(x[j] for j in roles)  # noqa: E731
        hidden = entropy(lambda x, y: x) - entropy(lambda x, y: seen(x))
        return hidden - (entropy(lambda x, y: (x, y)) - entropy(lambda x, y: (seen(x), y)))

    subsets = [R for r in range(s) for R in itertools.combinations(range(s), r)]
    assert found.information == pytest.approx(max((s - len(R)) / information(R) for R in subsets), rel=1e-9)
    singles = [entropy(lambda x, y: x[j]) + entropy(lambda x, y: y) - entropy(lambda x, y: (x[j], y))  # noqa: B023
               for j in range(s)]  # fmt: skip
    if min(singles) < 1e-9:
        return
    assert found.position == pytest.approx(1 / min(singles), rel=1e-6)
    rates = []
    for j in range(s):
        q = sum(c for (_, y), c in joint.items() if y)
        c = sum(w for (x, y), w in joint.items() if x[j] and y) - p * q
        log = lambda v: math.log(1 - p + p * math.exp(v))  # noqa: E731
        loss = lambda u: -(u * c - q * log(u * (1 - q)) - (1 - q) * log(-u * q))  # noqa: B023, E731
        rates.append(-minimize_scalar(loss, bounds=(-60, 60), method="bounded", options={"xatol": 1e-10}).fun)
    assert found.covariance == pytest.approx(1 / min(rates), rel=1e-5)
    assert found.information <= s * found.position * (1 + 1e-9) and found.position <= found.covariance * (
        1 + 1e-9
    )


@pytest.mark.parametrize(
    ("kind", "s", "noise"), [("majority", 3, 0.0), ("majority", 3, 0.1), ("parity", 2, 0.1)]
)
def test_floors_grow_by_the_information_constant(kind, s, noise):
    ends = [floor(kind, s=s, T=T, p=0.5, noise=noise) for T in (10**6, 10**12)]
    constant = per_ln_T(kind, s=s, p=0.5, noise=noise).information
    assert (ends[1].m - ends[0].m) / math.log(10**6) == pytest.approx(constant, rel=0.08)
    assert (ends[1].enough - ends[0].enough) / math.log(10**6) == pytest.approx(constant, rel=0.25)
