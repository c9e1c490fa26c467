"""Python functions, as events of the Python tracer, ops of a program and logs name them."""

from __future__ import annotations

import re
from typing import NamedTuple

_FRAME = re.compile(r"\$(?:(?P<file>[^:]+):(?P<line>\d{1,9})|(?P<module>\S+)) (?P<function>.+)")
"""`$train.py:12 step`; of a function that is not written in Python, `$time sleep`."""
_BUILT_IN = re.compile(r"\$<built-in (?:method|function) (?P<function>\w+)\b.*>")
"""Another form of the latter: `$<built-in method sleep of module object at 0x7f>`."""
_NO_MODULE = ("", "<unknown>", "builtins")


class Frame(NamedTuple):
    """A Python function, and a line of it. Texts that are not recorded are empty.

    The Python tracer records files without folders, and the line on which a function begins. A function that is not
    written in Python has no file, at most a `module`.
    """

    function: str
    file: str = ""
    line: int = 0
    module: str = ""

    @property
    def name(self) -> str:
        """`augment`, `time.sleep`."""
        return self.function if self.module in _NO_MODULE else f"{self.module}.{self.function}"

    @property
    def is_anonymous(self) -> bool:
        """Whether it is a `<lambda>`, or a part of a function such as `<listcomp>`."""
        return self.function.startswith("<")

    @property
    def place(self) -> str:
        """`train.py:34`, of a frame with a file."""
        return f"{self.file}:{self.line}"

    @property
    def text(self) -> str:
        """`next_batch at train.py:34`, or the name alone if the file is not recorded."""
        return f"{self.name} at {self.place}" if self.file else self.name


def parse_frame(name: str) -> Frame | None:
    """Parses the name of an event of the Python tracer; None for other names."""
    if match := _BUILT_IN.fullmatch(name):
        return Frame(match["function"])
    if (match := _FRAME.fullmatch(name)) is None:
        return None
    if match["file"]:
        return Frame(match["function"], match["file"], int(match["line"]))
    return Frame(match["function"], module=match["module"])
