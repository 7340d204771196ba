"""Learners other than the Transformer, for comparison: same training sets, same holdout, same number of tries.

learner      the contract
at_once      the protocol of learners that need no steps
scikit, exhaustive   those learners
comp, dd, scomp, lp   learners of group testing; group_tests has the samples as tests
one_step, greedy   learners by covariance; covariance has what they share
packed, named   samples eight to a byte; predictors whose accuracy is computed
networks     the engine that trains a torch module step by step
mlp, lstm    such modules
own, module  learners of the user's own: functions, estimators, import paths; torch modules
source, guard, travel   what the store calls them; what their failures cannot break; how they get to workers
"""
