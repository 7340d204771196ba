"""Each folder of the package says what it is for and in which order to read its files."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "sparsehead"
FOLDERS = sorted(file.parent for file in PACKAGE.rglob("__init__.py") if file.parent != PACKAGE)
# One file per item of a list that stands elsewhere: commands, pages of the lab.
LISTED = {"cli", "endpoints"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(PACKAGE).as_posix())
def test_a_folder_names_its_files_in_reading_order(folder):
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    assert text, f"{folder} has no docstring"
    if folder.name in LISTED:
        return
    named = set(re.findall(r"[a-z_0-9]+", text))
    files = {file.stem for file in folder.glob("*.py") if file.stem not in ("__init__", "__main__")}
    assert files <= named, f"{folder.name}/__init__.py does not name {sorted(files - named)}"
