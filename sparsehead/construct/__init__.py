"""Weights written down rather than learned: a sparse function comes in, a Model goes out.

Read in this order:

code, candidates                    the integers with which to add up the relevant bits
attention                           key and value vectors
decoder, assemble                   ReLU units that are exact on intervals; from all of these to a Model
multi, linear                       s heads, cancelling heads; AND and OR without ReLU
compact, paper                      the two constructions: ours, and the paper's
build                               the public `build`
norm_report, export, torch_model    norms; torch, ONNX and TransformerLens
"""

from .build import build, units
from .export import lens_weights, to_onnx, to_torch, to_transformer_lens
from .norm_report import norm_report

__all__ = ["build", "lens_weights", "norm_report", "to_onnx", "to_torch", "to_transformer_lens", "units"]
