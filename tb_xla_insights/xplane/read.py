"""A whole file into columns: planes, lines, events, wanted stats; and what could not be read, and where."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.files.source import Source
from tb_xla_insights.parallel import run_parallel
from tb_xla_insights.xplane.columns import (
    Columns,
    EventOffsets,
    Line,
    Piece,
    PlaneTables,
    StatColumns,
    stat_columns,
)
from tb_xla_insights.xplane.events import Decoder, cut_into_pieces
from tb_xla_insights.xplane.mangled import identify_damage
from tb_xla_insights.xplane.metadata import (
    LARGE,
    MISSING,
    EventMetadata,
    StatValue,
    read_event_metadata,
    read_plane_stats,
    read_stat_names,
    text_of,
)
from tb_xla_insights.xplane.wire import IdIndex, WireError, cut_field, fields

NUMBER_STATS = (
    "_r", "step_num", "_pt", "_p", "_ct", "_c", "run_id", "queue_id", "device_ordinal", "core_type", "program_id",
    "correlation_id", "replica_id", "total_size", "size", "num_threads", "num_tensors", "all_reduce_unique_id",
    "group_id", "replica", "partition", "global_device_id", "device_id",
)  # fmt: skip
TEXT_STATS = ("hlo_op", "hlo_module", "graph_hash", "tf_op", "name", "memcpy_details")
"""Stats of events that analyses need, kept as columns; all others are read when somebody asks for them."""


PROGRAMS = "/host:metadata"
"""The plane whose kinds are the compiled programs: id = program id, stat `Hlo Proto`."""


MOST_THREADS = 16
"""Each needs room of its own."""

_Parts = dict[int, list[tuple[int, int]]]
"""Of fields of a message, by number, the file ranges (offset, length)."""


@dataclass
class XPlane:
    """One plane: its kinds of events (in the order of `metadata` indices, from `first_kind`) and its lines."""

    name: str
    stats: dict[str, StatValue]
    stat_names: dict[int, str]
    event_metadata: list[EventMetadata]
    lines: list[Line]
    first_metadata: int = 0


@dataclass
class XSpace:
    """A decoded file. Event columns hold one entry per event, line by line in file order; `metadata` indexes
    the kinds of all planes one after the other, `offset_ps` counts from the line's `timestamp_ns`. `stats`
    holds the wanted stats, values of text stats being numbers of texts in `strings`."""

    path: str
    size: int
    fingerprint: str
    strings: Strings
    planes: list[XPlane]
    hostnames: list[str]
    errors: list[str]
    warnings: list[str]
    metadata: NDArray[np.int32]
    offset_ps: NDArray[np.int64]
    duration_ps: NDArray[np.int64]
    event_offsets: EventOffsets
    stats: StatColumns
    diagnostics: list[Diagnostic]


class Strings:
    """Every text once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._index: dict[str, int] = {}
        self._lock = threading.Lock()

    def intern(self, text: str | bytes) -> int:
        text = text if isinstance(text, str) else text_of(text)
        with self._lock:
            index = self._index.setdefault(text, len(self.texts))
            if index == len(self.texts):
                self.texts.append(text)
        return index


