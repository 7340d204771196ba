"""`Certificate`, the result of `verify`, and `Proof`, from which it is made."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._base.display import Card, WithCard, clipped
from .._base.errors import DomainError
from .._base.files import check_target, write_whole
from .._base.frame import Frame
from .._base.types import Array, Shaped
from ..functions import SparseFunction
from ..heads.model import Model
from ..heads.model_file import packed
from .certificate_file import certificate_content
from .coq import check_module_name, theorem_content

TOLERANCE = 1e-9  # largest |output - f| of a model that is called exact
EXACT_MEANS = (
    "exact: |output - f| <= 1e-9 on every input, proved for the model in exact arithmetic and for its float64 "
    "evaluation, rounding included"
)


@dataclass(frozen=True, eq=False)
class Proof:
    """Bounds that a method has proved over all 2^T inputs; NaN or infinite if it has proved nothing.

    Args:
        max_error: an upper bound of |output - f|, for the outputs in exact arithmetic and in float64.
        rounding: the part of max_error that allows for rounding.
        margin: a lower bound of the signed distance of an output from the threshold.
        method, note: as in `Certificate`.
        inputs: inputs that are likely to attain max_error or the margin.
        complete: whether the worst of all 2^T inputs is certainly among `inputs`.
    """

    max_error: float
    rounding: float
    margin: float
    method: str
    note: str
    inputs: Shaped[Array, "n T"]
    complete: bool = False

    @property
    def holds(self) -> bool:
        """Return whether the bounds imply that every prediction is right; False for NaN."""
        return bool(self.margin > 0 and self.max_error < math.inf)


@dataclass(frozen=True, eq=False)
class Certificate(WithCard):
    """A proved statement about all 2^T inputs, or a counterexample, or neither.

    Args:
        max_error: an upper bound of |output - f| over all inputs, for the model in exact arithmetic and for its
            float64 evaluation; infinite if nothing is proved.
        rounding: the part of max_error that allows for float64 rounding.
        exact: whether max_error <= 1e-9.
        correct: True: the model predicts f on every input, in exact arithmetic and in float64. False: its float64
            evaluation does not, or is not finite, see `counterexample`. None: undecided.
        margin: a lower bound of the distance of an output from the model's threshold, negative on the wrong side;
            if there is a counterexample, the distance of the counterexample's output.
        leakage: the largest attention outside f's support ([CLS] counts as outside), over all inputs and heads.
        gap: if one scalar is decoded, the distance between its values for f = 0 and f = 1; else None. `leakage` and
            `gap` are float64 numbers without a bound on their rounding; no proof uses them.
        method: "exhaustive", "scalar" (bounds on the one scalar that determines the head's mix of values), "affine"
            (ReLU network on a box or zonotope), "interval", "branches" (linear bounds, bits split), or "search" (no
            proof).
        attained: whether `worst_input` attains max_error, up to 1e-9.
        seen_error: |output - f| at `worst_input`, in float64.
        worst_input: the worst input that was tried.
        counterexample: an input whose prediction is wrong, or whose output is not a finite number.
        note: one sentence on the method of proof.
        subject: the model, or the path of its file, and the function; `save` needs them.
        share: a proved upper bound of the probability of an input on which model and f differ, if bits are independent
            and 1 with probability `p`; 0 if all inputs are proved, None if no p was given.
        p: as given: one number, or one for each position.
    """

    max_error: float
    rounding: float
    exact: bool
    correct: bool | None
    margin: float
    leakage: float
    gap: float | None
    method: str
    attained: bool
    seen_error: float
    worst_input: Shaped[Array, " T"] | None
    counterexample: Shaped[Array, " T"] | None
    note: str
    subject: tuple[Model | Path, SparseFunction] | None = None
    share: float | None = None
    p: float | tuple[float, ...] | None = None

    @property
    def decided(self) -> bool:
        return self.correct is not None

    @property
    def verdict(self) -> str:
        """One sentence: proved, refuted or undecided."""
        mostly = self.mostly
        if self.correct is None:
            return (
                f"undecided, {self.note.removeprefix('undecided: ')}"
                if mostly is None
                else f"computes f {mostly}"
            )
        if not self.correct:
            wrong = self._refuted()
            return wrong if mostly is None else f"computes f {mostly}; {wrong}"
        return (
            f"{'exact' if self.exact else 'correct'} on all inputs, |output - f| <= {self.max_error:.2g} of which "
            f"{self.rounding:.2g} for rounding, margin {self.margin:.4g}"
        )

    @property
    def mostly(self) -> str | None:
        """A phrase such as "on all but 3e-10 of inputs (p = 0.794), proved"; None if no share below 1 is proved."""
        if self.share is None or self.correct or not self.share < 1:
            return None
        p = f"p = {self.p:.4g}" if isinstance(self.p, float) else "p by position"
        return f"on all but {rounded_up(self.share)} of inputs ({p}), proved"

    def _refuted(self) -> str:
        """Describe the counterexample, with the bits that f reads and the value of f."""
        assert self.counterexample is not None
        wrong = f"wrong on {clipped(spell_bits(self.counterexample), 120)}"
        if self.subject is None:
            return wrong
        f = self.subject[1]
        read = ", ".join(f"x{t} = {int(self.counterexample[t])}" for t in f.support)
        return f"{wrong}: f is {int(f(self.counterexample))} there" + (f" ({read})" if read else "")

    def __repr__(self) -> str:
        means = f" ({EXACT_MEANS})" if self.exact else ""
        return f"<Certificate by {self.method}: {clipped(self.verdict, 200)}{means}>"

    def _card(self) -> Card:
        plain = self.to_dict()
        names = (
            "max_error",
            "rounding",
            "margin",
            "leakage",
            "gap",
            "method",
            "counterexample",
            "share",
            "note",
        )
        facts = {name: plain[name] for name in names if plain[name] is not None}
        return Card("Certificate", [self.verdict, *([EXACT_MEANS] if self.exact else [])], facts)

    def to_dict(self) -> dict[str, Any]:
        """The certificate as JSON values; long inputs are run-length coded."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "subject"}
        for name in ("worst_input", "counterexample"):
            plain[name] = None if plain[name] is None else spell_bits(plain[name])
        plain = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in plain.items()}
        return {**plain, "decided": self.decided}

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the proof to a file, which `sparsehead check`, check.py and the lab's page Check can check.

        The file contains a hash of the model file: the one that `verify` was given, or the one that `sh.save` would
        write. Its claim is about exact arithmetic; float64 rounding is not part of it.

        Raises:
            DomainError: nothing is proved, or the checker does not support models of this kind
                (docs/howto/certificates.md lists those it supports).

        >>> from tempfile import TemporaryDirectory
        >>> from sparsehead import build, verify
        >>> with TemporaryDirectory() as folder:
        ...     verify(build("x2 & x5", T=30), "x2 & x5").save(f"{folder}/head.cert.json").name
        'head.cert.json'
        """
        check_target(path, force=force)
        content = certificate_content(*self._proved_subject("certificate file"))
        return write_whole(path, json.dumps(content).encode(), force=force)

    def save_coq(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the proof as a theorem for the proof assistant Coq 8.16, which checks it with the folder proofs/.

        Raises:
            DomainError: nothing is proved, or the model is too large or of a kind that the folder proofs/ does not know
                (docs/proofs.md).

        >>> from tempfile import TemporaryDirectory
        >>> from sparsehead import build, verify
        >>> with TemporaryDirectory() as folder:
        ...     verify(build("x2 & x5", T=30), "x2 & x5").save_coq(f"{folder}/head.v").name
        'head.v'
        """
        check_target(path, force=force)
        check_module_name(path)
        return write_whole(path, theorem_content(*self._proved_subject("file for Coq")).encode(), force=force)

    def _proved_subject(self, what: str) -> tuple[bytes, SparseFunction]:
        """Return the bytes of the model's file, and f; raise an error unless it is proved that the model computes f."""
        if self.subject is None:
            raise DomainError(
                f"no {what}: it can be written for a Model, not for a network that was only run."
            )
        if not self.correct:
            raise DomainError(f"no {what}: nothing is proved, the model is {clipped(self.verdict, 120)}.")
        model, f = self.subject
        return packed(model) if isinstance(model, Model) else model.read_bytes(), f

    def to_frame(self) -> Frame:
        """`to_dict` as a table with one row."""
        return Frame([self.to_dict()])


def rounded_up(share: float) -> str:
    """Write a share with two digits, rounded up.

    >>> rounded_up(3.01e-10), rounded_up(0.5)
    ('3.1e-10', '0.5')
    """
    unit = 10.0 ** (math.floor(math.log10(share)) - 1) if share > 0 else 1.0
    text = f"{math.ceil(share / unit) * unit:.2g}"
    return text if float(text) >= share else f"{float(text) + unit:.2g}"


def spell_bits(bits: Shaped[Array, " T"]) -> str:
    """Write bits as "01101" up to 64 bits, as run lengths such as "0*500 1 0*499" beyond.

    >>> spell_bits(np.array([0] * 70 + [1]))
    '0*70 1'
    """
    if len(bits) <= 64:
        return "".join(str(int(b)) for b in bits)
    ends = np.append(np.flatnonzero(np.diff(bits.astype(np.int64))) + 1, len(bits))
    lengths = np.diff(ends, prepend=0)
    runs = [f"{int(bits[end - 1])}*{n}".removesuffix("*1") for end, n in zip(ends, lengths)]
    return " ".join(runs) if len(runs) <= 64 else " ".join([*runs[:64], "..."])
