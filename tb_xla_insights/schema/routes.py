"""The answers of the routes that the page's views read."""

from __future__ import annotations

from typing_extensions import TypedDict

from tb_xla_insights.schema.capture_route import CaptureAnswer
from tb_xla_insights.schema.compare_route import CompareAnswer
from tb_xla_insights.schema.compiles_route import Compiles
from tb_xla_insights.schema.device_route import DeviceAnswer
from tb_xla_insights.schema.engines_route import EnginesAnswer
from tb_xla_insights.schema.executions_route import Executions
from tb_xla_insights.schema.gaps_route import GapAnswer, GapsAnswer
from tb_xla_insights.schema.hosts_route import HostsAnswer, HostsInSteps, HostSteps
from tb_xla_insights.schema.iterations_route import IterationsAnswer
from tb_xla_insights.schema.memory_route import MemoryAnswer
from tb_xla_insights.schema.overview_route import Overview
from tb_xla_insights.schema.propagation_route import PropagationAnswer
from tb_xla_insights.schema.route_parts import Counts
from tb_xla_insights.schema.session_route import SessionAnswer, SessionList, Stopped
from tb_xla_insights.schema.timeline_route import (
    EventDetails,
    EventTable,
    Neighbor,
    SearchAnswer,
    TimelineRows,
    TimelineSlices,
)
from tb_xla_insights.schema.waits_route import CollectiveAnswer, Waits
from tb_xla_insights.schema.window import Window


class Routes(TypedDict):
    """The answer of each route, by its name below `data/`. Times are integer picoseconds from the session's start."""

    sessions: SessionList
    """The sessions of the logdir."""
    session: SessionAnswer
    """One session: how far it has been read, or what the page needs to draw it."""
    reload: SessionAnswer
    """The same of a session that is read again."""
    stop: Stopped
    """Whether the reading of a session was stopped."""
    timeline: TimelineSlices
    """The slices of rows in a window."""
    event: EventDetails
    """One event."""
    neighbor: Neighbor
    """The next or previous event."""
    search: SearchAnswer
    """Events by name."""
    table: EventTable
    """The events of a window."""
    scopes: TimelineRows
    """All rows of the timeline."""
    propagation: PropagationAnswer
    """The device time of annotations."""
    device: DeviceAnswer
    """The work of chosen devices in chosen steps."""
    engines: EnginesAnswer
    """What a device's engines do, and what the device waits for."""
    hosts: HostsAnswer
    """Which host holds up the others, and why."""
    host_steps: HostSteps
    """What one host did in each step."""
    hosts_in_steps: HostsInSteps
    """What is said of some steps of the hosts."""
    compare: CompareAnswer
    """Two sessions side by side."""
    waits: Waits
    """Waits of cores for other hosts."""
    collective: CollectiveAnswer
    """Who waits in one collective."""
    window: Window
    """What happens in a window."""
    overview: Overview
    """What the first view shows."""
    counts: Counts
    """The numbers beside the names of the views."""
    gaps: GapsAnswer
    """Idle time of the devices."""
    gap: GapAnswer
    """One gap, and why it ended."""
    executions: Executions
    """What the host launches."""
    iterations: IterationsAnswer
    """The loop of a server that decodes."""
    memory: MemoryAnswer
    """What fills the memory of a device at the peak of a program."""
    compiles: Compiles
    """Compilations, and the graphs by step."""
    capture: CaptureAnswer
    """A capture that begins."""
    capture_progress: CaptureAnswer
    """How far the capture is."""
    capture_cancel: CaptureAnswer
    """The capture that is cancelled."""
