"""Frozen specs: everything that decides how a run goes, and nothing about where it runs.

Each field of `TrainSpec` says in its metadata all that others need to know of it (`fields.Setting`). Checks, options of
`learn` and `law`, the lab's forms and the keyword types of `train.keywords` are made from SETTINGS.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

from .._base.arguments import meant, shown, whole
from .._base.display import ShortRepr
from .._base.errors import DomainError
from .._base.fields import about, check_names, setting, settings_of
from .._base.plugins import Registry
from .._base.rng import stream
from ..functions import FAMILIES, SparseFunction, family, parse, random_support
from ..functions.inputs import named_inputs, read_inputs
from ..functions.task import Task, balancing_p
from .architecture import Architecture, Shape, width_of


@dataclass(frozen=True)
class OverT:
    """A setting that falls with the context length: c/T."""

    c: float

    def at(self, T: int) -> float:
        """The value at T."""
        return self.c / whole("T", T, least=1)

    def __str__(self) -> str:
        return f"{self.c:g}/T"


# The changes of each preset to the defaults of TrainSpec; `preset` says what each is for.
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
        "transformer": "sparsehead.train.transformer.engines:TRANSFORMER",
        "mlp": "sparsehead.train.learners.mlp:MLP",
        "lstm": "sparsehead.train.learners.lstm:LSTM",
        "logistic": "sparsehead.train.learners.scikit:LOGISTIC",
        "tree": "sparsehead.train.learners.scikit:TREE",
        "exhaustive": "sparsehead.train.learners.exhaustive:EXHAUSTIVE",
        "comp": "sparsehead.train.learners.comp:COMP",
        "dd": "sparsehead.train.learners.dd:DD",
        "scomp": "sparsehead.train.learners.scomp:SCOMP",
        "greedy": "sparsehead.train.learners.greedy:GREEDY",
        "one-step": "sparsehead.train.learners.one_step:ONE_STEP",
        "lp": "sparsehead.train.learners.lp:LP",
    },
)
# The order of these is known to the kernel, which gets an index.
OPTIMISERS = ("adamw", "adam", "sgd")
DECAYS = ("matrices", "all")
INITS = ("mingpt", "torch", "torch-default")


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainSpec(ShortRepr, Shape):
    """One trial: a function, its data, and up to `restarts` runs on them. Equal specs are the same experiment.

    The defaults are the settings of preset "mingpt" with dropout 0; `preset` adds what the others differ in. Of the
    settings whose help text is not enough:

    function: for a family the support of size `s` is drawn from the seed.
    unique: where the family has a test whether one s-subset alone explains a training set.
    dropout: as minGPT has it, on embeddings, attention weights and block outputs.
    restarts: the trial succeeds with the first initialisation that does. A check succeeds when its accuracy on
        `holdout` samples exceeds `target`; with keep_training the verdict stays, for curves and attention maps.
    stall: a run counts as fitted when its training loss is below 0.01, and has made no progress while its best
        validation accuracy does not grow. Measured on 303 full-length runs of and-3 near the threshold (T = 100, 300,
        1000): stall = 100 saves 69 % of all steps and gives up 1 of 138 runs that would have succeeded.
    optimiser, decay: "adamw" shrinks the weights themselves; "adam" and "sgd" (plain gradient descent) add an L2
        penalty to the gradient. "matrices" are the linear maps; "all" adds embeddings, positions, biases and gains, as
        `torch.optim.Adam(model.parameters(), weight_decay=..)` has it.
    init: "mingpt": linear maps and embeddings N(0, init_std^2), biases 0; "torch": linear maps and their biases uniform
        on +-1/sqrt(fan_in), embeddings N(0, init_std^2); "torch-default": the same with N(0, 1) embeddings.
    Paper: law-and
    """

    function: str = field(metadata=about("Task", "A family, or an expression such as 'x5 & x20'."))
    T: int = field(metadata=about("Task", "Context length.", least=1))
    m: int = field(metadata=about("Task", "Training samples; with online, fresh ones per step.", least=1))
    seed: int = field(
        metadata=about("Task", "Names the streams of support, data, initialisations and dropout.")
    )
    s: int | None = setting(None, "Task", "Relevant positions; needed for a family.")
    p: float | None = setting(
        None, "Task", "Probability of a one; labels are balanced by default.", above=0.0, below=1.0
    )
    noise: float = setting(0.0, "Task", "Share of training labels that are flipped.", least=0.0, most=0.5)
    feature_noise: float = setting(
        0.0,
        "Task",
        "Share of training bits that are flipped, after the label was made.",
        least=0.0,
        below=0.5,
    )
    inputs: str | None = setting(
        None,
        "Task",
        "p:0.9,0.5 for each position, repeated up to T; or package.module:sampler.",
    )
    unique: bool = setting(True, "Task", "Draw training sets again until one support explains them.")
    online: bool = setting(False, "Task", "Fresh samples at every step.")
    learner: str = setting("transformer", "Model", "What is trained.", choices=LEARNERS)
    dropout: float = setting(0.0, "Training", "Share that is dropped.", least=0.0, below=1.0)
    optimiser: str = setting(
        "adamw", "Training", "adamw, adam (decay as L2 penalty) or sgd.", choices=OPTIMISERS
    )
    learning_rate: float = setting(1e-3, "Training", "Step size.", above=0.0)
    warmup: int = setting(0, "Training", "Steps over which the learning rate rises linearly.")
    beta_1: float = setting(0.9, "Training", "Adam's average of gradients.", least=0.0, below=1.0)
    beta_2: float = setting(0.999, "Training", "Adam's average of squared gradients.", least=0.0, below=1.0)
    adam_eps: float = setting(1e-8, "Training", "Adam's eps.", option="--eps", above=0.0)
    weight_decay: float = setting(1e-4, "Training", "Strength of the decay.", least=0.0)
    decay: str = setting("matrices", "Training", "What decays.", choices=DECAYS)
    clip: float = setting(1.0, "Training", "Largest norm of a gradient; 0 never clips.", least=0.0)
    init: str = setting("mingpt", "Training", "How weights begin.", choices=INITS)
    init_std: float = setting(0.02, "Training", "Standard deviation of initial embeddings.", least=0.0)
    init_scale: float = setting(
        1.0, "Training", "Multiplies the initial linear maps and their biases.", least=0.0
    )
    n_steps: int = setting(1000, "Protocol", "Steps per restart.", option="--steps")
    check_every: int = setting(10, "Protocol", "Steps between looks at the validation accuracy.", least=1)
    restarts: int = setting(5, "Protocol", "Initialisations before a trial counts as failed.", least=1)
    holdout: int = setting(10_000, "Protocol", "Validation samples.", least=1)
    target: float = setting(
        0.99, "Protocol", "Validation accuracy that counts as learned.", above=0.0, below=1.0
    )
    keep_training: bool = setting(False, "Protocol", "Go on to the last step after success.")
    stall: int = setting(0, "Protocol", "Give a fitted run up after so many steps without progress; 0 never.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.function in FAMILIES and self.s is None:
            raise DomainError(f"the family {self.function!r} needs a support size s, such as 3, got none.")
        if self.inputs is not None and self.p is not None:
            raise DomainError(
                f"inputs={self.inputs!r} and p={self.p} both say how bits are drawn; give one of them."
            )

    @property
    def architecture(self) -> Architecture:
        """The model's shape: the fields of the same names; an encoding may fix d."""
        shape = {field.name: getattr(self, field.name) for field in fields(Shape)}
        return Architecture(T=self.T, **shape | {"d": width_of(self.encoding, T=self.T, d=self.d)})

    @property
    def allowed_errors(self) -> int:
        """The most errors on the holdout with which accuracy still exceeds the target."""
        most = int(self.holdout * (1 - self.target))
        while most >= 0 and not 1 - most / self.holdout > self.target:
            most -= 1
        return most


