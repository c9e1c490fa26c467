"""Definitions of busy, for a command line that does not need the rest of the text."""

_OPS = "Busy is the union of top-level ops on a core, or of program runs where no ops are recorded"
DUTY = {
    "ops": f"{_OPS}; the span lasts from the first to the last of them",
    "modules": "Busy is the union of program runs, or of ops where no runs are recorded; the span is the same",
    "capture": f"{_OPS}; the span is the whole capture",
}
"""What busy means, by the names that the report's `duty` has."""
