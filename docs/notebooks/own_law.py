# %% [markdown]
# # A law of your own
#
# How does the number of samples grow with the context length T? Here for the OR of two bits, with two learners, on a
# scale that takes seconds. Raise `T` and `max_trials` for a measurement;
# trials are kept in the store and never run twice.
#
# m_80 is the number of training samples at which 80 % of trials succeed.

# %%
import sparsehead as sh
from sparsehead.laws import Adaptive

T = [8, 16, 32]

# %% [markdown]
# ## What the data allow: exhaustive search
#
# It knows that the function is an OR of two bits, tries all pairs and takes the first that explains the data. The
# information floor is the least whole number of samples with which any learner can succeed 80 % of the time. It is
# proven; m_80 is estimated from 64 trials, and scatters around it.

# %%
policy = Adaptive(start=12, max_trials=64)
search = sh.law("or", s=2, T=T, db="search.db", learner="exhaustive", policy=policy, workers=1)
for length, found in search.thresholds.items():
    print(f"T = {length:3d}: m_80 = {found.m80:.0f}, {found.trials} trials, floor {search.floor[length].m}")

# %% [markdown]
# ## What gradient descent finds: a small Transformer

# %%
small = dict(d=32, H=4, k=8, mlp=64, n_steps=150, restarts=1, holdout=1000, learning_rate=3e-3)
policy = Adaptive(start=20, batch=4, max_trials=16)
trained = sh.law("or", s=2, T=T, db="trained.db", policy=policy, workers=1, **small)
for length, found in trained.thresholds.items():
    known = found.m80 is not None
    print(f"T = {length:3d}: m_80 = {f'{found.m80:.0f}' if known else 'not reached'}, {found.trials} trials")

# %% [markdown]
# ## The chart
#
# Points with 95 % intervals, the floor, and the fitted laws. Sixteen trials at each T leave the intervals wide.

# %%
trained
