"""The answers of `data/sessions`, `data/session`, `data/reload` and `data/stop`."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import ClassName
from tb_xla_insights.schema.overview_route import HostRanks
from tb_xla_insights.schema.route_parts import HostCounts
from tb_xla_insights.schema.session import Diagnostic, Environment, SessionHead
from tb_xla_insights.schema.timeline_route import TimelineRows

ReadingState = Literal["waiting", "reading", "building", "ready", "error"]

LoadStage = Literal["reading", "building", "drawing"]


class ListedHost(TypedDict):
    """One capture file of a session."""

    name: str
    """Name of the host."""
    bytes: int
    """Size of the file; 0 if the store has not reported it."""


class ListedSession(TypedDict):
    """A session of the logdir."""

    name: str
    """Name of the session; its path if there are several logdirs, or if it is in a subdirectory."""
    hosts: list[ListedHost]
    """Its captures."""
    modified_unix_ns: str
    """When the latest capture was written, in epoch nanoseconds, as a decimal string."""


class SessionList(TypedDict):
    """`data/sessions`: the sessions of the logdir."""

    logdir: str
    """The logdirs, as text."""
    sessions: list[ListedSession]
    """The sessions, newest first."""
    message: str | None
    """Why there are no sessions; `null` if there are."""
    note: str | None
    """One line about directories that this user may not read; `null` if there are none."""
    capture: bool
    """Whether this page may capture."""
    capture_logdir: str | None
    """Where captures are written; `null` if this page may not capture."""


class HostReading(TypedDict):
    """The reading progress of one host."""

    name: str
    """Name of the host."""
    bytes: int
    """Size of the file; 0 until the store has reported it."""
    bytes_read: int
    """Number of bytes read."""
    state: ReadingState
    """What is being done with the host's file, or `error`."""
    message: str | None
    """Why it could not be read; `null` without an error."""


class StageProgress(TypedDict):
    """How far a session has been loaded."""

    stage: LoadStage
    """What the server does: it reads the files, builds the traces, or prepares the timeline (`drawing`)."""
    done_share: float
    """Share of the work that is done, until the timeline can be drawn."""
    seconds_left: float | None
    """Estimate of the rest; `null` until it can be estimated."""


class PartialCounts(HostCounts):
    """How many hosts were read, and how many the views cover."""

    hosts_covered: int
    """Number of hosts that the views cover."""


class ReadingProgress(StageProgress):
    """How far a session has been read."""

    bytes_read: int
    """Number of bytes read."""
    bytes: int | None
    """Size of all files; `null` until the store has reported all."""
    hosts: list[HostReading]
    """The progress of each host."""
    partial: PartialCounts | None
    """The numbers of hosts; `null` before the first partial report."""


class DeviceSummaries(TypedDict):
    """The devices, a column per property; the id of a device is `<host>/<name>`."""

    unit_ps: int
    """The unit of all times here: 1, or a larger power of ten for many devices."""
    host: list[str]
    """Names of the hosts."""
    name: list[str]
    """Names of the devices."""
    kind: list[Literal["tpu", "gpu", "cpu", "other"]]
    """Kinds of the devices."""
    modules: list[int]
    """Numbers of program runs."""
    ops: list[int]
    """Numbers of op events."""
    busy: list[int]
    """Busy time."""
    idle: list[int]
    """Idle time in the span."""
    stall: list[int]
    """The part of busy time in ops that only wait."""
    duty_cycle: list[float]
    """Busy time over span."""


class StripDevice(TypedDict):
    """A device in the overview strip."""

    id: str
    """Id of the device."""
    busy: str
    """The busy share of each bucket, a hexadecimal digit from `0`, idle, to `f`, busy throughout."""


StripClasses = TypedDict("StripClasses", {"class": str})


class StripHost(StripClasses):
    """A host in the overview strip."""

    host: str
    """Name of the host."""


class OverviewStrip(TypedDict):
    """The whole session in equal buckets of time."""

    buckets: int
    """Number of buckets."""
    devices: list[StripDevice]
    """The devices."""
    host: list[StripHost]
    """The hosts."""


class TimelineHead(TimelineRows):
    """What the page needs before it draws the timeline."""

    phases: list[str]
    """The names of phases, in their usual order in a step."""
    annotations: dict[str, list[str]]
    """By name of an annotation, the names of those directly below it, the longest in total first; at most 24 each."""
    classes: list[ClassName]
    """The classes of host time that the rows show."""
    strip: OverviewStrip
    """The whole session."""


class OpenedSession(TimelineHead):
    """What the page needs before it draws the views."""

    session: SessionHead
    """The session."""
    environment: Environment
    """Framework, runtime and accelerator."""
    diagnostics: list[Diagnostic]
    """Limitations of the analysis."""
    devices: DeviceSummaries
    """The devices."""
    chosen_hosts: NotRequired[list[int]]
    """Indices of the hosts whose rows these are; absent if all hosts are in memory."""
    ranks: NotRequired[HostRanks]
    """The hosts to look at first; absent if all hosts are in memory."""


class SessionLoading(ReadingProgress):
    """`data/session` while the session is being read."""

    state: Literal["loading"]
    """The session is being read."""


class PartialSession(SessionLoading):
    """`data/session` while the session is being read, if the views cover more hosts than the page has seen."""

    head: OpenedSession
    """What the page needs before it draws the views."""


class SessionError(TypedDict):
    """`data/session` if the session cannot be read."""

    state: Literal["error"]
    """The session cannot be read."""
    message: str
    """Why it cannot be read."""
    hosts: list[HostReading]
    """How far each host was read."""


class SessionReady(OpenedSession):
    """`data/session` of a session in memory."""

    state: Literal["ready"]
    """The session is in memory."""
    fingerprint: str
    """Fingerprint of the files that were read."""
    changed: bool
    """Whether the files have changed since."""


class ChosenHostsReady(SessionReady, HostCounts):
    """`data/session` of a session of which chosen hosts are in memory."""


SessionAnswer = SessionLoading | PartialSession | SessionError | SessionReady | ChosenHostsReady


class Stopped(TypedDict):
    """`data/stop`."""

    stopped: bool
    """Whether the session was being read."""
