"""The shape of a model, without its weights and without torch."""

import math
from dataclasses import dataclass, field

from .._base.errors import DomainError
from .._base.fields import about, setting, settings_of
from ..heads.encoding import ENCODINGS

MARKERS = 2  # coordinates of a gated model that say which bit a token has; positions have the others
SIGMAS = ("identity", "relu", "gelu", "tanh")  # the kernel gets an index: keep the order
OWN, OWN_BAG = "own-", "bag-"  # prefixes of names of user-defined encodings; a hash of the numbers follows


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The settings of a model that `Architecture` and `TrainSpec` share.

    The defaults are those of the block in the paper's experiments. The theoretical head of definition 3.2 has
    norm = residual = bias = scaled = False, mlp = 0, any `sigma`.   Paper: tf-layer
    """

    d: int = setting(64, "Model", "Embedding width; an encoding may fix it.", least=1)
    H: int = setting(16, "Model", "Heads per layer.", option="--heads", least=1)
    k: int = setting(4, "Model", "Width inside a head.", least=1)
    L: int = setting(1, "Model", "Layers.", option="--layers", least=1)
    mlp: int = setting(256, "Model", "Width of the MLP; 0 for none.")
    norm: bool = setting(True, "Model", "LayerNorm before attention, the MLP and the output.")
    residual: bool = setting(True, "Model", "Residual connections.")
    bias: bool = setting(True, "Model", "Biases in the linear maps of attention.")
    scaled: bool = setting(True, "Model", "Divide scores by sqrt(k).")
    sigma: str = setting("identity", "Model", "Applied to the mixed values of a head.", choices=SIGMAS)
    encoding: str = setting(
        "trainable", "Model", "How a bit and its position become a token.", choices=ENCODINGS
    )
    positions: str = setting(
        "trainable", "Model", "Positions of the trainable encoding: trained, or fixed sine waves.",
        choices=("trainable", "sinusoidal"),
    )  # fmt: skip
    gate: str = setting(
        "none", "Model", "Bits whose positions a head attends to: all, zeros, ones, or half of the heads each.",
        choices=("none", "zeros", "ones", "both"),
    )  # fmt: skip

    def __post_init__(self) -> None:
        kind: type = type(self)
        for name, described in settings_of(kind).items():
            value = getattr(self, name)
            if value is described.default:  # skips most checks: a sweep makes thousands of specs
                continue
            value = described.checked(value)
            object.__setattr__(self, name, value)
            if not (
                (name == "encoding" and value.startswith((OWN, OWN_BAG)))
                or (name == "learner" and "@" in value)
            ):
                described.check_choice(value)  # not for an encoding that was given as an object
        if self.positions != "trainable" and self.encoding != "trainable":
            raise DomainError(
                f"{self.positions} positions replace those of the trainable encoding; the encoding "
                f"{self.encoding!r} has fixed ones."
            )
        if self.gate != "none":
            self._check_gated()

    def _check_gated(self) -> None:
        """Raise a DomainError unless the model is one layer with trained encoding and positions and d > MARKERS."""
        wants: dict[str, object] = {"L": 1, "encoding": "trainable", "positions": "trainable"}
        for name, value in wants.items():
            if getattr(self, name) != value:
                raise DomainError(f"gate={self.gate!r} needs {name}={value!r}, got {getattr(self, name)!r}.")
        if self.d <= MARKERS:
            raise DomainError(f"gate={self.gate!r} needs d >= {MARKERS + 1}, got d={self.d}.")


@dataclass(frozen=True, kw_only=True)
class Architecture(Shape):
    """The shape of a model at context length T. `eps` is LayerNorm's constant.   Paper: tf-layer"""

    T: int = field(metadata=about("Model", "Context length.", least=1))
    eps: float = setting(1e-5, "Model", "Added to the variance in LayerNorm.", least=0.0)

    @property
    def temperature(self) -> float:
        """The number by which scores are divided."""
        return math.sqrt(self.k) if self.scaled else 1.0

    @property
    def trains_encoding(self) -> bool:
        """Return whether the vectors of the bit values and of [CLS] are trained."""
        return self.encoding == "trainable"

    @property
    def trains_positions(self) -> bool:
        """Return whether the position vectors are trained."""
        return self.trains_encoding and self.positions == "trainable"

    @property
    def is_gated(self) -> bool:
        """Return whether a head attends to the positions of one bit value only."""
        return self.gate != "none"

    @property
    def zero_heads(self) -> int:
        """The number of gated heads that attend to zeros; they come first, and the others attend to ones."""
        return {"zeros": self.H, "both": (self.H + 1) // 2}.get(self.gate, 0)

    @property
    def is_bag(self) -> bool:
        """Return whether tokens are x_t = b_t v_t, with the zero vector for a zero bit, instead of x_t = E_{b_t}
        + P_t.
        """
        given = self.encoding.startswith((OWN, OWN_BAG))
        return self.encoding.startswith(OWN_BAG) if given else ENCODINGS[self.encoding].is_bag


def width_of(encoding: str, *, T: int, d: int) -> int:
    """Return the width that the encoding of this name fixes at T, or d if it fixes none."""
    fixed = ENCODINGS[encoding].width if encoding in ENCODINGS else None
    return d if fixed is None else fixed(T)
