"""Runs one task per host of a session, so that an answer over all hosts keeps no trace in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.files.paths import absolute
from tb_xla_insights.files.source import STOPPED_MESSAGE
from tb_xla_insights.logdir.missing_hosts import missing_hosts
from tb_xla_insights.logdir.read_hosts import Reading, initial_readings
from tb_xla_insights.logdir.sessions import SessionFiles
from tb_xla_insights.logdir.spool import Spool, packed
from tb_xla_insights.system.memory import available_bytes
from tb_xla_insights.tasks import Failure, HostCapture, HostResult, run
from tb_xla_insights.tasks.progress import NOT_STARTED, shared_progress

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.logdir.opened_session import StreamedHosts
    from tb_xla_insights.report.host_summary import HostSummary
    from tb_xla_insights.report.merge import ReportMerger
    from tb_xla_insights.report.session_view import SessionResults
    from tb_xla_insights.schema.report import Report
    from tb_xla_insights.schema.session import HostFile
    from tb_xla_insights.trace.model import Trace

Result = TypeVar("Result")

_MAX_HOSTS_IN_MEMORY = 8
"""Sessions of at most this many hosts are held in memory, if they fit."""
_MEMORY_PER_FILE_BYTE = 2.5
"""Memory of a trace and its timeline per byte of the file: 270 MB for 120 MB with three million events."""


def estimate_memory(files: SessionFiles) -> int:
    """The estimated memory of a session in bytes before it is read; 0 if the store reports no file sizes."""
    return int(files.bytes * _MEMORY_PER_FILE_BYTE)


def fits_in_memory(files: SessionFiles, budget: int) -> bool:
    """Whether all hosts may be in memory at once, in `budget` bytes."""
    return len(files.hosts) <= _MAX_HOSTS_IN_MEMORY and estimate_memory(files) <= budget


@dataclass
class HostExtras(Generic[Result]):
    """What the tasks of a report compute of each host in addition to its summary. `results` has the values of the hosts
    that could be read, by index among the session's files."""

    function: Callable[[Trace], Result]
    results: dict[int, Result] = field(default_factory=dict)

    def in_session_order(self) -> list[Result]:
        return [self.results[number] for number in sorted(self.results)]


