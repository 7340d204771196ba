"""Results of `verify` on learned models, measured by benchmarks/proof.py; each row is a run that can be repeated."""

from dataclasses import dataclass

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.laws.intervals import clopper_pearson


@dataclass(frozen=True)
class ProofRow:
    """One learned model, `learn(family, T=T, s=3, m=200, seed=seed, preset=preset)`, and the result of `verify` on it.

    `share` is a proved bound on the share of wrong inputs, `sampled_wrong` the number of wrong inputs among `sampled`
    random ones; None if not measured. `seconds` is processor time of `verify`.
    """

    preset: str
    family: str
    T: int
    seed: int
    verdict: str
    seconds: float
    share: float | None = None
    sampled_wrong: int | None = None
    sampled: int | None = None

    @property
    def bar(self) -> float:
        """The share of wrong inputs below which models of the preset are to be proved."""
        return {"best": 1e-9, "fast": 1e-6}[self.preset]

    @property
    def below(self) -> bool:
        """Return whether the proved share is below the preset's bar."""
        return self.share is not None and self.share < self.bar

    @property
    def truly_wrong(self) -> bool:
        """Return whether the sample shows, with 97.5 % confidence, a share of wrong inputs above the bar."""
        if not self.sampled or not self.sampled_wrong:
            return False
        return clopper_pearson(self.sampled_wrong, self.sampled)[0] > self.bar


@dataclass(frozen=True)
class ProofRecord(ResultsRecord):
    """proof.json (all inputs) and proof-share.json (almost all)."""

    command: str
    machine: str
    rows: tuple[ProofRow, ...]


@dataclass(frozen=True)
class SoundnessRecord(ResultsRecord):
    """soundness.json: results of `decide` and `proved_share` on models whose 2^T outputs were all computed."""

    command: str
    models: int
    false: tuple[str, ...]
    counts: dict[str, int]


@dataclass(frozen=True)
class ProofCount:
    """The numbers of models of one preset and one T (None: all T), and of those that reach the preset's bar: models
    that are decided, or whose proved share of wrong inputs is below the bar.

    `provable` leaves out the models that are in truth wrong on a larger share than the bar. Intervals are 95 %.
    """

    preset: str
    T: int | None
    models: int
    reached: int
    interval: tuple[float, float]
    provable: int
    interval_of_provable: tuple[float, float]
    verdicts: dict[str, int]
    most_seconds: float


def proof_counts(rows: tuple[ProofRow, ...], *, share: bool) -> list[ProofCount]:
    """Count by preset and T, and by preset alone."""
    groups = sorted({(row.preset, row.T) for row in rows})
    found = []
    for preset, T in [*groups, *((preset, None) for preset in sorted({row.preset for row in rows}))]:
        own = [row for row in rows if row.preset == preset and T in (row.T, None)]
        reached = sum(row.below if share else row.verdict != "undecided" for row in own)
        provable = sum(not row.truly_wrong for row in own)
        verdicts = {
            name: sum(row.verdict == name for row in own) for name in ("proved", "refuted", "undecided")
        }
        found.append(
            ProofCount(
                preset=preset,
                T=T,
                models=len(own),
                reached=reached,
                interval=_interval(reached, len(own)),
                provable=provable,
                interval_of_provable=_interval(reached, provable),
                verdicts=verdicts,
                most_seconds=max(row.seconds for row in own),
            )
        )
    return found


def _interval(found: int, n: int) -> tuple[float, float]:
    low, high = clopper_pearson(found, n) if n else (0.0, 1.0)
    return round(low, 3), round(high, 3)
