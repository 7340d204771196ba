"""`TrainSpec`: all settings that determine the result of a trial, and none about where it runs.

The metadata of each field describes it completely (`fields.Setting`). Checks, options of `learn` and `law`, the lab's
forms and the keyword types of `train.keywords` are made from it (SETTINGS).
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
    """A setting that decreases with the context length: c/T."""

    c: float

    def at(self, T: int) -> float:
        """The value at T."""
        return self.c / whole("T", T, least=1)

    def __str__(self) -> str:
        return f"{self.c:g}/T"


# The changes of each preset to the defaults of TrainSpec; `preset` explains them.
PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"stall": 100},
    "paper": {"dropout": 0.1, "init": "torch-default"},
    "literal": {"dropout": 0.1, "optimiser": "adam", "decay": "all", "clip": 0.0},
    "mingpt": {"dropout": 0.1},
    "best": {
        "d": 16, "H": 4, "mlp": 64, "init": "torch", "init_std": 0.005, "adam_eps": OverT(1.0), "learning_rate": 1e-2,
        "optimiser": "adam", "decay": "all", "weight_decay": OverT(0.1), "n_steps": 3000,
    },
    "gated": {
        "d": 16, "H": 4, "mlp": 64, "gate": "both", "signs": "rising", "init": "torch", "init_std": 0.005,
        "adam_eps": OverT(1.0), "learning_rate": 1e-2, "position_rate": 300.0, "readout_rate": 0.03,
        "optimiser": "adam", "decay": "all", "weight_decay": OverT(0.03),
    },
}  # fmt: skip
# To add a learner, write a file with a `train.learners.learner.Learner`, and add a line here.
LEARNERS: Registry[Any] = Registry(
    "learner",
    {
        "transformer": "sparsehead.train.transformer.engines:TRANSFORMER",
        "mlp": "sparsehead.train.learners.networks:MLP",
        "lstm": "sparsehead.train.learners.networks:LSTM",
        "logistic": "sparsehead.train.learners.scikit:LOGISTIC",
        "tree": "sparsehead.train.learners.scikit:TREE",
        "exhaustive": "sparsehead.train.learners.exhaustive:EXHAUSTIVE",
        "comp": "sparsehead.train.learners.group_tests:COMP",
        "dd": "sparsehead.train.learners.group_tests:DD",
        "scomp": "sparsehead.train.learners.group_tests:SCOMP",
        "greedy": "sparsehead.train.learners.covariance:GREEDY",
        "one-step": "sparsehead.train.learners.covariance:ONE_STEP",
        "lp": "sparsehead.train.learners.lp:LP",
    },
)
# The kernel gets an index: keep the order.
OPTIMISERS = ("adamw", "adam", "sgd")
DECAYS = ("matrices", "all")
INITS = ("mingpt", "torch", "torch-default")


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainSpec(ShortRepr, Shape):
    """One trial: a function, its data, and up to `restarts` runs on them. Equal specs are the same experiment.

    The defaults are the settings of preset "mingpt" with dropout 0; `preset` describes the others. Settings that need
    more than their help text:

    function: for a family, the support of size `s` is drawn from the seed.
    unique: redraw the training set until exactly one set of s positions explains it; only for families for which this
    can be tested.
    dropout: as in minGPT, on embeddings, attention weights and block outputs.
    restarts: the trial succeeds if one of its initialisations does; later ones are not tried. A check succeeds if its
        accuracy on `holdout` samples exceeds `target`. keep_training continues after success, for curves and attention.
    stall: end a run if its training loss is below 0.01 and its best validation accuracy has not grown for so many
        steps. Measured on 303 full-length runs of and-3 near the threshold (T = 100, 300, 1000): stall = 100 saves
        69 % of all steps and ends 1 of 138 runs that would have succeeded.
    least_lean: the lean is the mean correlation of bit and label on the training set, positions weighted by attention,
        minus the unweighted mean (`train.lean`). A check ends a run whose training loss is below 0.01 and whose lean is
        below least_lean/1000 times the number of steps since the loss was first below 0.01. The rule applies to models
        of one layer and functions that rise with every bit, such as AND. results/README states how many steps 0.02
        saves.
    optimiser, decay: "adamw" shrinks the weights themselves; "adam" and "sgd" (plain gradient descent) add an L2
        penalty to the gradient. "matrices" are the linear maps; "all" adds embeddings, positions, biases and gains, as
        in `torch.optim.Adam(model.parameters(), weight_decay=..)`.
    init: "mingpt": linear maps and embeddings N(0, init_std^2), biases 0; "torch": linear maps and their biases uniform
        on +-1/sqrt(fan_in), embeddings N(0, init_std^2); "torch-default": the same with N(0, 1) embeddings.
    gate: a head attends to [CLS] and to the positions of zeros, or of ones ("both": half of the heads each); positions
        enter keys alone. `train.transformer.gated` has the definition.
    position_rate, readout_rate: factors of the learning rate: position_rate that of positions; readout_rate that of
        values, W_C, MLP, later norms and output. Queries, keys, bit vectors and [CLS] have learning_rate itself.
    signs: "rising" starts every head of a gated model so that ones raise the output, which suits AND and OR;
        "falling" suits AND and OR of negated bits; "random" keeps the random signs.
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
    position_rate: float = setting(1.0, "Training", "Multiplies the learning rate of positions.", above=0.0)
    readout_rate: float = setting(
        1.0,
        "Training",
        "Multiplies the learning rate of values and of what follows the attention.",
        above=0.0,
    )
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
    signs: str = setting(
        "random",
        "Training",
        "Whether ones raise or lower the output of a gated model at the start.",
        choices=("random", "rising", "falling"),
    )
    cls_share: float = setting(
        0.5, "Training", "Attention on [CLS] in a gated model at the start.", above=0.0, below=1.0
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
    least_lean: float = setting(
        0.0,
        "Protocol",
        "Give a fitted run up if its lean is below this per 1000 steps; 0 never.",
        least=0.0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.function in FAMILIES and self.s is None:
            raise DomainError(f"the family {self.function!r} needs a support size s, such as 3, got none.")
        if self.inputs is not None and self.p is not None:
            raise DomainError(
                f"inputs={self.inputs!r} and p={self.p} both say how bits are drawn; give one of them."
            )
        if self.gate == "none" and self.signs != "random":
            raise DomainError(f"signs={self.signs!r} needs a gate: zeros, ones or both; got 'none'.")
        if self.gate != "none" and self.dropout:
            raise DomainError(f"gate={self.gate!r} needs dropout=0, got {self.dropout}.")

    @property
    def architecture(self) -> Architecture:
        """The model's shape, from the fields of the same names; an encoding may fix d."""
        shape = {field.name: getattr(self, field.name) for field in fields(Shape)}
        return Architecture(T=self.T, **shape | {"d": width_of(self.encoding, T=self.T, d=self.d)})

    @property
    def allowed_errors(self) -> int:
        """The largest number of errors on the holdout with which the accuracy still exceeds the target."""
        most = int(self.holdout * (1 - self.target))
        while most >= 0 and not 1 - most / self.holdout > self.target:
            most -= 1
        return most


SETTINGS = settings_of(TrainSpec)
# Settings that version 0.2 did not have, with the values that describe its trials.
LATER: dict[str, Any] = {
    "feature_noise": 0.0, "inputs": None, "gate": "none", "position_rate": 1.0, "readout_rate": 1.0,
    "signs": "random", "cls_share": 0.5, "least_lean": 0.0,
}  # fmt: skip


def check_types(given: Mapping[str, Any]) -> None:
    """Raise a DomainError if a setting among `given` has the wrong type or is out of range; other names are ignored."""
    for name, described in SETTINGS.items():
        if name in given:
            described.checked(given[name])


def preset(name: str, **settings: Any) -> TrainSpec:
    """Return a spec with the settings of a preset, changed by `settings`; an `OverT` becomes its value at T.

    "fast": the defaults of `TrainSpec`, without dropout; runs that have stalled are ended.
    "paper": of 36 interpretations of the paper's text, the one that fits most of its figures (results/readings):
        dropout 0.1, AdamW with decay on matrices only, gradients clipped to norm 1, PyTorch's default initialisation.
        It reproduces the paper's thresholds at 18 context lengths (results/law-matched: 23.7 [19.5, 28.1] samples per
        ln T, the paper 29.65), its training curves (results/curves-paper: 25 of 40 at T = 300, m = 50, the paper 24;
        40 of 40 at m = 200) and its parity (results/parity-settings). But its attention weights are .859 (the paper's
        .996), and its success rises more steeply with m than the paper's bars allow. No interpretation reproduces all.
    "literal": the paper's text taken literally: dropout 0.1, Adam with an L2 penalty of 1e-4 on all parameters
        (`torch.optim.Adam(weight_decay=1e-4)`), gradients not clipped, minGPT's initialisation. It reproduces
        thresholds and curves (results/law-literal), but its estimates from T = 400 on are below the paper's, attention
        is .636, and parity is not learned.
    "mingpt": "paper" with minGPT's initialisation: settings that the paper's text leaves open are those of minGPT's
    training loop. "best": needs few samples. A small model (d = 16, four heads) without dropout, PyTorch's default for
    linear maps,
        embeddings N(0, 0.005^2), rate 1e-2, Adam's eps 1/T, and an L2 penalty of 0.1/T on all weights. The gradient at
        one position is of order 1/T. With a smaller eps Adam would move all T positions at the same speed, even those
        that only fit noise; with this eps a position moves in proportion to its gradient, so the few relevant ones move
        fastest. The penalty also acts on embeddings and positions: after the training set is fitted it shrinks weights
        that only fit noise, and runs then succeed hundreds of steps later. results/law-best has the law (m_80 is 1.2
        times the floor for one answer up to T = 1000, 1.5 times at 10^4, 1.9 times at 10^5), results/failures explains
        why runs fail, results/slope has the law with one setting changed at a time.
    "gated": needs fewer samples than "best" for AND, and for OR, its mirror image. Two heads attend to positions with
        bit 0 and two to positions with bit 1; each also attends to [CLS], which starts with half of the attention. The
        heads' signs start so that ones raise the output. Position vectors enter only the keys. Relative to queries and
        keys, positions learn at 300 times the rate and all weights after the attention at 0.03 times the rate, so that
        attention selects positions before the read-out fits noise. Adam's eps is 1/T as in "best", the penalty 0.03/T.
        These settings were chosen on single runs of AND of 3, and solve 69 of 96 such runs at T = 100, m = 30 and 78 of
        96 at T = 1000, m = 42. Majority of 3 needs more samples than with "best": at T = 40, m = 80 this preset solves
        2 of 6 single runs ("best" 6 of 6), at m = 120 5 of 6.
    Paper: law-and
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
    """Return the changes of a preset to the defaults of `TrainSpec` at context length T.

    >>> preset_settings("best", 1000)["adam_eps"]
    0.001
    """
    return _at(PRESETS[name], T)


def _at(settings: Mapping[str, Any], T: int) -> dict[str, Any]:
    return {key: value.at(T) if isinstance(value, OverT) else value for key, value in settings.items()}


def spec_text(spec: TrainSpec) -> str:
    """Write the spec as JSON, in the form whose hash is its id; `TrainSpec(**json.loads(text))` reads it.

    Settings that version 0.2 did not have are left out if equal to the default, so that older trials keep their ids.
    """
    values = {name: value for name, value in asdict(spec).items() if LATER.get(name, MISSING) != value}
    return json.dumps(values, sort_keys=True, allow_nan=False)


def spec_id(spec: TrainSpec) -> str:
    """Return sixteen hex digits, a hash of the spec's contents."""
    return hashlib.sha256(spec_text(spec).encode()).hexdigest()[:16]


def target_function(spec: TrainSpec) -> SparseFunction:
    """Return the function to be learned; a family's support comes from stream(seed, "support")."""
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
    """Return the task: function, distribution of the inputs, noise of labels and bits."""
    f = target_function(spec)
    if spec.inputs is None:
        return Task(f, balancing_p(f) if spec.p is None else spec.p, spec.noise, spec.feature_noise)
    drawn = read_inputs(spec.inputs, spec.T)
    if isinstance(drawn, tuple):
        return Task(f, drawn, spec.noise, spec.feature_noise)
    return Task(f, None, spec.noise, spec.feature_noise, drawn)


def task_settings(task: Task) -> dict[str, Any]:
    """Return the settings of a spec for this task. If the task has a sampler that cannot be imported, the spec can be
    used only in this process.
    """
    noise = {"noise": task.noise, "feature_noise": task.feature_noise}
    return {"function": str(task.f), "T": task.f.T, "p": task.shared_p, "inputs": task.inputs, **noise}
