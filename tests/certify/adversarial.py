"""Models made to fool `verify`, and the judge of its certificates: every input, in higher precision.

    python tests/certify/adversarial.py --models 100000 --seed 7
    python tests/certify/adversarial.py --models 10000 --seed 7 --overflow --T 19 30

draws models (random, practical, built, tampered; large, tiny, tied and NaN weights; several heads and layers), asks
`verify` by enumeration and by patterns, and compares each certificate with all 2^T outputs in float64 and in long
double (64 bits of mantissa, exponents to 10^4932), computed from the definitions. Where long double contradicts a
certificate, mpmath decides with 60 digits or, for large weights, 1500. Any false statement is printed and counted; the
share of "undecided" is reported. With --overflow the models are those of `overflow_models`; for T > 12 certificates by
patterns are compared with the outputs of chosen and random inputs for each pattern.
"""

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import mpmath
import numpy as np

from sparsehead._base.errors import SparseheadError
from sparsehead._base.rng import stream
from sparsehead.certify import Certificate, verify
from sparsehead.functions import SparseFunction, assignments
from sparsehead.heads.model import Model, arrays_of

if __package__:
    from . import overflow_models
    from .fooling_models import draw
else:
    import overflow_models  # type: ignore[no-redef]
    from fooling_models import draw  # type: ignore[no-redef]


LONG = np.longdouble


def long_outputs(model: Model, bits) -> np.ndarray:
    """All outputs in long double, from the definitions: tokens, scores, softmax, and what follows."""
    up = lambda x: np.asarray(x, dtype=LONG)  # noqa: E731
    encoding = model.encoding
    P, E, cls = up(encoding.positions()), up(encoding.E), up(encoding.cls)
    b = bits.astype(int)
    tokens = E[b] + P[None] if encoding.additive else b[..., None] * P[None]
    X = np.concatenate([tokens, np.broadcast_to(cls, (len(b), 1, encoding.d))], axis=1)
    for number, layer in enumerate(model.layers, 1):
        Z = _norm(X, layer.norm_attention)
        # the last layer is read at [CLS] alone
        X, asking = (X[:, -1:], Z[:, -1:]) if number == model.L else (X, Z)
        U = np.zeros_like(X)
        for h in range(layer.H):
            W = {m: up(getattr(layer, f"W_{m}")[h]) for m in "QKV"}
            b = {m: 0 if getattr(layer, f"b_{m}") is None else up(getattr(layer, f"b_{m}")[h]) for m in "QKV"}
            Q, K, V = asking @ W["Q"] + b["Q"], Z @ W["K"] + b["K"], Z @ W["V"] + b["V"]
            scores = Q @ np.swapaxes(K, 1, 2) / LONG(layer.temperature)
            if not model.attends_cls:
                scores[..., -1] = -np.inf
            A = np.exp(scores - scores.max(axis=-1, keepdims=True))
            U = U + _act(layer.sigma, A / A.sum(axis=-1, keepdims=True) @ V) @ up(layer.W_C[h])
        U = U + (0 if layer.b_C is None else up(layer.b_C)) + (X if layer.residual else 0)
        U = _project(U) if layer.project else U
        if layer.mlp is not None:
            m = layer.mlp
            out = _act(m.activation, _norm(U, layer.norm_mlp) @ up(m.W_1) + up(m.b_1)) @ up(m.W_2) + up(m.b_2)
            out = out + (U if layer.residual else 0)
            U = _project(out) if layer.project else out
        X = U
    y = _norm(X[:, -1], model.final_norm)
    for dense in model.decoder:
        y = np.maximum(y @ up(dense.W) + up(dense.b), 0)
    return y @ up(model.w) + LONG(model.bias)


def _norm(X, norm):
    if norm is None:
        return X
    centred = X - X.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return norm.gain.astype(LONG) * centred / np.sqrt(variance + LONG(norm.eps)) + norm.bias.astype(LONG)


