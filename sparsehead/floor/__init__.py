"""The information floor: s, T, p and a success rate come in, the samples that no learner can do without go out.

Read in this order:

elimination   how many functions of the class agree with a sample: exact counts, by simulation
floor         from these counts to the best possible success rate and the least m
"""
