"""What is trained: the shape of a model, without its weights and without torch."""

import math
from dataclasses import dataclass

from .encoding import ENCODINGS
from .errors import DomainError
from .heads import ACTIVATIONS

SIGMAS = tuple(ACTIVATIONS)  # their order is known to the kernel, which gets an index
POSITIONS = ("trainable", "sinusoidal")
OWN, OWN_BAG = "own-", "bag-"  # an encoding given as an object: named by its kind and a hash of its numbers


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """What is trained. The defaults are the practical block of the paper's experiments.

    `mlp` is the width of the MLP (0: none); `scaled` divides scores by sqrt(k). The theoretical head of
    definition 3.2 is norm = residual = bias = scaled = False, mlp = 0, any `sigma`. With positions = "sinusoidal" the
    trainable encoding keeps its positions fixed and trains the bit vectors and [CLS].   Paper: tf-layer
    """

    T: int
    d: int = 64
    H: int = 16
    k: int = 4
    L: int = 1
    mlp: int = 256
    norm: bool = True
    residual: bool = True
    bias: bool = True
    scaled: bool = True
    sigma: str = "identity"
    encoding: str = "trainable"
    positions: str = "trainable"
    eps: float = 1e-5

    def __post_init__(self) -> None:
        if min(self.T, self.d, self.H, self.k, self.L) < 1 or self.mlp < 0:
            raise DomainError(
                f"an architecture needs T, d, H, k, L >= 1 and mlp >= 0, got T={self.T}, d={self.d}, "
                f"H={self.H}, k={self.k}, L={self.L}, mlp={self.mlp}."
            )
        if self.sigma not in SIGMAS:
            raise DomainError(f"sigma is one of {', '.join(SIGMAS)}, got {self.sigma!r}.")
        if not self.encoding.startswith((OWN, OWN_BAG)):
            ENCODINGS.check(self.encoding)
        if self.positions not in POSITIONS:
            raise DomainError(f"positions is one of {', '.join(POSITIONS)}, got {self.positions!r}.")
        if self.positions != "trainable" and self.encoding != "trainable":
            raise DomainError(
                f"{self.positions} positions replace those of the trainable encoding; the encoding "
                f"{self.encoding!r} brings its own."
            )

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