def read_space(
    source: Source,
    *,
    progress: Callable[[int], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> XSpace:
    """Decodes a file. What is whole is kept; a diagnostic says what was lost, and where.

    `progress` is told the bytes read so far; when `stop` becomes true, what was read so far is the result.
    Raises InputError where the file has no plane at all.
    """
    return _Reader(source, progress, stop).read()


class _Reader:
    def __init__(self, source: Source, progress: Callable[[int], None], stop: Callable[[], bool]) -> None:
        self.source, self.stop = source, stop
        self.strings = Strings()
        self.names = (*NUMBER_STATS, *TEXT_STATS)
        self.diagnostics: list[Diagnostic] = []
        self.planes: list[XPlane] = []
        self.tables: list[PlaneTables] = []
        self._workers = min(os.cpu_count() or 1, MOST_THREADS)
        self._report, self._read, self._lock = progress, 0, threading.Lock()

    def read(self) -> XSpace:
        source = self.source
        if source.size == 0:
            raise InputError(f"{source.path}: the file is empty; copy it again or capture again")
        top: _Parts = {n: [] for n in (1, 2, 3, 4)}
        self._fields(0, source.size, top, "")
        if not top[1]:
            what = "byte 0: not an XPlane file (it holds no plane); name a .xplane.pb file of a profile"
            raise InputError(f"{source.path}: {identify_damage(source) or what}")
        parts = [
            self._parts_of(number, start, start + length) for number, (start, length) in enumerate(top[1])
        ]
        lines = [[Line(place, place + length) for place, length in some[3]] for some in parts]
        # Counting leaves the interpreter to what imports protobuf and makes names.
        count = [partial(cut_into_pieces, source, line) for some in lines for line in some]
        run_parallel([partial(self._read_planes, parts, lines), *count], self._workers)
        columns = self._events()
        if self.diagnostics:
            self._refuse_text()
        texts = {n: [text_of(source.read(*place).tobytes()) for place in top[n]] for n in (2, 3, 4)}
        for text in texts[2]:
            self._say("dropped_events", f"The profiler recorded an error: {' '.join(text.split())}")
        for text in texts[3]:
            told = f"The profiler recorded a warning: {' '.join(text.split())}"
            self.diagnostics.append(Diagnostic("profiler_warning", "info", told))
        self._number_kinds(columns)
        return XSpace(
            source.path, source.size, source.fingerprint, self.strings, self.planes, texts[4], texts[2], texts[3],
            columns.metadata, columns.offset_ps, columns.duration_ps, EventOffsets(self._pieces()),
            stat_columns(columns.stats, self._pieces(), NUMBER_STATS, TEXT_STATS), self.diagnostics,
        )  # fmt: skip

    def _refuse_text(self) -> None:
        """Raises InputError where the file was taken for text, or is something else: nothing that could be read of it
        would be true."""
        done = identify_damage(self.source)
        if done:
            raise InputError(f"{self.source.path}: {done}")

    def _events(self) -> Columns:
        """Decodes the lines of all planes, piece by piece, by as many threads as there are processors."""
        first = 0
        for piece in self._pieces():
            piece.first, first = first, first + piece.count
        columns = Columns(first)
        planes = zip(self.planes, self.tables, strict=True)
        work = [(it, line, piece) for plane, it in planes for line in plane.lines for piece in line.pieces]
        waiting = iter(work)

        def decode() -> None:
            decoder = Decoder(self.source, columns, len(NUMBER_STATS), len(TEXT_STATS), self.strings.intern)
            for tables, line, piece in waiting:  # what no other thread has taken
                decoder.decode(tables, line, piece, self._progress, self.stop)

        run_parallel([decode] * min(self._workers, len(work)), self._workers)
        for plane in self.planes:
            for line in plane.lines:
                line.name = line.name or line.display_name
                for piece in line.pieces:
                    if piece.bad is not None:
                        where = f" in plane {plane.name}, line {text_of(line.name)}"
                        self._damaged(piece.bad, where, ended=piece.ended)
        if any(piece.stopped for piece in self._pieces()):
            self._say("truncated_file", "Reading was stopped; what was read until then is shown.")
        if sum(piece.count for piece in self._pieces()) < first:
            columns.close_holes(self._pieces())
        return columns

    def _pieces(self) -> list[Piece]:
        return [piece for plane in self.planes for line in plane.lines for piece in line.pieces]

    def _progress(self, count: int) -> None:
        with self._lock:
            self._read += count
            self._report(self._read)

    def _number_kinds(self, columns: Columns) -> None:
        """Numbers the kinds of events through all planes, those that only events tell of included."""
        first = 0
        for plane, tables in zip(self.planes, self.tables, strict=True):
            plane.event_metadata += [
                EventMetadata(i, f"event {i}", "") for i in tables.metadata.ids[len(plane.event_metadata) :]
            ]
            plane.first_metadata = first
            for line in plane.lines:
                columns.metadata[line.first : line.first + line.count] += first
            first += len(plane.event_metadata)

    def _say(self, id_: str, message: str) -> None:
        self.diagnostics.append(Diagnostic(id_, "warning", message))

    def _fields(self, start: int, end: int, wanted: _Parts, where: str) -> None:
        """Collects the file ranges of the wanted fields of a message. Says what is damaged; a field that
        the end of the file cuts is kept as far as it goes."""
        try:
            for number, value, length in fields(self.source, start, end):
                for field_number, ranges in wanted.items():
                    chosen = np.flatnonzero((number == field_number) & (length >= 0))
                    ranges.extend(zip(value[chosen].tolist(), length[chosen].tolist(), strict=True))
        except WireError as error:
            # What the end of the file cuts lies in nothing that ends before.
            cut = cut_field(self.source, error.offset) if end == self.source.size else None
            if cut is None:
                self._damaged(error.offset, where, ended=error.ended)
            else:
                self._damaged(self.source.size, where, ended=True)
            if cut is not None and cut[0] in wanted and not where:
                wanted[cut[0]].append((cut[1], self.source.size - cut[1]))

    def _damaged(self, offset: int, where: str, *, ended: bool) -> None:
        if ended and not any(d.id == "truncated_file" for d in self.diagnostics):
            place = f"File ends early, at byte {offset}{where}"
            self._say("truncated_file", f"{place}; copy it again if it was still being written.")
        elif not ended:
            self._say(
                "corrupt_file",
                f"Byte {offset}{where} cannot be: a length exceeds its parent; what follows there is lost.",
            )

    def _parts_of(self, number: int, start: int, end: int) -> _Parts:
        """Where a plane's name (2), lines (3), kinds of events (4), names of stats (5) and own stats (6) are."""
        parts: _Parts = {n: [] for n in (2, 3, 4, 5, 6)}
        self._fields(start, end, parts, f" in plane {number}")
        return parts

    def _read_planes(self, parts: list[_Parts], lines: list[list[Line]]) -> None:
        for some, its_lines in zip(parts, lines, strict=True):
            self._plane(some, its_lines)

    def _plane(self, parts: _Parts, lines: list[Line]) -> None:
        name = text_of(self.source.read(*parts[2][-1]).tobytes()) if parts[2] else ""
        where = f" in plane {name or len(self.planes)}"
        # The kinds of this plane are the compiled programs: hundreds of megabytes that few readers ask for.
        names, kinds, stats = self._metadata(parts, where, 0 if name == PROGRAMS else LARGE)
        wanted = [i for i, stat in names.items() if stat in self.names]
        tables = PlaneTables(
            metadata=IdIndex([kind.id for kind in kinds]),
            wanted=IdIndex(wanted, [self.names.index(names[i]) for i in wanted]),
            texts=IdIndex(list(names), [self.strings.intern(text) for text in names.values()]),
            missing=self.strings.intern(MISSING) if parts[3] else -1,
            names=names,
        )
        self.planes.append(XPlane(name, stats, names, kinds, lines))
        self.tables.append(tables)

    def _metadata(
        self, parts: _Parts, where: str, large: int
    ) -> tuple[dict[int, str], list[EventMetadata], dict[str, StatValue]]:
        names: dict[int, str] = {}
        kinds: list[EventMetadata] = []
        stats: dict[str, StatValue] = {}
        damaged: list[int] = []
        try:
            names = read_stat_names(self.source, parts[5], damaged)
            kinds = read_event_metadata(self.source, parts[4], names, damaged, large)
            stats = read_plane_stats(self.source, parts[6], names, damaged)
        except WireError as error:
            self._damaged(error.offset, where, ended=error.ended)
        if damaged:
            what = (
                "1 name or stat there is" if len(damaged) == 1 else f"{len(damaged)} names or stats there are"
            )
            text = (
                f"Byte {min(damaged)}{where} cannot be: {what} lost; copy the file again, or capture again."
            )
            self._say("corrupt_file", text)
        return names, kinds, stats
