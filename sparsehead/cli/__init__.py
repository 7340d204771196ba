"""The command line: arguments come in, a table or one JSON object goes out.

Read in this order:

entry, app                     where it starts; the list of commands, and how errors are reported
options                        from a function and its dataclass of options to a command; whole numbers
output, progress, training     printing and --json; the progress of sweeps and of one training
law, learn, build, bound, read, probe, cover, results, completion, lab
                               one file per command: each parses, calls one library function and prints
"""
