"""A window of a session: `xla-insights window --json`, `session.window()`, `data/window`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import ClassName
from tb_xla_insights.columns.head import Head
from tb_xla_insights.schema.common import ByClass


class OmittedRows(TypedDict):
    """The rows that a table leaves out."""

    names: int
    """Number of names."""
    count: int
    """Number of events."""
    self_ps: int
    """Own time of these."""


class OpTime(TypedDict):
    """Own time of one op."""

    op: Annotated[str, Head("Op", "code")]
    """Name of the op."""
    count: Annotated[int, Head("Count", "number")]
    """Number of events."""
    self_ps: Annotated[int, Head("Own time")]
    """Own time in the window."""


EventClass = TypedDict("EventClass", {"class": Annotated[ClassName | None, Head("Class", priority=1)]})


class EventName(TypedDict):
    """The events of one name."""

    name: Annotated[str, Head("Event")]
    """Name of the events."""


class EventTime(EventName, EventClass):
    """Own time of the events of one name on one thread."""

    count: int
    """Number of events."""
    self_ps: int
    """Own time in the window."""


class LongestEvent(EventClass):
    """The longest event of a name, as recorded: it may begin before the window or end after it."""

    event: str
    """Id of the event in the timeline."""
    row: str
    """Id of its row in the timeline."""
    depth: int
    """Index of its lane in that row."""
    name: str
    """Name of the event."""
    thread: str
    """Name of the thread."""
    start_ps: int
    """Start."""
    duration_ps: int
    """Duration."""


class NameTime(EventName, EventClass):
    """Time of the events of one name on all threads."""

    count: Annotated[int, Head("Count", priority=2)]
    """Number of events."""
    total_ps: Annotated[int, Head("Total", priority=3)]
    """Their time in the window."""
    self_ps: Annotated[int, Head("Own time")]
    """Own time in the window."""
    longest: LongestEvent
    """The longest one."""


class WindowHost(TypedDict):
    """What the driving thread of a host does in the window."""

    host: str
    """Name of the host."""
    by_class_ps: ByClass
    """Time by class; adds up to the window."""
    row_by_class: dict[ClassName, str]
    """By class, the id of the thread's row whose events decide most of its time; a class that no event decides is left
    out."""


class WindowThread(TypedDict):
    """What a thread does in the window."""

    row: str
    """Id of its row in the timeline."""
    name: Annotated[str, Head("Thread")]
    """Name of the thread."""
    role: Annotated[str, Head("Role")]
    """Role of the thread: `driving`, `autograd`, `executor`, `client`, `compiler`, `transfer`, `loader`, `op_pool` or
    `other`."""
    host: Annotated[str, Head("Host", priority=3)]
    """Name of its host."""
    busy_ps: Annotated[int, Head("Busy")]
    """Time with any event."""
    events: Annotated[int, Head("Events", priority=4)]
    """Number of events."""
    by_class_ps: Annotated[ByClass, Head("By class", priority=1)]
    """Time by class; with `no_class_ps` it adds up to `busy_ps`."""
    no_class_ps: int
    """Time of events without a class."""
    top: Annotated[list[EventTime], Head("Most own time in", priority=2)]
    """Names with most own time."""
    more: OmittedRows
    """The other names."""


class WindowDevice(TypedDict):
    """What a device does in the window."""

    id: str
    """Id of the device."""
    name: Annotated[str, Head("Device")]
    """Name of the device."""
    host: Annotated[str, Head("Host", priority=1)]
    """Name of its host."""
    span_ps: int
    """The part of the window in its span."""
    busy_ps: Annotated[int, Head("Busy")]
    """Time in which ops work."""
    idle_ps: Annotated[int, Head("Idle")]
    """The rest of `span_ps`."""
    stall_ps: Annotated[int, Head("Stall", priority=4)]
    """The part of `busy_ps` in ops that only wait."""
    modules: Annotated[int, Head("Modules", priority=3)]
    """Number of program runs."""
    ops: Annotated[int, Head("Ops", priority=2)]
    """Number of op events."""
    top_ops: list[OpTime]
    """Ops with most own time."""
    more_ops: OmittedRows
    """The other ops."""


class WindowAnnotation(TypedDict):
    """Own time of the ops of an annotation in the window."""

    path: Annotated[str | None, Head("Annotation")]
    """Path of the annotation; `null`: ops without one."""
    count: Annotated[int, Head("Count", priority=2)]
    """Number of op events."""
    self_ps: Annotated[int, Head("Own time")]
    """Own time of its ops outside of inner annotations; all rows add up to the own time of all ops."""
    share: float
    """Share of the own time of all ops."""
    inside_ps: int
    """Own time of its ops and of those of all inner annotations."""
    top_ops: Annotated[list[OpTime], Head("Most own time in", priority=1)]
    """Ops with most own time."""
    more_ops: OmittedRows
    """The other ops."""


class Window(TypedDict):
    """What happens between two instants."""

    start_ps: int
    """Start of the window."""
    end_ps: int
    """End of the window."""
    duration_ps: int
    """Its duration."""
    host: str | None
    """Name of the host whose driving thread `by_class_ps` describes; `null` without hosts."""
    by_class_ps: ByClass
    """What that driving thread does; adds up to the window."""
    hosts: list[WindowHost]
    """The same of each host."""
    threads: list[WindowThread]
    """Threads with events, in the order of hosts, then of the capture's lines."""
    devices: list[WindowDevice]
    """One row per device."""
    annotations: list[WindowAnnotation]
    """Device time by annotation."""
    top: list[NameTime]
    """Names with most own time on all threads, without device ops."""
