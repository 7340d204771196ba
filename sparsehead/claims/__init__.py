"""Every statement of the paper and of the lecture notes: what it says, where it stands, what stands behind it.

`claim` has the types; `definitions`, `capacity`, `generalization`, `representation`, `experiments` and `errata` the
entries; `checks` the functions that recompute a claim; `registry` the list and the way to run it; `document`
docs/paper.md.
"""
