"""The length limit of names in lists: a long name repeated in thousands of rows would make an answer far larger than
its capture."""

MAX_NAME_LENGTH = 8000
"""Characters. The longest name known in a capture is that of a kernel made from a C++ template: 4,174."""


def shorten_name(name: str) -> str:
    """A name as lists of events, programs and threads show it: cut after MAX_NAME_LENGTH characters. An event's details
    show the whole name."""
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[:MAX_NAME_LENGTH]}…"
