"""The information floor: the number of samples that every learner needs, for given s, T, p and success rate.

Read in this order:

chances       binomial and Poisson probabilities
bracket       proven upper bounds on the best possible success rate
target        a function with unknown positions; groups of wrong functions that share positions with the right one
general       proven upper and lower bounds for any such function, with label noise
floor         bounds on the least m from these; Fano's inequality; parities
constants     samples per ln T of several types of learners
"""