def _project(X):
    return X / np.maximum(np.sqrt((X**2).sum(axis=-1, keepdims=True)), LONG(1))


def _act(name, x):
    if name == "gelu":
        # no erf in long double: float64's is good to 1e-16 of |x|, and mpmath judges what is closer
        from scipy.special import erf

        return x * (1 + erf((x / np.sqrt(LONG(2))).astype(float)).astype(LONG)) / 2
    return {"identity": lambda y: y, "relu": lambda y: np.maximum(y, 0), "tanh": np.tanh}[name](x)  # type: ignore[operator]


def exact_output(model: Model, bits, digits: int) -> "mpmath.mpf":
    """One output in mpmath, plainly."""
    mp = mpmath
    with mp.workdps(digits):
        mat = lambda x: mp.matrix(np.atleast_2d(x).tolist())  # noqa: E731
        encoding = model.encoding
        P = encoding.positions()
        rows = []
        for t, b in enumerate(bits):
            row = mat(P[t])
            rows.append(mat(encoding.E[int(b)]) + row if encoding.additive else row * int(b))
        rows.append(mat(encoding.cls))
        X = [[row[0, j] for j in range(encoding.d)] for row in rows]
        for number, layer in enumerate(model.layers, 1):
            # the last layer is read at [CLS] alone: what it would make of other positions is no part of the model
            X = _exact_layer(
                mp, X, layer, model.attends_cls, slice(-1, None) if number == model.L else slice(None)
            )
        y = _exact_norm(mp, X[-1], model.final_norm)
        for dense in model.decoder:
            y = [max(z, mp.mpf(0)) for z in _times(mp, y, dense.W, dense.b)]
        return mp.fsum(mp.mpf(float(a)) * b for a, b in zip(model.w, y)) + mp.mpf(model.bias)


def _times(mp, x, W, b=None):
    out = [mp.fsum(x[i] * mp.mpf(float(W[i, j])) for i in range(len(x))) for j in range(W.shape[1])]
    return out if b is None else [o + mp.mpf(float(c)) for o, c in zip(out, b)]


def _exact_norm(mp, x, norm):
    if norm is None:
        return x
    mean = mp.fsum(x) / len(x)
    c = [z - mean for z in x]
    scale = mp.sqrt(mp.fsum(z * z for z in c) / len(x) + mp.mpf(norm.eps))
    return [mp.mpf(float(g)) * z / scale + mp.mpf(float(b)) for g, z, b in zip(norm.gain, c, norm.bias)]


def _exact_layer(mp, X, layer, attends_cls, queries):
    act = {"identity": lambda z: z, "relu": lambda z: max(z, mp.mpf(0)), "tanh": mp.tanh,
           "gelu": lambda z: z * mp.ncdf(z) if abs(z) < 1000 else max(z, mp.mpf(0))}  # fmt: skip

    def ball(row):
        norm = mp.sqrt(mp.fsum(a * a for a in row))
        return [z / max(norm, mp.mpf(1)) for z in row] if layer.project else row

    Z = [_exact_norm(mp, x, layer.norm_attention) for x in X]
    U = [[mp.mpf(0)] * len(X[0]) for _ in X]
    for h in range(layer.H):
        Q, K, V = ([_times(mp, z, W[h], None if c is None else c[h]) for z in Z] for W, c in
                   ((layer.W_Q, layer.b_Q), (layer.W_K, layer.b_K), (layer.W_V, layer.b_V)))  # fmt: skip
        seen = len(Z) if attends_cls else len(Z) - 1
        for i, q in list(enumerate(Q))[queries]:
            scores = [
                mp.fsum(a * b for a, b in zip(q, K[t])) / mp.mpf(layer.temperature) for t in range(seen)
            ]
            w = [mp.exp(s - max(scores)) for s in scores]
            mixed = [mp.fsum(w[t] * V[t][j] for t in range(seen)) / mp.fsum(w) for j in range(len(V[0]))]
            U[i] = [
                a + b for a, b in zip(U[i], _times(mp, [act[layer.sigma](z) for z in mixed], layer.W_C[h]))
            ]
    out = []
    for x, u in list(zip(X, U))[queries]:
        u = [
            a
            + (mp.mpf(float(layer.b_C[j])) if layer.b_C is not None else 0)
            + (x[j] if layer.residual else 0)
            for j, a in enumerate(u)
        ]
        u = ball(u)
        if layer.mlp is not None:
            m = layer.mlp
            hidden = [
                act[m.activation](z) for z in _times(mp, _exact_norm(mp, u, layer.norm_mlp), m.W_1, m.b_1)
            ]
            u = ball([a + (c if layer.residual else 0) for a, c in zip(_times(mp, hidden, m.W_2, m.b_2), u)])
        out.append(u)
    return out


