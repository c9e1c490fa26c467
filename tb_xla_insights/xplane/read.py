"""A whole file into columns: planes, lines, events, wanted stats; and what could not be read, and where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.xplane.events import DecodedLine, Decoder
from tb_xla_insights.xplane.metadata import (
    LARGE,
    EventKind,
    StatValue,
    event_kinds,
    plane_stats,
    stat_names,
    text_of,
)
from tb_xla_insights.xplane.source import Source
from tb_xla_insights.xplane.wire import Table, WireError, cut_field, fields

NUMBER_STATS = (
    "_r", "step_num", "_pt", "_p", "_ct", "_c", "run_id", "queue_id", "device_ordinal", "core_type", "program_id",
    "correlation_id", "replica_id", "total_size", "size", "num_threads", "num_tensors", "all_reduce_unique_id", "group_id",
)  # fmt: skip
TEXT_STATS = ("hlo_op", "hlo_module", "graph_hash", "tf_op", "name")
"""Stats of events that analyses need, kept as columns; all others are read when somebody asks for them."""


PROGRAMS = "/host:metadata"
"""The plane whose kinds are the compiled programs: id = program id, stat `Hlo Proto`."""


@dataclass
class XPlane:
    """One plane: its kinds of events (in the order of `metadata` indices, from `first_kind`) and its lines."""

    name: str
    stats: dict[str, StatValue]
    stat_names: dict[int, str]
    first_kind: int
    kinds: list[EventKind]
    lines: list[DecodedLine] = field(default_factory=list)


@dataclass
class XSpace:
    """A decoded file. Event columns hold one entry per event, line by line in file order; `metadata`
    indexes the kinds of all planes one after the other, `offset_ps` counts from the line's `timestamp_ns`,
    `place` is the file offset of the event's message. `stats` holds the wanted stats: (rows, values), values of text stats being indices into `strings`."""

    path: str
    size: int
    fingerprint: str
    strings: list[str]
    planes: list[XPlane]
    hostnames: list[str]
    errors: list[str]
    warnings: list[str]
    metadata: NDArray[np.int32]
    offset_ps: NDArray[np.int64]
    duration_ps: NDArray[np.int64]
    place: NDArray[np.int64]
    stats: dict[str, tuple[NDArray[np.int32], NDArray[np.int64]]]
    diagnostics: list[Diagnostic]


