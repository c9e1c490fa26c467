"""The answers of the timeline's routes: `data/timeline`, `event`, `neighbor`, `search`, `table` and `scopes`."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from tb_xla_insights.schema.window import EventClass

TimelineRowKind = Literal[
    "steps",
    "annotations",
    "classes",
    "thread",
    "gaps",
    "modules",
    "ops",
    "scopes",
    "async",
    "stream",
    "sparse_core",
]

StatType = Literal["int", "float", "text", "bytes"]


class TimelineRow(TypedDict):
    """A row of the timeline."""

    id: str
    """Id of the row; begins with the host's index in `session.hosts`."""
    kind: TimelineRowKind
    """What the row shows."""
    label: str
    """The text beside the row."""
    host: str
    """Name of the host."""
    device: str | None
    """Id of the device; `null` in a row of the host."""
    role: str | None
    """Role of the thread (see `WindowThread`); `null` in rows that show no thread."""
    lanes: int
    """Number of lanes, at least 1."""
    events: int
    """Number of events."""
    unfolded: bool
    """Whether the row is drawn without unfolding."""
    share: float | None
    """The share of the session that its events cover; `null` in the rows of classes and of gaps."""


class TimelineRows(TypedDict):
    """`data/scopes`: the rows of the timeline."""

    rows: list[TimelineRow]
    """The rows in drawing order."""
    more_rows: bool
    """Whether the rows of gaps, scopes and asynchronous ops are still missing; `data/scopes` computes them."""


class LaneSlices(TypedDict):
    """The slices of one lane of a row as columns, by start. Neighbours below 2 px are merged."""

    s: list[int]
    """Starts in picoseconds: each is the difference from the one before, the first one from the window's start."""
    d: list[int]
    """Durations in picoseconds."""
    n: list[int]
    """Names, as indices into `names`; -1: no name."""
    c: list[int]
    """Classes, as indices into the classes of host time; in rows of devices 0: op, 1: collective, 2: op that waits."""
    e: list[int]
    """Numbers of events, the first one of a merged slice: each is the difference from the one before. In lanes whose
    slices are no events each is -1."""
    k: NotRequired[list[int]]
    """Number of events of each slice; absent if no slice is merged, as are `b`, `r` and `f`."""
    b: NotRequired[list[int]]
    """Picoseconds of each slice that its events cover; 0 for a slice of one event."""
    r: NotRequired[int]
    """Exponent of the buckets of `f`: each is 2^r picoseconds long, counted from time 0."""
    f: NotRequired[str]
    """The covered share of each bucket that a merged slice touches, from 0 to f, slice by slice."""
    p: NotRequired[dict[str, list[int]]]
    """Only of more than 200 steps, whose slices are the slowest step of each pixel: their parts in percent: `work` of
    devices and their idle time by class, or, without devices, the driving thread's time by class."""


class TimelineSlices(TypedDict):
    """`data/timeline`: the slices of rows that touch a window."""

    start_ps: int
    """Start of the window."""
    end_ps: int
    """End of the window."""
    names: list[str]
    """The names of slices."""
    rows: dict[str, list[LaneSlices]]
    """By id of the row, its lanes, outermost first."""


class EventSummary(EventClass):
    """An event, for lists."""

    event: str | None
    """Id of the event; `null` for slices that are no events, such as those of classes and scopes."""
    row: str
    """Id of its row."""
    depth: int
    """Index of its lane in that row."""
    name: str
    """Name of the event."""
    thread: str
    """Name of the thread, or label of the row."""
    start_ps: int
    """Start."""
    duration_ps: int
    """Duration."""


class StatOfEvent(TypedDict):
    """A stat of an event, or a fact about it."""

    name: str
    """Name of the stat."""
    value: str
    """Its value as text; of bytes the first 32 in hexadecimal digits."""
    kind: StatType
    """Type of the value."""


# A keyword of Python names one of the keys.
FlowSources = TypedDict("FlowSources", {"from": list[EventSummary]})


class EventFlow(FlowSources):
    """The events that flows link with an event, on each side the first 256 by start."""

    to: list[EventSummary]
    """The events that take its work up."""
    left_out: int
    """The number of events beyond these, on both sides."""


class LaunchOfEvent(TypedDict):
    """A launch: a call, and the runs of a program that it started."""

    call: EventSummary | None
    """The execute call; `null` if it is not known."""
    run: EventSummary | None
    """The run on the first device; `null` if no row shows it."""
    program: str
    """Name of the program."""
    devices: list[str]
    """Ids of the devices that run it."""
    duration_ps: int
    """Duration of the longest run."""


