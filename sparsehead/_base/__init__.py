"""Vocabulary that every other folder uses.

errors, arguments, fields  what may go wrong; arguments of public functions; settings and their ranges
files, jsonable            the one writer of files; values and records as JSON
memory                     how much there is, and what would not fit
lazy, plugins              names imported when first used, extras; things by name, of installed packages too
rng, types, log_math       named random streams; shape annotations; sums and comparisons of logarithms
frame, display             tables; how results show themselves
claim                      the contract of claims
provenance                 version, commit and machine behind a result
"""
