"""The definitions of busy, in a module that option parsing can import without the rest of the text."""

_OPS = "Busy is the union of top-level ops on a core, or of program runs where no ops are recorded"
DUTY = {
    "ops": f"{_OPS}; the span lasts from the start of the first to the end of the last of them",
    "modules": "Busy is the union of program runs, or of ops where no runs are recorded; the span is the same",
    "capture": f"{_OPS}; the span is the whole capture",
}
"""The meaning of busy for each key of the report's `duty`."""
