"""Weights found by gradient descent: a TrainSpec comes in, an Outcome and a Model go out.

Read in this order:

architecture, spec   the shape of a Transformer; everything that one trial depends on
data                 training sets, fresh batches, the holdout
learners, transformer   what is trained: one folder of learners for comparison, one for the Transformer
trial                one trial in progress: restarts, checks, verdict
outcome              what came of it
data_run, formulas, rivals, from_data   learning from a table: the result, its formula, other methods, the training
loop, learn          many trials (`run_trials`); one (the public `learn`)
keywords             the types of `learn`'s settings
footprint            the memory that a trial takes
"""
