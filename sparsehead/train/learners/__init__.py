"""Learners other than the Transformer, for comparison: same training sets, same holdout, same number of attempts.

learner      the interface of a learner
at_once      run a trial of a learner that is fitted in one call
scikit, exhaustive   such learners
comp, dd, scomp, lp   learners of group testing; group_tests turns samples into tests
one_step, greedy   learners by covariance; covariance has their common parts
packed, named   samples eight to a byte; predictors whose accuracy can be computed
networks     the engine that trains a torch module step by step
mlp, lstm    such modules
own, module  user-defined learners: functions, estimators, import paths; torch modules
source, guard, travel   their names in the store; limits on their errors and time; sending them to workers
"""
