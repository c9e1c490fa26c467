"""Tests every prefix and every changed byte of small captures: whole lines before the damage are kept, the damage is
reported, and no exception other than InputError is raised.

    python benchmarks/every_change.py [FILES] [--values 3] [--traces 7] [--reports 200] [--one-in 1] [--state FILE]

Reads each prefix, and the file with each byte changed to several values. Of every 7th of these files it builds a trace,
and for every 200th it computes all answers about the capture. Without FILES, these are three of the captures recorded
for the tests. Failures are printed with the call that reproduces them, and the exit code is 1. An interrupt prints the
results so far; `--one-in 17` takes one in 17 of these files, evenly. With `--state`, the results are also in a file,
and the next run with the same options continues where the last one ended.
"""

from __future__ import annotations

import argparse
import itertools
import json
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "demo_logs")]

from tb_xla_insights.catalog import load_catalog  # noqa: E402
from tb_xla_insights.errors import InputError  # noqa: E402
from tb_xla_insights.files.source import Bytes, Source  # noqa: E402
from tb_xla_insights.parallel import limit_threads  # noqa: E402
from tb_xla_insights.trace.build import build_trace, join_hosts  # noqa: E402
from tb_xla_insights.xplane.read import XSpace, read_space  # noqa: E402

RECORDED = ROOT / "tests/recorded"
FILES = tuple(
    next((RECORDED / folder).rglob("*.xplane.pb"))
    for folder in ("pods/steady", "dynamo_graph_break", "matrix/jax0.6.2/pure_callback")
)
Item = TypeVar("Item")
_DAMAGE = ("truncated_file", "corrupt_file", "dropped_events")
_CATALOG = load_catalog()
_FILES_PER_SAVE = 1000


class MemorySource(Source):
    """A source whose bytes are in memory."""

    def __init__(self, data: Bytes, path: str = "held.xplane.pb") -> None:
        self.path, self.size, self.fingerprint = path, len(data), path
        self._data = data

    def read_into(self, offset: int, buffer: Bytes) -> int:
        part = self._data[offset : offset + len(buffer)]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        pass


class Line(NamedTuple):
    """A line of a capture, without its display name, and its byte range in the file."""

    start: int
    end: int
    id: int
    name: bytes
    timestamp_ns: int
    offset_ps: bytes
    duration_ps: bytes

    @property
    def content(self) -> tuple[object, ...]:
        return self[2:]


class WrongError(Exception):
    """A guarantee for damaged files does not hold."""


@dataclass(frozen=True)
class Capture:
    """An intact file, and the checks of its damaged copies."""

    data: bytes

    @cached_property
    def lines(self) -> list[Line]:
        return _lines(read_space(MemorySource(np.frombuffer(self.data, np.uint8))))

    @cached_property
    def ends(self) -> frozenset[int]:
        """The ends of the file's top-level fields: a file truncated there is indistinguishable from an intact one."""
        at, ends = 0, {0}
        while at < len(self.data):
            at += 1
            length = shift = 0
            while True:
                byte = self.data[at]
                at, length, shift = at + 1, length | (byte & 0x7F) << shift, shift + 7
                if byte < 0x80:
                    break
            at += length
            ends.add(at)
        return frozenset(ends)

    def cut(self, end: int, depth: int = 0) -> str:
        """Reads the first `end` bytes. Returns the reported damage; raises WrongError."""
        source = MemorySource(np.frombuffer(self.data[:end], np.uint8))
        space = _read(source)
        if space is None:
            if any(line.end <= end for line in self.lines):
                raise WrongError("refused, though it has a whole line")
            return "refused"
        contents = [line.content for line in _lines(space)]
        if contents != [line.content for line in self.lines if line.end <= end]:
            raise WrongError("whole lines before the cut are not those that were kept")
        reported = [diagnostic for diagnostic in space.diagnostics if diagnostic.id in _DAMAGE]
        if end not in self.ends and not any(f"byte {end}" in diagnostic.message for diagnostic in reported):
            raise WrongError("the cut is not reported")
        _compute(space, source, depth)
        return reported[0].id if reported else "whole"

    def changed(self, at: int, value: int, depth: int = 0) -> str:
        """Reads the file with another value of one byte. Returns the reported damage; raises WrongError."""
        data = np.frombuffer(self.data, np.uint8).copy()
        data[at] = value
        source = MemorySource(data)
        space = _read(source)
        if space is None:
            if any(line.end <= at for line in self.lines):
                raise WrongError("refused, though it has a whole line before the byte")
            return "refused"
        lines = _lines(space)
        before = [line.content for line in self.lines if line.end <= at]
        if [line.content for line in lines[: len(before)]] != before:
            raise WrongError("whole lines before the byte are not kept")
        reported = {diagnostic.id for diagnostic in space.diagnostics}.intersection(_DAMAGE)
        _compute(space, source, depth)
        if reported:
            return min(reported)
        return "as before" if len(lines) == len(self.lines) else "another whole file"


