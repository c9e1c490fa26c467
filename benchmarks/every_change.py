"""Tests every prefix and every changed byte of small captures: whole lines before the damage are kept, the damage is
reported, and no exception other than InputError is raised.

    python benchmarks/every_change.py [FILES] [--values 3] [--traces 7] [--reports 200] [--one-in 1] [--state FILE]

Reads each prefix, and the file with each byte changed to several values; builds a trace of every 7th of these copies,
and computes all answers about every 200th. FILES are three captures recorded for the tests, unless others are given.
Failures are printed with the call that reproduces them, and the exit code is 1. An interrupt prints the results so far;
`--one-in 17` takes one in 17 of the copies, evenly. With `--state`, the results are also in a file, and the next run
with the same options continues where the last one ended.
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
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple, TypeVar

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "demo_logs")]

from tb_xla_insights.catalog import load_catalog  # noqa: E402
from tb_xla_insights.errors import InputError  # noqa: E402
from tb_xla_insights.files.source import Bytes, Source  # noqa: E402
from tb_xla_insights.system.parallel import limit_threads  # noqa: E402
from tb_xla_insights.trace.build import build_session, build_trace  # noqa: E402
from tb_xla_insights.xplane.read_xspace import XSpace, read_space  # noqa: E402

RECORDED = ROOT / "tests/recorded"
FILES = tuple(
    min((RECORDED / folder).rglob("*.xplane.pb"))
    for folder in ("pods/steady", "dynamo_graph_break", "matrix/jax0.6.2/pure_callback")
)
Item = TypeVar("Item")
_DAMAGE_IDS = ("truncated_file", "corrupt_file", "dropped_events")
_CATALOG = load_catalog()
_FILES_PER_SAVE = 1000


class MemorySource(Source):
    """A source whose bytes are in memory."""

    def __init__(self, data: Bytes, path: str = "memory.xplane.pb") -> None:
        self.path, self.size, self.fingerprint = path, len(data), path
        self.data = data

    def read_into(self, offset: int, buffer: Bytes) -> int:
        part = self.data[offset : offset + len(buffer)]
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


class GuaranteeError(Exception):
    """A guarantee for damaged files does not hold."""


@dataclass(frozen=True)
class Capture:
    """An intact file, and the checks of its damaged copies."""

    data: bytes

    @cached_property
    def lines(self) -> list[Line]:
        return _lines(read_space(MemorySource(np.frombuffer(self.data, np.uint8))))

    @cached_property
    def field_ends(self) -> frozenset[int]:
        """The ends of the file's top-level fields: a file truncated there is indistinguishable from an intact one."""
        position, ends = 0, {0}
        while position < len(self.data):
            position += 1  # the tag, which is one byte
            length = shift = 0
            while True:
                byte = self.data[position]
                position, length, shift = position + 1, length | (byte & 0x7F) << shift, shift + 7
                if byte < 0x80:
                    break
            position += length
            ends.add(position)
        return frozenset(ends)

    def check_prefix(self, end: int, depth: int = 0) -> str:
        """Reads the first `end` bytes. Returns the id of the reported damage, `refused` or `whole`. Raises
        GuaranteeError."""
        source = MemorySource(np.frombuffer(self.data[:end], np.uint8))
        space = _read(source)
        if space is None:
            if any(line.end <= end for line in self.lines):
                raise GuaranteeError("refused, though it has a whole line")
            return "refused"
        contents = [line.content for line in _lines(space)]
        if contents != [line.content for line in self.lines if line.end <= end]:
            raise GuaranteeError("the whole lines before the cut are not exactly those that were read")
        reported = [diagnostic for diagnostic in space.diagnostics if diagnostic.id in _DAMAGE_IDS]
        if end not in self.field_ends and not any(
            f"byte {end}" in diagnostic.message for diagnostic in reported
        ):
            raise GuaranteeError("the cut is not reported")
        _compute(space, source, depth)
        return reported[0].id if reported else "whole"

    def check_changed_byte(self, position: int, value: int, depth: int = 0) -> str:
        """Reads the file with another value of one byte. Returns the id of the reported damage, `refused`, or whether
        the file has as many lines as before. Raises GuaranteeError."""
        data = np.frombuffer(self.data, np.uint8).copy()
        data[position] = value
        source = MemorySource(data)
        space = _read(source)
        if space is None:
            if any(line.end <= position for line in self.lines):
                raise GuaranteeError("refused, though it has a whole line before the byte")
            return "refused"
        lines = _lines(space)
        before = [line.content for line in self.lines if line.end <= position]
        if [line.content for line in lines[: len(before)]] != before:
            raise GuaranteeError("whole lines before the byte are not kept")
        reported = {diagnostic.id for diagnostic in space.diagnostics}.intersection(_DAMAGE_IDS)
        _compute(space, source, depth)
        if reported:
            return min(reported)
        return "as before" if len(lines) == len(self.lines) else "another whole file"


