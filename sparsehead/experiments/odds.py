"""How sure the race of the readings is: the share of the evidence that each reading, and each choice, has.

Shares are probabilities where all readings are equally likely before the paper's numbers are seen, the paper's reading
is one of them, and each race stands by itself.   Paper: readings, readings-together
"""

import math
from collections.abc import Sequence

from .study_records import ReadingRow, ReadingsRecord

CHOICES = ("decay", "clip", "init", "dropout")  # what a reading settles


def compared_races(record: ReadingsRecord) -> tuple[str, ...]:
    """Races in which every reading was compared at least once."""
    races = dict.fromkeys(number.race for number in record.numbers)
    return tuple(race for race in races if all(race in row.standings for row in record.readings))


def shares(record: ReadingsRecord, races: Sequence[str]) -> list[tuple[ReadingRow, float]]:
    """Each reading's share of the evidence from these races together; one that has left a race counts as it left.

    Empty where some race has not compared every reading.
    """
    if not set(races) <= set(compared_races(record)):
        return []
    nats = [sum(_behind(row, race) for race in races) for row in record.readings]
    best = min(nats, default=math.inf)
    if best == math.inf:
        return []
    weights = [math.exp(best - behind) for behind in nats]
    return [(row, weight / sum(weights)) for row, weight in zip(record.readings, weights, strict=True)]


def shares_by_choice(record: ReadingsRecord, races: Sequence[str]) -> dict[tuple[str, str], float]:
    """The same summed over all readings that agree in one choice, by the choice and what was chosen."""
    found: dict[tuple[str, str], float] = {}
    for row, share in shares(record, races):
        for choice in CHOICES:
            chosen = getattr(row, choice)
            key = choice, chosen if isinstance(chosen, str) else f"{chosen:g}"
            found[key] = found.get(key, 0.0) + share
    return found


def _behind(row: ReadingRow, race: str) -> float:
    """Nats behind the best of a race; of a reading that has left it, when it left."""
    behind = row.standings[race].behind
    return math.inf if behind is None else behind
