"""The interface of learners. `spec.LEARNERS` has their names for `law` and `learn`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from ..._base.arguments import real, shown
from ..._base.display import Card, ShortRepr, WithCard
from ..._base.errors import DomainError
from ...functions import Predict
from ...functions.task import Sample
from ..footprint import plain_bytes
from ..spec import LEARNERS, TrainSpec
from ..transformer.engine import NamedEngine
from .source import digest, name_of


@runtime_checkable
class Fit(Protocol):
    """A function that trains on a whole sample at once."""

    def __call__(self, spec: TrainSpec, sample: Sample, attempt: int, /) -> Predict:
        """Return a predictor, bits (n, T) -> labels (n,).

        Args:
            sample: bits (m, T) and labels (m,); both labels occur.
            attempt: number of the attempt, from 0; it may choose a regularisation or seed a random order.
        """


@runtime_checkable
class ChooseEngine(Protocol):
    """A function that chooses the engine of a learner that is trained step by step."""

    def __call__(self, spec: TrainSpec, /, *, engine: str, dtype: str, device: str) -> NamedEngine:
        """Return the engine that trains `spec`, or raise a DomainError.

        Args:
            engine: the requested name; "auto" by default.
            device: "cpu" or "cuda".
        """


@dataclass(frozen=True, repr=False)
class Learner(WithCard, ShortRepr):
    """A learner; give either `fit` or `engine`. `law` and `learn` take the object, or its name if a package lists it in
    the entry point group `sparsehead.learners`.

    All learners are trained on the same samples, tested on the same holdout, and stored and drawn in the same way.
    `Learner.of` makes a learner from a function or an estimator, `module` from a torch module.

    Args:
        repeats: False if every attempt gives the same answer, so that one attempt is enough.
        as_drawn: True if `law` should by default keep training sets that several functions explain. This suits a
            learner that fails only on such sets, or one compared with the information floor, which assumes independent
            samples.
        has_model: whether a run ends with an attention `Model`.
        memory: (spec, T, m, dtype) -> peak bytes of one trial.
        name, version: its name in the store; by default the import path of its code, and no version.
        source: functions and values whose hash is part of its name in the store; by default `fit` or `engine`.
        settings: fields of `TrainSpec` that the learner sets.
        check: called with T before any trial; raises a SparseheadError if the learner does not work at this T.
        limit_seconds: a trial that takes longer has failed; None means no limit.

    >>> from sparsehead.train.learn import learn
    >>> first_bit = Learner.of(lambda bits, labels, rng: lambda b: b[:, 0], name="first-bit", version="2")
    >>> learn("x0", T=4, m=20, seed=0, learner=first_bit).solved, first_bit.register().partition("@")[0]
    (True, 'first-bit==2')
    """

    fit: Fit | None = None
    engine: ChooseEngine | None = None
    repeats: bool = True
    as_drawn: bool = False
    has_model: bool = False
    memory: Callable[[TrainSpec, int, int, str], float] = plain_bytes
    name: str = ""
    version: str = ""
    source: tuple[Any, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[[int], None] | None = None
    limit_seconds: float | None = None

    def __post_init__(self) -> None:
        if callable(self.fit) == callable(self.engine):
            raise DomainError(
                f"a Learner has either fit= or engine=, which are functions; got fit={shown(self.fit)}, "
                f"engine={shown(self.engine)}."
            )
        for what, text in (("name", self.name), ("version", self.version)):
            if not isinstance(text, str) or not re.fullmatch(r"[\w.:+-]{0,100}", text):
                raise DomainError(
                    f"the {what} of a learner is a text of letters, digits and . : + - _; got {shown(text)}."
                )
        if self.limit_seconds is not None:
            real("limit_seconds", self.limit_seconds, above=0)

    @classmethod
    def of(cls, thing: Any, **more: Any) -> "Learner":
        """Make a learner from a function `(bits, labels, rng) -> predict` or from a scikit-learn estimator.

        Args:
            thing: a function gets copies of the samples, bits (m, T) and labels (m,) of 0 and 1 as uint8, and a new
                numpy Generator for each attempt; `predict` maps bits (n, T) to labels (n,). An estimator gets the bits
                as floats; it is copied for each attempt, and each random_state in it is set.
            more: fields of `Learner`: name, version, repeats, as_drawn, limit_seconds (by default an hour), memory.
        """
        from .own import learner_of

        return learner_of(thing, **more)

    def _card(self) -> Card:
        title = " ".join(filter(None, ["Learner", self.name, self.version]))
        return Card(title, (repr(self),))

    def register(self) -> str:
        """Register the learner in this process; return its name in a `TrainSpec` and in the store.

        The name is "name@hash" or "name==version@hash", so other code under the same name is another experiment.
        """
        source = self.source or (self.fit, self.engine)
        name = self.name or name_of(next(part for part in source if part is not None))
        version = f"=={self.version}" if self.version else ""
        text = re.sub(r"[^\w.:+-]", "-", name) + f"{version}@{digest(self.repeats, *source)}"
        LEARNERS.add(text, self)
        return text
