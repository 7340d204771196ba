"""The shape of a model, without its weights and without torch."""

import math
from dataclasses import dataclass, field

from .._base.errors import DomainError
from .._base.fields import about, setting, settings_of
from ..heads.encoding import ENCODINGS

SIGMAS = ("identity", "relu", "gelu", "tanh")  # their order is known to the kernel, which gets an index
OWN, OWN_BAG = "own-", "bag-"  # an encoding given as an object: named by its kind and a hash of its numbers


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The settings of a model that `Architecture` and `TrainSpec` share.

    The defaults are the practical block of the paper's experiments. The theoretical head of definition 3.2 is
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

    def __post_init__(self) -> None:
        kind: type = type(self)
        for name, described in settings_of(kind).items():
            value = getattr(self, name)
            if value is described.default:  # most are, and a sweep makes specs by the thousand
                continue
            value = described.checked(value)
            object.__setattr__(self, name, value)
            if not (
                (name == "encoding" and value.startswith((OWN, OWN_BAG)))
                or (name == "learner" and "@" in value)
            ):
                described.check_choice(value)  # but for what was given as an object
        if self.positions != "trainable" and self.encoding != "trainable":
            raise DomainError(
                f"{self.positions} positions replace those of the trainable encoding; the encoding "
                f"{self.encoding!r} brings its own."
            )


@dataclass(frozen=True, kw_only=True)
class Architecture(Shape):
    """What is trained: the shape of a model at context length T. `eps` is LayerNorm's.   Paper: tf-layer"""

    T: int = field(metadata=about("Model", "Context length.", least=1))
    eps: float = setting(1e-5, "Model", "Added to the variance in LayerNorm.", least=0.0)

    @property
    def temperature(self) -> float:
        """What scores are divided by."""
        return math.sqrt(self.k) if self.scaled else 1.0

    @property
    def trains_encoding(self) -> bool:
        """Whether the vectors of the bit values and [CLS] are trained or stay as given."""
        return self.encoding == "trainable"

    @property
    def trains_positions(self) -> bool:
        """Whether position vectors are trained or stay as given."""
        return self.trains_encoding and self.positions == "trainable"

    @property
    def is_bag(self) -> bool:
        """Whether a zero bit is the zero token (x_t = b_t v_t) rather than E_0 + P_t."""
        given = self.encoding.startswith((OWN, OWN_BAG))
        return self.encoding.startswith(OWN_BAG) if given else ENCODINGS[self.encoding].is_bag


def width_of(encoding: str, *, T: int, d: int) -> int:
    """The width that the encoding of this name has at T, where it fixes one; else d."""
    fixed = ENCODINGS[encoding].width if encoding in ENCODINGS else None
    return d if fixed is None else fixed(T)
