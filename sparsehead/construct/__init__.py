"""Weights written down rather than learned, and the certificate that they compute what they should.

code, positional_code, threshold_code   the integers with which to add up the relevant bits
attention, assemble                     key and value vectors; from them to a Model
decoder                                 ReLU units that are exact on intervals
multi, linear, paper                    s heads, cancelling heads; AND and OR without ReLU; the paper's own weights
build                                   the public `build`
ranges, chain, bounds, search, patterns what a model can output, over all inputs
verify, certificate                     the public `verify`
norm_report, export                     norms; torch and TransformerLens
"""

from .build import build, units
from .certificate import Certificate
from .export import lens_weights, to_torch
from .norm_report import norm_report
from .verify import verify

__all__ = ["Certificate", "build", "lens_weights", "norm_report", "to_torch", "units", "verify"]
