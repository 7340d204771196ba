"""Train a learner on a sparse function: from a TrainSpec to an Outcome and a Model.

T is the context length, s the number of relevant positions, m the number of training samples, d the embedding width,
H the number of heads. Read in this order:

architecture, spec   the shape of a Transformer; everything that one trial depends on
data                 training sets, fresh batches, the holdout
learners, transformer   other learners, for comparison; the Transformer
lean                 judge whether a run that has fitted its training set can still succeed
trial                one trial in progress: restarts, checks, verdict
outcome              the result of a trial
data_run, formulas, rivals, from_data   learning from a table: the result, its formula, other methods, the training
loop, learn          many trials (`run_trials`); one trial (the public `learn`)
keywords             the types of `learn`'s settings
footprint            estimate the memory of a trial
"""
