"""The data model: one host's trace as columns over its events, and a session of such hosts.

Everything that analyses or draws a capture reads these columns; nothing here knows how a file encodes
them or what an event's name means. All times are integer picoseconds from the session's start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.catalog import Catalog
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.trace import kernels
from tb_xla_insights.trace.metadata_events import count_by_metadata, rows_with_metadata, values_of_events
from tb_xla_insights.xplane.columns import EventOffsets, StatColumns

_ORDINAL = re.compile(r"[A-Z]+:(\d{1,18})\b", re.ASCII)
_ADDING = Lock()
"""Held while a trace's strings get another one: views ask from several threads."""

Int8 = NDArray[np.int8]
Int16 = NDArray[np.int16]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

Role = Literal[
    "driving", "autograd", "executor", "client", "compiler", "transfer", "loader", "op_pool", "other"
]
DeviceKind = Literal["tpu", "gpu", "cpu", "other"]


@dataclass(frozen=True)
class Plane:
    """One plane of the file. `stats` are the plane's own, by name; `stat_names` the names of its events'
    stats, by id."""

    index: int
    name: str
    stats: dict[str, Any]
    stat_names: dict[int, str]


@dataclass(frozen=True)
class Line:
    """One line (a thread, a device row). Its events are the rows `first` to `first + count - 1`,
    sorted by start, the longer one first where starts are equal."""

    index: int
    plane: int
    id: int
    name: str
    first: int
    count: int

    @property
    def rows(self) -> slice:
        return slice(self.first, self.first + self.count)


@dataclass(frozen=True)
class Metadata:
    """What events of one kind share, one entry per (plane, metadata id) of the file.

    `name` and `display_name` index the trace's strings (-1: none), `class_index` is the class of the name as the
    catalogue tells it (-1: none). `stats` are the kind's own stats, `text` the wanted ones among them by
    name, as columns of string indices, -1 where absent.
    """

    plane: Int32
    id: Int64
    name: Int32
    display_name: Int32
    class_index: Int8
    text: dict[str, Int32]
    stats: list[dict[str, Any]]

    @property
    def label(self) -> Int32:
        """The display name where there is one, as device ops have it, else the name."""
        return np.where(self.display_name >= 0, self.display_name, self.name)


@dataclass(frozen=True)
class Spans:
    """Intervals on one device: modules or ops, sorted by start, the longer one first.

    `row` is the event each stands for. An interval's length is not always its event's: an op of a CPU
    capture lasts from its begin to its `end:` event. `depth`, `parent` (index into these spans, -1: none) and
    `self_ps` (time not covered by recorded parts) describe how they nest; `name` indexes the trace's strings. Columns
    may be parts of the trace's.
    """

    row: Int32
    start_ps: Int64
    end_ps: Int64
    depth: Int16
    parent: Int32
    name: Int32

    @cached_property
    def self_ps(self) -> Int64:
        own = self.end_ps - self.start_ps
        # What a span's parts take of it comes after it: it is not needed any more as a duration.
        kernels.self_times(self.start_ps, own, self.parent, 0, own, self.start_ps.copy())
        return own

    def __len__(self) -> int:
        return len(self.row)

    def shifted(self, by_ps: int) -> Spans:
        return replace(self, start_ps=self.start_ps + by_ps, end_ps=self.end_ps + by_ps)


@dataclass(frozen=True)
class Device:
    """One device core. With `from_host_events` it has no plane of its own and was built from events of host threads.

    `modules` are its program runs, `ops` the operations (on a GPU: the kernels of all streams, and a run stands for
    its first one), `lines` the plane's lines by name for whatever else it records. `run_of_op`, where runs are made
    from kernels: per op the run that it is a part of, -1: none, as of kernels without a program; None elsewhere, where
    times tell. `run_ids`, where the device was made: per program run the id of its execute call, 0: not recorded.
    """

    id: str
    name: str
    kind: DeviceKind
    host: str
    plane: int | None
    from_host_events: bool
    modules: Spans
    ops: Spans
    lines: dict[str, int]
    run_of_op: Int32 | None = None
    run_ids: Int64 | None = None

    @property
    def ordinal(self) -> int:
        """The device's number among those of its kind on the host, as its name tells it; -1: none of 63 bits."""
        digits = _ORDINAL.match(self.name)
        return int(digits[1]) if digits else -1

    @cached_property
    def span_ps(self) -> tuple[int, int]:
        """Start of its first and end of its last module or op; (0, 0) where it has neither."""
        parts = [part for part in (self.modules, self.ops) if len(part)]
        if not parts:
            return 0, 0
        return min(int(p.start_ps[0]) for p in parts), max(int(p.end_ps.max()) for p in parts)


