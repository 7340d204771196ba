"""A plugin for pytest: shapes are types, and every annotation of the package is checked while tests run."""

import dataclasses
import functools
import inspect
import typing
from collections.abc import Iterator
from typing import Any

import beartype
import jaxtyping
import pytest

CONFIG = beartype.BeartypeConf(violation_type=jaxtyping.TypeCheckError)


def has_shapes(annotation: Any) -> bool:
    """Whether an annotation speaks of arrays."""
    is_array = inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray)
    parts = annotation if isinstance(annotation, list | tuple) else typing.get_args(annotation)
    return is_array or any(map(has_shapes, parts))


def is_text(annotation: Any) -> bool:
    """Whether an annotation is, or contains, a name in quotes."""
    return isinstance(annotation, str | typing.ForwardRef) or any(map(is_text, typing.get_args(annotation)))


def checked(what: Any = None, *, typechecker: Any = None) -> Any:
    """jaxtyping's own decorator with the same checks, without binding the arguments of each call to names.

    Binding is for dimensions computed from arguments, which the package does not use, and takes longer than most
    functions: tests of small functions spent most of their time there. Sizes are compared within one call, as before.
    """
    if what is None:
        return functools.partial(checked, typechecker=typechecker)
    if inspect.isclass(what):
        if dataclasses.is_dataclass(what) and "__init__" in vars(what):
            setattr(what, "__init__", checked(vars(what)["__init__"]))  # noqa: B010
        return what
    annotations = list(getattr(what, "__annotations__", {}).values())
    # what runs later than it is called, and names that are not known yet, are left to jaxtyping
    if not inspect.isfunction(what) or inspect.isgeneratorfunction(what) or any(map(is_text, annotations)):
        return jaxtyped(what, typechecker=typechecker)
    inner, config = beartype.beartype(conf=CONFIG)(what), jaxtyping.config

    def plain(*args: Any, **kwargs: Any) -> Any:
        return (what if config.jaxtyping_disable else inner)(*args, **kwargs)

    def shaped(*args: Any, **kwargs: Any) -> Any:
        if config.jaxtyping_disable:
            return what(*args, **kwargs)
        with jaxtyped("context"):
            return inner(*args, **kwargs)

    return functools.wraps(what)(shaped if any(map(has_shapes, annotations)) else plain)


jaxtyped: Any = jaxtyping.jaxtyped
setattr(jaxtyping, "jaxtyped", checked)  # noqa: B010
hook = jaxtyping.install_import_hook("sparsehead", "beartype.beartype")


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Turn annotations off, as for users: what the library itself says about a wrong shape."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
