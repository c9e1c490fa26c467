"""The length limit of names in lists: a long name repeated in thousands of rows would make an answer far larger than
its capture."""

MAX_NAME_LENGTH = 8000
"""In characters. The longest name seen in a capture, that of a kernel instantiated from a C++ template, has 4,174."""


def shorten_name(name: str) -> str:
    """A name as lists of events, programs and threads show it: cut after MAX_NAME_LENGTH characters. An event's details
    show the whole name."""
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[:MAX_NAME_LENGTH]}…"
