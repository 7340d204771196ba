"""Learners other than the Transformer, for comparison: same training sets, same holdout, same number of tries.

learner      the contract
at_once      the protocol of learners that need no steps
logistic, tree, exhaustive   those learners
networks     the engine that trains a torch module step by step
mlp, lstm    such modules
"""
