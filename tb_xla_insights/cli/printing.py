"""The one exit of all that commands print: what names in captures, paths and messages hold reaches a terminal as text.

Nothing else in this package writes to stdout or stderr, so no name moves the cursor, changes the title or the direction
of what is read, or adds a line.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tb_xla_insights.escapes import escape_json, escape_text
from tb_xla_insights.json_text import collect_rows, json_bytes

if TYPE_CHECKING:
    from rich.console import Console

# In a file or a pipe a paragraph and a row of a table are a line each.
_WIDE = 100_000
_ANEW = "\r\033[K"


def answer(line: str) -> None:
    """A line of what was asked for, on stdout."""
    print(escape_text(line))


def tell(line: str) -> None:
    """A line beside the answer, on stderr; where that takes nothing, the answer still counts."""
    with suppress(OSError):
        print(escape_text(line), file=sys.stderr)


def tell_anew(line: str) -> None:
    """The line of a terminal's stderr that is told again and again, empty at last; one that is too wide is cut, since
    one that goes on below could not be told anew."""
    with suppress(OSError):
        sys.stderr.write(_ANEW + escape_text(line)[: shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()


@contextmanager
def telling(line_after: Callable[[float], str]) -> Iterator[None]:
    """One line on a terminal, from 0.3 s on, told anew until the block has ended, by the seconds that it takes."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def tell_on() -> None:
        began = time.monotonic()
        while not done.wait(0.3):
            tell_anew(line_after(time.monotonic() - began))

    thread = threading.Thread(target=tell_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        tell_anew("")


def print_json(document: Any) -> None:
    """The document; on a terminal in lines, with escapes for what is not visible."""
    for_people = sys.stdout.isatty()
    if (sys.stdout.encoding or "").lower() in ("utf-8", "utf8") and hasattr(sys.stdout, "buffer"):
        text = json_bytes(document, lines=for_people)
        sys.stdout.flush()
        sys.stdout.buffer.write((escape_json(text.decode()).encode() if for_people else text) + b"\n")
    else:  # what an encoding lacks is written with backslashes (see main), and JSON knows only some of those
        told = json.dumps(document, default=collect_rows, indent=2 if for_people else None)
        sys.stdout.write(f"{told}\n")


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """`| head` has seen enough: what is still to be printed is dropped, and the command goes on."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        print_no_more()


def print_no_more() -> None:
    """What is still to be printed is dropped; without this the interpreter tries once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console() -> Console:
    """Where text with tables goes."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Printing(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for it in super().render(renderable, options):
                text = it.text if it.control else "\n".join(map(escape_text, it.text.split("\n")))
                yield it if text == it.text else Segment(text, it.style)

        def on_broken_pipe(self) -> None:
            raise  # what is being handled: rich itself would exit with 1, which means findings

    # rich would ask stdin first, and take 80 for a terminal that it knows nothing of.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDE
    return Printing(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)
