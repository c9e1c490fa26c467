"""Renews `collected.gz`: small captures of tests, each of which has the report take a way that no smaller one has.

    PYTHONPATH=.:tests:demo_logs pytest -p fuzz.collect tests --ignore tests/browser

A plugin of pytest: it looks at what is read while tests run, and chooses among that when they have.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from fuzz.seeds import COLLECTED
from fuzz.sessions_in import check_report
from fuzz.tree import Node, root, text, written

from tb_xla_insights import errors
from tb_xla_insights.parallel import limit_threads
from tb_xla_insights.xplane import read

_LARGEST = 16_000
_PACKAGE = str(Path(errors.__file__).parent)


_read = read._Reader.read
_seen: set[bytes] = set()


def pytest_configure() -> None:
    def look(reader: Any) -> read.XSpace:
        if 0 < reader.source.size < _LARGEST:
            _seen.add(reader.source.read(0, reader.source.size).tobytes())
        return _read(reader)

    read._Reader.read = look  # type: ignore[assignment, method-assign]


def pytest_unconfigure() -> None:
    read._Reader.read = _read  # type: ignore[method-assign]
    limit_threads(1)
    COLLECTED.write_bytes(gzip.compress(written(root("Captures", chosen(_seen))), 9, mtime=0))


def chosen(captures: Iterable[bytes]) -> list[Node]:
    """The smallest captures that take every way that one of them takes."""
    known: set[Any] = set()
    found = []
    for data in sorted(captures, key=lambda its: (len(its), its)):
        way = _way(data)
        if not way <= known:
            known |= way
            found.append(text(1, "XSpace", data))
    return found


def _way(data: bytes) -> set[Any]:
    """The lines of the package that a report of the capture takes, and what the report is an example of."""
    found: set[Any] = set()

    def line(frame: FrameType, _event: str, _value: Any) -> Callable[..., Any]:
        found.add((frame.f_code, frame.f_lineno))
        return line

    def call(frame: FrameType, _event: str, _value: Any) -> Callable[..., Any] | None:
        return line if frame.f_code.co_filename.startswith(_PACKAGE) else None

    sys.settrace(call)
    try:
        found |= set(check_report(written(root("Session", [text(1, "XSpace", data)]))))
    except Exception:  # what fails is no example
        found.clear()
    finally:
        sys.settrace(None)
    return found