@dataclass(frozen=True)
class Thread:
    """A host line with what it does for the training: the driving thread, one of its helpers, a loader."""

    line: int
    name: str
    role: Role


@dataclass(frozen=True)
class Flows:
    """Pairs of events tied by `_pt/_p` (producer) and `_ct/_c` (consumer), sorted by consumer; on a GPU also a kernel
    and the call that launched it."""

    producer: Int32
    consumer: Int32

    def producers(self, rows: Int32) -> Int32:
        """The event that leads to each of some events, -1: none."""
        if not len(self.consumer):
            return np.full(len(rows), -1, np.int32)
        at = np.minimum(np.searchsorted(self.consumer, rows), len(self.consumer) - 1)
        return np.where(self.consumer[at] == rows, self.producer[at], np.int32(-1))

    def with_added(self, producer: Int32, consumer: Int32) -> Flows:
        """These and more, but for consumers that have a flow already."""
        new = self.producers(consumer) < 0
        producer = np.concatenate((self.producer, producer[new]))
        consumer = np.concatenate((self.consumer, consumer[new]))
        order = np.argsort(consumer, kind="stable")
        return Flows(producer[order].astype(np.int32), consumer[order].astype(np.int32))


class Ends:
    """Where events end, added up for those that are asked for: one column less to hold."""

    def __init__(self, start_ps: Int64, duration_ps: Int64) -> None:
        self._start_ps, self._duration_ps = start_ps, duration_ps

    @overload
    def __getitem__(self, rows: int | np.integer[Any]) -> np.int64: ...
    @overload
    def __getitem__(self, rows: NDArray[Any] | slice) -> Int64: ...
    def __getitem__(self, rows: Any) -> Any:
        return self._start_ps[rows] + self._duration_ps[rows]


