"""Frozen specs: everything that decides how a run goes, and nothing about where it runs."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import InitVar, asdict, dataclass, fields
from typing import Any

from .architecture import Architecture, width_of
from .arguments import instance, real, shown, whole
from .display import Short
from .errors import DomainError
from .functions import FAMILIES, SparseFunction, family, parse, random_support
from .registry import Registry
from .rng import stream
from .task import Task


@dataclass(frozen=True)
class OverT:
    """A setting that falls with the context length: c/T."""

    c: float

    def at(self, T: int) -> float:
        """Its value at T."""
        return self.c / whole("T", T, least=1)

    def __str__(self) -> str:
        return f"{self.c:g}/T"


# What each preset changes in the defaults of TrainSpec; `preset` says what each is for.
PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"stall": 100},
    "paper": {"dropout": 0.1, "init": "torch-default"},
    "literal": {"dropout": 0.1, "optimiser": "adam", "decay": "all", "clip": 0.0},
    "mingpt": {"dropout": 0.1},
    "best": {
        "d": 16, "H": 4, "mlp": 64, "init": "torch", "init_std": 0.005, "adam_eps": OverT(1.0), "learning_rate": 1e-2,
        "optimiser": "adam", "decay": "all", "weight_decay": OverT(0.1), "n_steps": 3000,
    },
}  # fmt: skip
# A new learner is a file with a `train.learners.learner.Learner` in it, and a line here.
LEARNERS: Registry[Any] = Registry(
    "learner",
    {
        "transformer": "sparsehead.train.transformer.learner:TRANSFORMER",
        "mlp": "sparsehead.train.learners.mlp:MLP",
        "lstm": "sparsehead.train.learners.lstm:LSTM",
        "logistic": "sparsehead.train.learners.logistic:LOGISTIC",
        "tree": "sparsehead.train.learners.tree:TREE",
        "exhaustive": "sparsehead.train.learners.exhaustive:EXHAUSTIVE",
    },
)
# Types of fields: whole numbers, numbers, and those that may be None.
WHOLE: tuple[Any, ...] = (int, int | None)
REAL: tuple[Any, ...] = (float, float | None)
OPTIONAL: tuple[Any, ...] = (int | None, float | None)
AT_LEAST_ONE = ("T", "m", "d", "H", "k", "L", "check_every", "restarts", "holdout")
OPTIMISERS = ("adamw", "adam", "sgd")
DECAYS = ("matrices", "all")
INITS = ("mingpt", "torch", "torch-default")
# Fields that version 0.1 did not have. They are left out of a spec's id while they have these values, so that the
# ids of earlier specs stay the same.
LATER: dict[str, Any] = {
    "decay": "matrices",
    "adam_eps": 1e-8,
    "init": "mingpt",
    "init_scale": 1.0,
    "positions": "trainable",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainSpec(Short):
    """One trial: a function, its data, and up to `restarts` runs on them. Equal specs are the same experiment.

    The defaults are the settings of preset "mingpt" with dropout 0; `preset` adds what the others differ in.

    Args:
        function: an expression ("x2 & x5"), or a family (and, or, parity, majority, junta) whose support of
            size `s` is drawn from the seed.
        T, s: context length; support size, needed for families only.
        m: training samples, or fresh samples per step when `online`.
        seed: names the streams of support, data, initialisations and dropout.
        p: probability of a one; None balances the labels. noise: share of training labels that are flipped.
        unique: draw training sets again until one s-subset explains them, where the family has that test.
        learner: "transformer", or another learner for comparison: one of LEARNERS.
        d, H, k, L, mlp, norm, residual, bias, scaled, sigma, encoding: see `Architecture`.
        dropout: on embeddings, attention weights and block outputs, as minGPT has it.
        n_steps, check_every: length of a run; validation happens at multiples of check_every.
        restarts: initialisations before the trial counts as failed.
        holdout, target: a check succeeds when its accuracy on `holdout` samples exceeds `target`.
        keep_training: go on to n_steps after success (for curves and attention maps); the verdict stays.
        stall: give a run up when its training loss is below 0.01 and its best validation accuracy has not grown
            for this many steps; 0 never does. Measured on 303 full-length runs of and-3 near the threshold
            (T = 100, 300, 1000): stall = 100 saves 69 % of all steps and gives up 1 of 138 runs that would have
            succeeded.
        optimiser: "adamw" (decay shrinks the weights themselves), "adam" (decay is an L2 penalty, added to the
            gradient) or "sgd" (plain gradient descent, decay as an L2 penalty).
        decay: which weights decay: "matrices" (linear maps only) or "all" (embeddings, positions, biases and gains
            too, as `torch.optim.Adam(model.parameters(), weight_decay=..)` has it).
        learning_rate, beta_1, beta_2, adam_eps, weight_decay: as in torch.optim. warmup: steps over which the rate
            rises linearly. clip: the gradient's norm is cut to this before the optimiser sees it; 0 never cuts.
        init: "mingpt" (linear maps and embeddings N(0, init_std^2), biases 0), "torch" (linear maps and their biases
            uniform on +-1/sqrt(fan_in), embeddings N(0, init_std^2)) or "torch-default" (the same with N(0, 1)
            embeddings). init_scale multiplies the initial linear maps and their biases.
        decoupled: how version 0.1 said optimiser="adamw" (True) or "adam" (False); read from old rows only.
    Paper: law-and
    """

    function: str
    T: int
    m: int
    seed: int
    s: int | None = None
    p: float | None = None
    noise: float = 0.0
    unique: bool = True
    online: bool = False
    learner: str = "transformer"
    d: int = Architecture.d
    H: int = Architecture.H
    k: int = Architecture.k
    L: int = Architecture.L
    mlp: int = Architecture.mlp
    norm: bool = Architecture.norm
    residual: bool = Architecture.residual
    bias: bool = Architecture.bias
    scaled: bool = Architecture.scaled
    sigma: str = Architecture.sigma
    encoding: str = Architecture.encoding
    dropout: float = 0.0
    n_steps: int = 1000
    check_every: int = 10
    restarts: int = 5
    holdout: int = 10_000
    target: float = 0.99
    keep_training: bool = False
    stall: int = 0
    learning_rate: float = 1e-3
    beta_1: float = 0.9
    beta_2: float = 0.999
    weight_decay: float = 1e-4
    clip: float = 1.0
    warmup: int = 0
    init_std: float = 0.02
    optimiser: str = "adamw"
    decay: str = "matrices"
    adam_eps: float = 1e-8
    init: str = "mingpt"
    init_scale: float = 1.0
    positions: str = Architecture.positions
    decoupled: InitVar[bool | None] = None

    def __post_init__(self, decoupled: bool | None) -> None:
        for name, value in check_fields(vars(self)).items():
            object.__setattr__(self, name, value)
        if decoupled is False and self.optimiser == "adamw":
            object.__setattr__(self, "optimiser", "adam")
        if not 0 <= self.dropout < 1:
            raise DomainError(f"dropout is a share, at least 0 and below 1, got {shown(self.dropout)}.")
        if not 0 < self.target < 1:
            raise DomainError(f"target is an accuracy strictly between 0 and 1, got {shown(self.target)}.")
        LEARNERS.check(self.learner)
        for name, offered in (("optimiser", OPTIMISERS), ("decay", DECAYS), ("init", INITS)):
            if getattr(self, name) not in offered:
                raise DomainError(f"{name} is one of {', '.join(offered)}, got {shown(getattr(self, name))}.")
        if not 0 < self.learning_rate < math.inf:
            raise DomainError(
                f"the learning rate must be a finite number > 0, got {shown(self.learning_rate)}."
            )
        if not 0 < self.adam_eps < math.inf:
            raise DomainError(f"Adam's eps must be a finite number > 0, got {shown(self.adam_eps)}.")
        for name in ("clip", "weight_decay", "init_scale", "init_std"):
            if not 0 <= getattr(self, name) < math.inf:
                raise DomainError(f"{name} must be a finite number >= 0, got {shown(getattr(self, name))}.")
        if self.function in FAMILIES and self.s is None:
            raise DomainError(f"the family {self.function!r} needs a support size s, such as 3, got none.")

    @property
    def architecture(self) -> Architecture:
        """The model's shape: the fields of the same names; an encoding may fix d."""
        names = [field.name for field in fields(Architecture) if field.name not in ("d", "eps")]
        d = width_of(self.encoding, T=self.T, d=self.d)
        return Architecture(d=d, **{name: getattr(self, name) for name in names})

    @property
    def allowed_errors(self) -> int:
        """The most errors on the holdout with which accuracy still exceeds the target."""
        most = int(self.holdout * (1 - self.target))
        while most >= 0 and not 1 - most / self.holdout > self.target:
            most -= 1
        return most


