"""The notebooks to download are those that scripts/notebooks.py writes, and open as notebooks."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "docs" / "notebooks").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_is_its_script(script):
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "scripts" / "notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = script.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert text == module.notebook(script.read_text(encoding="utf-8")), "run: python scripts/notebooks.py"
    cells = json.loads(text)["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    compile(code, script.name, "exec")
    written = script.read_text(encoding="utf-8").count("\n# %%") + 1  # the first line is one
    assert len(cells) == written == len({cell["id"] for cell in cells})
    assert "/home" not in text and "/work" not in text


def test_every_script_has_one():
    assert {path.stem for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")} == {
        path.stem for path in SCRIPTS
    }
