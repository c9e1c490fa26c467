"""Names in lists. A name that thousands of rows repeat would make an answer longer than its file by the square."""

MAX_NAME_LENGTH = 8000
"""Characters. The longest name that a capture is known to have is that of a kernel made from a C++ template: 4,174."""


def shorten_name(name: str) -> str:
    """A name as lists of events, programs and threads have it: without its end where it is longer than
    LONGEST_NAME. The
    event itself tells all of it."""
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[:MAX_NAME_LENGTH]}…"
