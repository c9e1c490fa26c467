"""The data routes of the timeline: slices, events, searches, and the sums of windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_xla_insights.errors import InputError
from tb_xla_insights.routes.arguments import MAX_DEPTH, Arguments, Handler
from tb_xla_insights.routes.requested_sessions import RequestedSessions

if TYPE_CHECKING:
    from tb_xla_insights.pod.arrivals import Arrivals
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

_MAX_EVENTS = 5000


class TimelineRoutes:
    """The handlers, over the sessions in memory."""

    def __init__(self, sessions: RequestedSessions) -> None:
        self._sessions = sessions

    def gets(self) -> dict[str, Handler]:
        """The handlers by route below `data/`."""
        return {
            "timeline": self.timeline,
            "event": self.event,
            "neighbor": self.neighbor,
            "search": self.search,
            "window": self.window,
            "table": self.table,
            "scopes": self.scopes,
            "waits": self.waits,
            "collective": self.collective,
        }

    def timeline(self, arguments: Arguments) -> TimelineSlices:
        start, end = arguments.window()
        px = arguments.integer("px", 1, 20_000)
        rows = arguments.names("rows") or []
        return self._sessions.hosts_for(arguments, rows).timeline.view(start, end, px, rows)

    def event(self, arguments: Arguments) -> EventDetails:
        """One event, by its id, by row, start and depth, or the first `annotation` of a path from `start_ps` on."""
        path = arguments.optional_text("annotation")
        if path is not None:
            timeline = self._sessions.hosts_for(arguments).timeline
            return timeline.event_of_annotation(path, arguments.integer("start_ps"))
        event = arguments.optional_text("event")
        if event is not None:
            return self._sessions.hosts_for(arguments, [event]).timeline.event(event)
        row, start = arguments.text("row"), arguments.integer("start_ps")
        depth = arguments.optional_integer("depth", 0, MAX_DEPTH)
        return self._sessions.hosts_for(arguments, [row]).timeline.event_at(row, start, depth)

    def neighbor(self, arguments: Arguments) -> Neighbor:
        row, start = arguments.text("row"), arguments.integer("start_ps")
        depth = arguments.integer("depth", 0, MAX_DEPTH)
        direction = arguments.choice("direction", "next", "previous")
        skip_short = arguments.flag("skip_short")
        timeline = self._sessions.hosts_for(arguments, [row]).timeline
        return timeline.neighbor(row, depth, start, direction, skip_short)

    def search(self, arguments: Arguments) -> SearchAnswer:
        query, rows = arguments.text("q"), arguments.names("rows")
        return self._sessions.hosts_for(arguments, rows or []).timeline.search(query, rows)

    def window(self, arguments: Arguments) -> Window:
        from tb_xla_insights.analysis.window.window_document import window

        start, end = arguments.window()
        device = arguments.optional_text("device")
        trace = self._sessions.hosts_for(arguments, devices=[device] if device else []).hosts
        if device is not None and device not in {trace_device.id for trace_device in trace.devices}:
            raise InputError(f"data/window: no device {device} in this session; leave it out for all")
        return window(trace, start, end, device)

    def table(self, arguments: Arguments) -> EventTable:
        start, end = arguments.window()
        limit = arguments.integer("limit", 1, _MAX_EVENTS, default=500)
        rows = arguments.names("rows") or []
        return self._sessions.hosts_for(arguments, rows).timeline.table(start, end, rows, limit)

    def scopes(self, arguments: Arguments) -> TimelineRows:
        """All rows of the timeline, including those of gaps, scopes and asynchronous ops, which are computed after a
        session opens."""
        timeline = self._sessions.hosts_for(arguments).timeline
        timeline.find_more_rows()
        return timeline.rows()

    def waits(self, arguments: Arguments) -> Waits:
        """The intervals of a window in which cores wait for other hosts; see `timeline.waits`."""
        from tb_xla_insights.timeline.waits_for_hosts import waits_in

        start, end = arguments.window()
        px = arguments.integer("px", 1, 20_000)
        timeline = self._sessions.hosts_for(arguments).timeline
        return waits_in(*self._arrivals(arguments), timeline.hosts, start, end, px)

    def collective(self, arguments: Arguments) -> CollectiveAnswer:
        """When each host arrives at one collective: the one whose op starts at `start_ps` on the device, or with
        `end_ps` the one that the device's gap from `start_ps` to `end_ps` delays; see `timeline.waits`."""
        from tb_xla_insights.timeline.waits_for_hosts import collective_at

        device, start = arguments.text("device"), arguments.integer("start_ps")
        end = arguments.window()[1] if arguments.optional_text("end_ps") else None
        timeline = self._sessions.hosts_for(arguments, devices=[device]).timeline
        return collective_at(*self._arrivals(arguments), timeline.hosts, device, start, end)

    def _arrivals(self, arguments: Arguments) -> tuple[Arrivals, list[str]]:
        """When the hosts arrived at their collectives, and the hosts' names."""
        comparison = self._sessions.opened(arguments).results.comparison
        return comparison.arrivals, [host.name for host in comparison.hosts]
