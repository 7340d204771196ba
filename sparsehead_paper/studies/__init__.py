"""Experiments of the paper and our own. Each study has one file: specs of the trials to run, the record type of its
results file, and the function that collects this record from the store. Claims and charts read the results files.

Read in this order:

folder, from_json      read and write results files
stage, law_stage       stages of `reproduce`: an experiment, a law, several laws
curves, attention, parity, norms, dropout   the paper's figures 3 and 4, norms along training, dropout
paper_laws, slope, functions   the law under other settings, the causes of its slope, other functions and learners
predicted              conjunctions at other p and s: laws of theoretical learners beside those of presets
every_function         laws of all functions of two and three bits, and what predicts their order
gated                  single runs of preset "gated" beside those of preset "best"
proofs                 results of verify on learned models, and on models whose outputs were all computed
read_trained, failures   functions read from trained models; why runs near the threshold fail
input_laws             laws for bits that are flipped, shifted or correlated
pointers, token_learners   tokens with pointers: too few heads, and samples that three learners need
attributions, interpreters   methods that look for a support, on planted models whose support is proved
evidence, interpretations, comparison, shares   which interpretation of the paper's text gives its numbers
bars, steepness        the steepness of the success curve: implied by the paper's error bars; measured for two presets
protocols              other readings of "best of five restarts", and the success curves that they give
taught_parity          parity with intermediate labels, in one gradient step (a neighbour of the paper)
agreement, spot        exact tests of agreement; fresh trials of committed results, and whether they agree
plans, times           the stages of each scale, and how long they take
origin                 when, where and how long results files were measured
records                the kinds of results files, by name
"""