@dataclass
class Tally:
    """Counts of verdicts, and the false ones in words."""

    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    false: list[str] = field(default_factory=list)
    decided_by_mpmath: int = 0

    def undecided(self, family: str | None = None) -> float:
        kept = {k: n for k, n in self.counts.items() if family in (None, k[0])}
        return sum(n for k, n in kept.items() if k[2] == "undecided") / max(1, sum(kept.values()))


def check(
    tally: Tally, name: str, model: Model, f: SparseFunction, certificate: Certificate, bits, y, exact_y
) -> None:
    """Every statement of one certificate against all outputs, in float64 (y) and long double (exact_y)."""
    labels = f(bits).astype(float)
    signs = 2 * labels - 1

    def false(what: str) -> None:
        tally.false.append(f"{name}: {what}; {certificate!r}")

    if certificate.correct is False:
        at = certificate.counterexample[None]
        with np.errstate(all="ignore"):
            alone = model(at)[0]
            if np.isfinite(alone) and model.predict(at)[0] == f(at)[0]:
                false("the counterexample is none")
            own = (alone - model.threshold) * (2.0 * f(at)[0] - 1) if np.isfinite(alone) else -np.inf
            if certificate.margin != own:
                false("the margin is not the counterexample's")
    if certificate.exact and not certificate.max_error <= 1e-9:
        false("exact, with an error above 1e-9")
    if not np.isfinite(certificate.max_error) and certificate.correct is not True:
        return
    if certificate.correct:
        if not np.isfinite(y).all() or ((y > model.threshold) != (labels == 1)).any():
            false("float64 predicts otherwise")
        if not ((y - model.threshold) * signs >= certificate.margin).all():
            false("float64 comes closer to the threshold than the margin")
    if not (np.abs(y - labels) <= certificate.max_error).all():
        false("float64 has a larger error")
    least = certificate.margin if certificate.correct else -np.inf
    slip = ~(np.abs(exact_y - labels) <= certificate.max_error) | ~(
        (exact_y - model.threshold) * signs >= least
    )
    if certificate.correct is False:
        slip = ~(np.abs(exact_y - labels) <= certificate.max_error)
    for i in np.flatnonzero(slip)[:1]:
        tally.decided_by_mpmath += 1
        large = max(np.abs(w).max(initial=0.0) for _, w in arrays_of(model)) > 1e6
        try:
            true = exact_output(model, bits[i], 1500 if large else 60)
        except ZeroDivisionError:
            false("the output is not defined: a division by zero")
            continue
        if abs(true - labels[i]) > certificate.max_error * (1 + 1e-14):
            false(f"exact arithmetic has the error {mpmath.nstr(abs(true - labels[i]), 5)}")
        elif (true - model.threshold) * signs[i] < least - abs(least) * 1e-14:
            false("exact arithmetic comes closer to the threshold than the margin")


