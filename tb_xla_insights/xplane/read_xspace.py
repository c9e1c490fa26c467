"""Decodes a whole file into columns: planes, lines, events and requested stats, with diagnostics for damaged parts."""

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
from tb_xla_insights.system.parallel import run_parallel
from tb_xla_insights.xplane.columns import (
    DecodedColumns,
    EncodedLine,
    EventOffsets,
    Piece,
    PlaneTables,
    StatColumns,
    stat_columns,
)
from tb_xla_insights.xplane.events import Decoder, cut_into_pieces
from tb_xla_insights.xplane.file_format import describe_wrong_format
from tb_xla_insights.xplane.metadata import (
    LARGE_METADATA_BYTES,
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
    "correlation_id", "total_size", "size", "replica", "partition", "global_device_id", "device_id", "bytes_allocated",
    "bytes_reserved", "bytes_available", "tc_offload_start_id", "offload_core_id", "offload_execution_index",
    "pt_correlation_id",
)  # fmt: skip
TEXT_STATS = ("hlo_op", "hlo_module", "graph_hash", "tf_op", "name", "memcpy_details")
"""Stats of events that analyses need, decoded into columns, at most 32; all others are read on demand."""

PROGRAM_PLANE = "/host:metadata"
"""The name of the plane whose event metadata are the compiled programs (see `hlo.program_ranges`)."""

EMPTY_FILE = (
    "the file is empty: the profiler was stopped before it wrote the trace, the disk was full, or copying has not "
    "finished; copy the file again, or capture again"
)

MAX_THREADS = 16
"""Each thread needs its own buffers."""

_FieldRanges = dict[int, list[tuple[int, int]]]
"""The file ranges (offset, length) of the fields of a message, by field number."""


@dataclass
class XPlane:
    """One plane: its event metadata (in the order of `metadata` indices, from `first_metadata` on) and its lines."""

    name: str
    stats: dict[str, StatValue]
    stat_names: dict[int, str]
    event_metadata: list[EventMetadata]
    lines: list[EncodedLine]
    first_metadata: int = 0


@dataclass
class XSpace:
    """A decoded file. Event columns have one row per event, line by line in file order. `metadata` indexes the
    concatenated event metadata of all planes; `offset_ps` counts from the line's `timestamp_ns`. `stats` holds the
    requested stats; values of text stats are indices into `strings`."""

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
    """Interned texts: every text has one index."""

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
    should_stop: Callable[[], bool] = lambda: False,
) -> XSpace:
    """Decodes a file. Intact parts are read; diagnostics say what was lost, and where.

    Calls `progress` with the bytes read so far. Once `should_stop` returns True, the events read so far are the result.
    Raises InputError if the file has no plane at all, is of another format, or was damaged by a transfer as text.
    """
    return _Reader(source, progress, should_stop).read()


