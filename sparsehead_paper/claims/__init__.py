"""Every statement of the paper and of the lecture notes; each check takes a context and returns a finding.

Read in this order:

claim, formulas, evidence    what a claim is; formulas in its text; the code and tests that carry its label
definitions, covering, sparse_functions                     chapters, in the paper's order:
lipschitz, capacity, depth, linear_covers
generalization, floor
representation, selection, limits, decoders
reading
laws, experiments, measured  verdicts on measured results, and reading of results files
studies, trained             verdicts on studies of settings, and on reading trained models
errata_paper, errata_notes_covering, errata_notes_capacity, errata_notes_sparse
registry, tally, document    the table of all claims and their checks; counts of verdicts; docs/paper.md
"""
