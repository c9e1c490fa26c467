"""A session of many hosts: its report is in memory, and the traces of the hosts that are looked at."""

from __future__ import annotations

import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tb_xla_insights.deep_size import deep_size
from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.logdir.host_choice import WORDS, chosen
from tb_xla_insights.logdir.loaded_hosts import LoadedHosts
from tb_xla_insights.logdir.session_hosts import SessionHosts
from tb_xla_insights.memory import give_back
from tb_xla_insights.parallel import side_by_side
from tb_xla_insights.tasks.host import read_host

if TYPE_CHECKING:
    from tb_xla_insights.pod.arrivals import Arrivals
    from tb_xla_insights.report.host_parts import HostParts
    from tb_xla_insights.schema.report import Report
    from tb_xla_insights.schema.session import Diagnostic as DiagnosticRow
    from tb_xla_insights.timeline.host import HostTimeline
    from tb_xla_insights.trace.model import SessionTrace

_HOST_OF_ID = re.compile(r"h?(\d{1,6})\.")
"""Ids of rows (`h12.t3`) and of events (`12.345`) begin with the host's place."""


class Pod:
    """Hosts are read when they are looked at, and those looked at longest ago are let go where they take more than
    `budget` bytes, if that is limited. `parts` are those of the hosts in the report, in the
    session's order; `hosts` made it. Safe to ask from many threads."""

    def __init__(
        self,
        hosts: SessionHosts,
        report: Report,
        parts: list[HostParts],
        budget: int | None = None,
    ) -> None:
        self.files = hosts.files
        self.report = report
        self._parts = parts
        assert hosts.compared is not None, "the report of hosts compares them"
        self.compared = hosts.compared
        """How its hosts came to what all did together."""
        self._catalog = hosts.catalog
        self._inputs = hosts.found
        self._budget = budget
        self._lock = threading.Lock()
        self._reads = threading.Lock()
        self._hosts: OrderedDict[int, HostTimeline] = OrderedDict()
        self._unread: dict[int, str] = {}
        """Why a host that is in the report cannot be read again; it is not tried once more."""
        self._shown: dict[tuple[int, ...], LoadedHosts] = {}

    def choose(
        self, items: Sequence[str] | None, needed: Iterable[int] = (), strict: bool = False
    ) -> LoadedHosts:
        """The hosts that `items` name (see `choice.chosen`) and those of the places `needed`; where there are neither,
        the slowest and the median one. Reads those that are not in memory. A host that cannot be read any more is left
        out, as the report has it; `strict`: unless it is needed, or none is left. Raises InputError."""
        needed = [place for place in needed if place < len(self._inputs)]
        places = set(needed)
        if items or not places:
            places |= set(chosen(items or WORDS, self.report))
        shown = self._show(tuple(sorted(places)))
        lost = (
            [place for place in needed if place in self._unread] if shown.timeline.hosts else sorted(places)
        )
        if strict and lost:
            raise InputError(self._unread[lost[0]])
        return shown

    @property
    def arrivals(self) -> tuple[Arrivals, list[str]]:
        """When its hosts came to what all did together, and their names."""
        return self.compared.arrivals, [host.name for host in self.compared.hosts]

    def places(self, ids: Iterable[str] = (), devices: Iterable[str] = ()) -> set[int]:
        """The hosts of rows or events, and of devices, by their ids; none for those that are not there."""
        found = {int(match[1]) for match in map(_HOST_OF_ID.match, ids) if match}
        names = [host["name"] for host in self.report["session"]["hosts"]]
        hosts = {row["id"]: row["host"] for row in self.report["devices"]}
        return found | {names.index(hosts[device]) for device in devices if device in hosts}

    def places_of_step(self, step: int | None, usual: bool = False) -> set[int]:
        """The host of a step, by its index in the report, or of the usual one; none where there is no such step."""
        from tb_xla_insights.report.execution_views import usual_step

        steps = self.report["steps"]
        step = usual_step(steps) if usual else step
        if step is None or not 0 <= step < len(steps):
            return set()
        return {max(place for place, first in enumerate(self._steps_before()) if first <= step)}

    def usual(self) -> LoadedHosts:
        """The host of the usual step, which comparisons draw."""
        return self.choose(None, self.places_of_step(None, usual=True), strict=True)

    def _steps_before(self) -> list[int]:
        found = [0]
        for parts in self._parts[:-1]:
            found.append(found[-1] + parts["steps"])
        return found

    def _show(self, places: tuple[int, ...]) -> LoadedHosts:
        hosts = self._in_memory(places)
        with self._lock:
            if places not in self._shown or self._shown[places].timeline.hosts != hosts:
                self._shown[places] = self._loaded(places, hosts)
            return self._shown[places]

    def _loaded(self, places: tuple[int, ...], hosts: dict[int, HostTimeline]) -> LoadedHosts:
        from tb_xla_insights.timeline import Timeline

        trace = reported(self.files, self.report, self._parts)
        before = self._steps_before()
        trace.traces = [host.trace for host in hosts.values()]
        trace.numbers = list(hosts)
        trace.steps_before = [before[place] for place in hosts]
        lost = [self._lost(place) for place in places if place not in hosts]
        report = self.report | {"diagnostics": [*self.report["diagnostics"], *lost]}
        return LoadedHosts(self.files, trace, Timeline(trace, list(hosts.values())), report)

    def _lost(self, place: int) -> DiagnosticRow:
        row: DiagnosticRow = Diagnostic(
            "unread_trace", "warning", self._unread[place], self._inputs[place].name
        ).as_json()
        return row

    def _in_memory(self, places: tuple[int, ...]) -> dict[int, HostTimeline]:
        """The hosts of these places, read where they are not in memory; without those that cannot be read."""
        found = self._known(places)
        if len(found) < len(places):
            with self._reads:  # whoever needs hosts that are there already does not wait
                found = self._known(places)
                missing = [place for place in places if place not in found and place not in self._unread]
                tasks = [partial(self._try_read, place) for place in missing]
                read = side_by_side(tasks, min(os.cpu_count() or 1, 4))
                found |= {place: host for place, host in zip(missing, read, strict=True) if host}
                with self._lock:
                    self._hosts |= found
                self._release(places)
            give_back()
        return {place: found[place] for place in places if place in found}

    def _known(self, places: tuple[int, ...]) -> dict[int, HostTimeline]:
        with self._lock:
            found = {place: self._hosts[place] for place in places if place in self._hosts}
            for place in found:
                self._hosts.move_to_end(place)
        return found

    def _try_read(self, place: int) -> HostTimeline | None:
        try:
            return self._read(place)
        except InputError as error:
            self._unread[place] = f"in the report, but its trace cannot be shown: {error}"
            return None

    def _read(self, place: int) -> HostTimeline:
        from tb_xla_insights.timeline.host import HostTimeline

        host = self._inputs[place]
        trace = read_host(host.path, host.name, self._catalog)
        host.check(trace)
        trace.shift(host.shift_ps)
        return HostTimeline(place, trace, self.report["session"]["duration_ps"])

    def _release(self, keep: tuple[int, ...]) -> None:
        if self._budget is None:
            return
        with self._lock:
            hosts = dict(self._hosts)
        held = {place: deep_size(host) for place, host in hosts.items()}
        used = sum(held.values())
        for place in held:
            if used <= self._budget:
                break
            if place not in keep:
                used -= held[place]
                with self._lock:
                    self._hosts.pop(place, None)
                    self._shown = {key: shown for key, shown in self._shown.items() if place not in key}


def reported(files: Any, report: Report, parts: list[HostParts]) -> SessionTrace:
    """The session without any trace: what the report tells of all hosts, views tell as if they were all here."""
    from tb_xla_insights.report.host_parts import cache_parts
    from tb_xla_insights.report.views import keep_report
    from tb_xla_insights.trace.model import SessionTrace

    session = SessionTrace(files.name, files.path, [], whole_ps=report["session"]["duration_ps"])
    cache_parts(session, parts)
    keep_report(session, report)
    return session
