"""The command line: one module per verb; each parses, calls one library function and prints."""
