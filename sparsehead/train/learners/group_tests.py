"""Learners of group testing (COMP, DD, SCOMP): a training set of a conjunction or a disjunction as tests.

Group testing looks for s defective items among T by tests of many items at once; a test is positive iff it contains a
defective item. Here items are positions, defective ones are relevant, and a sample is a test:

    AND of s positions   a position is in the test iff its bit is 0; the test is positive iff the label is 0
    OR of s positions    a position is in the test iff its bit is 1; the test is positive iff the label is 1

The learners know the kind, s, the probability of a one and the rate of label noise; the information floor assumes the
same knowledge. They return a set of positions.

Source: M. Aldridge, O. Johnson, J. Scarlett, Group Testing: An Information Theory Perspective (2019), for the learners
without noise. The docstring of each learner names the source of its form with noise.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._base.errors import DomainError
from ..._base.types import Array, Bool, Int, Shaped
from ...functions import Predict, kind
from ...functions.task import Sample
from ..spec import TrainSpec, task_of
from .learner import Learner
from .named import NamedSet
from .packed import counts, packed


@dataclass(frozen=True)
class GroupTests:
    """m tests of T positions, s of which are defective.

    Args:
        share: probability that a position is in a test.
        inside: [i, t] is 1 iff position t is in test i.
        positive: the outcome of each test; wrong with probability `noise`.
    """

    kind: str
    s: int
    share: float
    noise: float
    inside: Shaped[Array, "m T"]
    positive: Bool[Array, " m"]

    @cached_property
    def columns(self) -> Shaped[Array, "bytes T"]:
        return packed(self.inside)

    def possible(self) -> Int[Array, " n"]:
        """The positions that the negative tests do not exclude.

        Without noise these are the positions in no negative test. With noise, a position in n tests, of which e are
        negative, is kept iff, given n and e, it is more likely defective than not:

            (rho/a)^e ((1-rho)/(1-a))^(n-e) > (T-s)/s,

        where rho is the noise and a the probability that a test is negative. This is a threshold on e/n, as in the
        noisy COMP of Chan, Che, Jaggi and Saligrama (2011), with Bayes' rule in place of their free parameter.
        """
        excluding = counts(self.columns, ~self.positive)
        if not self.noise:
            return np.flatnonzero(excluding == 0)
        member = counts(self.columns, np.ones(len(self.positive), dtype=bool))
        clean = (1 - self.share) ** self.s
        a = clean * (1 - self.noise) + (1 - clean) * self.noise
        evidence = excluding * math.log(self.noise / a)
        evidence += (member - excluding) * math.log((1 - self.noise) / (1 - a))
        T = self.inside.shape[1]
        return np.flatnonzero(evidence > math.log(max(T - self.s, 1) / self.s))

    def explained_by(self, positions: Int[Array, " n"]) -> Shaped[Array, "positives n"]:
        """Return a matrix: entry [i, j] is 1 iff position j of `positions` is in the i-th positive test."""
        return self.inside[np.ix_(self.positive, positions)]

    def answer(self, positions: Int[Array, " n"]) -> NamedSet:
        """Return the conjunction or disjunction of these positions."""
        return NamedSet(self.kind, tuple(sorted(positions.tolist())))


def group_tests(spec: TrainSpec, sample: Sample) -> GroupTests:
    """Turn the sample into tests; raise a DomainError if the function is neither a conjunction nor a disjunction."""
    task = task_of(spec)
    name = kind(task.f)
    if name not in ("and", "or"):
        raise DomainError(
            f"the learner {spec.learner} finds conjunctions and disjunctions; {task.f} is neither. Use greedy or "
            "one-step, which take every function."
        )
    if task.shared_p is None:
        raise DomainError(
            f"the learner {spec.learner} needs bits that share one p; got inputs {spec.inputs}."
        )
    bits, labels = sample
    conjunction = name == "and"
    return GroupTests(
        kind=name,
        s=task.f.s,
        share=1 - task.shared_p if conjunction else task.shared_p,
        noise=task.noise,
        inside=bits ^ 1 if conjunction else bits,
        positive=labels == (0 if conjunction else 1),
    )


def definite(explained: Shaped[Array, "positives n"]) -> Int[Array, " n"]:
    """Return for each candidate the number of positive tests that contain it but no other candidate."""
    alone = explained.sum(axis=1, dtype=np.int64) == 1
    return explained[alone].sum(axis=0, dtype=np.int64)


def most_often(count: Int[Array, " n"], s: int) -> Int[Array, " k"]:
    """Return the indices of the s largest counts. Of equal counts the first come first; counts of 0 are left out."""
    first = np.argsort(-count, kind="stable")[:s]
    return first[count[first] > 0]


def tests_memory(spec: TrainSpec, T: int, m: int, dtype: str) -> float:
    """Estimate the peak bytes: bits as drawn, as tests, and packed, plus a few numbers for each position."""
    return 100e6 + 4.0 * m * T + 100.0 * T


def fit_comp(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    """COMP (combinatorial orthogonal matching pursuit): return every position that no negative test excludes.

    For a conjunction these are the positions that are 1 in all positive samples (Valiant 1984; in group testing Kautz
    and Singleton 1964, Chan, Che, Jaggi and Saligrama 2011). Without noise the answer has s positions or more. With
    label noise `GroupTests.possible` uses a threshold like that of Chan et al.

    Paper: and-end-to-end
    """
    tests = group_tests(spec, sample)
    return tests.answer(tests.possible())


COMP = Learner(fit=fit_comp, repeats=False, as_drawn=True, memory=tests_memory)


def fit_dd(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    """DD (definite defectives): return each position of COMP's answer that some positive test contains without any
    other position of that answer.

    Aldridge, Baldassini and Johnson 2014. Without noise all of them are relevant, but there may be fewer than s. With
    label noise (Scarlett and Johnson 2020, "a (near-)definite defectives approach") one such test proves nothing; they
    require a number of such tests. Instead, return the s positions with the most such tests.
    """
    tests = group_tests(spec, sample)
    possible = tests.possible()
    alone = definite(tests.explained_by(possible))
    return tests.answer(possible[most_often(alone, tests.s) if tests.noise else np.flatnonzero(alone)])


DD = Learner(fit=fit_dd, repeats=False, as_drawn=True, memory=tests_memory)


def fit_scomp(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    """SCOMP (sequential COMP): start with DD's positions; add the COMP position that explains most further tests.

    A positive test is explained if it contains a chosen position (Aldridge, Baldassini and Johnson 2014; Chvatal's
    greedy set cover, 1979). Without noise, stop when all positive tests are explained, with s positions or not. With
    label noise DD's positions are uncertain: start empty and stop at s positions. This is our choice; no noisy form is
    established.
    """
    tests = group_tests(spec, sample)
    possible = tests.possible()
    explained = tests.explained_by(possible)
    chosen = [] if tests.noise else np.flatnonzero(definite(explained)).tolist()
    left = explained[~explained[:, chosen].any(axis=1)]
    while len(left) and possible.size and not (tests.noise and len(chosen) == tests.s):
        gains = left.sum(axis=0, dtype=np.int64)
        best = int(gains.argmax())
        if not gains[best]:
            break
        chosen.append(best)
        left = left[left[:, best] == 0]
    return tests.answer(possible[chosen])


SCOMP = Learner(fit=fit_scomp, repeats=False, as_drawn=True, memory=tests_memory)
