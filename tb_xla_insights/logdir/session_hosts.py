"""The hosts of a session, one task each: what an answer needs of every host, without any trace that stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.logdir.missing_hosts import missing_hosts
from tb_xla_insights.logdir.paths import absolute
from tb_xla_insights.logdir.read import Reading, readings_of
from tb_xla_insights.logdir.sessions import SessionFiles
from tb_xla_insights.logdir.spool import Spool, packed
from tb_xla_insights.memory import available_bytes
from tb_xla_insights.tasks import Failure, HostCapture, HostResult, run
from tb_xla_insights.tasks.progress import NOT_BEGUN, shared_progress

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.pod.comparison import HostComparison
    from tb_xla_insights.report.merge import ReportMerger
    from tb_xla_insights.report.summary import HostSummary
    from tb_xla_insights.schema.report import Report
    from tb_xla_insights.schema.session import HostFile
    from tb_xla_insights.trace.model import Trace

Result = TypeVar("Result")

_FEW = 8
"""So many hosts are all in memory, where they fit."""
_HELD_PER_BYTE = 2.5
"""Memory that a trace and its timeline hold, per byte of the file: 270 MB of 120 MB with three million events."""


def held_estimate(files: SessionFiles) -> int:
    """Memory that a session may take that is not read yet; 0 where a store does not tell the sizes of its files."""
    return int(files.bytes * _HELD_PER_BYTE)


def few(files: SessionFiles, budget: int) -> bool:
    """Whether all hosts may be in memory at once, in so many bytes."""
    return len(files.hosts) <= _FEW and held_estimate(files) <= budget


@dataclass
class Also(Generic[Result]):
    """What the tasks of a report take from each host beside its summary, so that it is read once; `found` has that of
    every host that could be read, by its place among the session's files."""

    function: Callable[[Trace], Result]
    found: dict[int, Result] = field(default_factory=dict)

    def in_order(self) -> list[Result]:
        """What was found, in the session's order."""
        return [self.found[number] for number in sorted(self.found)]


