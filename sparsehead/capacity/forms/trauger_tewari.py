"""Sums of absolute entries by Maurey's sparsification: independent of T.

Maurey's cover has its elements in the ball ||W||_{1,1} <= B but not within the spectral norm S that was declared; yet
radii further on, and chaining, use S for the cover's elements too. So the cover is made internal: drop the elements
that have no W of the class {||W||_{1,1} <= B, ||W|| <= S} within eps/2, and replace each of the others by such a W. The
result lies in the class, has no more elements, and is within eps/2 + eps/2 of every W of the class: a resolution of eps
costs what eps/2 does, which is 4 times c.
"""

import math

from ..._base.log_math import ln, log_ln
from ..norms import MatrixNorms
from .form import Charge, Form

INTERNAL = math.log(4)  # ln of what an internal cover costs


def charge(W: MatrixNorms, log_N: float) -> Charge:
    """||W||_{1,1} at 4 ln(2 n + 1), n entries, however many points.   Paper: trauger-tewari"""
    return Charge("1,1", W.n11, INTERNAL + log_ln(ln(W.rows * W.columns)))


TRAUGER_TEWARI = Form(
    "sums of absolute entries, log d instead of log T: independent of T",
    linear=charge,
    bilinear=charge,
    needs=("V11", "QK11"),
    charges="sums of absolute entries",
)
