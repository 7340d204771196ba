"""The Transformer learner: a spec comes in, an engine that trains it goes out.

Read in this order:

layout, weights      where each weight lies in one flat row; initialisation in, `Model` out
forward, dropout     what a step computes, in torch; its masks
engine, engines      what an engine is; which ones there are, how one is chosen, the Transformer among the learners
torch_engine         plain autograd: any depth, any device
compiled             one layer in C: kernel/, found and loaded by library, built by build
"""