@dataclass
class SessionHosts:
    """How the hosts of a session are read: by the workers of the Dask scheduler at an address, or without one by this
    machine, within `memory` bytes (see `tasks.run`). `readings` show others how far it is; once `stop` says so no more
    hosts are read."""

    files: SessionFiles
    catalog: Catalog
    scheduler: str | None = None
    memory: int | None = None
    readings: list[Reading] = field(default_factory=list)
    stop: Callable[[], bool] = lambda: False

    diagnostics: list[Diagnostic] = field(default_factory=list, init=False)
    """What the last pass over the hosts met: hosts left out, clocks that are not related, damage of files."""

    found: list[HostCapture] = field(default_factory=list, init=False)
    """The hosts that the last pass could read, numbered, on one time base."""

    start_unix_ns: int = field(default=0, init=False)
    """Epoch nanoseconds of the session's start, as the last pass found it; 0 where no host records it."""

    compared: HostComparison | None = field(default=None, init=False)
    """How the hosts of the last document came to what all did together; None before the first."""

    def __post_init__(self) -> None:
        self.readings = self.readings or readings_of(self.files)

    @property
    def to_read(self) -> bool:
        """Whether every answer reads the hosts anew: one host of this machine is kept in memory instead."""
        return len(self.files.hosts) > 1 or self.scheduler is not None

    @cached_property
    def few(self) -> bool:
        """Whether this machine may keep all of them in memory."""
        budget = available_bytes() // 2 if self.memory is None else self.memory
        return self.scheduler is None and few(self.files, budget)

    def each(
        self,
        function: Callable[[Trace, HostCapture], Result],
        hosts: Sequence[HostCapture] | None = None,
        in_order: bool = True,
        waiting: Callable[[], None] = lambda: None,
    ) -> Iterator[HostResult[Result] | Failure]:
        """What `function` makes of each host (of all, if not of `hosts`), in the session's order, or as they come;
        `waiting` is called while none comes.

        Raises InputError in the end where no host could be read.
        """
        hosts = self._inputs() if hosts is None else hosts
        readings, told = self._readings(), self._told()
        failed: dict[str, Failure] = {}
        read: dict[str, HostResult[None]] = {}
        for answer in self._answers(function, hosts, in_order, waiting):
            host, reading = answer.host, readings[answer.host.path]
            if isinstance(answer, Failure):
                answer = Failure(host, answer.message.replace(host.path, told[host.path]))
                reading.fail(answer.message)
                failed[host.path] = answer
            else:
                reading.bytes_read, reading.state = reading.bytes, "ready"
                read[host.path] = HostResult(
                    host, None, answer.base_unix_ns, answer.end_ps, answer.diagnostics
                )
            yield answer
        failures = [failed[host.path] for host in hosts if host.path in failed]
        if not read:
            first = failures[0].message if failures else f"{self.files.path}: holds no capture"
            raise InputError(f"{first} ({len(failures)} hosts, all fail)" if len(failures) > 1 else first)
        ordered = [read[host.path] for host in hosts if host.path in read]
        self.found, unplaced = _on_one_clock(ordered)
        bases = zip(ordered, self.found, strict=True)
        starts = (it.base_unix_ns - host.shift_ps // 1000 for it, host in bases if it.base_unix_ns)
        self.start_unix_ns = next(starts, 0)
        damage = (diagnostic for it in ordered for diagnostic in it.diagnostics)
        self.diagnostics = [*self._missing(), *map(skipped, failures), *unplaced, *damage]

    def _answers(
        self,
        function: Callable[[Trace, HostCapture], Result],
        hosts: Sequence[HostCapture],
        in_order: bool,
        waiting: Callable[[], None],
    ) -> Iterator[HostResult[Result] | Failure]:
        """As `run` gives them; those that were not read because of `stop` come last, as failures."""
        left = {host.path: host for host in hosts}
        readings = self._readings()
        with shared_progress(len(readings)) as progress:

            def go_on() -> bool:
                told = progress.told()
                for place, host in enumerate(left.values()):
                    if told[host.number][0] != NOT_BEGUN:
                        readings[host.path].begin(*told[host.number])
                    elif place == 0:
                        readings[host.path].begin()
                waiting()
                return not self.stop()

            answers = run(
                hosts, function, self.catalog, self.scheduler, self.memory, in_order, go_on, progress
            )
            with closing(answers):  # processes and connections end now, not when somebody collects garbage
                for answer in answers:
                    go_on()
                    del left[answer.host.path]
                    yield answer
        for host in left.values():
            yield Failure(host, f"{host.path}: not read, stopped before; reload the session to read it")

    @contextmanager
    def placed(
        self, function: Callable[[Trace, HostCapture], Result]
    ) -> Iterator[Iterator[tuple[Result, HostCapture]]]:
        """What `function` makes of each host, which cannot know yet where the host lies on the session's time base, and
        the host with its place there: that is known once all hosts are read, and each is read once. Results wait on
        disk until then. Raises InputError."""
        with Spool() as spool:
            for answer in self.each(partial(_packed, function=function)):
                if isinstance(answer, HostResult):
                    spool.put(answer.host.path, answer.value)
            yield ((spool.take(host.path), host) for host in self.found)

    def again(
        self, function: Callable[[Trace, HostCapture], Result], hosts: Sequence[HostCapture]
    ) -> Iterator[HostResult[Result]]:
        """What `function` makes of hosts that were `found`, their traces on the session's time base. Raises InputError
        where none can be read any more."""
        found, met = self.found, self.diagnostics
        for answer in self.each(function, hosts):
            if isinstance(answer, HostResult):
                yield answer
            else:  # it could be read a moment ago
                met.append(skipped(answer))
        self.found, self.diagnostics = found, met

    def report(
        self,
        all_gaps: bool = False,
        samples_per_step: float | None = None,
        seen: Callable[[ReportMerger], None] = lambda _: None,
        also: Also[Any] | None = None,
    ) -> Report:
        """The session's report, merged from its hosts' summaries, in whichever order they come; `seen` is told after
        every host, and again and again while none comes. `also` says what else is taken from each.

        Raises InputError where no host could be read.
        """
        from tb_xla_insights.report.merge import ReportMerger

        merged = ReportMerger(self.files.name, self.files.path, all_gaps)
        summarise = partial(
            summary_of,
            also=None if also is None else also.function,
            name=self.files.name,
            path=self._place(self.files.path),
            all_gaps=all_gaps,
            samples_per_step=samples_per_step,
        )
        for diagnostic in self._missing():
            merged.skip(diagnostic)
        for answer in self.each(summarise, in_order=False, waiting=lambda: seen(merged)):
            if isinstance(answer, Failure):
                merged.skip(skipped(answer))
            else:
                summary, more = answer.value
                merged.add(summary)
                if also is not None:
                    also.found[answer.host.number] = more
            seen(merged)
        return self.document(merged)

    def document(self, merged: ReportMerger) -> Report:
        """The report as far as it is merged, with paths as the user named them."""
        document = merged.document()
        self.compared = merged.comparison
        told = self._told()
        head = document["session"]
        hosts: list[HostFile] = [{**row, "file": told.get(row["file"], row["file"])} for row in head["hosts"]]
        return {**document, "session": {**head, "path": self.files.path, "hosts": hosts}}

    def _readings(self) -> dict[str, Reading]:
        """Every host's, by where its file is."""
        return dict(zip((host.path for host in self._inputs()), self.readings, strict=True))

    def _inputs(self) -> list[HostCapture]:
        """Every host's file."""
        return [
            HostCapture(host.name, self._place(host.file.path), host.file.bytes or reading.bytes, number)
            for number, (host, reading) in enumerate(zip(self.files.hosts, self.readings, strict=True))
        ]

    def _missing(self) -> list[Diagnostic]:
        return missing_hosts([host.name for host in self.files.hosts])

    def _place(self, path: str) -> str:
        """Where a task finds what the user named: workers of a scheduler run in other directories."""
        return absolute(path) if self.scheduler else path

    def _told(self) -> dict[str, str]:
        """How the user named what tasks find."""
        return {self._place(host.file.path): host.file.path for host in self.files.hosts}


def summary_of(
    trace: Trace, _: HostCapture, also: Callable[[Trace], Any] | None, **options: Any
) -> tuple[HostSummary, Any]:
    """`report.summary.summarise` as a task, and what is `also` wanted, if anything."""
    from tb_xla_insights.report.summary import summarise

    return summarise(trace, **options), also(trace) if also else None


def skipped(failure: Failure) -> Diagnostic:
    """Says why a host is left out."""
    return Diagnostic("skipped_host", "warning", failure.message, failure.host.name)


def _packed(trace: Trace, host: HostCapture, function: Callable[[Trace, HostCapture], Any]) -> bytes:
    """A task whose result waits until all hosts are read."""
    return packed(function(trace, host))


def _on_one_clock(read: Sequence[HostResult[None]]) -> tuple[list[HostCapture], list[Diagnostic]]:
    """Hosts that were read, numbered, and moved to where they lie on the session's time base; and those of which
    nobody knows where that is."""
    from tb_xla_insights.trace.build import clock_unknown
    from tb_xla_insights.trace.clock import host_shifts

    shifts = host_shifts([it.base_unix_ns for it in read])
    hosts, unplaced = [], []
    for number, (it, shift) in enumerate(zip(read, shifts, strict=True)):
        hosts.append(replace(it.host, number=number, shift_ps=it.host.shift_ps + (shift or 0)))
        if shift is None and len(read) > 1:
            unplaced.append(clock_unknown(it.host.name, it.base_unix_ns))
    return hosts, unplaced
