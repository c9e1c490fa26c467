"""Reads Riegeli/records files, in which continuous profiling writes a capture."""
