"""sparsehead/train/keywords.py from the fields of TrainSpec: the keyword types of `learn` and `law`.

python scripts/keywords.py
"""

from pathlib import Path

from sparsehead.train.spec import SETTINGS

TARGET = Path(__file__).resolve().parents[1] / "sparsehead" / "train" / "keywords.py"
NAMED = ("function", "T", "m", "seed", "s", "encoding", "learner")  # parameters of `learn` by name
HEAD = '''"""The settings that `learn` and `law` pass on to a `TrainSpec`, as types; written by scripts/keywords.py."""

from typing import TypedDict


class Settings(TypedDict, total=False):
    """Every setting of a `TrainSpec` that `learn` does not name as a parameter of its own."""

'''


def source() -> str:
    """The file's text."""
    rows = [
        f"    {name}: {setting.kind.__name__}{' | None' if setting.optional else ''}  # {setting.help}\n"
        for name, setting in SETTINGS.items()
        if name not in NAMED
    ]
    return HEAD + "".join(rows)


if __name__ == "__main__":
    TARGET.write_text(source())
