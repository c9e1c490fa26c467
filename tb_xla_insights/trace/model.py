"""The data model: one host's trace as columns over its events, and a session of such hosts.

Analyses and the timeline read these columns, and nothing of the file's encoding. All times are integer picoseconds from
the session's start; until `build_session` has shifted a trace, from its first event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int8, Int16, Int32, Int64
from tb_xla_insights.catalog import Catalog
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.trace import kernels
from tb_xla_insights.trace.clock import session_start
from tb_xla_insights.trace.device import Device
from tb_xla_insights.trace.metadata_events import count_by_metadata, rows_with_metadata, values_of_events
from tb_xla_insights.xplane.columns import EventOffsets, StatColumns

_STRINGS_LOCK = Lock()
"""Held while a string is added to a trace: views run on several threads."""


Role = Literal[
    "driving", "autograd", "executor", "client", "compiler", "transfer", "loader", "op_pool", "other"
]


@dataclass(frozen=True)
class Plane:
    """One plane of the file. `stats` are the plane's own, by name; `stat_names` are the names of its events' stats, by
    id."""

    index: int
    name: str
    stats: dict[str, Any]
    stat_names: dict[int, str]


@dataclass(frozen=True)
class Line:
    """One line (a thread, a device row). Its events are the rows `first` to `first + count - 1`, sorted by start, the
    longer one first if starts are equal."""

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
    """Event metadata, one entry per (plane, metadata id) of the file.

    `name` and `display_name` index the trace's strings (-1: none). `class_index` is the name's class in the catalogue
    (-1: none). `stats` are all stats of the metadata; `text` are those that analyses need, by name, as columns of
    string indices (-1: absent). `of_runtime`: whether the runtime's recorder wrote its events on a divided thread.
    """

    plane: Int32
    id: Int64
    name: Int32
    display_name: Int32
    class_index: Int8
    text: dict[str, Int32]
    stats: list[dict[str, Any]]
    of_runtime: NDArray[np.bool_]

    @property
    def label(self) -> Int32:
        """The display name if there is one, as for device ops, else the name."""
        return np.where(self.display_name >= 0, self.display_name, self.name)


@dataclass(frozen=True)
class Thread:
    """A host line with its role in the training: the driving thread, a helper, a loader."""

    line: int
    name: str
    role: Role


@dataclass(frozen=True)
class DividedThread:
    """A thread that two recorders wrote as two lines (indices), the framework's and the runtime's. The trace has the
    events of both on the framework's line. `is_exact`: whether marks show that they are one thread, not only the
    framework's calls around those of the runtime."""

    framework: int
    runtime: int
    is_exact: bool


@dataclass(frozen=True)
class DeviceClock:
    """The shift of the devices' times that places them on the host's clock. The true shift is between `lowest_ps` and
    `highest_ps` (None: not known)."""

    shift_ps: int
    lowest_ps: int
    highest_ps: int | None

    @property
    def error_ps(self) -> int:
        """How far the true shift may be from this one, as far as is known."""
        highest_ps = self.shift_ps if self.highest_ps is None else self.highest_ps
        return max(self.shift_ps - self.lowest_ps, highest_ps - self.shift_ps)


@dataclass(frozen=True)
class Flows:
    """Pairs of events tied by `_pt/_p` (producer) and `_ct/_c` (consumer), sorted by consumer; on a GPU also calls and
    the kernels that they launched, and execution events and their calls on other lines."""

    producer: Int32
    consumer: Int32

    def producers(self, rows: Int32) -> Int32:
        """The producer of each event, -1: none."""
        if not len(self.consumer):
            return np.full(len(rows), -1, np.int32)
        index = np.minimum(np.searchsorted(self.consumer, rows), len(self.consumer) - 1)
        return np.where(self.consumer[index] == rows, self.producer[index], np.int32(-1))

    def with_added(self, producer: Int32, consumer: Int32) -> Flows:
        """These flows and additional ones, except for consumers that already have a flow."""
        is_new = self.producers(consumer) < 0
        producer = np.concatenate((self.producer, producer[is_new]))
        consumer = np.concatenate((self.consumer, consumer[is_new]))
        order = np.argsort(consumer, kind="stable")
        return Flows(producer[order].astype(np.int32), consumer[order].astype(np.int32))