class DevicePiece(TypedDict):
    """Ops of an annotation that no other op interrupts; of more than 24 on a device, the closest ones are one."""

    start_ps: int
    """Start of the first op."""
    end_ps: int
    """End of the last op."""
    after_ps: int
    """How long after its run's start it begins."""
    device_ps: int
    """Own time of the ops."""
    ops: int
    """Number of ops."""
    count: int
    """Number of pieces that are one here."""
    named: str
    """How the annotation was found: named, inferred, or both with a share."""
    longest: EventSummary | None
    """The longest op; `null` if no row shows it."""
    source: str
    """The line of Python of the longest op; empty if unknown."""


class DeviceWork(TypedDict):
    """The work of an annotation on one device."""

    device: str
    """Id of the device."""
    text: str
    """Time, number of ops and of pieces, in words."""
    note: str
    """When the work runs, and how it was found, in words."""
    ops: int
    """Number of ops."""
    count: int
    """Number of pieces."""
    runs: list[tuple[int, int]]
    """Start and end of the runs with these ops."""
    pieces: list[DevicePiece]
    """The pieces, by start."""


class OnDevice(TypedDict):
    """The ops that were traced inside one annotation."""

    path: str
    """Path of the annotation."""
    depth: int
    """Number of paths that enclose it: its lane in rows of scopes."""
    missing: str | None
    """Why there are none; `null` if there are."""
    devices: list[DeviceWork]
    """By device; empty if there are none."""


class Occurrences(TypedDict):
    """The events of the same name in the same row; in rows of steps and of classes, those of the same class."""

    count: int
    """Number of events."""
    index: int
    """Index of this event among them, by start."""
    mean_ps: int
    """Mean duration."""
    min_ps: int
    """Shortest duration."""
    max_ps: int
    """Longest duration."""
    previous: EventSummary | None
    """The one before; `null` at the first."""
    next: EventSummary | None
    """The one after; `null` at the last."""
    durations_ps: list[int]
    """Durations of at most 64 of them, evenly distributed, by start."""


class EventDetails(EventSummary):
    """`data/event`: one event."""

    title: str | None
    """The whole name, if `name` is a short or a cut one; else `null`."""
    host: str
    """Name of the host."""
    self_ps: int
    """Own time."""
    path: list[EventSummary]
    """The events that enclose it, outermost first; of more than 200 the outermost and the innermost 100."""
    path_left_out: int
    """Number of events that `path` leaves out in its middle."""
    stats: list[StatOfEvent]
    """Facts about the event, then its stats."""
    flow: EventFlow
    """The events that flows link with it."""
    launches: list[LaunchOfEvent]
    """The first three launches of an annotation's work, of a call, or of a run."""
    launches_left_out: int
    """Number of the others."""
    on_device: OnDevice | None
    """The work of an annotation on devices; `null` for other events."""
    occurrences: Occurrences
    """The events of the same name."""


class Neighbor(TypedDict):
    """`data/neighbor`: the next or the previous event of a lane."""

    event: EventSummary | None
    """The event; `null` if there is none."""


class EventTable(TypedDict):
    """`data/table`: the events of rows in a window."""

    count: int
    """Number of events."""
    items: list[EventSummary]
    """The first of them, by start."""


class NameOfHits(EventClass):
    """The events of one name that a search finds."""

    name: str
    """Name of the events."""
    count: int
    """Number of events and scopes."""
    scopes: int
    """Number of scopes of device ops among them."""
    total_ps: int
    """Sum of their durations."""


class SearchHits(TypedDict):
    """Events and scopes that a search finds, as columns: those with the best match first, among them events first, then
    by start."""

    event: list[str | None]
    """Ids of the events; `null` for scopes."""
    row: list[str]
    """Ids of their rows."""
    depth: list[int]
    """Indices of their lanes."""
    s: list[int]
    """Starts in picoseconds."""
    d: list[int]
    """Durations in picoseconds."""
    n: list[int]
    """Names, as indices into `names`."""


class SearchAnswer(TypedDict):
    """`data/search`: the events and the scopes of device ops whose name contains a text."""

    count: int
    """Number of events and scopes."""
    best: int
    """Number of the first hits that match equally well: their name is the text, else begins with or contains it."""
    truncated: bool
    """Whether `hits` leaves events out."""
    names: list[NameOfHits]
    """The names; those that are the text first, then those that begin with it, each with most time first."""
    hits: SearchHits
    """The first 1,000 events."""


class AnnotationOfEvent(TypedDict):
    """The annotation of an event in a row of annotations or scopes."""

    path: str | None
    """Path of the annotation; `null`: no annotation."""
    step: int | None
    """Index over the steps of all hosts; `null`: unknown."""
    device: str | None
    """Id of the device; `null`: unknown."""
