"""Random, learned and tampered one-layer models, and what `decide` and `proved_share` say of them against enumeration.

python tests/certify/share_models.py --models 20000 --T 3 16       exit code 1 if any statement is false
    --store FILE      outside the checkout: keep a line per model there, and skip the models that have one
    --long            T = 14 or 16 for one model in a hundred, whatever --T says
    --out results/soundness.json
"""

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sparsehead._base.rng import stream
from sparsehead.certify.branches import decide
from sparsehead.certify.mixtures import Tokens
from sparsehead.certify.relaxation import applies, largest_output
from sparsehead.certify.share import proved_share
from sparsehead.functions import SparseFunction, assignments, from_table, parse
from sparsehead.heads.block import Layer, LayerNorm, Mlp
from sparsehead.heads.encoding import trainable
from sparsehead.heads.model import Model
from sparsehead.train.learn import learn
from sparsehead_paper.studies.folder import write_results
from sparsehead_paper.studies.proofs import SoundnessRecord

if __package__:
    from .adversarial import parser_of, tell
else:
    from adversarial import parser_of, tell  # type: ignore[no-redef]


@dataclass
class Tally:
    """How often each verdict was reached, and false statements in words."""

    counts: Counter[str] = field(default_factory=Counter)
    false: list[str] = field(default_factory=list)


def random_block(rng: np.random.Generator, T: int) -> Model:
    """Any one-layer model that the relaxations cover: parts are left out at random, scales are drawn."""
    H, k, d, f = (int(rng.integers(1, top)) for top in (4, 4, 6, 7))
    scores, moved = 10.0 ** rng.uniform(-1, 1), 10.0 ** rng.uniform(-2, 0.5)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=shape)

    def norm() -> LayerNorm | None:
        eps = float(rng.choice([1e-5, 1e-2]))
        return LayerNorm(1 + 0.3 * normal(d), 0.3 * normal(d), eps=eps) if rng.random() < 0.7 else None

    mlp = Mlp(normal(d, f), normal(f), normal(f, d), normal(d), activation=str(rng.choice(["gelu", "relu"])))
    layer = Layer(
        W_Q=normal(H, d, k) * scores, W_K=normal(H, d, k), W_V=normal(H, d, k), W_C=normal(H, k, d) * moved,
        b_V=normal(H, k) if rng.random() < 0.5 else None, b_C=normal(d) if rng.random() < 0.5 else None,
        temperature=2.0, residual=bool(rng.random() < 0.7), norm_attention=norm(), norm_mlp=norm(),
        mlp=mlp if rng.random() < 0.7 else None,
    )  # fmt: skip
    encoding = trainable(normal(T, d), normal(2, d), normal(d))
    attends = bool(rng.random() < 0.7)
    return Model(encoding, (layer,), w=normal(d), bias=0.3 * float(rng.normal()), final_norm=norm(), threshold=0.0,
                 attends_cls=attends)  # fmt: skip


@cache
def learned(preset: str, family: str, T: int, seed: int) -> Model | None:
    """A learned model, cached: a few settings serve many tampered copies."""
    return learn(
        family, T=T, s=min(3, T), m=60, seed=seed, preset=preset, n_steps=60, restarts=1, unique=False
    ).model


@cache
def all_inputs(T: int) -> np.ndarray:
    """`assignments`, cached."""
    return assignments(T)


def draw(rng: np.random.Generator, T: int) -> tuple[Model, SparseFunction, np.ndarray]:
    """A model, a function that it often computes on most inputs, and the model's outputs on all 2^T inputs."""
    bits = all_inputs(T)
    if rng.random() < 0.6:
        model = random_block(rng, T)
    else:
        # Preset `fast` has 16 heads of width 64, so each of its models takes as long as three others.
        preset = "fast" if rng.random() < 0.25 else "best"
        found = learned(preset, str(rng.choice(["and", "or"])), T, int(rng.integers(4)))
        if found is None:
            return draw(rng, T)
        model = found
        if rng.random() < 0.5:
            layer = model.layers[0]
            model = replace(model, layers=(replace(layer, W_K=layer.W_K * rng.uniform(0.5, 3)),))
        if rng.random() < 0.4:
            return model, parse(model.meta["function"], T=T), model(bits)
    # The majority of labels by pattern, so that few inputs are wrong.
    support = tuple(
        sorted(int(t) for t in rng.choice(T, size=min(T, int(rng.integers(0, 4))), replace=False))
    )
    outputs, number = model(bits), bits[:, list(support)] @ (1 << np.arange(len(support)))
    labels = outputs > model.threshold
    table = [int(labels[number == i].mean() > 0.5) for i in range(2 ** len(support))]
    return model, from_table(T=T, support=support, table=table), outputs


