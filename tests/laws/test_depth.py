"""From the command to the mathematics in few steps."""

import sys

import pytest

from sparsehead.cli.app import main
from sparsehead.laws import curves, thresholds


def test_from_the_command_to_the_likelihood_there_are_at_most_nine_frames(tmp_path, monkeypatch, unchecked):
    """`law` on the command line first, the likelihood of the success curve last; comprehensions are not counted."""
    chains = []
    likelihood = curves.log_likelihood

    def watched(*arguments):
        frame, names = sys._getframe(1), ["log_likelihood"]
        while frame is not None:
            name, code = frame.f_globals.get("__name__", ""), frame.f_code.co_name
            if name.startswith("sparsehead.") and code not in ("<dictcomp>", "<listcomp>", "<genexpr>"):
                names.append(code)
            if name == "sparsehead.cli.law":
                break
            frame = frame.f_back
        chains.append(names[::-1])
        return likelihood(*arguments)

    monkeypatch.setattr(thresholds, "log_likelihood", watched)
    asked = "law and --s 2 --T 8 --learner exhaustive --workers 1 --trials 8 --start 8"
    with pytest.raises(SystemExit) as ended:
        main([*asked.split(), "--db", str(tmp_path / "r.db"), "--json"])
    assert ended.value.code == 0 and chains
    assert {chain[0] for chain in chains} == {"law"} and {chain[-1] for chain in chains} == {"log_likelihood"}
    assert max(map(len, chains)) <= 9, max(chains, key=len)
