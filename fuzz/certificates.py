"""Certificates of models whose values overflow, or nearly: bytes choose a model, and every statement is checked.

A third of the models has T <= 8 and is compared on all 2^T inputs; the others have T = 19 to 26 and are compared on
chosen and random inputs for each pattern, in float64 and in long double. `tests/certify/adversarial.py` runs the same
models by number.
"""

import sys
from pathlib import Path
from zlib import crc32

from stored import Use
from watch import Wrong

CHECKS = Path(__file__).resolve().parents[1] / "tests" / "certify"
SEEDS = (b"0", b"1", b"overflow", b"1e308")


def use_certificates() -> Use:
    """Draw a model, verify it, and look for a false statement."""
    sys.path.append(str(CHECKS))
    import adversarial

    def use(data: bytes) -> None:
        number = crc32(data)
        lengths = (2, 8) if number % 3 == 0 else (19, 26)
        if false := adversarial.run(1, 31, first=number, overflow=lengths).false:
            raise Wrong(false[0])

    return use