SETTINGS = settings_of(TrainSpec)
# Settings that version 0.2 did not have, with the values that its trials had.
LATER: dict[str, Any] = {"feature_noise": 0.0, "inputs": None}


def check_types(given: Mapping[str, Any]) -> None:
    """Raise a DomainError if a setting among `given` has the wrong type or is out of range; other names are ignored."""
    for name, described in SETTINGS.items():
        if name in given:
            described.checked(given[name])


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
        (`torch.optim.Adam(weight_decay=1e-4)`), gradients not clipped, minGPT's initialisation. It meets thresholds and
        curves (results/law-literal), but its estimates from T = 400 on lie below the paper's, attention is .636, and
        parity is not learned.
    "mingpt": the text read with minGPT's training loop for what it leaves open: "paper" with minGPT's initialisation.
    "best": few samples. A thin model (d = 16, four heads) without dropout, linear maps from PyTorch's default,
        embeddings N(0, 0.005^2), rate 1e-2, Adam's eps 1/T, and an L2 penalty of 0.1/T on all weights. The gradient of
        one position is of the order 1/T. With an eps below it Adam moves all T positions at one speed, those that only
        fit noise too; with an eps above it a position moves in proportion to its gradient, and the few that matter
        lead. The penalty acts on embeddings and positions as well: after the training set is fitted it takes back what
        only fits noise, and runs succeed hundreds of steps later. results/law-best has the law (1.2 times the floor for
        one answer up to T = 1000, 1.5 at 10^4, 1.9 at 10^5), results/failures why runs fail, results/slope the law with
        one setting changed at a time.
    """
    if name not in PRESETS:
        raise DomainError(
            f"preset {name!r} is unknown; the presets are {', '.join(PRESETS)}.{meant(name, PRESETS)}"
        )
    check_names(settings, SETTINGS, what="a spec")
    if isinstance(settings.get("inputs"), str):
        settings["inputs"] = named_inputs(settings["inputs"])
    return TrainSpec(**_at({**PRESETS[name], **settings}, settings.get("T", 1)))


def preset_settings(name: str, T: int) -> dict[str, Any]:
    """The changes of a preset to the defaults of `TrainSpec` at context length T.

    >>> preset_settings("best", 1000)["adam_eps"]
    0.001
    """
    return _at(PRESETS[name], T)


def _at(settings: Mapping[str, Any], T: int) -> dict[str, Any]:
    return {key: value.at(T) if isinstance(value, OverT) else value for key, value in settings.items()}


def spec_text(spec: TrainSpec) -> str:
    """The spec as JSON, in the form whose hash is its id; `TrainSpec(**json.loads(text))` reads it.

    Settings that came later are left out at their defaults, so that older trials keep their ids.
    """
    values = {name: value for name, value in asdict(spec).items() if LATER.get(name, MISSING) != value}
    return json.dumps(values, sort_keys=True, allow_nan=False)


def spec_id(spec: TrainSpec) -> str:
    """Sixteen hex digits naming the spec's contents; the store's primary key."""
    return hashlib.sha256(spec_text(spec).encode()).hexdigest()[:16]


def target_function(spec: TrainSpec) -> SparseFunction:
    """The function to be learned; a family's support comes from stream(seed, "support")."""
    if re.fullmatch(r"[a-z]{2,}", spec.function) and spec.function not in (*FAMILIES, "true", "false"):
        raise DomainError(
            f"there is no family {shown(spec.function)}; the families are {', '.join(FAMILIES)}, or write an "
            f"expression such as 'x1 & !x2'.{meant(spec.function, FAMILIES)}"
        )
    if spec.function not in FAMILIES:
        return parse(spec.function, T=spec.T)
    rng = stream(spec.seed, "support")
    assert spec.s is not None  # checked when the spec was made
    return family(spec.function)(random_support(T=spec.T, s=spec.s, rng=rng), spec.T, rng)


def task_of(spec: TrainSpec) -> Task:
    """The task: function, distribution of the inputs, noise of labels and bits."""
    f = target_function(spec)
    if spec.inputs is None:
        return Task(f, balancing_p(f) if spec.p is None else spec.p, spec.noise, spec.feature_noise)
    drawn = read_inputs(spec.inputs, spec.T)
    if isinstance(drawn, tuple):
        return Task(f, drawn, spec.noise, spec.feature_noise)
    return Task(f, None, spec.noise, spec.feature_noise, drawn)


def task_settings(task: Task) -> dict[str, Any]:
    """The settings of a spec whose `task_of` is this task; a sampler that cannot be imported only in this process."""
    noise = {"noise": task.noise, "feature_noise": task.feature_noise}
    return {"function": str(task.f), "T": task.f.T, "p": task.shared_p, "inputs": task.inputs, **noise}
