"""Write docs/notebooks/NAME.ipynb from NAME.py, whose cells begin with `# %%`: the same text and code, without output.

python scripts/notebooks.py
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "notebooks"
NEEDS = "This notebook needs sparsehead and its charts: `pip install '.[learn,charts]'` in a checkout."


def notebook(script: str) -> str:
    """Return the notebook (nbformat 4.5) of a script with cells."""
    sys.path.insert(0, str(ROOT / "docs" / "extensions"))
    try:
        from percent import cells
    finally:
        sys.path.remove(str(ROOT / "docs" / "extensions"))
    (first, title), *others = cells(script)
    made = []
    for i, (kind, body) in enumerate([(first, f"{title}\n\n{NEEDS}"), *others]):
        cell = {
            "cell_type": kind,
            "id": f"cell-{i}",
            "metadata": {},
            "source": body.splitlines(keepends=True),
        }
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": python, "language_info": {"name": "python"}}
    whole = {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the notebook of every script."""
    for script in sorted(FOLDER.glob("*.py")):
        script.with_suffix(".ipynb").write_text(
            notebook(script.read_text(encoding="utf-8")), encoding="utf-8"
        )
        print(f"wrote {script.with_suffix('.ipynb').relative_to(ROOT)}")


if __name__ == "__main__":
    main()
