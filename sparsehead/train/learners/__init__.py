"""Learners other than the Transformer, for comparison: same training sets, same holdout, same number of attempts.

learner      the interface of a learner
scikit, exhaustive   learners that are fitted in one call
packed, named   training sets with eight samples in a byte; predictors whose accuracy can be computed
group_tests, lp   samples as group tests, and the learners COMP, DD and SCOMP; another by linear programming
covariance   one gradient step, and greedy: learners by covariance
networks     the engine that trains a torch module step by step; mlp and lstm
own, module  user-defined learners: functions, estimators, import paths; torch modules
source, guard, travel   user-defined learners: names in the store; limits on errors and time; sending to workers
"""
