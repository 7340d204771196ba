"""Measure the heads of pretrained models: norms, sparsity, influence and bounds, with baselines for each number.

Read in this order:

settings, screen             the options of `probe`; what is refused before torch is imported
recompute                    one call of an attention layer, and its heads recomputed from the extracted weights
modules                      extract weights from torch modules, state dicts and models of this library
load, inputs                 load and check the model, and the text or tokens
running                      one pass through the model, layer by layer
statistics                   the measures of one head
baselines                    random weights, shuffled input
influence                    the positions a head depends on; the model's output without it
capacity                     norms, effective ranks, bounds and the spectral proxy
atlas                        every form of the bound for a layer or head, and proxies of the network
attention, page              attention of single sequences as arrays, and as an interactive page
result, measure, probe       the type that `probe` returns; the measurement; the public `probe`
"""
