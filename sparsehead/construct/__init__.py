"""Construct weights from formulas instead of learning them: a sparse function comes in, a Model goes out.

Read in this order:

code, candidates                    the integer weights with which a head sums the relevant bits
attention                           key and value vectors
decoder, assemble                   ReLU units that are exact on intervals; combine all parts into a Model
multi, linear                       s heads, cancelling heads; AND and OR without ReLU
compact, paper                      two constructions: one with few units, and the paper's
build                               the public `build`
norm_report, export, torch_model    norms; torch, ONNX and TransformerLens
"""

from .build import build, units
from .export import lens_weights, to_onnx, to_torch, to_transformer_lens
from .norm_report import norm_report

__all__ = ["build", "lens_weights", "norm_report", "to_onnx", "to_torch", "to_transformer_lens", "units"]
