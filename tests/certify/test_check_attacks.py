"""No malformed or contradictory file makes the checker say "holds"."""

import json
import re

import pytest

from sparsehead.certify import check as checker
from sparsehead.certify.certificate_file import certificate_content
from sparsehead.construct import build
from sparsehead.functions import parse
from sparsehead.heads.model_file import packed

from .tampering import attacks, for_file, put_together, taken_apart

F = parse("x2 & x5", T=8)
RAW = packed(build(F))
CONTENT = certificate_content(RAW, F)
ATTACKS = attacks(RAW, CONTENT)


def verdict(raw, text):
    """What the checker says of a model file and a certificate's bytes."""
    try:
        return checker.check(raw, text)
    except checker.Refused as reason:
        return f"does not hold: {reason}."
    except checker.UNREADABLE as error:
        return f"cannot be read: {error}"


def test_files_that_are_written_anew_still_hold():
    """The attacks below fail for what they change, not for how they are written."""
    raw = put_together(*taken_apart(RAW))
    assert verdict(raw, json.dumps(for_file(CONTENT, raw)).encode()).startswith("holds: on all 2^8 inputs")


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused(name):
    assert re.match(r"does not hold: |cannot be read: ", verdict(*ATTACKS[name]))


@pytest.mark.parametrize(
    ("error", "shown"),
    [("0x1.43bc13f8a2fadp-10", "1.24e-3"), ("0x1.0p+0", "1.00e+0"), ("0x1.fffffffffffffp+9", "1.03e+3")],
)
def test_the_claimed_error_is_rounded_up_where_it_is_shown(error, shown):
    """Three digits of 0.0012350 must not read 0.00123, which nobody has proved."""
    said = checker.check(RAW, json.dumps({**CONTENT, "max_error": error}).encode())
    assert f"|output - f| <= {shown} and" in said and float(shown) >= float.fromhex(error)
