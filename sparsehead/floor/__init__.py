"""The information floor: s, T, p and a success rate come in, the samples that no learner can do without go out.

Read in this order:

chances       binomial and Poisson probabilities
bracket       proven upper bounds on the best possible success rate, summed and not simulated
target        a function whose positions are unknown; what its wrong placements share with the right one
general       proven bounds from both sides for any such function, with label noise
floor         from these bounds to the least m, as a bracket; Fano's inequality; parities
constants     samples per ln T of several ways to learn
"""
