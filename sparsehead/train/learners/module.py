"""`module`: any torch module as a learner."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ..._base.arguments import shown, whole
from ..._base.errors import DomainError, LearnerError
from ..._base.fields import check_names
from ..._base.lazy import require_module
from ..spec import SETTINGS
from ..transformer.engines import check_device
from .learner import Learner
from .own import HOUR_SECONDS

if TYPE_CHECKING:
    import torch


class ModuleSettings(TypedDict, total=False):
    """Settings of the training of a module; the preset determines those that are not given."""

    steps: int  # per restart
    optimiser: (
        "str | Callable[[Any], torch.optim.Optimizer]"  # adamw, adam, sgd, or a function of the parameters
    )
    learning_rate: float
    batch: int  # samples in a step; by default all
    restarts: int  # initialisations before a trial counts as failed
    device: str  # cpu, cuda or auto


def module(
    make: "Callable[[int], torch.nn.Module]",
    *,
    name: str = "",
    version: str = "",
    limit_seconds: float | None = HOUR_SECONDS,
    **settings: Unpack[ModuleSettings],
) -> Learner:
    """Make a learner from the torch modules `make(T)`, which map bits (n, T), as floats, to logits (n,) or (n, 1).

    Samples, restarts, checks and stopping are those of the built-in learners. Each restart makes a new module with a
    new seed, which also determines its dropout. Checks run in evaluation mode.

    Args:
        make: called with the context length T.
        name, version: its name in the store; by default the path of the class that `make` calls, without a version.
        limit_seconds: a trial that takes longer has failed; None means no limit.
        settings: see `ModuleSettings`. Pass other settings, such as weight_decay, warmup and clip, to `law` or `learn`.

    >>> from torch import nn
    >>> from sparsehead.train.learn import learn
    >>> net = module(lambda T: nn.Linear(T, 1), steps=300, learning_rate=0.1)
    >>> learn("x1 & x4", T=12, m=200, seed=3, learner=net).solved
    True
    """
    require_module("torch")
    from torch import nn

    from .networks import Network, first_outputs

    allowed = {
        "steps": replace(SETTINGS["n_steps"], name="steps", least=1),
        "optimiser": SETTINGS["optimiser"],
        "learning_rate": SETTINGS["learning_rate"],
        "batch": replace(SETTINGS["n_steps"], name="batch", option="--batch"),
        "restarts": SETTINGS["restarts"],
        "device": replace(SETTINGS["optimiser"], name="device", option="--device"),
    }
    check_names(settings, allowed, what="module")
    if not callable(make) or isinstance(make, nn.Module):
        raise DomainError(f"module takes a function of T, such as lambda T: Net(T); got {shown(make)}.")
    optimiser, batch = settings.get("optimiser"), settings.get("batch")
    own = optimiser if callable(optimiser) else None
    if own is not None and "learning_rate" in settings:
        raise DomainError("a user-defined optimiser has its own learning rate; leave learning_rate out.")
    if batch is not None:
        whole("batch", batch)
    device = check_device(settings["device"]) if "device" in settings else None
    given = {
        "n_steps" if key == "steps" else key: allowed[key].checked(value)
        for key, value in settings.items()
        if key not in ("batch", "device") and not (key == "optimiser" and own)
    }
    if "optimiser" in given:
        SETTINGS["optimiser"].check_choice(given["optimiser"])

    def check(T: int) -> None:
        try:
            first_outputs(make, T)
        except LearnerError as error:
            raise DomainError(f"the module cannot be trained at T={T}: {error}.") from error

    return Learner(
        engine=Network(make, batch=batch, optimiser=own, device=device, fused=True), name=name, version=version,
        source=(make, batch, own), settings=given, check=check, limit_seconds=limit_seconds,
    )  # fmt: skip