def _read(source: Source) -> XSpace | None:
    try:
        return read_space(source)
    except InputError as error:
        if "\n" in str(error):
            raise WrongError("an error of several lines") from error
        return None


def _lines(space: XSpace) -> list[Line]:
    lines = [line for plane in space.planes for line in plane.lines]
    rows = [slice(line.first, line.first + line.count) for line in lines]
    return [
        Line(line.start, line.end, line.id, bytes(line.name), line.timestamp_ns,
             space.offset_ps[events].tobytes(), space.duration_ps[events].tobytes())
        for line, events in zip(lines, rows, strict=True)
    ]  # fmt: skip


def _compute(space: XSpace, source: Source, depth: int) -> None:
    """Builds a trace of a decoded file (depth 1 and 2), and computes all answers about it (depth 2)."""
    if depth:
        session = join_hosts("session", "session", [build_trace(space, source, _CATALOG, "host")], [])
        if depth > 1:
            from benchmarks.growth.answers import answers

            for _ in answers(session):
                pass


def all_changes(
    capture: Capture, values: int, traces: int, reports: int
) -> Iterator[tuple[str, int, int, int]]:
    """Yields each prefix and each changed byte: change, position, value and depth of the computation."""
    size = len(capture.data)
    number = itertools.count(1)

    def next_depth() -> int:
        at = next(number)
        return 2 if at % reports == 0 else int(at % traces == 0)

    for end in range(size):
        yield "cut", end, 0, next_depth()
    for at in range(size):
        byte = capture.data[at]
        for value in {byte ^ 0x80, byte ^ 0x01, 0xFF, 0, 0x7F, byte ^ 0x08} - {byte}:
            if (value + at) % 6 < values:
                yield "changed", at, value, next_depth()


class _Interrupt:
    """Whether SIGINT was received, which takes effect after the current file."""

    def __init__(self) -> None:
        self.received = False
        signal.signal(signal.SIGINT, self._receive)

    def _receive(self, *_: object) -> None:
        self.received = True

    def until(self, items: Iterator[Item]) -> Iterator[Item]:
        """The items until SIGINT."""
        return itertools.takewhile(lambda _: not self.received, items)


class State:
    """The results so far, by file and options; stored in a file if one is given."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        exists = path is not None and path.exists()
        self._results: dict[str, dict[str, int]] = json.loads(path.read_text()) if path and exists else {}

    def results(self, key: str) -> Counter[str]:
        return Counter(self._results.get(key, {}))

    def save(self, key: str, results: Counter[str]) -> None:
        self._results[key] = dict(results)
        if self._path is not None:
            replacement = self._path.with_name(f"{self._path.name}.new")
            replacement.write_text(json.dumps(self._results, indent=1))
            replacement.replace(self._path)


def _check(capture: Capture, name: str, change: str, at: int, value: int, depth: int) -> str:
    """Checks one file and returns its result; prints a failure."""
    is_cut = change == "cut"
    try:
        return f"{change}: {capture.cut(at, depth) if is_cut else capture.changed(at, value, depth)}"
    except Exception:
        call = f"cut({at}, {depth})" if is_cut else f"changed({at}, {value}, {depth})"
        print(f"{name}: {call}", *traceback.format_exc().splitlines()[-5:], sep="\n  ", flush=True)
        return f"{change}: FAILED"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("files", nargs="*", type=Path, default=FILES)
    for name, default in (("values", 3), ("traces", 7), ("reports", 200), ("one-in", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--state", type=Path)
    options = parser.parse_args()
    limit_threads(1)  # these files are read before a second thread has started
    state, interrupt, failed = State(options.state), _Interrupt(), 0
    for path in options.files:
        capture, began = Capture(path.read_bytes()), time.monotonic()
        key = f"{path.name} {options.values} {options.traces} {options.reports} {options.one_in}"
        results = state.results(key)
        changes = all_changes(capture, options.values, options.traces, options.reports)
        chosen = itertools.islice(changes, results.total() * options.one_in, None, options.one_in)
        for arguments in interrupt.until(chosen):
            results[_check(capture, path.name, *arguments)] += 1
            if results.total() % _FILES_PER_SAVE == 0:
                state.save(key, results)
        state.save(key, results)
        failed += sum(count for name, count in results.items() if name.endswith("FAILED"))
        print(
            f"{path}: {len(capture.data)} bytes, {results.total()} files, in {time.monotonic() - began:.0f} s",
            flush=True,
        )
        for name, count in sorted(results.items()):
            print(f"  {count:8} {name}", flush=True)
        if interrupt.received:
            break
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