class _Reader:
    def __init__(
        self, source: Source, progress: Callable[[int], None], should_stop: Callable[[], bool]
    ) -> None:
        self.source, self.should_stop = source, should_stop
        self.strings = Strings()
        self.requested_stats = (*NUMBER_STATS, *TEXT_STATS)
        self.diagnostics: list[Diagnostic] = [*source.diagnostics]
        self.planes: list[XPlane] = []
        self.tables: list[PlaneTables] = []
        self._max_threads = min(os.cpu_count() or 1, MAX_THREADS)
        self._progress_callback, self._bytes_read, self._lock = progress, 0, threading.Lock()

    def read(self) -> XSpace:
        """Reads the file's fields: planes (1), errors (2), warnings (3) and host names (4)."""
        source = self.source
        if source.size == 0:
            raise InputError(f"{source.path}: {EMPTY_FILE}")
        fields_of_file: _FieldRanges = {number: [] for number in (1, 2, 3, 4)}
        self._collect_ranges(0, source.size, fields_of_file, "")
        ranges = [
            self._plane_ranges(number, start, start + length)
            for number, (start, length) in enumerate(fields_of_file[1])
        ]
        # Other files of a profile, such as `op_stats_v2.pb`, have intact messages in field 1, but without the name and
        # the lines of a plane.
        is_plane = any(plane_ranges[2] or plane_ranges[3] for plane_ranges in ranges)
        if not ranges or not (is_plane or self.diagnostics):
            message = (
                "byte 0: not an XPlane file (it contains no plane); specify a .xplane.pb file of a profile"
            )
            raise InputError(f"{source.path}: {describe_wrong_format(source) or message}")
        lines = [
            [EncodedLine(start, start + length) for start, length in plane_ranges[3]]
            for plane_ranges in ranges
        ]
        # Counting releases the interpreter's lock to the thread that imports protobuf and reads metadata.
        count_tasks = [
            partial(cut_into_pieces, source, line) for plane_lines in lines for line in plane_lines
        ]
        run_parallel([partial(self._read_planes, ranges, lines), *count_tasks], self._max_threads)
        columns = self._decode_events()
        if len(self.diagnostics) > len(source.diagnostics):
            self._check_file_format()
        texts = {
            number: [text_of(source.read(*range_).tobytes()) for range_ in fields_of_file[number]]
            for number in (2, 3, 4)
        }
        for text in texts[2]:
            self._add_warning("dropped_events", f"The profiler recorded an error: {' '.join(text.split())}")
        for text in texts[3]:
            message = f"The profiler recorded a warning: {' '.join(text.split())}"
            self.diagnostics.append(Diagnostic("profiler_warning", "info", message))
        self._number_metadata(columns)
        return XSpace(
            source.path, source.stored_bytes, source.fingerprint, self.strings, self.planes,
            texts[4], texts[2], texts[3],
            columns.metadata, columns.offset_ps, columns.duration_ps, self._event_offsets(),
            stat_columns(columns.stats, self._pieces(), NUMBER_STATS, TEXT_STATS), self.diagnostics,
        )  # fmt: skip

    def _check_file_format(self) -> None:
        """Raises InputError if the file is of another format, or was damaged by a transfer as text: whatever was read
        from it would be wrong."""
        message = describe_wrong_format(self.source)
        if message:
            raise InputError(f"{self.source.path}: {message}")

    def _decode_events(self) -> DecodedColumns:
        """Decodes the lines of all planes, piece by piece, on at most one thread per processor."""
        first = 0
        for piece in self._pieces():
            piece.first, first = first, first + piece.count
        columns = DecodedColumns(first)
        planes = zip(self.planes, self.tables, strict=True)
        tasks = [
            (tables, line, piece) for plane, tables in planes for line in plane.lines for piece in line.pieces
        ]
        pending = iter(tasks)

        def decode() -> None:
            decoder = Decoder(self.source, columns, len(NUMBER_STATS), len(TEXT_STATS), self.strings.intern)
            for tables, line, piece in pending:  # the threads share this iterator
                decoder.decode(tables, line, piece, self._add_progress, self.should_stop)

        run_parallel([decode] * min(self._max_threads, len(tasks)), self._max_threads)
        for plane in self.planes:
            for line in plane.lines:
                line.name = line.name or line.display_name
                for piece in line.pieces:
                    if piece.invalid_offset is None:
                        continue
                    location = f" in plane {plane.name}, line {text_of(line.name)}"
                    if piece.has_changed:
                        text = f"The file was changed while it was read; the events from byte {piece.invalid_offset}"
                        message = f"{text}{location} on are lost; read it again."
                        self._add_warning("corrupt_file", message, f"changed{location}")
                    else:
                        self._add_damage(piece.invalid_offset, location, is_file_end=piece.is_file_end)
        if any(piece.is_stopped for piece in self._pieces()):
            self._add_warning("truncated_file", "Reading was stopped; the part read by then is shown.")
        if sum(piece.count for piece in self._pieces()) < first:
            columns.close_holes(self._pieces())
        return columns

    def _event_offsets(self) -> EventOffsets:
        planes = enumerate(self.planes)
        return EventOffsets(
            [(index, piece) for index, plane in planes for line in plane.lines for piece in line.pieces]
        )

    def _pieces(self) -> list[Piece]:
        return [piece for plane in self.planes for line in plane.lines for piece in line.pieces]

    def _add_progress(self, count: int) -> None:
        with self._lock:
            self._bytes_read += count
            self._progress_callback(self._bytes_read)

    def _number_metadata(self, columns: DecodedColumns) -> None:
        """Numbers event metadata across all planes, including ids that occur only in events."""
        first = 0
        for plane, tables in zip(self.planes, self.tables, strict=True):
            plane.event_metadata += [
                EventMetadata(id_, f"event {id_}", "")
                for id_ in tables.metadata.ids[len(plane.event_metadata) :]
            ]
            plane.first_metadata = first
            for line in plane.lines:
                columns.metadata[line.first : line.first + line.count] += first
            first += len(plane.event_metadata)

    def _add_warning(self, id_: str, message: str, variant: str | None = None) -> None:
        self.diagnostics.append(Diagnostic(id_, "warning", message, variant=variant))

    def _collect_ranges(self, start: int, end: int, ranges_by_field: _FieldRanges, location: str) -> None:
        """Adds the file ranges of a message's fields to `ranges_by_field`, and diagnostics about damage. `location` is
        the plane as diagnostics name it, empty for the file itself. A top-level field that the end of the file cuts is
        added, with its range up to that end."""
        try:
            for number, value, length in fields(self.source, start, end):
                for field_number, ranges in ranges_by_field.items():
                    indices = np.flatnonzero((number == field_number) & (length >= 0))
                    ranges.extend(zip(value[indices].tolist(), length[indices].tolist(), strict=True))
        except WireError as error:
            # Only in a message that extends to the end of the file can that end cut a field.
            cut = cut_field(self.source, error.offset) if end == self.source.size else None
            if cut is None:
                self._add_damage(error.offset, location, is_file_end=error.is_file_end)
                return
            self._add_damage(self.source.size, location, is_file_end=True)
            cut_number, payload = cut
            if cut_number in ranges_by_field and not location:
                ranges_by_field[cut_number].append((payload, self.source.size - payload))

    def _add_damage(self, offset: int, location: str, *, is_file_end: bool) -> None:
        if is_file_end and not any(diagnostic.id == "truncated_file" for diagnostic in self.diagnostics):
            text = f"File ends early, at byte {offset}{location}"
            message = f"{text}; copy it again if it was still being written."
            self._add_warning("truncated_file", message, f"ends{location}")
        elif not is_file_end:
            self._add_warning(
                "corrupt_file",
                f"Byte {offset}{location} is invalid: a field does not fit the message that contains it; "
                "what follows there is lost.",
                f"invalid{location}",
            )

    def _plane_ranges(self, number: int, start: int, end: int) -> _FieldRanges:
        """The file ranges of a plane's name (2), lines (3), event metadata (4), stat metadata (5) and own stats (6)."""
        ranges: _FieldRanges = {field_number: [] for field_number in (2, 3, 4, 5, 6)}
        self._collect_ranges(start, end, ranges, f" in plane {number}")
        return ranges

    def _read_planes(self, ranges: list[_FieldRanges], lines: list[list[EncodedLine]]) -> None:
        for plane_ranges, plane_lines in zip(ranges, lines, strict=True):
            self._read_plane(plane_ranges, plane_lines)

    def _read_plane(self, ranges: _FieldRanges, lines: list[EncodedLine]) -> None:
        name = text_of(self.source.read(*ranges[2][-1]).tobytes()) if ranges[2] else ""
        location = f" in plane {name or len(self.planes)}"
        # The event metadata of this plane are the compiled programs: hundreds of megabytes that are seldom needed.
        max_read_bytes = 0 if name == PROGRAM_PLANE else LARGE_METADATA_BYTES
        names, event_metadata, stats = self._read_metadata(ranges, location, max_read_bytes)
        stat_ids = [id_ for id_, stat in names.items() if stat in self.requested_stats]
        tables = PlaneTables(
            metadata=IdIndex([metadata.id for metadata in event_metadata]),
            stat_columns=IdIndex(stat_ids, [self.requested_stats.index(names[id_]) for id_ in stat_ids]),
            string_indices=IdIndex(list(names), [self.strings.intern(text) for text in names.values()]),
            missing_string=self.strings.intern(MISSING) if ranges[3] else -1,
            names=names,
        )
        self.planes.append(XPlane(name, stats, names, event_metadata, lines))
        self.tables.append(tables)

    def _read_metadata(
        self, ranges: _FieldRanges, location: str, max_read_bytes: int
    ) -> tuple[dict[int, str], list[EventMetadata], dict[str, StatValue]]:
        names: dict[int, str] = {}
        event_metadata: list[EventMetadata] = []
        stats: dict[str, StatValue] = {}
        damaged_offsets: list[int] = []
        try:
            names = read_stat_names(self.source, ranges[5], damaged_offsets)
            event_metadata = read_event_metadata(
                self.source, ranges[4], names, damaged_offsets, max_read_bytes
            )
            stats = read_plane_stats(self.source, ranges[6], names, damaged_offsets)
        except WireError as error:
            self._add_damage(error.offset, location, is_file_end=error.is_file_end)
        if damaged_offsets:
            count, first = len(damaged_offsets), min(damaged_offsets)
            loss = "1 name or stat there is" if count == 1 else f"{count} names or stats there are"
            text = f"Byte {first}{location} is invalid: {loss} lost; copy the file again, or capture again."
            self._add_warning("corrupt_file", text, f"names{location}")
        return names, event_metadata, stats