@dataclass
class SessionHosts:
    """Reads the hosts of a session with the workers of the Dask scheduler at an address, or without one on this machine
    within `memory` bytes (see `tasks.run`). `readings` show the progress; once `should_stop` returns True, no more
    hosts are read."""

    files: SessionFiles
    catalog: Catalog
    scheduler: str | None = None
    memory: int | None = None
    readings: list[Reading] = field(default_factory=list)
    should_stop: Callable[[], bool] = lambda: False

    diagnostics: list[Diagnostic] = field(default_factory=list, init=False)
    """Diagnostics of the last pass over the hosts: hosts left out, unrelated clocks, damaged files."""

    hosts_read: list[HostCapture] = field(default_factory=list, init=False)
    """The hosts that the last pass could read, numbered, on one time base."""

    start_unix_ns: int = field(default=0, init=False)
    """The session's start in epoch nanoseconds, as of the last pass; 0 if no host records it."""

    def __post_init__(self) -> None:
        self.readings = self.readings or initial_readings(self.files)

    @property
    def is_streamed(self) -> bool:
        """Whether reports read the hosts again, one task per host: those of several hosts, or of a cluster. Windows and
        comparisons hold all hosts in memory if they fit (`fits_in_memory`)."""
        return len(self.files.hosts) > 1 or self.scheduler is not None

    @cached_property
    def fits_in_memory(self) -> bool:
        """Whether this machine may hold all hosts in memory."""
        budget = available_bytes() // 2 if self.memory is None else self.memory
        return self.scheduler is None and fits_in_memory(self.files, budget)

    def map_hosts(
        self,
        function: Callable[[Trace, HostCapture], Result],
        hosts: Sequence[HostCapture] | None = None,
        in_order: bool = True,
        on_idle: Callable[[], None] = lambda: None,
    ) -> Iterator[HostResult[Result] | Failure]:
        """Yields the result of `function` for each host (all, unless `hosts` are given), in the session's order or as
        they complete; `on_idle` is called repeatedly while none arrives.

        Raises InputError at the end if no host could be read.
        """
        hosts = self._captures() if hosts is None else hosts
        readings, user_paths = self._readings(), self._user_paths()
        failure_of: dict[str, Failure] = {}
        result_of: dict[str, HostResult[None]] = {}
        for outcome in self._run_tasks(function, hosts, in_order, on_idle):
            host, reading = outcome.host, readings[outcome.host.path]
            if isinstance(outcome, Failure):
                outcome = Failure(host, outcome.message.replace(host.path, user_paths[host.path]))
                reading.fail(outcome.message)
                failure_of[host.path] = outcome
            else:
                reading.bytes_read, reading.state = reading.bytes, "ready"
                result_of[host.path] = HostResult(host, None, outcome.base_unix_ns, outcome.diagnostics)
            yield outcome
        failures = [failure_of[host.path] for host in hosts if host.path in failure_of]
        if not result_of:
            first = failures[0].message if failures else f"{self.files.path}: contains no capture"
            raise InputError(f"{first} ({len(failures)} hosts, all fail)" if len(failures) > 1 else first)
        results = [result_of[host.path] for host in hosts if host.path in result_of]
        from tb_xla_insights.trace.clock import session_start

        self.hosts_read, clock_diagnostics = _align_clocks(results)
        aligned = zip(results, self.hosts_read, strict=True)
        self.start_unix_ns = session_start(
            [result.base_unix_ns and result.base_unix_ns - host.shift_ps // 1000 for result, host in aligned]
        )
        damage = (diagnostic for result in results for diagnostic in result.diagnostics)
        self.diagnostics = [*self._missing(), *map(skipped_host, failures), *clock_diagnostics, *damage]

    def _run_tasks(
        self,
        function: Callable[[Trace, HostCapture], Result],
        hosts: Sequence[HostCapture],
        in_order: bool,
        on_idle: Callable[[], None],
    ) -> Iterator[HostResult[Result] | Failure]:
        """Yields the results of `tasks.run`, then a failure for each host that `should_stop` left out."""
        remaining = {host.path: host for host in hosts}
        readings = self._readings()
        with shared_progress(len(readings)) as progress:

            def update_readings() -> bool:
                """Updates the readings; returns False once no more hosts are to be read."""
                bytes_read = progress.snapshot()
                for position, host in enumerate(remaining.values()):
                    if bytes_read[host.number][0] != NOT_STARTED:
                        readings[host.path].update(*bytes_read[host.number])
                    elif position == 0:  # a cluster's workers report no progress
                        readings[host.path].update()
                on_idle()
                return not self.should_stop()

            outcomes = run(
                hosts,
                function,
                self.catalog,
                self.scheduler,
                self.memory,
                in_order,
                update_readings,
                progress,
            )
            with closing(outcomes):  # ends processes and connections now, not at the next garbage collection
                for outcome in outcomes:
                    update_readings()
                    del remaining[outcome.host.path]
                    yield outcome
        for host in remaining.values():
            yield Failure(host, STOPPED_MESSAGE.format(host.path))

    @contextmanager
    def map_with_shifts(
        self, function: Callable[[Trace, HostCapture], Result]
    ) -> Iterator[Iterator[tuple[Result, HostCapture]]]:
        """The result of `function` for each host, and the host with its shift on the session's time base.

        Each host is read once, and shifts are known only when all are read: `function` sees the host's own times, and
        its results stay on disk until then. Raises InputError."""
        with Spool() as spool:
            for outcome in self.map_hosts(partial(_packed_task, function=function)):
                if isinstance(outcome, HostResult):
                    spool.put(outcome.host.path, outcome.value)
            yield ((spool.load(host.path), host) for host in self.hosts_read)

    def reread(
        self, function: Callable[[Trace, HostCapture], Result], hosts: Sequence[HostCapture]
    ) -> Iterator[HostResult[Result]]:
        """Yields the result of `function` for some of `hosts_read`, whose traces are on the session's time base. Raises
        InputError if none can be read any more."""
        hosts_read, diagnostics, start_unix_ns = self.hosts_read, self.diagnostics, self.start_unix_ns
        for outcome in self.map_hosts(function, hosts):
            if isinstance(outcome, HostResult):
                yield outcome
            else:  # readable in the pass before
                diagnostics.append(skipped_host(outcome))
        self.hosts_read, self.diagnostics, self.start_unix_ns = hosts_read, diagnostics, start_unix_ns

    def report(
        self,
        all_gaps: bool = False,
        samples_per_step: float | None = None,
        extras: HostExtras[Any] | None = None,
    ) -> Report:
        """The session's report. `extras` receives what its function computes of each host. Raises InputError if no host
        could be read."""
        return self._document(self._merged(all_gaps, samples_per_step, extras=extras))

    def results(self, on_progress: Callable[[ReportMerger], None] = lambda _: None) -> SessionResults:
        """The results for views. `on_progress` is called after every host and repeatedly while none arrives. Raises
        InputError if no host could be read."""
        return self.results_of(self._merged(all_gaps=True, on_progress=on_progress, with_tables=True))

    def _merged(
        self,
        all_gaps: bool = False,
        samples_per_step: float | None = None,
        on_progress: Callable[[ReportMerger], None] = lambda _: None,
        extras: HostExtras[Any] | None = None,
        with_tables: bool = False,
    ) -> ReportMerger:
        """The summaries of the hosts, merged in order of completion."""
        from tb_xla_insights.report.merge import ReportMerger

        merger = ReportMerger(self.files.name, self.files.path, all_gaps)
        summarise = partial(
            summarise_task,
            extras=None if extras is None else extras.function,
            name=self.files.name,
            path=self._task_path(self.files.path),
            all_gaps=all_gaps,
            samples_per_step=samples_per_step,
            with_tables=with_tables,
        )
        for diagnostic in self._missing():
            merger.add_diagnostic(diagnostic)
        for outcome in self.map_hosts(summarise, in_order=False, on_idle=lambda: on_progress(merger)):
            if isinstance(outcome, Failure):
                merger.add_diagnostic(skipped_host(outcome))
            else:
                summary, extra = outcome.value
                merger.add(summary)
                if extras is not None:
                    extras.results[outcome.host.number] = extra
            on_progress(merger)
        return merger

    def results_of(self, merger: ReportMerger) -> SessionResults:
        """The results of the hosts merged so far, which were summarised with tables."""
        from tb_xla_insights.report.session_view import SessionResults

        document = self._document(merger)
        assert merger.comparison is not None, "a session has a host"
        return SessionResults(document, merger.tables, merger.comparison)

    def streamed(self, results: SessionResults, budget: int | None = None) -> StreamedHosts:
        """The hosts of `results`, to be read when views show them, within `budget` bytes."""
        from tb_xla_insights.logdir.host_cache import HostCache
        from tb_xla_insights.logdir.opened_session import StreamedHosts

        duration_ps = results.report["session"]["duration_ps"]
        cache = HostCache(self.hosts_read, self.catalog, duration_ps, budget)
        return StreamedHosts(self.files, results, cache)

    def _document(self, merger: ReportMerger) -> Report:
        """The report of the hosts merged so far, with paths as the user gave them."""
        document = merger.document()
        user_paths = self._user_paths()
        head = document["session"]
        hosts: list[HostFile] = [
            {**row, "file": user_paths.get(row["file"], row["file"])} for row in head["hosts"]
        ]
        return {**document, "session": {**head, "path": self.files.path, "hosts": hosts}}

    def _readings(self) -> dict[str, Reading]:
        """The readings by the paths that tasks use."""
        return dict(zip((host.path for host in self._captures()), self.readings, strict=True))

    def _captures(self) -> list[HostCapture]:
        return [
            HostCapture(host.name, self._task_path(host.file.path), host.file.bytes or reading.bytes, number)
            for number, (host, reading) in enumerate(zip(self.files.hosts, self.readings, strict=True))
        ]

    def _missing(self) -> list[Diagnostic]:
        return missing_hosts([host.name for host in self.files.hosts])

    def _task_path(self, path: str) -> str:
        """The path for tasks: absolute for a scheduler, as its workers run in other directories."""
        return absolute(path) if self.scheduler else path

    def _user_paths(self) -> dict[str, str]:
        """The paths as the user gave them, by those that tasks use."""
        return {self._task_path(host.file.path): host.file.path for host in self.files.hosts}


def summarise_task(
    trace: Trace, _: HostCapture, extras: Callable[[Trace], Any] | None, **options: Any
) -> tuple[HostSummary, Any]:
    """`report.summary.summarise` as a task, with the result of `extras` or None."""
    from tb_xla_insights.report.host_summary import summarise

    return summarise(trace, **options), extras(trace) if extras else None


def skipped_host(failure: Failure) -> Diagnostic:
    """The diagnostic of a host that is left out."""
    return Diagnostic("skipped_host", "warning", failure.message, failure.host.name)


def _packed_task(trace: Trace, host: HostCapture, function: Callable[[Trace, HostCapture], Any]) -> bytes:
    """A task whose result is packed for the spool."""
    return packed(function(trace, host))


def _align_clocks(results: Sequence[HostResult[None]]) -> tuple[list[HostCapture], list[Diagnostic]]:
    """The hosts, numbered and shifted onto the session's time base, and a diagnostic for each host whose shift is
    unknown."""
    from tb_xla_insights.trace.build import clock_unknown
    from tb_xla_insights.trace.clock import host_shifts

    shifts = host_shifts([result.base_unix_ns for result in results])
    hosts, diagnostics = [], []
    for number, (result, shift) in enumerate(zip(results, shifts, strict=True)):
        host = result.host
        hosts.append(replace(host, number=number, shift_ps=host.shift_ps + (shift or 0)))
        if shift is None and len(results) > 1:
            diagnostics.append(clock_unknown(host.name, result.base_unix_ns))
    return hosts, diagnostics
