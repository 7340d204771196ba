"""The law of the paper's AND of three bits under other settings, and far beyond the paper's range of T.

Paper: law-matched, law-literal, law-matched-beyond, law-matched-decades, law-best, law-gated
"""

from sparsehead.laws.published import LAW_AND

from .law_stage import Law

PAPER_TS = tuple(point.T for point in LAW_AND)
# The paper's thresholds have standard deviations of about 9 % (median over its 17 bars), so that a 95 % interval has
# ln(high/low) of about 4 * 0.09.
PAPER_WIDTH = 0.35
DECADES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)


def _on_the_papers_lengths(name: str, preset: str) -> Law:
    return Law(name, PAPER_TS, 64, {"preset": preset}, width=PAPER_WIDTH, start=70)


def matched() -> Law:
    """The law at the paper's 18 T, by the interpretation that fits most of the paper's figures.   Paper: law-matched"""
    return _on_the_papers_lengths("law-matched", "paper")


def matched_beyond() -> Law:
    """The law of preset "paper" (with dropout) at T = 3000, beyond the paper's range; a failed trial takes 15 minutes.

    Paper: law-matched-beyond
    """
    settings = {"preset": "paper", "method": "adaptive", "exceptions": {3000: {"batch": 4}}}
    return Law("law-matched-beyond", (3000,), 8, settings, width=PAPER_WIDTH, start=140)


def literal() -> Law:
    """The law at the paper's T, under the literal interpretation of its text.   Paper: law-literal"""
    return _on_the_papers_lengths("law-literal", "literal")


def matched_decades() -> Law:
    """The law of preset "paper" without dropout, far beyond the paper's range; stalled runs are stopped.

    Paper: law-matched-decades
    """
    # A failure takes five minutes at T = 3*10^4, a success up to 24 at 10^5: so few trials are made there that
    # intervals stay wider than PAPER_WIDTH, and none lie far below the threshold.
    few = {
        10_000: {"max_trials": 20, "m_min": 500, "start": 850},
        30_000: {"max_trials": 12, "m_min": 1000, "start": 1500},
        100_000: {"max_trials": 4, "m_min": 2500, "start": 3000},
    }
    settings = {"preset": "paper", "dropout": 0.0, "stall": 200, "exceptions": few}
    return Law("law-matched-decades", DECADES, 64, settings, width=PAPER_WIDTH, start=70)


def best() -> Law:
    """The law of preset "best", meant to need few samples, over three decades of T.   Paper: law-best"""
    # A failure takes a minute at T = 10^4 and ten to thirty at 10^5, many times a success: trials are fewer there, and
    # not far below the threshold.
    not_far_below = {
        3000: {"max_trials": 80, "m_min": 42, "start": 50},
        10_000: {"max_trials": 72, "m_min": 48, "start": 56},
        30_000: {"max_trials": 44, "m_min": 66, "start": 70},
        100_000: {"max_trials": 10, "m_min": 74, "start": 80},
    }
    return Law("law-best", DECADES, 96, {"preset": "best", "exceptions": not_far_below}, start=40)


def law_gated() -> Law:
    """The law of preset "gated" over three decades of T.   Paper: law-gated"""
    # At 10^5 a success takes ten seconds, a failure minutes: trials lie at 1.4 times the floor or above, where few fail
    # and where the claim is decided.
    far = {
        10_000: {"max_trials": 64},
        30_000: {"max_trials": 32, "m_min": 67, "start": 67},
        100_000: {"max_trials": 40, "m_min": 74, "start": 74},
    }
    return Law("law-gated", DECADES, 96, {"preset": "gated", "exceptions": far}, start=36)
