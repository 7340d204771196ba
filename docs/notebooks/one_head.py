# %% [markdown]
# # A head written, trained, read and bounded
#
# One function of three bits, four ways to look at it. Run this file with `python`, open it as a notebook in an editor
# that knows cells (`# %%`), or read it here with its output.

# %%
import numpy as np

import sparsehead as sh
from sparsehead.figures.attention import attention_weights

f = sh.parse("x5 & x20 & x30", T=50)
print(f"{f} reads {f.s} of T = {f.T} bits")

# %% [markdown]
# ## Written
#
# `build` writes the weights of one attention head down, `verify` proves that they compute f on all 2^50 inputs.

# %%
written = sh.build(f)
certificate = sh.verify(written, f)
print(f"exact on all 2^{f.T} inputs: {certificate.exact}")
print(f"largest error {certificate.max_error:.1e}, by {certificate.method}")

# %% [markdown]
# Where it looks: the mean attention weight of each position over 200 random inputs, and every input below.

# %%
bits = np.random.default_rng(0).integers(2, size=(200, f.T))
attention_weights(written.attention(bits).mean(axis=1), f.support, paper=None)

# %% [markdown]
# ## Trained
#
# The same function from 300 random examples, by gradient descent, with one head so that there is one map to look at.

# %%
run = sh.learn(f, m=300, seed=0, H=1, k=64, keep_training=True, n_steps=300)
print(f"solved: {run.solved}, first above 99 % accuracy at step {run.steps}")
learned = run.model.attention(bits).mean(axis=1)
print(f"attention on the three positions: {learned[:, list(f.support)].sum(axis=1).mean():.2f}")
run

# %%
attention_weights(learned, f.support)

# %% [markdown]
# ## Read
#
# What does the trained model compute? `read` asks it and nothing else.

# %%
reading = sh.read(run.model, seed=0)
print(reading.verdict)
reading

# %% [markdown]
# ## Bounded
#
# What the norms of the written head guarantee, at the number of samples that training took and at a million. A gap of 1
# or more says nothing.

# %%
for m in (300, 1_000_000):
    bound = sh.bound(written, m=m)
    print(f"m = {m:9,d}: gap {bound.gap:.3g}; {bound.verdict}")
