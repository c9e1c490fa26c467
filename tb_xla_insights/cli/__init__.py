"""The command line: `main`, and a module per command.

The module of a command has `add_to`, which adds its options to a parser, and `run`, which returns the exit code.
"""
