"""Every statement of the paper and of the lecture notes: what it says, where it stands, what stands behind it.

Read `claim` (what a claim is and how one is declared), then any chapter: `definitions`, `covering`,
`sparse_functions`; `lipschitz`, `capacity`, `linear_covers`; `generalization`, `floor`; `representation`, `selection`,
`decoders`; `experiments`; `errata_paper`, `errata_notes_*`. `evidence` finds the code and the tests behind a label,
`registry` collects the chapters and runs the checks, `document` writes docs/paper.md.
"""