class Ends:
    """The ends of events, computed for requested rows, which saves a column."""

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

    Event columns have one entry per event of the file, line by line: `metadata_index` (into `metadata`),
    `start_ps`, `duration_ps`, and the nesting within the line: `depth`, `parent` (event row, -1: none).
    `event_offsets` locates their messages in the file, for stats read on demand.
    """

    host: str
    path: str
    file_bytes: int
    fingerprint: str
    """Identifies the file's content, so that later reads notice a changed file."""
    strings: list[str]
    planes: list[Plane]
    lines: list[Line]
    catalog: Catalog
    """The classes and tags of event names."""
    metadata: Metadata
    metadata_index: Int32
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
    """The file range of each compiled program's HLO proto: (offset, length) by program id."""
    hostnames: list[str]
    base_unix_ns: int
    """Epoch nanoseconds of time 0; 0 if not recorded."""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    divided_threads: list[DividedThread] = field(default_factory=list)
    device_clock: DeviceClock | None = None
    """How the devices' times were shifted; None if their clock agrees with the host's, or cannot be placed."""

    def __len__(self) -> int:
        return len(self.metadata_index)

    @property
    def end_ps(self) -> Ends:
        return Ends(self.start_ps, self.duration_ps)

    @cached_property
    def line_first(self) -> Int64:
        """The first row of each line, ascending."""
        return np.array([line.first for line in self.lines], np.int64)

    @cached_property
    def annotation_mask(self) -> NDArray[np.bool_]:
        """Whether each event is an annotation."""
        mask = np.zeros(len(self), np.bool_)
        mask[self.annotations] = True
        return mask

    def line_of(self, row: int) -> Line:
        """The line of an event."""
        return self.lines[int(np.searchsorted(self.line_first, row, "right")) - 1]

    def lines_of(self, rows: NDArray[np.int32]) -> Int32:
        """The lines (indices) of events, -1 for no event."""
        return (np.searchsorted(self.line_first, rows, "right") - 1).astype(np.int32)

    def is_on_lines(self, rows: Int32, lines: Sequence[int]) -> NDArray[np.bool_]:
        """Whether each event is on one of these lines (indices); False for no event."""
        is_chosen = np.zeros(len(self.lines) + 1, np.bool_)  # the last entry: no event
        is_chosen[lines] = True
        return is_chosen[self.lines_of(rows)]

    def lines_with(self, *roles: Role) -> list[int]:
        """The lines (indices) of the threads with these roles, by role; at most one drives."""
        return [thread.line for role in roles for thread in self.threads if thread.role == role]

    @property
    def driving_lines(self) -> list[int]:
        """The driving thread's line, then those of its backward passes."""
        return self.lines_with("driving", "autograd")

    @cached_property
    def metadata_counts(self) -> Int64:
        """The number of events of each event metadata entry."""
        return count_by_metadata(self.metadata_index, len(self.metadata.name))

    def rows_with_metadata(self, is_selected: NDArray[np.bool_]) -> Int32:
        """The events of the selected event metadata entries, in row order."""
        if not self.metadata_counts[is_selected].any():  # the usual case
            return np.empty(0, np.int32)
        return rows_with_metadata(is_selected, self.metadata_index)

    def intern(self, text: str) -> int:
        """The index of a text in the trace's strings; adds the text if it is missing."""
        with _STRINGS_LOCK:
            if text not in self._string_index:
                self._string_index[text] = len(self.strings)
                self.strings.append(text)
            return self._string_index[text]

    @cached_property
    def _string_index(self) -> dict[str, int]:
        return {text: index for index, text in enumerate(self.strings)}

    def map_texts(self, texts: Int32, function: Callable[[str], int]) -> Int8:
        """The result of `function` for each text (index into the strings), called once per distinct text; -1 for no
        text."""
        values = np.full(len(self.strings) + 1, -1, np.int8)
        for text_index in np.flatnonzero(count_by_metadata(texts, len(values))[:-1]).tolist():
            values[text_index] = function(self.strings[text_index])
        return values_of_events(values, np.ascontiguousarray(texts))

    def name(self, row: int) -> str:
        """The event's name as recorded."""
        return self.strings[int(self.metadata.name[self.metadata_index[row]])]

    def short_name(self, row: int) -> str:
        """The display name if there is one, as for device ops, else the name."""
        metadata_index = self.metadata_index[row]
        display = self.metadata.display_name[metadata_index]
        return self.strings[int(display if display >= 0 else self.metadata.name[metadata_index])]

    def class_indices(self, rows: Int32 | slice) -> Int8:
        """The catalogue's class of each event's name, also of an annotation's; -1 for a name without a class."""
        return self.metadata.class_index[self.metadata_index[rows]]

    def shift(self, by_ps: int) -> None:
        """Shifts all times, in place. Call it before anything is computed from the trace."""
        if not by_ps:
            return
        # Devices first, since their columns may be views of `start_ps`.
        self.devices = [
            replace(device, runs=device.runs.shifted(by_ps), ops=device.ops.shifted(by_ps))
            for device in self.devices
        ]
        self.start_ps += by_ps
        self.__dict__.pop("span_ps", None)
        self.base_unix_ns -= by_ps // 1000

    @cached_property
    def span_ps(self) -> tuple[int, int]:
        """Start of the first and end of the last event; (0, 0) without events."""
        first, last = kernels.span(self.start_ps, self.duration_ps)
        return int(first), int(last)


@dataclass
class SessionTrace:
    """The hosts of one profile session, on one time base, see `build_session`."""

    name: str
    path: str
    traces: list[Trace]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    """About the session as a whole, and about hosts that could not be read."""
    numbers: list[int] = field(default_factory=list)
    """Each host's index among all readable hosts of the session; 0, 1, … if all hosts are here."""
    steps_before: list[int] = field(default_factory=list)
    """For a selection of the session's hosts: the number of steps of the session's hosts before each of them."""
    whole_session_ps: int | None = None
    """For a selection of the session's hosts: the duration of the whole session."""

    def __post_init__(self) -> None:
        self.numbers = self.numbers or list(range(len(self.traces)))

    def numbered_traces(self) -> Iterator[tuple[int, Trace]]:
        """Each host's index in the session, with which ids of rows and events begin, and its trace."""
        return zip(self.numbers, self.traces, strict=True)

    @cached_property
    def duration_ps(self) -> int:
        if self.whole_session_ps is not None:
            return self.whole_session_ps
        return max((trace.span_ps[1] for trace in self.traces), default=0)

    @property
    def start_unix_ns(self) -> int:
        """Epoch nanoseconds of the session's start, 0 if no host records it. A host from another time does not count:
        it was not shifted to the session's start."""
        return session_start([trace.base_unix_ns for trace in self.traces])

    @property
    def devices(self) -> list[Device]:
        return [device for trace in self.traces for device in trace.devices]

    @property
    def all_diagnostics(self) -> list[Diagnostic]:
        return [*self.diagnostics, *(diagnostic for trace in self.traces for diagnostic in trace.diagnostics)]
