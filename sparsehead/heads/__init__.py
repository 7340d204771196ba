"""What a head is and computes: bits come in, a number goes out; weights written, learned or found are one `Model`.

Read in this order:

weights, encoding    weights of one head; tokens from bits and positions
heads, block         the attention modules of the paper, as defined; a layer of several heads
model, evaluate      encoding, layers and read-out as one function; the same, many inputs at once
ranges               what a head's output can be over all inputs
model_file           models as safetensors files
torch_activations    activations for torch, by name
"""