@dataclass
class Trace:
    """One host's capture.

    Event columns have one entry per event of the file, line by line: `meta` (index into `metadata`),
    `start_ps`, `duration_ps`, and how events nest within their line: `depth`, `parent` (event row, -1: none).
    `event_offsets` finds their messages in the file again, for stats read on demand.
    """

    host: str
    path: str
    file_bytes: int
    fingerprint: str
    """Tells whether the file is still the one that was read."""
    strings: list[str]
    planes: list[Plane]
    lines: list[Line]
    catalog: Catalog
    """What the names of events mean."""
    metadata: Metadata
    meta: Int32
    start_ps: Int64
    duration_ps: Int64
    depth: Int16
    parent: Int32
    stats: StatColumns
    event_offsets: EventOffsets
    flows: Flows
    threads: list[Thread]
    devices: list[Device]
    annotations: Int32
    """Rows of the events that the user's own annotations recorded, in row order."""
    programs: dict[int, tuple[int, int]]
    """Where the file keeps each compiled program's HLO proto: (offset, length) by program id."""
    hostnames: list[str]
    base_unix_ns: int
    """Epoch nanoseconds of time 0, or 0 where the file records no epoch."""
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.meta)

    @property
    def end_ps(self) -> Ends:
        return Ends(self.start_ps, self.duration_ps)

    @cached_property
    def line_first(self) -> Int64:
        """The first row of each line, ascending."""
        return np.array([line.first for line in self.lines], np.int64)

    def line_of(self, row: int) -> Line:
        """The line an event lies on."""
        return self.lines[int(np.searchsorted(self.line_first, row, "right")) - 1]

    def lines_of(self, rows: NDArray[np.int32]) -> Int32:
        """The lines (indices) that events lie on, -1 for no event."""
        return (np.searchsorted(self.line_first, rows, "right") - 1).astype(np.int32)

    def lines_with(self, *roles: Role) -> list[int]:
        """The lines (indices) of the threads that have these roles, by role; one at most drives."""
        return [thread.line for role in roles for thread in self.threads if thread.role == role]

    @property
    def driving_lines(self) -> list[int]:
        """The driving thread's line, then those of its backward passes."""
        return self.lines_with("driving", "autograd")

    @cached_property
    def metadata_counts(self) -> Int64:
        """How many events each metadata entry has."""
        return count_by_metadata(self.meta, len(self.metadata.name))

    def rows_with_metadata(self, entries: NDArray[np.bool_]) -> Int32:
        """The events of some metadata entries, in row order."""
        if not self.metadata_counts[entries].any():  # as of most names that are asked for
            return np.empty(0, np.int32)
        return rows_with_metadata(entries, self.meta)

    def intern(self, text: str) -> int:
        """The index of a text in the trace's strings, to which it is added if need be."""
        with _ADDING:
            if text not in self._string_index:
                self._string_index[text] = len(self.strings)
                self.strings.append(text)
            return self._string_index[text]

    @cached_property
    def _string_index(self) -> dict[str, int]:
        return {text: index for index, text in enumerate(self.strings)}

    def map_texts(self, texts: Int32, answer: Callable[[str], int]) -> Int8:
        """What `answer` says of each text (index into the strings), asked once per different one; -1 for no text."""
        answers = np.full(len(self.strings) + 1, -1, np.int8)
        for text in np.flatnonzero(count_by_metadata(texts, len(answers))[:-1]).tolist():
            answers[text] = answer(self.strings[text])
        return values_of_events(answers, np.ascontiguousarray(texts))

    def name(self, row: int) -> str:
        """The event's name as recorded."""
        return self.strings[int(self.metadata.name[self.meta[row]])]

    def short_name(self, row: int) -> str:
        """The display name where the file gives one (device ops), else the name."""
        meta = self.meta[row]
        display = self.metadata.display_name[meta]
        return self.strings[int(display if display >= 0 else self.metadata.name[meta])]

    def class_indices(self, rows: Int32 | slice) -> Int8:
        """The catalogue's class of the events' names, -1 where it knows none. Annotations carry their class
        too."""
        return self.metadata.class_index[self.meta[rows]]

    def shift(self, by_ps: int) -> None:
        """Moves everything in time, in place. Only while nothing was computed from it yet."""
        if not by_ps:
            return
        # First, as they may have parts of the column.
        self.devices = [
            replace(d, modules=d.modules.shifted(by_ps), ops=d.ops.shifted(by_ps)) for d in self.devices
        ]
        self.start_ps += by_ps
        self.__dict__.pop("span_ps", None)
        self.base_unix_ns -= by_ps // 1000

    @cached_property
    def span_ps(self) -> tuple[int, int]:
        """Start of the first and end of the last event; (0, 0) without events."""
        first, last = kernels.span(self.start_ps, self.duration_ps)
        return int(first), int(last)

    @cached_property
    def nbytes(self) -> int:
        """Memory held by the event columns."""
        columns = (self.meta, self.start_ps, self.duration_ps, self.depth, self.parent)
        event = sum(column.itemsize for column in columns)
        spans = sum(28 * (len(device.ops) + len(device.modules)) for device in self.devices)
        return len(self) * event + self.stats.nbytes + 8 * len(self.flows.producer) + spans


@dataclass
class SessionTrace:
    """The hosts of one profile session, on one time base: 0 is the earliest event of any host."""

    name: str
    path: str
    traces: list[Trace]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    """About the session as a whole, and about hosts that could not be read."""
    numbers: list[int] = field(default_factory=list)
    """Each host's place among all hosts of the session that can be read, in their order; none where those are all."""
    steps_before: list[int] = field(default_factory=list)
    """Of hosts that are a choice of the session's: how many steps the session's hosts before each of them have."""
    whole_ps: int | None = None
    """How long the session of such a choice lasts."""

    def __post_init__(self) -> None:
        self.numbers = self.numbers or list(range(len(self.traces)))

    def numbered(self) -> Iterator[tuple[int, Trace]]:
        """Each host's place in the session, as ids of rows and events begin with it, and its trace."""
        return zip(self.numbers, self.traces, strict=True)

    @cached_property
    def duration_ps(self) -> int:
        if self.whole_ps is not None:
            return self.whole_ps
        return max((trace.span_ps[1] for trace in self.traces), default=0)

    @property
    def start_unix_ns(self) -> int:
        """Epoch nanoseconds of the session's start, 0 where no host records it."""
        return next((trace.base_unix_ns for trace in self.traces if trace.base_unix_ns), 0)

    @property
    def devices(self) -> list[Device]:
        return [device for trace in self.traces for device in trace.devices]

    @property
    def all_diagnostics(self) -> list[Diagnostic]:
        return [*self.diagnostics, *(d for trace in self.traces for d in trace.diagnostics)]

    @property
    def nbytes(self) -> int:
        return sum(trace.nbytes for trace in self.traces)