def check_one(
    tally: Tally,
    name: str,
    model: Model,
    f: SparseFunction,
    outputs: np.ndarray,
    chance: np.ndarray,
    seconds: float,
) -> None:
    """Both answers against all 2^T outputs."""
    bits = all_inputs(f.T)
    labels = f(bits)
    signed = (outputs - model.threshold) * (2 * labels - 1)
    wrong = (outputs > model.threshold) != (labels == 1)
    share = float(np.where(bits == 1, chance, 1 - chance).prod(axis=1)[wrong].sum())
    with np.errstate(all="ignore"):
        largest = largest_output(model)
        assert applies(model) and np.isfinite(largest)
        tokens = Tokens.of(model)
        found = decide(model, f, tokens, limit_seconds=seconds)
        bound = proved_share(model, f, tokens, chance, limit_seconds=seconds)
    if np.abs(outputs).max() > largest:
        tally.false.append(f"{name}: an output exceeds the bound of all outputs")
    if found.margin is not None and (wrong.any() or not found.margin <= signed.min()):
        tally.false.append(f"{name}: margin {found.margin} claimed, {signed.min()} seen")
    if found.wrong is not None and model.predict(found.wrong[None])[0] == f(found.wrong[None])[0]:
        tally.false.append(f"{name}: the counterexample is right")
    if not bound >= share * (1 - 1e-12):
        tally.false.append(f"{name}: share {bound} claimed, {share} seen")
    verdict = "proved" if found.margin is not None else "refuted" if found.wrong is not None else "undecided"
    tally.counts[verdict] += 1
    tally.counts["share known" if bound < 1 else "share unknown"] += 1


def length_of(number: int, rng: np.random.Generator, T: tuple[int, int], *, long: bool) -> int:
    """T of one model."""
    return (14, 16)[number // 100 % 2] if long and number % 100 == 0 else int(rng.integers(T[0], T[1] + 1))


def run(
    models: int, seed: int, *, T: tuple[int, int], seconds: float = 0.2, first: int = 0, report: bool = False,
    long: bool = False, store: Path | None = None,
) -> Tally:  # fmt: skip
    """`models` models from `seed`, of lengths between the two of T; those that `store` holds are not run again."""
    tally, start = Tally(), time.time()
    lines = store.read_text().splitlines() if store is not None and store.exists() else []
    known = {row["number"]: row for row in map(json.loads, lines) if row["seed"] == seed}
    for number in range(first, first + models):
        if number in known:
            tally.counts.update(known[number]["counts"])
            tally.false += known[number]["false"]
            continue
        own, rng = Tally(), stream(seed, "share models", number)
        length = length_of(number, rng, T, long=long)
        model, f, outputs = draw(rng, length)
        p = float(rng.choice([0.05, 0.3, 0.5, 0.8, 0.97]))
        chance = np.full(length, p) if rng.random() < 0.7 else rng.uniform(0, 1, length)
        check_one(own, f"seed {seed} number {number}", model, f, outputs, chance, seconds)
        own.counts[f"T = {length}"] += 1
        tally.counts.update(own.counts)
        tally.false += own.false
        if store is not None:
            row = {"seed": seed, "number": number, "counts": dict(own.counts), "false": own.false}
            with store.open("a") as file:
                file.write(json.dumps(row) + "\n")
        if report and number % 500 == 499:
            tell(number + 1 - first, tally.false, start)
    return tally


def main() -> int:
    parser = parser_of(__doc__, models=500, seed=1, T=(3, 16))
    parser.add_argument("--seconds", type=float, default=0.2, help="for each of the two answers")
    parser.add_argument("--long", action="store_true", help="T = 14 or 16 for one model in a hundred")
    parser.add_argument("--store", type=Path, help="a line per model, so that a run that was stopped goes on")
    parser.add_argument("--out", type=Path, help="write the counts there")
    options = parser.parse_args()
    tally = run(
        options.models, options.seed, T=tuple(options.T), seconds=options.seconds, first=options.first, report=True,
        long=options.long, store=options.store,
    )  # fmt: skip
    print(*tally.false, sep="\n")
    print(dict(tally.counts), f"{len(tally.false)} false statements in {options.models} models")
    if options.out is not None:
        given = ["STORE" if word == str(options.store) else word for word in sys.argv[1:]]
        record = SoundnessRecord(
            command=" ".join(["python tests/certify/share_models.py", *given]),
            models=options.models,
            complete=options.models >= 20_000,
            false=tuple(tally.false),
            counts={name: tally.counts[name] for name in sorted(tally.counts)},
        )
        write_results(options.out.parent, options.out.stem, record)
    return bool(tally.false)


if __name__ == "__main__":
    sys.exit(main())
