"""All output of the commands, with control characters escaped.

Nothing else in this package writes to stdout or stderr, so no name in a capture, path or message can move the cursor,
change the terminal's title or the text direction, or add a line.
"""

from __future__ import annotations

import codecs
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tb_xla_insights.text.escapes import escape_json, escape_text
from tb_xla_insights.text.json_text import collect_rows, json_bytes

if TYPE_CHECKING:
    from rich.console import Console

# In a file or a pipe, each paragraph and each table row is one line.
_FILE_WIDTH = 100_000
_CLEAR_LINE = "\r\033[K"

ENCODING_ERRORS = "xla_insights.similar"
"""The error handler of stdout and stderr: a character that the encoding lacks, such as ISO 8859-1 of an old locale or
Windows' code page of a pipe, is replaced with similar ones, or with its escape."""
_SIMILAR = str.maketrans(
    {
        "\u202f": " ", "\u2212": "-", "–": "-", "→": "->", "≈": "~", "▲": "^", "▼": "v", "×": "x", "·": "-", "µ": "u",
        "’": "'", "…": "...", "±": "+/-",
    }
)  # fmt: skip


def _similar_text(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError), "for streams that are written"
    text = error.object[error.start : error.end].translate(_SIMILAR)
    return text.encode("ascii", "backslashreplace").decode(), error.end


codecs.register_error(ENCODING_ERRORS, _similar_text)


def print_line(line: str) -> None:
    """Prints a line of the command's result to stdout."""
    print(escape_text(line))


def print_note(line: str) -> None:
    """Prints a line of progress or a warning to stderr; errors are ignored, as the result does not depend on it."""
    with suppress(OSError):
        print(escape_text(line), file=sys.stderr)


def rewrite_note(line: str) -> None:
    """Rewrites the current line of a terminal's stderr; an empty line clears it. Lines wider than the terminal are cut,
    as a wrapped line could not be rewritten."""
    with suppress(OSError):
        sys.stderr.write(_CLEAR_LINE + escape_text(line)[: shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()


@contextmanager
def progress_note(line_after: Callable[[float], str]) -> Iterator[None]:
    """Shows a line on a terminal while the block runs, from 0.3 s on; `line_after` maps the elapsed seconds to it."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def rewrite_until_done() -> None:
        start = time.monotonic()
        while not done.wait(0.3):
            rewrite_note(line_after(time.monotonic() - start))

    thread = threading.Thread(target=rewrite_until_done, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        rewrite_note("")


def print_json(document: Any) -> None:
    """Prints the document; on a terminal with line breaks and escapes for invisible characters."""
    is_terminal = sys.stdout.isatty()
    if (sys.stdout.encoding or "").lower() in ("utf-8", "utf8") and hasattr(sys.stdout, "buffer"):
        content = json_bytes(document, indented=is_terminal)
        sys.stdout.flush()
        sys.stdout.buffer.write((escape_json(content.decode()).encode() if is_terminal else content) + b"\n")
    else:  # in other encodings (see main) backslash escapes would not be valid JSON, so non-ASCII is escaped here
        text = json.dumps(document, default=collect_rows, indent=2 if is_terminal else None)
        sys.stdout.write(f"{text}\n")


@contextmanager
def ignore_closed_pipe() -> Iterator[None]:
    """Discards the block's further output if its reader, such as `head`, closes the pipe."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()


def discard_output() -> None:
    """Discards further output; otherwise the interpreter would try to flush it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console() -> Console:
    """The console for text with tables."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class EscapingConsole(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                lines = segment.text.split("\n")
                text = segment.text if segment.control else "\n".join(map(escape_text, lines))
                yield segment if text == segment.text else Segment(text, segment.style)

        def on_broken_pipe(self) -> None:
            raise  # re-raises BrokenPipeError: rich would exit with 1, the exit code of findings

    # rich would query stdin first, and assume 80 columns for an unknown terminal, unless it is given both sizes.
    terminal = shutil.get_terminal_size()
    width = terminal.columns if sys.stdout.isatty() else _FILE_WIDTH
    return EscapingConsole(
        file=sys.stdout, width=width, height=terminal.lines, highlight=False, markup=False, emoji=False,
        soft_wrap=False,
    )  # fmt: skip
