"""The share of the evidence of each interpretation of the paper's text, and of each single choice among their settings.

Shares are posterior probabilities if all interpretations are equally likely a priori, the paper's true settings are one
of them, and races are independent.   Paper: readings, readings-together
"""

import math
from collections.abc import Sequence

from .interpretations import ComparedInterpretation, InterpretationsRecord


def compared_races(record: InterpretationsRecord) -> tuple[str, ...]:
    """Return the races in which every interpretation was compared at least once."""
    races = dict.fromkeys(number.race for number in record.numbers)
    return tuple(race for race in races if all(race in row.standings for row in record.readings))


def shares(record: InterpretationsRecord, races: Sequence[str]) -> list[tuple[ComparedInterpretation, float]]:
    """Return each interpretation's share of the evidence from these races together.

    A dropped interpretation is compared with the best remaining one on those of the paper's numbers for which the
    dropped one has trials. The list is empty if one of the races has not compared every interpretation.
    """
    if not set(races) <= set(compared_races(record)):
        return []
    nats = [sum(_behind(record, row, race) for race in races) for row in record.readings]
    best = min(nats, default=math.inf)
    if best == math.inf:
        return []
    weights = [math.exp(best - behind) for behind in nats]
    return [(row, weight / sum(weights)) for row, weight in zip(record.readings, weights, strict=True)]


def shares_by_choice(record: InterpretationsRecord, races: Sequence[str]) -> dict[tuple[str, str], float]:
    """Return the sum of shares over all interpretations with the same value of a setting, by (setting, value)."""
    found: dict[tuple[str, str], float] = {}
    for row, share in shares(record, races):
        for choice in ("decay", "clip", "init", "dropout"):
            chosen = getattr(row, choice)
            key = choice, chosen if isinstance(chosen, str) else f"{chosen:g}"
            found[key] = found.get(key, 0.0) + share
    return found


def _behind(record: InterpretationsRecord, row: ComparedInterpretation, race: str) -> float:
    """Return by how many nats the evidence of `row` is below the best in a race: at present or, if that is not known,
    when `row` was dropped.
    """
    standing = row.standings[race]
    if standing.behind is None:
        return math.inf
    staying = [other for other in record.readings if not other.standings[race].left]
    best = min(staying, key=lambda other: other.standings[race].behind or 0.0, default=None)
    if not standing.left or best is None:
        return standing.behind
    ours, theirs = ({n.name: n for n in r.numbers if n.name in _numbers(record, race)} for r in (row, best))
    if not ours or any(name not in theirs or theirs[name].trials != n.trials for name, n in ours.items()):
        return standing.behind
    return sum(theirs[name].log_evidence - n.log_evidence for name, n in ours.items())


def _numbers(record: InterpretationsRecord, race: str) -> set[str]:
    return {number.name for number in record.numbers if number.race == race}
