"""Experiments of the paper and our own. Each study has one file: specs of the trials to run, the record type of its
results file, and the function that collects this record from the store. Claims and charts read the results files.

Read in this order:

folder, from_json      read and write results files
stage, law_stage       stages of `reproduce`: an experiment, a law, several laws
curves, attention, parity, norms, dropout   the paper's figures 3 and 4, norms along training, dropout
paper_laws, slope, functions   the law under other settings, what decides its slope, other functions and learners
predicted              conjunctions at other p and s: laws of theoretical learners beside those of presets
every_function         laws of all functions of two and three bits, and what predicts their order
gated                  single runs of preset gated beside those of preset best
read_trained, failures   functions read from trained models; why runs near the threshold fail
attributions, interpreters   methods that look for a support, on planted models whose support is proved
evidence, interpretations, comparison, shares   which interpretation of the paper's text gives its numbers
spot                   fresh trials of committed results, and whether they agree
plans, times           the stages of each scale, and how long they take
origin                 when, where and how long results files were measured
records                the kinds of results files, by name
"""
