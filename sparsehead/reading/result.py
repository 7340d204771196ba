"""The result of `read`."""

from dataclasses import asdict, dataclass, field
from typing import Any

from .._base.display import Card, WithChart, clipped
from .._base.frame import Frame
from ..certify.certificate import Certificate, spell_bits
from ..functions import SparseFunction
from .breaking import Breaking
from .evidence import Ablation, Evidence, disagreement
from .occam import OccamBound
from .sampling import Agreement


@dataclass(frozen=True, eq=False, repr=False)
class Reading(WithChart):
    """The function that a model computes, and the evidence for it.

    Args:
        function: the sparse function that the model computes, on all inputs or nearly always; None if it computes none.
        best: the best function found; equal to `function` unless `function` is None.
        agreement: how often model and `best` agree on fresh inputs with Bernoulli(p) bits.
        method: "membership queries" (the model agrees with a junta on all inputs tried) or "sampling" (on most of
            them).
        queries: number of inputs evaluated to find `best`; `query_bound` is the method's maximum for s positions.
        p: share of ones in the random inputs.
        influences: measured influences of the positions that sampling considered.
        proved: True when `verify` proved that model and `best` agree on all 2^T inputs.
        proof: the result of `verify`; None for a Python function of bits, and if no function was read.
        certificate: the Occam bound; None without labelled examples, or if they are not independent.
        evidence: attention, influence and flips by position.
        breaking: smallest set found of flips at irrelevant positions that change a prediction; None if the function is
            proved or no set was searched for.
        ablation: which head carries which position; None for deep models and Python functions.
        notes: one sentence on each bound that the examples do not support.
    """

    _CHART = "figures.attention:reading_chart"

    function: SparseFunction | None
    best: SparseFunction
    agreement: Agreement
    method: str
    queries: int
    query_bound: int
    p: float
    influences: dict[int, float]
    proved: bool = False
    proof: Certificate | None = None
    certificate: OccamBound | None = None
    evidence: dict[int, Evidence] = field(default_factory=dict)
    breaking: Breaking | None = None
    ablation: Ablation | None = None
    notes: tuple[str, ...] = ()

    @property
    def support(self) -> tuple[int, ...]:
        """The positions of `best`."""
        return self.best.support

    @property
    def formula(self) -> str | None:
        """The shortest formula found for `function`, in the syntax of `parse`; None if `function` is None."""
        return None if self.function is None else str(self.function)

    @property
    def verdict(self) -> str:
        """One sentence: the function that the model computes, and the evidence for it."""
        a = self.agreement
        share = (
            f"{a.value:.2%} of inputs [{a.low:.2%}, {a.high:.2%}], n = {a.n}, bits 1 with p = {self.p:.4g}"
        )
        if self.function is None:
            best = clipped(str(self.best), 120)
            return f"computes no function of few positions: the best one found, {best}, agrees on {share}."
        if self.proved:
            return f"computes {clipped(str(self.function), 160)}, proved on all 2^{self.function.T} inputs."
        mostly = None if self.proof is None or self.proof.share is None else self.proof.mostly
        if mostly is not None and self.proof is not None and self.proof.share < 1 - a.low:  # type: ignore[operator]
            limits = "" if self.proof.counterexample is None else f"; {self._limits()}"
            return f"computes {clipped(str(self.function), 160)} {mostly}{limits}."
        return f"computes {clipped(str(self.function), 160)} on {share}; {self._limits()}."

    def _limits(self) -> str:
        """Say why the function is not proved; name the input on which it differs from the model, if one was found."""
        wrong = None if self.proof is None else self.proof.counterexample
        if wrong is None:
            return "not proved"
        spelled, value = clipped(spell_bits(wrong), 120), int(self.best(wrong))
        return f"not on all inputs: on {spelled} the function is {value} and the model answers otherwise"

    def __repr__(self) -> str:
        return f"<Reading: {self.verdict}>"

    def to_frame(self) -> Frame:
        """Return the evidence as a table with one row for each position, the support first."""
        order = sorted(self.evidence, key=lambda t: (t not in self.support, t))
        rows = [{"position": t, "in_support": t in self.support, **asdict(self.evidence[t])} for t in order]
        return Frame(rows, ("position", "in_support", "attention", "influence", "flips"))

    def _card(self) -> Card:
        facts = {"found by": self.method, "inputs asked": self.queries, "share of ones": self.p}
        if self.certificate is not None:
            facts["error of the function at most"] = self.certificate.bound
            facts["error of the model at most"] = self.certificate.model_bound
            facts["assumed"] = self.certificate.assumed
        return Card("Reading", [f"The model {self.verdict}", *self.notes], facts, self.to_frame())

    def to_dict(self) -> dict[str, Any]:
        """Return the reading as JSON values."""
        f = self.function
        return {
            "function": self.formula,
            "best": str(self.best),
            "T": self.best.T,
            "support": list(self.support),
            "table": None if f is None else list(f.table),
            "s": None if f is None else f.s,
            "agreement": asdict(self.agreement),
            "proved": self.proved,
            "share": None if self.proof is None else self.proof.share,
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "evidence": {str(t): asdict(e) for t, e in self.evidence.items()},
            "disagreement": disagreement(self.evidence, self.support),
            "breaking": None if self.breaking is None else self.breaking.to_dict(),
            "ablation": None if self.ablation is None else self.ablation.to_dict(),
            "method": self.method,
            "queries": self.queries,
            "query_bound": self.query_bound,
            "p": self.p,
            "notes": list(self.notes),
        }