def _read(source: Source) -> XSpace | None:
    try:
        return read_space(source)
    except InputError as error:
        if "\n" in str(error):
            raise GuaranteeError("an error of several lines") from error
        return None


def _lines(space: XSpace) -> list[Line]:
    lines = [line for plane in space.planes for line in plane.lines]
    rows = [slice(line.first, line.first + line.count) for line in lines]
    return [
        Line(line.start, line.end, line.id, bytes(line.name), line.timestamp_ns,
             space.offset_ps[events].tobytes(), space.duration_ps[events].tobytes())
        for line, events in zip(lines, rows, strict=True)
    ]  # fmt: skip


def _compute(space: XSpace, source: MemorySource, depth: int) -> None:
    """Builds a trace of a decoded file (depth 1), or computes all answers about the file (depth 2)."""
    if depth == 1:
        build_session("session", "session", [build_trace(space, source, _CATALOG, "host")], [])
    elif depth > 1:
        from benchmarks.growth.answers import answers, session_at

        with TemporaryDirectory() as folder:  # programs and the stats of an event are read from the file
            path = Path(folder, "vm.xplane.pb")
            path.write_bytes(source.data.tobytes())
            for _ in answers(session_at(path)):
                pass


class Change(NamedTuple):
    """A damaged copy of a file: its first `position` bytes, or the file with `value` as the byte at `position`. `depth`
    as in `_compute`."""

    kind: Literal["cut", "changed"]
    position: int
    value: int
    depth: int


def all_changes(
    capture: Capture, values: int, traces: int, reports: int, one_in: int = 1
) -> Iterator[Change]:
    """Yields each prefix and each changed byte, or one in `one_in` of them. Every `reports`-th has depth 2, and of the
    others every `traces`-th has depth 1."""
    for number, change in enumerate(itertools.islice(_changes(capture, values), None, None, one_in), 1):
        yield change._replace(depth=2 if number % reports == 0 else int(number % traces == 0))


def _changes(capture: Capture, values: int) -> Iterator[Change]:
    size = len(capture.data)
    for end in range(size):
        yield Change("cut", end, 0, 0)
    for position in range(size):
        byte = capture.data[position]
        for value in {byte ^ 0x80, byte ^ 0x01, 0xFF, 0, 0x7F, byte ^ 0x08} - {byte}:
            if (value + position) % 6 < values:
                yield Change("changed", position, value, 0)


class _Interrupt:
    """Records SIGINT, so that it takes effect after the current file."""

    def __init__(self) -> None:
        self.is_received = False
        signal.signal(signal.SIGINT, self._receive)

    def _receive(self, *_: object) -> None:
        self.is_received = True

    def take_until(self, items: Iterator[Item]) -> Iterator[Item]:
        """The items until SIGINT."""
        return itertools.takewhile(lambda _: not self.is_received, items)


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


def _check(capture: Capture, name: str, change: Change) -> str:
    """Checks one damaged copy and returns the result; prints a failure."""
    kind, position, value, depth = change
    try:
        if kind == "cut":
            return f"{kind}: {capture.check_prefix(position, depth)}"
        return f"{kind}: {capture.check_changed_byte(position, value, depth)}"
    except Exception:
        is_cut = kind == "cut"
        call = f"check_prefix({position}" if is_cut else f"check_changed_byte({position}, {value}"
        lines = traceback.format_exc().splitlines()[-5:]
        print(f"{name}: {call}, {depth})", *lines, sep="\n  ", flush=True)
        return f"{kind}: FAILED"


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
        capture, start = Capture(path.read_bytes()), time.monotonic()
        key = f"{path} {options.values} {options.traces} {options.reports} {options.one_in}"
        results = state.results(key)
        changes = all_changes(capture, options.values, options.traces, options.reports, options.one_in)
        for change in interrupt.take_until(itertools.islice(changes, results.total(), None)):
            results[_check(capture, path.name, change)] += 1
            if results.total() % _FILES_PER_SAVE == 0:
                state.save(key, results)
        state.save(key, results)
        failed += sum(count for name, count in results.items() if name.endswith("FAILED"))
        print(
            f"{path}: {len(capture.data)} bytes, {results.total()} files, in {time.monotonic() - start:.0f} s",
            flush=True,
        )
        for name, count in sorted(results.items()):
            print(f"  {count:8} {name}", flush=True)
        if interrupt.is_received:
            break
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
