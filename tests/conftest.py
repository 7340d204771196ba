"""Shapes are types: every annotation of the package is checked while tests run."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two pytest workers share two cores

from jaxtyping import install_import_hook

hook = install_import_hook("sparsehead", "beartype.beartype")
