"""Learners of the user's own on their way to worker processes of the same user, as cloudpickle makes them.

A parcel goes from a sweep to the workers that the sweep started or was told to use, and is opened there. Nothing that
was read from a store, a journal or any other file gets here.
"""

import base64
import os
import sys
from functools import cache
from typing import Any

from ..._base.errors import DomainError, SparseheadError
from ..._base.lazy import require_module
from ..spec import LEARNERS

Parcel = dict[str, Any]  # JSON values


@cache
def packed(name: str) -> Parcel | None:
    """The learner of that name with all that a worker needs; None for one that every worker knows.

    Functions of a script or notebook go by value, those of a module by its name: the worker gets the folders in which
    this process finds modules, behind its own, so that none takes the place of an installed package.

    Raises:
        DomainError: something in it cannot be sent, such as an open file.
    """
    if "@" not in name:
        return None
    require_module("cloudpickle")
    import cloudpickle

    try:
        data = cloudpickle.dumps(LEARNERS.find(name))
    except Exception as error:
        first = str(error).partition("\n")[0]
        raise DomainError(
            f"the learner {name} cannot be sent to worker processes: {type(error).__name__}: {first}; make what it "
            "needs inside the function."
        ) from error
    folders = [folder or os.getcwd() for folder in sys.path]
    return {"name": name, "folders": folders, "data": base64.b64encode(data).decode()}


def unpack(parcel: Parcel | None) -> None:
    """In a worker: make the learner known.

    Raises:
        SparseheadError: the worker lacks a module that it needs.
    """
    if parcel is None or parcel["name"] in LEARNERS:
        return
    import cloudpickle

    sys.path += [folder for folder in parcel["folders"] if folder not in sys.path]
    try:
        learner = cloudpickle.loads(base64.b64decode(parcel["data"]))
    except Exception as error:
        first = str(error).partition("\n")[0]
        raise SparseheadError(
            f"a worker cannot load the learner {parcel['name']}: {type(error).__name__}: {first}"
        ) from error
    LEARNERS.add(parcel["name"], learner)
