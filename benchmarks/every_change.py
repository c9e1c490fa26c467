"""Every prefix and every changed byte of small captures: whole lines before the damage are kept, the rest is said, and
nothing but the product's own InputError is raised.

    python benchmarks/every_change.py [FILES] [--values 3] [--traces 7] [--reports 200] [--one-in 1]

Each prefix, and each byte with some other values, is read; every 7th of these files becomes a trace, and of every 200th
all is asked that is told of a capture. Without FILES, those are three of the captures recorded beside the tests. What
fails is printed with what makes it anew, and the exit code is 1. What was found so far is printed when it is
interrupted; `--one-in 17` takes one in 17 of these files, evenly.
"""

from __future__ import annotations

import argparse
import itertools
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

from tb_xla_insights.errors import InputError  # noqa: E402
from tb_xla_insights.files.source import Bytes, Source  # noqa: E402
from tb_xla_insights.xplane.read import XSpace, read_space  # noqa: E402

RECORDED = ROOT / "tests/recorded"
FILES = tuple(
    next((RECORDED / folder).rglob("*.xplane.pb"))
    for folder in ("pods/steady", "dynamo_graph_break", "matrix/jax0.6.2/pure_callback")
)
Item = TypeVar("Item")
_DAMAGE = ("truncated_file", "corrupt_file", "dropped_events")


class Held(Source):
    """A file whose bytes are in memory."""

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
    """A line without its names, and where it lies in the file."""

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
    """What was promised of damaged files does not hold."""


@dataclass(frozen=True)
class Capture:
    """A whole file, and what is promised of it when it is damaged."""

    data: bytes

    @cached_property
    def lines(self) -> list[Line]:
        return _lines(read_space(Held(np.frombuffer(self.data, np.uint8))))

    @cached_property
    def ends(self) -> frozenset[int]:
        """Where the fields of the file itself end: a file that is cut there is whole, as far as anything tells."""
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

    def cut(self, end: int, how_far: int = 0) -> str:
        """Reads the first `end` bytes. Returns what is said of the damage; raises WrongError."""
        source = Held(np.frombuffer(self.data[:end], np.uint8))
        space = _read(source)
        if space is None:
            if any(line.end <= end for line in self.lines):
                raise WrongError("refused, though it has a whole line")
            return "refused"
        found = [line.content for line in _lines(space)]
        if found != [line.content for line in self.lines if line.end <= end]:
            raise WrongError("whole lines before the cut are not those that were kept")
        said = [it for it in space.diagnostics if it.id in _DAMAGE]
        if end not in self.ends and not any(f"byte {end}" in it.message for it in said):
            raise WrongError("the cut is not said")
        _ask(source, how_far)
        return said[0].id if said else "whole"

    def changed(self, at: int, value: int, how_far: int = 0) -> str:
        """Reads the file with another value of one byte. Returns what is said of the damage; raises WrongError."""
        data = np.frombuffer(self.data, np.uint8).copy()
        data[at] = value
        source = Held(data)
        space = _read(source)
        if space is None:
            if any(line.end <= at for line in self.lines):
                raise WrongError("refused, though it has a whole line before the byte")
            return "refused"
        found = _lines(space)
        before = [line.content for line in self.lines if line.end <= at]
        if [line.content for line in found[: len(before)]] != before:
            raise WrongError("whole lines before the byte are not kept")
        said = {it.id for it in space.diagnostics}.intersection(_DAMAGE)
        _ask(source, how_far)
        if said:
            return min(said)
        return "as before" if len(found) == len(self.lines) else "another whole file"


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
        Line(it.start, it.end, it.id, bytes(it.name), it.timestamp_ns,
             space.offset_ps[its].tobytes(), space.duration_ps[its].tobytes())
        for it, its in zip(lines, rows, strict=True)
    ]  # fmt: skip


def _ask(source: Source, how_far: int) -> None:
    """Makes a trace of a file (1), and asks all that is told of it (2)."""
    from benchmarks.growth.answers import answers, session_of

    if how_far:
        session = session_of(source)
        if how_far > 1:
            for _ in answers(session):
                pass


def every(capture: Capture, values: int, traces: int, reports: int) -> Iterator[tuple[str, int, int, int]]:
    """Each prefix and each changed byte: which, place, value, how far it is followed."""
    size = len(capture.data)
    number = itertools.count(1)

    def how_far() -> int:
        at = next(number)
        return 2 if at % reports == 0 else int(at % traces == 0)

    for end in range(size):
        yield "cut", end, 0, how_far()
    for at in range(size):
        byte = capture.data[at]
        for value in {byte ^ 0x80, byte ^ 0x01, 0xFF, 0, 0x7F, byte ^ 0x08} - {byte}:
            if (value + at) % 6 < values:
                yield "changed", at, value, how_far()


def _until_interrupted(items: Iterator[Item]) -> Iterator[Item]:
    """The items until SIGINT comes, which ends what is done with one of them first."""
    stopped = []
    signal.signal(signal.SIGINT, lambda *_: stopped.append(True))
    return itertools.takewhile(lambda _: not stopped, items)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("files", nargs="*", type=Path, default=FILES)
    for name, default in (("values", 3), ("traces", 7), ("reports", 200), ("one-in", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    failed = 0
    for path in options.files:
        capture, told, began = Capture(path.read_bytes()), Counter[str](), time.monotonic()
        chosen = every(capture, options.values, options.traces, options.reports)
        for what, at, value, how_far in _until_interrupted(itertools.islice(chosen, 0, None, options.one_in)):
            try:
                told[
                    f"{what}: {capture.cut(at, how_far) if what == 'cut' else capture.changed(at, value, how_far)}"
                ] += 1
            except Exception:
                failed += 1
                told[f"{what}: FAILED"] += 1
                place = f"cut({at}, {how_far})" if what == "cut" else f"changed({at}, {value}, {how_far})"
                if failed <= 20:
                    print(
                        f"{path.name}: {place}",
                        *traceback.format_exc().splitlines()[-5:],
                        sep="\n  ",
                        flush=True,
                    )
        print(
            f"{path}: {len(capture.data)} bytes, {told.total()} files in {time.monotonic() - began:.0f} s",
            flush=True,
        )
        for name, count in sorted(told.items()):
            print(f"  {count:8} {name}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
