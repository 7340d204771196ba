"""The paper's experiments, and ours: what to run, and what the store then says.

plans       an experiment as a list of specs, at a quick and at a full scale
studies     the law under the matched reading, near the floor, and what decides its slope, as plans
readings    the readings of the paper's text, and the evidence for each
race        readings against each other, in rounds of trials
odds        how sure the race is: the share of each reading, and of each choice
maps        the runner that keeps attention maps beside the outcome
records     what each results file holds, one dataclass per kind
collect     store -> records
read_trained  the runner that reads every trained model, and what it found
failures    the runner that looks at the positions a run has moved, and what it saw
falls       the step at which a loss has fallen for good
evidence    how probable the paper's numbers are under one reading of its text
folder      the one reader and the one writer of results files
times       how long the stages of a scale take
side_by_side  several laws in one results file
run         run what is missing of a scale, with progress
study_records   records of the studies of settings
reading_records   records of what was read from trained models
"""
