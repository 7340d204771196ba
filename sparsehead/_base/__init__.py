"""Basic types and functions that all other folders use.

errors, arguments, fields  exceptions; checks of arguments; settings and their ranges
files, jsonable            reading and writing files; records as JSON
memory                     reject work that does not fit into memory
lazy, plugins              names imported on first use, extras; registries, which plugins can extend
rng, types, log_math       named random streams; shape annotations; arithmetic on logarithms
frame, display             tables; reprs and notebook output of results
claim                      the interface of claims
provenance                 version, commit and engine that made a result
"""
