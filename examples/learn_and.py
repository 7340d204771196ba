"""Find three of fifty positions by gradient descent, and look where the head looks."""

import sparsehead as sh
from sparsehead._base.rng import stream

f = sh.parse("x5 & x20 & x30", T=50)
run = sh.learn(f, m=300, seed=0)
print(f"solved: {run.solved}, after {run.steps} steps")

bits = sh.Task.balanced(f).sample(500, rng=stream(1, "fresh"))[0]
agreement = (run.model.predict(bits) == f(bits)).mean()
weights = run.model.attention(bits).mean(axis=(0, 1))
print(f"agrees with {f} on {agreement:.1%} of fresh inputs")
print(f"attention on the support: {weights[[5, 20, 30]].sum():.2f} of 1, uniform would be {3 / 51:.2f}")
