"""The Transformer as a learner: from a spec to an engine that trains it.

Read in this order:

layout, weights      the place of each weight in one flat row; initial weights, and a `Model` from a row
gated                heads that attend to one bit value only: definition, initial weights, conversion to a `Model`
forward, dropout     the forward pass in torch; dropout masks
engine, engines      the interface of an engine; the known engines, and the choice of one for a spec
torch_engine         plain autograd: any depth, any device
compiled             one layer in C: the kernel in kernel/, loaded by `library` and built by `build`
"""
