"""The command line: arguments come in, a table or one JSON object goes out.

entry, app                   where it starts; the list of commands, and how errors are said
output, progress, settings   printing and --json; progress lines; options that commands share
One module per command; each parses, calls one library function and prints.
"""
