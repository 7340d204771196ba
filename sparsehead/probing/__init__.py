"""Heads found in pretrained models: norms, sparsity, influence and bounds, with baselines beside each number.

Read in this order:

recompute                    one call of an attention layer, and its heads recomputed from the extracted weights
families, modules            where each architecture keeps its weights; from torch modules to those weights
load, inputs                 what was given as model, as text or as tokens; what is wrong with it
running                      one pass through the model, layer by layer
statistics                   what is measured on each head; `heads_report` for a whole model
baselines                    random weights, shuffled input
influence, ablation          what a head depends on, and what depends on it
capacity                     norms, effective ranks, bounds and the spectral proxy
result, probe                what `probe` returns, and `probe`
"""
