"""A session of many hosts: its report is in memory, with the traces of the hosts on display."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tb_xla_insights.deep_size import deep_size
from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.logdir.host_choice import DEFAULT_CHOICE, chosen_hosts
from tb_xla_insights.logdir.loaded_hosts import LoadedHosts
from tb_xla_insights.logdir.session_hosts import SessionHosts
from tb_xla_insights.memory import release_freed_memory
from tb_xla_insights.parallel import run_parallel
from tb_xla_insights.row_ids import host_of_id
from tb_xla_insights.tasks.host import read_host

if TYPE_CHECKING:
    from tb_xla_insights.logdir.sessions import SessionFiles
    from tb_xla_insights.pod.arrivals import Arrivals
    from tb_xla_insights.report.view_data import ViewData
    from tb_xla_insights.schema.report import Report
    from tb_xla_insights.schema.session import Diagnostic as DiagnosticRow
    from tb_xla_insights.timeline.host import HostTimeline
    from tb_xla_insights.trace.model import SessionTrace


class Pod:
    """Reads hosts when a view shows them and evicts the least recently used ones beyond `budget` bytes (None: no
    limit). `reader` built the report; `view_data` is that of its hosts, in the session's order. Thread-safe."""

    def __init__(
        self,
        reader: SessionHosts,
        report: Report,
        view_data: list[ViewData],
        budget: int | None = None,
    ) -> None:
        self.files = reader.files
        self.report = report
        self._view_data = view_data
        assert reader.comparison is not None, "set by `SessionHosts.report`"
        self.comparison = reader.comparison
        """The comparison of the hosts by their arrivals at collectives."""
        self._catalog = reader.catalog
        self._captures = reader.hosts_read
        self._budget = budget
        self._lock = threading.Lock()
        self._read_lock = threading.Lock()
        self._hosts: OrderedDict[int, HostTimeline] = OrderedDict()
        self._read_errors: dict[int, str] = {}
        """Why hosts of the report cannot be read again, by index; their reading is not retried."""
        self._selections: dict[tuple[int, ...], LoadedHosts] = {}

    def choose(
        self, items: Sequence[str] | None, needed: Iterable[int] = (), strict: bool = False
    ) -> LoadedHosts:
        """The hosts that `items` name (see `host_choice.chosen_hosts`) and those with the indices `needed`; the slowest
        and the median host if both are empty.

        Reads hosts that are not in memory. A host that can no longer be read is left out, as the report covers it; with
        `strict`, raises InputError if such a host is needed or no host is left. Raises InputError for unknown items."""
        needed = [index for index in needed if index < len(self._captures)]
        indices = set(needed)
        if items or not indices:
            indices |= set(chosen_hosts(items or DEFAULT_CHOICE, self.report))
        selection = self._select(tuple(sorted(indices)))
        if selection.timeline.hosts:
            unreadable = [index for index in needed if index in self._read_errors]
        else:
            unreadable = sorted(indices)
        if strict and unreadable:
            raise InputError(self._read_errors[unreadable[0]])
        return selection

    @property
    def arrivals(self) -> tuple[Arrivals, list[str]]:
        """When the hosts arrived at their collectives, and the hosts' names."""
        return self.comparison.arrivals, [host.name for host in self.comparison.hosts]

    def hosts_of(self, ids: Iterable[str] = (), devices: Iterable[str] = ()) -> set[int]:
        """The indices of the hosts of rows or events, and of devices, by their ids; `HOST/*` are all devices of a host.
        Unknown ids are ignored."""
        indices = {host for host in map(host_of_id, ids) if host is not None}
        names = [host["name"] for host in self.report["session"]["hosts"]]
        host_names = {row["id"]: row["host"] for row in self.report["devices"]} | {
            f"{name}/*": name for name in names
        }
        return indices | {names.index(host_names[device]) for device in devices if device in host_names}

    def hosts_of_step(self, step: int | None, use_default: bool = False) -> set[int]:
        """The index of the host of a step (by its index in the report) or of the default step; empty for an unknown
        step."""
        from tb_xla_insights.report.default_step import default_step

        steps = self.report["steps"]
        step = default_step(self.report) if use_default else step
        if step is None or not 0 <= step < len(steps):
            return set()
        return {max(index for index, first in enumerate(self._steps_before()) if first <= step)}

    def default_step_host(self) -> LoadedHosts:
        """The host of the default step, which comparisons show."""
        return self.choose(None, self.hosts_of_step(None, use_default=True), strict=True)

    def _steps_before(self) -> list[int]:
        """The number of steps of all hosts before each host."""
        counts = [0]
        for data in self._view_data[:-1]:
            counts.append(counts[-1] + data["steps"])
        return counts

    def _select(self, indices: tuple[int, ...]) -> LoadedHosts:
        hosts = self._in_memory(indices)
        with self._lock:
            if indices not in self._selections or self._selections[indices].timeline.hosts != hosts:
                self._selections[indices] = self._build_selection(indices, hosts)
            return self._selections[indices]

    def _build_selection(self, indices: tuple[int, ...], hosts: dict[int, HostTimeline]) -> LoadedHosts:
        from tb_xla_insights.timeline import Timeline

        trace = reported_session(self.files, self.report, self._view_data)
        steps_before = self._steps_before()
        trace.traces = [host.trace for host in hosts.values()]
        trace.numbers = list(hosts)
        trace.steps_before = [steps_before[index] for index in hosts]
        unreadable = [self._unread_diagnostic(index) for index in indices if index not in hosts]
        report = self.report | {"diagnostics": [*self.report["diagnostics"], *unreadable]}
        return LoadedHosts(self.files, trace, Timeline(trace, list(hosts.values())), report)

    def _unread_diagnostic(self, index: int) -> DiagnosticRow:
        row: DiagnosticRow = Diagnostic(
            "unread_trace", "warning", self._read_errors[index], self._captures[index].name
        ).as_json()
        return row

    def _in_memory(self, indices: tuple[int, ...]) -> dict[int, HostTimeline]:
        """The hosts with these indices, read if not cached; without hosts that cannot be read."""
        hosts = self._cached(indices)
        if len(hosts) < len(indices):
            with self._read_lock:  # requests for cached hosts do not wait for it
                hosts = self._cached(indices)
                missing = [
                    index for index in indices if index not in hosts and index not in self._read_errors
                ]
                tasks = [partial(self._try_read, index) for index in missing]
                timelines = run_parallel(tasks, min(os.cpu_count() or 1, 4))
                hosts |= {index: host for index, host in zip(missing, timelines, strict=True) if host}
                with self._lock:
                    self._hosts |= hosts
                self._evict(indices)
            release_freed_memory()
        return {index: hosts[index] for index in indices if index in hosts}

    def _cached(self, indices: tuple[int, ...]) -> dict[int, HostTimeline]:
        """The hosts that are in memory, marked as recently used."""
        with self._lock:
            hosts = {index: self._hosts[index] for index in indices if index in self._hosts}
            for index in hosts:
                self._hosts.move_to_end(index)
        return hosts

    def _try_read(self, index: int) -> HostTimeline | None:
        try:
            return self._read(index)
        except InputError as error:
            self._read_errors[index] = f"in the report, but its trace cannot be shown: {error}"
            return None

    def _read(self, index: int) -> HostTimeline:
        from tb_xla_insights.timeline.host import HostTimeline

        host = self._captures[index]
        trace = read_host(host.path, host.name, self._catalog)
        host.check_unchanged(trace)
        trace.shift(host.shift_ps)
        return HostTimeline(index, trace, self.report["session"]["duration_ps"])

    def _evict(self, protected: tuple[int, ...]) -> None:
        """Evicts the least recently used hosts until the rest fits into the budget; never the protected ones."""
        if self._budget is None:
            return
        with self._lock:
            hosts = dict(self._hosts)
        sizes = {index: deep_size(host) for index, host in hosts.items()}
        used_bytes = sum(sizes.values())
        for index in sizes:
            if used_bytes <= self._budget:
                break
            if index not in protected:
                used_bytes -= sizes[index]
                with self._lock:
                    self._hosts.pop(index, None)
                    self._selections = {
                        indices: selection
                        for indices, selection in self._selections.items()
                        if index not in indices
                    }


def reported_session(files: SessionFiles, report: Report, view_data: list[ViewData]) -> SessionTrace:
    """The session without traces: views that need only the report cover all hosts, as if all were in memory."""
    from tb_xla_insights.report.cached import cache_report
    from tb_xla_insights.report.view_data import cache_view_data
    from tb_xla_insights.trace.model import SessionTrace

    session = SessionTrace(files.name, files.path, [], whole_session_ps=report["session"]["duration_ps"])
    cache_view_data(session, view_data)
    cache_report(session, report)
    return session
