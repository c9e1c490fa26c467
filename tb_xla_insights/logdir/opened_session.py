"""A session that was read: its results, and the hosts whose events are in memory."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.logdir.host_cache import HostCache
from tb_xla_insights.logdir.host_choice import DEFAULT_CHOICE, chosen_hosts
from tb_xla_insights.logdir.loaded_hosts import LoadedHosts
from tb_xla_insights.system.memory import release_freed_memory
from tb_xla_insights.trace.row_ids import host_of_id

if TYPE_CHECKING:
    from tb_xla_insights.logdir.sessions import SessionFiles
    from tb_xla_insights.report.session_view import SessionResults
    from tb_xla_insights.schema.session import Diagnostic as DiagnosticRow
    from tb_xla_insights.timeline.host import HostTimeline
    from tb_xla_insights.trace.model import SessionTrace


@dataclass(frozen=True)
class Needed:
    """What an answer is about: the hosts of rows or events (`ids`), of `devices` by their ids (`HOST/*` are all devices
    of a host), of a `step` by its index in the report or of the default step, and `hosts` by their indices. Unknown
    ones are ignored."""

    ids: Sequence[str] = ()
    devices: Sequence[str] = ()
    step: int | None = None
    default_step: bool = False
    hosts: Collection[int] = ()


class OpenedSession:
    """All hosts of a session in memory; or its results, with the hosts that views show. Thread-safe."""

    def __init__(self, hosts: LoadedHosts | StreamedHosts) -> None:
        self._hosts = hosts

    @property
    def files(self) -> SessionFiles:
        return self._hosts.files

    @property
    def results(self) -> SessionResults:
        """The results of all hosts."""
        return self._hosts.results

    def choose(
        self, items: Sequence[str] | None, needed: Needed | None = None, strict: bool = False
    ) -> LoadedHosts:
        """All hosts if all are in memory; else those of `StreamedHosts.choose`."""
        if isinstance(self._hosts, LoadedHosts):
            return self._hosts
        return self._hosts.choose(items, needed or Needed(), strict)

    def default_step_host(self) -> LoadedHosts:
        """The host of the default step, which comparisons show; or all."""
        return self.choose(None, Needed(default_step=True), strict=True)


class StreamedHosts:
    """The hosts of a session that are read when a view shows them."""

    def __init__(self, files: SessionFiles, results: SessionResults, cache: HostCache) -> None:
        self.files = files
        self.results = results
        self._cache = cache
        self._lock = threading.Lock()
        self._selections: dict[tuple[int, ...], LoadedHosts] = {}

    def choose(self, items: Sequence[str] | None, needed: Needed, strict: bool = False) -> LoadedHosts:
        """The hosts that `items` name (see `host_choice.chosen_hosts`) and those that are needed; the slowest and the
        median host if there are neither.

        Reads hosts that are not in memory. A host that can no longer be read is left out, as the report covers it; with
        `strict`, raises InputError if such a host is needed or no host is left. Raises InputError for unknown items."""
        needed_indices = self._indices_of(needed)
        indices = set(needed_indices)
        if items or not indices:
            indices |= set(chosen_hosts(items or DEFAULT_CHOICE, self.results.report))
        selection = self._select(tuple(sorted(indices)))
        errors = self._cache.read_errors
        if selection.timeline.hosts:
            unreadable = [index for index in needed_indices if index in errors]
        else:
            unreadable = sorted(indices)
        if strict and unreadable:
            raise InputError(errors[unreadable[0]])
        return selection

    def _indices_of(self, needed: Needed) -> list[int]:
        report = self.results.report
        indices = {host for host in map(host_of_id, needed.ids) if host is not None} | {*needed.hosts}
        names = [host["name"] for host in report["session"]["hosts"]]
        host_names = {row["id"]: row["host"] for row in report["devices"]} | {
            f"{name}/*": name for name in names
        }
        indices |= {names.index(host_names[device]) for device in needed.devices if device in host_names}
        return [*(index for index in sorted(indices) if index < len(names)), *self._host_of_step(needed)]

    def _host_of_step(self, needed: Needed) -> list[int]:
        from tb_xla_insights.report.default_step import default_step

        report = self.results.report
        step = default_step(report) if needed.default_step else needed.step
        if step is None or not 0 <= step < len(report["steps"]):
            return []
        return [max(index for index, first in enumerate(self._steps_before()) if first <= step)]

    def _steps_before(self) -> list[int]:
        """The number of steps of all hosts before each host."""
        return [*accumulate((host.steps for host in self.results.tables[:-1]), initial=0)]

    def _select(self, indices: tuple[int, ...]) -> LoadedHosts:
        hosts = self._cache.hosts(indices)
        with self._lock:
            # A selection keeps its hosts in memory, also evicted ones.
            evicted = [
                chosen
                for chosen, hosts_of_choice in self._selections.items()
                if not self._cache.holds(hosts_of_choice.timeline.hosts)
            ]
            for chosen in evicted:
                del self._selections[chosen]
            if indices not in self._selections or self._selections[indices].timeline.hosts != hosts:
                self._selections[indices] = self._build_selection(indices, hosts)
            selection = self._selections[indices]
        if evicted:
            release_freed_memory()
        return selection

    def _build_selection(self, indices: tuple[int, ...], hosts: dict[int, HostTimeline]) -> LoadedHosts:
        from tb_xla_insights.report.session_view import SessionView
        from tb_xla_insights.timeline import Timeline

        trace = hosts_without_traces(self.files, self.results)
        steps_before = self._steps_before()
        trace.traces = [host.trace for host in hosts.values()]
        trace.numbers = list(hosts)
        trace.steps_before = [steps_before[index] for index in hosts]
        unreadable = [self._unread_diagnostic(index) for index in indices if index not in hosts]
        timeline = Timeline(trace, list(hosts.values()))
        return LoadedHosts(self.files, SessionView(trace, self.results), timeline, unreadable)

    def _unread_diagnostic(self, index: int) -> DiagnosticRow:
        row: DiagnosticRow = Diagnostic(
            "unread_trace", "warning", self._cache.read_errors[index], self._cache.captures[index].name
        ).as_json()
        return row


def hosts_without_traces(files: SessionFiles, results: SessionResults) -> SessionTrace:
    """The session without the events of any host: views that need only the results cover all hosts."""
    from tb_xla_insights.trace.model import SessionTrace

    duration_ps = results.report["session"]["duration_ps"]
    return SessionTrace(files.name, files.path, [], whole_session_ps=duration_ps)
