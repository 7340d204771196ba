"""A certificate with one number changed is refused, or still true."""

import pytest

from .tampered import run


def test_a_changed_number_never_makes_a_false_statement_pass():
    counts, false = run(100, 0)
    assert false == []
    verdicts = [verdict for (_, verdict), n in counts.items() for _ in range(n)]
    assert verdicts.count("refused") >= 30 and verdicts.count("accepted") >= 10


@pytest.mark.slow
def test_a_thousand_changed_numbers():
    assert run(1000, 1)[1] == []
