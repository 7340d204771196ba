"""Weights written down rather than learned, and the certificate that they compute what they should."""

from .build import build, units
from .certificate import Certificate
from .verify import verify

__all__ = ["Certificate", "build", "units", "verify"]
