"""The paper's experiments, and ours: what to run, and what the store then says. One file per study, each with its
specs, what its results file holds, and how that is collected from the store.

Specs and a store come in; results files go out, for claims and charts. Read in this order:

folder                 the one reader and the one writer of results files
stage, law_stage       what `reproduce` runs at a time: an experiment, a law, several laws
curves, attention, parity, norms, dropout   the paper's figures 3 and 4, norms along training, dropout
paper_laws, slope, functions   the law under other settings, what decides its slope, other functions and learners
predicted              conjunctions at other p and s: learners of theory beside presets
read_trained, failures   functions read from trained models; why runs near the threshold fail
evidence, interpretations, comparison, shares   which interpretation of the paper's text gives its numbers
plans, times           the stages of each scale, and how long they take
records                the kinds of results files, by name
"""
