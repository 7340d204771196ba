"""The documentation site: `make docs` builds it into docs/_build/html, offline and without warnings."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent)]
os.environ.setdefault("OMP_NUM_THREADS", "1")

import sparsehead  # noqa: E402

project = "sparsehead"
author = "the sparsehead developers"
copyright = author
release = version = sparsehead.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "accessible",
    "docstrings",
    "examples",
    "generated",
    "mathml",
    "percent",
    "sources",
]
exclude_patterns = ["_build", "conf.py", "extensions"]
myst_enable_extensions = ["dollarmath", "deflist", "attrs_block"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
# measured before module names are shortened
python_maximum_signature_line_length = 150
add_module_names = False

html_theme = "furo"
html_title = f"sparsehead {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
# prompts are not copied: a block that starts with >>> or $ pastes as code
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
