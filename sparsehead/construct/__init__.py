"""Weights written down rather than learned, and the certificate that they compute what they should."""

from .build import build, units

__all__ = ["build", "units"]
