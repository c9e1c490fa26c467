"""Small XPlane files in a few lines.

    space = Space(hostnames=["t1v"])
    line = space.plane("/host:CPU").line("python", id=-5, timestamp_ns=1_000)
    line.event("Training_Step", 0, 9_000_000, _r=1, step_num=3)
    line.event("forward", 1_000_000, 2_000_000)
    space.write("run/plugins/profile/session/t1v.xplane.pb")

Times of events are picoseconds after the line's `timestamp_ns`. A stat's Python type determines its type in the file:
int becomes int64, `Uint` uint64, float double, str and bytes themselves, and `Ref` a text that the plane stores once
and refers to by id. Events of one name in a plane share their metadata, as in files of profilers; an id is given only
where a certain one is needed. The bytes depend on the calls alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from synthetic.wire import block, double, integer, optional_block, optional_integer


class Uint(int):
    """An integer to be stored as uint64_value."""


class Ref(str):
    """A text to be stored once, as the name of a stat metadata, and referred to by ref_value."""


Stat = int | float | str | bytes  # Uint and Ref included


@dataclass
class EventMetadata:
    """The properties that all events of one name share."""

    id: int
    name: str
    display_name: str = ""
    stats: dict[str, Stat] = field(default_factory=dict)
    metadata: bytes = b""
    children: list[int] = field(default_factory=list)


@dataclass
class Event:
    """One event. With `occurrences` it is an aggregate, which has a count instead of a start."""

    metadata_id: int
    start_ps: int
    duration_ps: int
    stats: dict[str, Stat]
    occurrences: int | None = None

    @property
    def end_ps(self) -> int:
        return self.start_ps + self.duration_ps


@dataclass
class Line:
    """A thread of the host, or a row of a device."""

    plane: "Plane"
    name: str
    id: int
    timestamp_ns: int
    display_name: str
    display_id: int
    duration_ps: int
    events: list[Event] = field(default_factory=list)

    def event(
        self,
        name: str | EventMetadata,
        start_ps: int,
        duration_ps: int,
        /,
        stats: Mapping[str, Stat] | None = None,
        **more_stats: Stat,
    ) -> Event:
        """Adds an event; `stats` is for names that cannot be keyword arguments."""
        metadata = name if isinstance(name, EventMetadata) else self.plane.event_metadata(name)
        event = Event(metadata.id, start_ps, duration_ps, {**(stats or {}), **more_stats})
        self.events.append(event)
        return event

    def aggregate(self, name: str | EventMetadata, occurrences: int, duration_ps: int) -> Event:
        """Adds an event that stands for several occurrences and has no start."""
        event = self.event(name, 0, duration_ps)
        event.occurrences = occurrences
        return event


@dataclass
class Plane:
    """One device, or one part of a host, with its own tables of names."""

    name: str
    id: int
    stats: dict[str, Stat] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    metadata: list[EventMetadata] = field(default_factory=list)
    stat_ids: dict[str, int] = field(default_factory=dict)
    _by_name: dict[str, EventMetadata] = field(default_factory=dict)

    def line(
        self,
        name: str,
        id: int | None = None,
        timestamp_ns: int = 0,
        display_name: str = "",
        display_id: int = 0,
        duration_ps: int = 0,
    ) -> Line:
        """Adds a line. Names need not differ: a host has several threads called python."""
        number = len(self.lines) + 1 if id is None else id
        line = Line(self, name, number, timestamp_ns, display_name, display_id, duration_ps)
        self.lines.append(line)
        return line

    def event_metadata(
        self,
        name: str,
        id: int | None = None,
        display_name: str = "",
        stats: Mapping[str, Stat] | None = None,
        metadata: bytes = b"",
        children: list[int] | None = None,
    ) -> EventMetadata:
        """The metadata of that name, created on first use, and again whenever an id is given."""
        existing = self._by_name.get(name)
        if existing is None or id is not None:
            number = (
                id
                if id is not None
                else max([entry.id for entry in self.metadata if entry.id > 0], default=0) + 1
            )
            existing = EventMetadata(
                number, name, display_name, dict(stats or {}), metadata, list(children or [])
            )
            self.metadata.append(existing)
            self._by_name.setdefault(name, existing)
        return existing

    def stat_id(self, name: str, id: int | None = None) -> int:
        """The id of a stat's name, or of a text that `Ref` refers to; a given id counts on first use only."""
        if name not in self.stat_ids:
            unused = max([number for number in self.stat_ids.values() if number > 0], default=0) + 1
            self.stat_ids[name] = unused if id is None else id
        return self.stat_ids[name]

    def to_bytes(self) -> bytes:
        body = b"".join(block(3, self._line(line)) for line in self.lines)
        for metadata in self.metadata:
            entry = integer(1, metadata.id) + block(2, self._event_metadata(metadata))
            body += block(4, entry)
        stats = self._stats(6, self.stats)
        for name, number in self.stat_ids.items():  # last, because the calls above register names
            body += block(5, integer(1, number) + block(2, optional_integer(1, number) + block(2, name)))
        return optional_integer(1, self.id) + block(2, self.name) + body + stats

    def _line(self, line: Line) -> bytes:
        head = (
            optional_integer(1, line.id)
            + optional_block(2, line.name)
            + optional_integer(3, line.timestamp_ns)
        )
        events = b"".join(block(4, self._event(event)) for event in line.events)
        tail = optional_integer(9, line.duration_ps) + optional_integer(10, line.display_id)
        return head + events + tail + optional_block(11, line.display_name)

    def _event(self, event: Event) -> bytes:
        start_or_count = (
            integer(2, event.start_ps) if event.occurrences is None else integer(5, event.occurrences)
        )
        head = (
            optional_integer(1, event.metadata_id) + start_or_count + optional_integer(3, event.duration_ps)
        )
        return head + self._stats(4, event.stats)

    def _event_metadata(self, metadata: EventMetadata) -> bytes:
        head = optional_integer(1, metadata.id) + optional_block(2, metadata.name)
        head += optional_block(3, metadata.metadata) + optional_block(4, metadata.display_name)
        return (
            head + self._stats(5, metadata.stats) + b"".join(integer(6, child) for child in metadata.children)
        )

    def _stats(self, number: int, stats: Mapping[str, Stat]) -> bytes:
        return b"".join(block(number, self._stat(name, value)) for name, value in stats.items())

    def _stat(self, name: str, value: Stat) -> bytes:
        head = optional_integer(1, self.stat_id(name))
        if isinstance(value, Ref):
            return head + integer(7, self.stat_id(value))
        if isinstance(value, str):
            return head + block(5, value)
        if isinstance(value, bytes):
            return head + block(6, value)
        if isinstance(value, float):
            return head + double(2, value)
        return head + integer(3 if isinstance(value, Uint) else 4, value)


@dataclass
class Space:
    """A whole file: the capture of one host."""

    hostnames: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    planes: list[Plane] = field(default_factory=list)

    def plane(self, name: str, id: int | None = None, stats: Mapping[str, Stat] | None = None) -> Plane:
        plane = Plane(name, len(self.planes) if id is None else id, dict(stats or {}))
        self.planes.append(plane)
        return plane

    def to_bytes(self) -> bytes:
        body = b"".join(block(1, plane.to_bytes()) for plane in self.planes)
        texts = ((2, self.errors), (3, self.warnings), (4, self.hostnames))
        return body + b"".join(block(number, text) for number, entries in texts for text in entries)

    def write(self, path: str | Path) -> Path:
        """Writes the file, and creates its directories."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(self.to_bytes())
        return target
