"""Attention heads as functions of bits; constructed, learned and imported weights have one type, `Model`.

Read in this order:

weights, encoding    weights of one head; tokens from bits and positions
heads, block         the attention modules of the paper, by definition; a layer of several heads
model, evaluate      encoding, layers and read-out as one function; fast evaluation on many inputs
ranges               the range of a head's output over all inputs
model_file           models as safetensors files
torch_activations    activations for torch, by name
"""
