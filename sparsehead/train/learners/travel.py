"""Send user-defined learners to worker processes of the same user, pickled by cloudpickle.

A sweep sends a parcel to its workers, which unpickle it. Content of a store or of another file is never unpickled.
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
    """Pack the learner of that name with all that a worker needs; None for a built-in learner or a plugin.

    Functions of a script or notebook are sent by value, those of a module by name. The worker appends the folders of
    this process's import path to its own import path; a module found there does not replace an installed package.

    Raises:
        DomainError: a part of the learner, such as an open file, cannot be sent.
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
            f"the learner {name} cannot be sent to worker processes: {type(error).__name__}: {first}; create such "
            "objects inside the function."
        ) from error
    folders = [folder or os.getcwd() for folder in sys.path]
    return {"name": name, "folders": folders, "data": base64.b64encode(data).decode()}


def unpack(parcel: Parcel | None) -> None:
    """Register the learner in a worker; raise a SparseheadError if the worker lacks a module that the learner needs."""
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
