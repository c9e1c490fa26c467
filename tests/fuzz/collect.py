"""Renews `collected.gz`: small captures of tests, each of which runs lines of the report, or has features of it, that
no smaller one has.

    PYTHONPATH=.:tests:demo_logs pytest -p fuzz.collect tests --ignore tests/browser

A pytest plugin that collects the captures read by tests, and selects among them at the end.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from fuzz.seeds import COLLECTED
from fuzz.session_targets import check_report
from fuzz.tree import Node, encode, root, text

from tb_xla_insights import errors
from tb_xla_insights.system.parallel import limit_threads
from tb_xla_insights.xplane import read_xspace

_MAX_CAPTURE_BYTES = 16_000
_PACKAGE = str(Path(errors.__file__).parent)


_read = read_xspace._Reader.read
_captures: set[bytes] = set()


def pytest_configure() -> None:
    def read_and_collect(reader: Any) -> read_xspace.XSpace:
        if 0 < reader.source.size < _MAX_CAPTURE_BYTES:
            _captures.add(reader.source.read(0, reader.source.size).tobytes())
        return _read(reader)

    read_xspace._Reader.read = read_and_collect  # type: ignore[assignment, method-assign]


def pytest_unconfigure() -> None:
    read_xspace._Reader.read = _read  # type: ignore[method-assign]
    limit_threads(1)
    COLLECTED.write_bytes(gzip.compress(encode(root("Captures", select_captures(_captures))), 9, mtime=0))


def select_captures(captures: Iterable[bytes]) -> list[Node]:
    """Selects the smallest captures that together cover everything that any of them covers."""
    covered: set[Any] = set()
    selected = []
    for data in sorted(captures, key=lambda capture: (len(capture), capture)):
        coverage = _coverage(data)
        if not coverage <= covered:
            covered |= coverage
            selected.append(text(1, "XSpace", data))
    return selected


def _coverage(data: bytes) -> set[Any]:
    """The lines of the package that a report of the capture runs, and the features of the report."""
    coverage: set[Any] = set()

    def line(frame: FrameType, _event: str, _value: Any) -> Callable[..., Any]:
        coverage.add((frame.f_code, frame.f_lineno))
        return line

    def call(frame: FrameType, _event: str, _value: Any) -> Callable[..., Any] | None:
        return line if frame.f_code.co_filename.startswith(_PACKAGE) else None

    sys.settrace(call)
    try:
        coverage |= set(check_report(encode(root("Session", [text(1, "XSpace", data)]))))
    except Exception:  # failing captures are not selected
        coverage.clear()
    finally:
        sys.settrace(None)
    return coverage
