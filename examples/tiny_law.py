"""How many samples a 2-AND takes as T grows, on a grid so small that it takes seconds. The store makes it resumable."""

import sparsehead as sh
from sparsehead.laws.adaptive import Adaptive

policy = Adaptive(start=30, batch=4, max_trials=12)
result = sh.law("and", s=2, T=[10, 40], db="tiny.db", policy=policy, restarts=1, n_steps=100, workers=1)

for T, found in result.thresholds.items():
    known = found.low is not None and found.high is not None
    interval = f"95 % interval {found.low:.0f} to {found.high:.0f}" if known else "no interval yet"
    m80 = "not reached" if found.m80 is None else f"{found.m80:.0f}"
    print(f"T={T:2d}: m_80 = {m80}, {interval}, {found.trials} trials; information floor {result.floor[T]}")