class Strings:
    """Every text once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._index: dict[str, int] = {}

    def intern(self, text: str | bytes) -> int:
        text = text if isinstance(text, str) else text_of(text)
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
        self.source, self.progress, self.stop = source, progress, stop
        self.strings = Strings()
        self.names = (*NUMBER_STATS, *TEXT_STATS)
        self.decoder = Decoder(source, [name in TEXT_STATS for name in self.names], self.strings.intern)
        self.diagnostics: list[Diagnostic] = []
        self.planes: list[XPlane] = []
        self.kinds = 0

    def read(self) -> XSpace:
        source = self.source
        if source.size == 0:
            raise InputError(f"{source.path}: the file is empty; copy it again or capture again")
        top: dict[int, list[tuple[int, int]]] = {n: [] for n in (1, 2, 3, 4)}
        self._fields(0, source.size, top, "")
        if not top[1]:
            raise InputError(
                f"{source.path}: byte 0: not an XPlane file (it holds no plane); name a .xplane.pb file of a profile"
            )
        for start, length in top[1]:
            self._plane(start, start + length)
        if self.stop():
            self._say(
                "truncated_file",
                f"Reading was stopped; {len(self.planes)} of {len(top[1])} planes were begun.",
            )
        texts = {n: [text_of(source.read(*place).tobytes()) for place in top[n]] for n in (2, 3, 4)}
        for text in texts[2]:
            self._say("dropped_events", f"The profiler recorded an error: {' '.join(text.split())}")
        decoder = self.decoder
        stats = zip(self.names, decoder.stat_rows, decoder.stat_values)
        return XSpace(
            source.path, source.size, source.fingerprint, self.strings.texts, self.planes, texts[4], texts[2], texts[3],
            decoder.metadata.done(), decoder.offset_ps.done(), decoder.duration_ps.done(), decoder.place.done(),
            {name: (rows.done(), values.done()) for name, rows, values in stats if rows.count},
            self.diagnostics,
        )  # fmt: skip

    def _say(self, id_: str, message: str) -> None:
        self.diagnostics.append(Diagnostic(id_, "warning", message))

    def _fields(self, start: int, end: int, wanted: dict[int, list[tuple[int, int]]], where: str) -> None:
        """Collects the file ranges of the wanted fields of a message. Says what is damaged; a field that
        the end of the file cuts is kept as far as it goes."""
        try:
            for number, value, length in fields(self.source, start, end):
                for field_number, ranges in wanted.items():
                    chosen = np.flatnonzero((number == field_number) & (length >= 0))
                    ranges.extend(zip(value[chosen].tolist(), length[chosen].tolist()))
        except WireError as error:
            cut = cut_field(self.source, error.offset)
            if cut is None:
                self._damaged(error.offset, where)
            elif cut[0] in wanted and not where:
                wanted[cut[0]].append((cut[1], self.source.size - cut[1]))
            if cut is not None:
                self._cut(where)

    def _cut(self, where: str) -> None:
        if not any(d.id == "truncated_file" for d in self.diagnostics):
            message = f"File ends early, at byte {self.source.size}{where}; copy it again if it was still being written."
            self._say("truncated_file", message)

    def _damaged(self, offset: int, where: str) -> None:
        if offset >= self.source.size:
            self._cut(where)
        else:
            self._say(
                "corrupt_file",
                f"Byte {offset}{where} cannot be: a length exceeds its parent; what follows there is lost.",
            )

    def _plane(self, start: int, end: int) -> None:
        parts: dict[int, list[tuple[int, int]]] = {n: [] for n in (2, 3, 4, 5, 6)}
        self._fields(start, end, parts, f" in plane {len(self.planes)}")
        name = text_of(self.source.read(*parts[2][-1]).tobytes()) if parts[2] else ""
        where = f" in plane {name or len(self.planes)}"
        # The kinds of this plane are the compiled programs: hundreds of megabytes that few readers ask for.
        names, kinds, stats = self._metadata(parts, where, 0 if name == PROGRAMS else LARGE)
        plane = XPlane(name, stats, names, self.kinds, kinds)
        self.planes.append(plane)
        metadata = Table([kind.id for kind in kinds])
        ids = list(names)
        stat_table = Table(ids)
        text_index = np.array([self.strings.intern(names[i]) for i in ids] or [0], np.int64)
        missing = self.strings.intern("(missing text)") if parts[3] else 0

        def texts(references: NDArray[np.int64]) -> NDArray[np.int64]:
            position = stat_table.positions(references)
            return np.where(position >= 0, text_index[position], missing)

        wanted = _Wanted({i: self.names.index(n) for i, n in names.items() if n in self.names})
        first = self.decoder.metadata.count
        for place, length in parts[3]:
            line = self.decoder.line(place, place + length, metadata, wanted, texts, self.progress, self.stop)
            plane.lines.append(line)
            if line.bad is not None:
                self._damaged(line.bad, f"{where}, line {text_of(line.name)}")
            if line.stopped:
                break
        for id_ in metadata.ids[len(kinds) :]:
            kinds.append(EventKind(id_, f"event {id_}", ""))
        self.decoder.metadata.room[first : self.decoder.metadata.count] += self.kinds
        self.kinds += len(kinds)
        self.progress(end)

    def _metadata(
        self, parts: dict[int, list[tuple[int, int]]], where: str, large: int
    ) -> tuple[dict[int, str], list[EventKind], dict[str, StatValue]]:
        names: dict[int, str] = {}
        kinds: list[EventKind] = []
        stats: dict[str, StatValue] = {}
        try:
            names = stat_names(self.source, parts[5])
            kinds = event_kinds(self.source, parts[4], names, large)
            stats = plane_stats(self.source, parts[6], names)
        except WireError as error:
            self._damaged(error.offset, where)
        except DecodeError:
            first = min(place for ranges in (parts[4], parts[5], parts[6]) for place, _ in ranges)
            self._say(
                "corrupt_file",
                f"The names{where} (from byte {first} on) cannot be read; some events have none.",
            )
        return names, kinds, stats


class _Wanted(Table):
    """A table from stat metadata ids to the columns of the wanted stats."""

    def __init__(self, columns: dict[int, int]) -> None:
        super().__init__(list(columns))
        keys, values = self.arrays
        filled = values >= 0
        values[filled] = [columns[int(key)] for key in keys[filled]]
