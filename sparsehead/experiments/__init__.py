"""The paper's experiments, and ours: what to run, and what the store then says.

plans       an experiment as a list of specs, at a quick and at a full scale
maps        the runner that keeps attention maps beside the outcome
collect     store -> the records that charts and verdicts are made of
read        a results file as a JSON object, or one sentence
run         run what is missing of a scale, with progress
"""