def one(tally: Tally, seed: int, number: int) -> None:
    rng = stream(seed, "adversarial", number)
    try:
        family, model, f = draw(rng)
    except SparseheadError:
        tally.counts["refused when made", "-", "-"] += 1
        return
    bits = assignments(f.T)
    parts = (model.w, model.encoding.E, *vars(model.layers[0]).values(), *(x.W for x in model.decoder))
    clean = all(np.isfinite(a).all() for a in parts if isinstance(a, np.ndarray))
    with np.errstate(all="ignore"):
        y, exact_y = model(bits), long_outputs(model, bits)
    for method in ("exhaustive", "patterns") if model.L == 1 else ("exhaustive",):
        found = verify(model, f, method=method)
        verdict = "undecided" if found.correct is None else "correct" if found.correct else "wrong"
        tally.counts[family, method, verdict] += 1
        name = f"seed {seed} number {number} {family} {method}"
        if not clean and (found.correct or found.exact):
            tally.false.append(f"{name}: a weight is not finite; {found!r}")
        with np.errstate(all="ignore"):
            check(tally, name, model, f, found, bits, y, exact_y)


def one_overflow(tally: Tally, seed: int, number: int, T: tuple[int, int]) -> None:
    """A model of `overflow_models`: by both methods up to T = 12, by patterns beyond."""
    rng = stream(seed, "overflow", number)
    kind, model, f = overflow_models.draw(rng, int(rng.integers(T[0], T[1] + 1)))
    with np.errstate(all="ignore"):
        bits = overflow_models.probes(rng, f)
        model = overflow_models.labelled(rng, model, f, long_outputs(model, bits))
        y, exact_y = model(bits), long_outputs(model, bits)
        for method in ("exhaustive", "patterns") if f.T <= 12 else ("patterns",):
            found = verify(model, f, method=method)
            verdict = "undecided" if found.correct is None else "correct" if found.correct else "wrong"
            tally.counts[kind, method, verdict] += 1
            check(tally, f"seed {seed} number {number} {kind} {method}", model, f, found, bits, y, exact_y)


def run(
    models: int, seed: int, *, first: int = 0, report: bool = False, overflow: tuple[int, int] | None = None
) -> Tally:
    """`models` models from `seed`, beginning with number `first`; of `overflow_models` where a range of T is given."""
    tally, start, seen = Tally(), time.time(), 0
    for number in range(first, first + models):
        one(tally, seed, number) if overflow is None else one_overflow(tally, seed, number, overflow)
        if report and tally.false[seen:]:
            print(*tally.false[seen:], sep="\n", flush=True)
            seen = len(tally.false)
        if report and number % 1000 == 999:
            tell(number + 1 - first, tally.false, start)
    return tally


def tell(done: int, false: list[str], start: float) -> None:
    """Print how far a run is; `start` is the time at which it began."""
    print(f"{done} models, {len(false)} false, {time.time() - start:.0f} s", flush=True)


def parser_of(text: str | None, *, models: int, seed: int, T: tuple[int, int]) -> argparse.ArgumentParser:
    """The options that scripts with models from a seed share, and their defaults."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--models", type=int, default=models)
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--first", type=int, default=0, help="begin with this number, to share the work")
    parser.add_argument("--T", type=int, nargs=2, default=T, help="least and largest T")
    return parser


def main() -> int:
    parser = parser_of(__doc__, models=1500, seed=7, T=(2, 6))
    parser.add_argument("--overflow", action="store_true", help="models of overflow_models, with --T")
    options = parser.parse_args()
    lengths = tuple(options.T) if options.overflow else None
    tally = run(options.models, options.seed, first=options.first, report=True, overflow=lengths)
    for key in sorted({k[:2] for k in tally.counts}):
        row = {k[2]: n for k, n in tally.counts.items() if k[:2] == key and n}
        total = sum(row.values())
        print(*key, total, " ".join(f"{name} {n} ({n / total:.1%})" for name, n in sorted(row.items())))
    print(f"undecided in all {tally.undecided():.2%}; mpmath was asked {tally.decided_by_mpmath} times")
    print(f"{len(tally.false)} false statements in {options.models} models")
    return bool(tally.false)


if __name__ == "__main__":
    sys.exit(main())
