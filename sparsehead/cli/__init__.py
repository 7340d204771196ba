"""The command line: arguments come in, a table or one JSON object goes out.

Read in this order:

entry, app                     the entry point; the list of commands, and how errors are reported
options                        make a command from a function and a dataclass of options; parse whole numbers
output, progress, training     printing and --json; the progress of sweeps and of one training
law, learn, build, verify, check, bound, read, probe, cover, results, completion, lab
                               one file per command: each parses, calls one library function and prints
"""
