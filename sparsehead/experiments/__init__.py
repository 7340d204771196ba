"""The paper's experiments, and ours: what to run, and what the store then says.

plans       an experiment as a list of specs, at a quick and at a full scale
maps        the runner that keeps attention maps beside the outcome
records     what each results file holds, one dataclass per kind
collect     store -> records
folder      the one reader and the one writer of results files
law         m_80 against T: the verb `law`
run         run what is missing of a scale, with progress
"""