KINDS: dict[str, Any] = {field.name: field.type for field in fields(TrainSpec)}


def check_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `TrainSpec` among `given`, each of its type: whole and finite numbers, booleans, texts, None.

    Raises:
        DomainError: a value is of another type, or a number is too small.
    """
    checked = {name: given[name] for name in KINDS if name in given}
    for name, value in checked.items():
        kind = KINDS[name]
        if value is None and kind in OPTIONAL:
            continue
        if kind in WHOLE:
            checked[name] = whole(name, value, least=int(name in AT_LEAST_ONE))
        elif kind in REAL:
            real(name, value)
        else:
            instance(name, value, kind, "see TrainSpec")
    return checked


def preset(name: str, **settings: Any) -> TrainSpec:
    """A spec with the settings of a preset, and `settings` on top; an `OverT` becomes its value at T.   Paper: law-and

    "fast": the defaults of `TrainSpec`, which have no dropout, and runs that have stalled are given up.
    "paper": of 36 readings of the paper's text the one that fits most of its figures (results/readings): dropout 0.1,
        AdamW with decay on matrices only, gradients clipped to norm 1, and PyTorch's default initialisation. It meets
        the paper's thresholds at its 18 context lengths (results/law-matched: 23.7 [19.5, 28.1] samples per ln T, the
        paper 29.65), its training curves (results/curves-paper: 25 of 40 at T = 300, m = 50, the paper 24; 40 of 40
        at m = 200) and its parity (results/parity-settings). Its attention weights are .859, the paper's .996,
        and its success rises more steeply with m than the paper's bars allow: no examined reading has all of these.
    "literal": the text read literally: dropout 0.1, Adam with an L2 penalty of 1e-4 on all parameters
        (`torch.optim.Adam(weight_decay=1e-4)`), gradients not clipped, minGPT's initialisation. It meets the
        thresholds (results/law-literal: 23.9 [17.9, 30.4] per ln T) and the curves (29 of 40 and 40 of 40), but its
        estimates from T = 400 on lie below the paper's, attention is .636, and parity is not learned.
    "mingpt": the text read with minGPT's training loop for what it leaves open: "paper" with minGPT's initialisation.
        Version 0.1 called this reading "paper".
    "best": few samples. A thin model (d = 16, four heads) without dropout, linear maps from PyTorch's default,
        embeddings N(0, 0.005^2), rate 1e-2, Adam's eps 1/T, and an L2 penalty of 0.1/T on all weights. The gradient of
        one position is of the order 1/T. With an eps below it Adam moves all T positions at one speed, those that only
        fit noise too; with an eps above it a position moves in proportion to its gradient, and the few that matter
        lead. The penalty acts on embeddings and positions as well: after the training set is fitted it takes back what
        only fits noise, and runs succeed hundreds of steps later. Found by trials at T = 100 and 1000: of 24 at
        T = 1000, m = 42 (1.2 times the floor for one answer), 20 succeed; of 48 at T = 100, m = 31, 39 with 0.1/T, 31
        with 1e-4.
        results/law-best has the law (1.2 times that floor up to T = 1000, 1.5 at 10^4, 1.9 at 10^5), results/failures
        why runs fail, results/slope the same with one setting changed at a time.
    """
    if name not in PRESETS:
        raise DomainError(f"preset {name!r} is unknown; the presets are {', '.join(PRESETS)}.")
    return TrainSpec(**_at({**PRESETS[name], **settings}, settings.get("T", 1)))


def preset_settings(name: str, T: int) -> dict[str, Any]:
    """What a preset changes in the defaults of `TrainSpec` at context length T.

    >>> preset_settings("best", 1000)["adam_eps"]
    0.001
    """
    return _at(PRESETS[name], T)


def _at(settings: Mapping[str, Any], T: int) -> dict[str, Any]:
    return {key: value.at(T) if isinstance(value, OverT) else value for key, value in settings.items()}


def spec_text(spec: TrainSpec) -> str:
    """The spec as JSON, in the form whose hash is its id; `TrainSpec(**json.loads(text))` reads it."""
    content = {name: v for name, v in asdict(spec).items() if name not in LATER or LATER[name] != v}
    kind = content.pop("optimiser")
    content |= {"optimiser": kind} if kind == "sgd" else {"decoupled": kind == "adamw"}
    return json.dumps(content, sort_keys=True, allow_nan=False)


def full_settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting of a spec that was read from `spec_text`, under its name in `TrainSpec`.

    What `spec_text` leaves out is filled in, `decoupled` becomes `optimiser`, and fields that are not known stay.

    >>> full_settings({"T": 8, "decoupled": False})["optimiser"], full_settings({"T": 8})["init"]
    ('adam', 'mingpt')
    """
    content = {"optimiser": "adamw", **LATER, **stored}
    if content.pop("decoupled", None) is False and content["optimiser"] == "adamw":
        content["optimiser"] = "adam"
    return content


def spec_id(spec: TrainSpec) -> str:
    """Sixteen hex digits naming the spec's contents; the store's primary key."""
    return hashlib.sha256(spec_text(spec).encode()).hexdigest()[:16]


def target_function(spec: TrainSpec) -> SparseFunction:
    """The function to be learned; a family's support comes from stream(seed, "support")."""
    if re.fullmatch(r"[a-z]{2,}", spec.function) and spec.function not in (*FAMILIES, "true", "false"):
        raise DomainError(
            f"there is no family {shown(spec.function)}; the families are {', '.join(FAMILIES)}, or write an "
            "expression such as 'x1 & !x2'."
        )
    if spec.function not in FAMILIES:
        return parse(spec.function, T=spec.T)
    rng = stream(spec.seed, "support")
    assert spec.s is not None  # checked when the spec was made
    return family(spec.function)(random_support(T=spec.T, s=spec.s, rng=rng), spec.T, rng)


def task_of(spec: TrainSpec) -> Task:
    """The task: function, probability of a one, label noise."""
    f = target_function(spec)
    return Task.balanced(f, spec.noise) if spec.p is None else Task(f, spec.p, spec.noise)
