"""The Python interface: a session's report, windows and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tb_xla_insights.errors import Diagnostic, InputError, NoDeviceError
from tb_xla_insights.logdir.pod import Pod
from tb_xla_insights.logdir.read import Reading, read_session
from tb_xla_insights.logdir.session_hosts import Also, SessionHosts
from tb_xla_insights.logdir.sessions import SessionFiles, resolve
from tb_xla_insights.memory import give_back
from tb_xla_insights.table import Table
from tb_xla_insights.tasks import HostCapture, HostResult

if TYPE_CHECKING:
    from tb_xla_insights.analysis.window.excerpt import Excerpt
    from tb_xla_insights.analysis.window.window import HostWindow
    from tb_xla_insights.schema.compare import Comparison
    from tb_xla_insights.schema.parts import WorkKeys
    from tb_xla_insights.schema.report import Report
    from tb_xla_insights.schema.window import Window
    from tb_xla_insights.trace.model import SessionTrace, Trace

Row = dict[str, Any]

_APART_PS = 10**12
"""Hosts of one capture begin within so much time, a second; those that do not are read twice for a window."""


class Session:
    """One session. All times count from its start, in picoseconds.

    A single host is in memory from the beginning. Of several hosts, each answer reads what it needs, one task per host,
    and keeps no trace; `trace` holds all hosts in memory, and so do windows and comparisons where hosts are few
    (`kept`).
    """

    def __init__(self, hosts: SessionHosts) -> None:
        self.hosts = hosts
        self._trace: SessionTrace | None = None
        self._pod: Pod | None = None
        self._whole_report: Report | None = None
        if not hosts.to_read:
            _ = self.trace

    @property
    def trace(self) -> SessionTrace:
        """The events of all hosts, read when first asked for. Raises InputError where no host can be read."""
        if self._trace is None:
            its = self.hosts
            self._trace = read_session(its.files, its.catalog, its.readings)
        return self._trace

    @property
    def kept(self) -> SessionTrace | None:
        """The events of all hosts, read now where hosts are few and fit into half of the free memory; else None."""
        return self.trace if self._trace is None and self.hosts.few else self._trace

    @property
    def name(self) -> str:
        return self.hosts.files.name

    def __repr__(self) -> str:
        count = len(self.hosts.files.hosts)
        return f"Session({self.name!r}, {count} {'host' if count == 1 else 'hosts'})"

    def _repr_html_(self) -> str:
        """What notebooks show: verdict, figures, findings, devices."""
        from tb_xla_insights.html.cells import session_cell

        return str(session_cell(self._kept_report()))

    def show(self, height: int = 640) -> None:
        """Opens the report as a page in the notebook's cell, `height` pixels high.

        Raises ImportError, with the remedy, where IPython is not installed.
        """
        try:
            from IPython.display import HTML, display
        except ImportError as error:
            raise ImportError("show needs a notebook; pip install notebook") from error
        from tb_xla_insights.html.cells import page_cell

        display(HTML(page_cell(self.document(), height)))

    @property
    def duration_ps(self) -> int:
        if self._trace is not None:
            return self._trace.duration_ps
        return self._kept_report()["session"]["duration_ps"]

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What is to be said of the files, as far as they were read by now."""
        return self._trace.all_diagnostics if self._trace is not None else self.hosts.diagnostics

    def report(
        self,
        all_gaps: bool = False,
        samples_per_step: float | None = None,
        peaks: tuple[float, float] | None = None,
    ) -> Report:
        """The document of `xla-insights report --json`; with all gaps instead of the 1,000 longest ones, with the
        `throughput` of steps of so many samples, if not of those that the recording was told, and with other peaks of a
        device (FLOP/s and bytes/s) than those that are known of it. Raises InputError for peaks that are not above 0.
        """
        document = self.document(all_gaps, samples_per_step, peaks)
        return {**document, "steps": list(document["steps"])}

    def document(
        self,
        all_gaps: bool = False,
        samples_per_step: float | None = None,
        peaks: tuple[float, float] | None = None,
    ) -> Report:
        """`report` with its `steps` in columns (see `report.step_rows`)."""
        from tb_xla_insights.device_work.peaks import checked

        own_peaks = None if peaks is None else checked(peaks)
        if self._trace is None:
            document = self.hosts.report(all_gaps, samples_per_step)
        else:
            from tb_xla_insights.report.document import session_report

            document = session_report(self._trace, all_gaps, samples_per_step)
        if own_peaks is None:
            return document
        from tb_xla_insights.report.document import report_with_peaks

        return report_with_peaks(document, own_peaks)

    def _kept_report(self) -> Report:
        """The report with all gaps, which tables of several hosts are parts of."""
        if self._whole_report is None:
            self._whole_report = self.document(all_gaps=True)
        return self._whole_report

    def window(self, start_ps: int, end_ps: int, device: str | None = None) -> Window:
        """What every class, thread and device did in [start_ps, end_ps), of one device (by id) or of all.

        Raises InputError for an empty window, and NoDeviceError for an unknown device.
        """
        from tb_xla_insights.analysis.window.window import window, windows_together

        if end_ps <= start_ps:
            raise InputError(f"{self.hosts.files.path}: the window ends before it starts; give a later end")
        if self.kept is not None:
            self._check(device, [it.id for it in self.kept.devices])
            return window(self.kept, start_ps, end_ps, device)
        return windows_together(self._host_windows(start_ps, end_ps, device), start_ps, end_ps)

    def _host_windows(self, start_ps: int, end_ps: int, device: str | None) -> list[HostWindow]:
        """The window's part of each host that has the device. Where a host lies on the session's time base is known
        once all are read, so each tells what the window may hold of it; those that begin too late are read again."""
        from tb_xla_insights.analysis.window.window import HostWindow, window_of_host

        options: dict[str, Any] = {"start_ps": start_ps, "end_ps": end_ps, "device": device}
        parts: dict[int, HostWindow] = {}
        known: list[str] = []
        late: list[HostCapture] = []
        with self.hosts.placed(partial(unplaced_window_task, **options)) as hosts:
            for (devices, its), host in hosts:
                known += devices
                if device is not None and device not in devices:
                    continue
                if host.shift_ps > _APART_PS:
                    late.append(host)
                    continue
                if not isinstance(its, HostWindow):
                    its = window_of_host(its, start_ps - host.shift_ps, end_ps - host.shift_ps)
                parts[host.number] = its.at(host.number, host.shift_ps)
        self._check(device, known)
        if late:
            for it in self.hosts.again(partial(window_task, **options), late):
                parts[it.host.number] = it.value.at(it.host.number, 0)
        return [parts[number] for number in sorted(parts)]

    def _check(self, device: str | None, known: Sequence[str]) -> None:
        if device is not None and device not in known:
            raise NoDeviceError(self.hosts.files.path, device, known)

    def compare(
        self, other: Session, samples_per_step: tuple[float | None, float | None] = (None, None)
    ) -> Comparison:
        """The document of `xla-insights compare --json`, with this session as A and the other one as B;
        `samples_per_step` of A and of B come before what their recordings were told."""
        from tb_xla_insights.compare import compare

        return compare(self.in_view, other.in_view, samples_per_step)

    @property
    def in_view(self) -> SessionTrace:
        """The session as views and comparisons use it: all hosts where these are `kept`, else the report of all hosts
        with the trace of one, that of the usual step."""
        if self.kept is not None:
            return self.kept
        if self._pod is None:
            from tb_xla_insights.report.host_parts import host_parts

            parts = Also(host_parts)
            report = self.hosts.report(all_gaps=True, also=parts)
            self._pod = Pod(self.hosts, report, parts.in_order())
        return self._pod.usual().trace

    def propagation(self, step: int | None = None, device: str | None = None) -> dict[str, Any]:
        """Where annotations went on the device, in one step (an index into `steps()`, or a usual one) on one device (by
        id, or the step's first), and in total: `analysis.propagation.view` tells every key.

        Raises InputError for an unknown step or device.
        """
        from tb_xla_insights.analysis.propagation import propagation_view

        return propagation_view(self.trace, step, device)

    def device_work(
        self, step: int | None = None, device: str | None = None, peaks: tuple[float, float] | None = None
    ) -> WorkKeys:
        """The report's keys `ops` and `device_work`, of one step (an index into `steps()`) or of all, on one device (by
        id) or on all; `peaks` are FLOP/s and bytes/s of a device, in place of what is known of it.

        Raises InputError for an unknown step or device, and for peaks that are not above 0.
        """
        from tb_xla_insights.device_work import session_work
        from tb_xla_insights.device_work.peaks import checked

        return session_work(self.trace, step, device, None if peaks is None else checked(peaks))

    def devices(self) -> Table:
        """One row per device core, as in the report."""
        from tb_xla_insights.analysis.idle.busy import device_summaries

        return self._table(device_summaries, lambda report: report["devices"])

    def steps(self) -> Table:
        """One row per step, as in the report; `host_ps` is a dict by class."""
        from tb_xla_insights.analysis.steps.table import steps_report

        return self._table(steps_report, lambda report: report["steps"])

    def gaps(self) -> Table:
        """One row per gap of 10 us or more, as in the report, the longest first."""
        return Table(self._kept_report()["gaps"]["items"])

    def executions(self) -> Table:
        """One row per program and quality of the join, as in the report."""
        from tb_xla_insights.report.host_document import execution_rows

        return self._table(execution_rows, lambda report: report["executions"])

    def compiles(self) -> Table:
        """One row per compilation, as in the report."""
        from tb_xla_insights.analysis.compiles.table import compiles_report
        from tb_xla_insights.report.sidecars import read_sidecars

        return self._table(
            lambda trace: compiles_report(trace, read_sidecars(trace).causes),
            lambda report: report["compiles"],
        )

    def transfers(self) -> Table:
        """Transfers to the device and from it: `direction`, and what the report has of each."""
        from tb_xla_insights.analysis.host.transfers import transfers_report

        rows = self._of(transfers_report, lambda report: report["transfers"])
        return Table([{"direction": name, **row} for name, row in rows.items()])

    def collectives(self) -> Table:
        """One row per collective op, as in the report."""
        from tb_xla_insights.analysis.device.collectives import collectives_report

        return self._table(collectives_report, lambda report: report["collectives"])

    def ops(self) -> Table:
        """One row per program, op and annotation, over all cores, as in the report."""
        from tb_xla_insights.device_work import host_work

        return self._table(lambda trace: host_work(trace, [])["ops"], lambda report: report["ops"])

    def findings(self) -> Table:
        """One row per finding, as in the report: mistakes, then limits, by what a fix buys."""
        return Table(self._kept_report()["findings"])

    def annotations(self) -> Table:
        """One row per annotation of the user's own: name, host, thread, start_ps, duration_ps."""
        if self._trace is not None:
            return Table([row for trace in self._trace.traces for row in annotation_rows(trace)])
        read = [it.value for it in self.hosts.each(annotation_task) if isinstance(it, HostResult)]
        return self._annotations_of(read)

    def report_and_annotations(self) -> tuple[Report, Table]:
        """The report with all gaps and `annotations`, in one reading of the hosts."""
        if self._trace is not None:
            return self.document(all_gaps=True), self.annotations()
        rows = Also(annotation_rows)
        report = self.hosts.report(all_gaps=True, also=rows)
        return report, self._annotations_of(rows.in_order())

    def _annotations_of(self, read: Sequence[list[Row]]) -> Table:
        """From the rows of each host that was read, whose times count from its own zero."""
        return Table(
            [
                row | {"start_ps": row["start_ps"] + host.shift_ps}
                for host, rows in zip(self.hosts.found, read, strict=True)
                for row in rows
            ]
        )

    def _of(self, one_host: Callable[[SessionTrace], Any], several: Callable[[Report], Any]) -> Any:
        """From the trace of one host, of several from their merged report."""
        if self._trace is not None and len(self._trace.traces) == 1:
            return one_host(self._trace)
        return several(self._kept_report())

    def _table(self, one_host: Callable[[SessionTrace], Any], several: Callable[[Report], Any]) -> Table:
        return Table(self._of(one_host, several))


def annotation_rows(trace: Trace) -> list[Row]:
    """One host's rows of `Session.annotations`."""
    from tb_xla_insights.trace.threads import thread_labels

    labels = thread_labels(trace)
    return [
        {
            "name": trace.name(row),
            "host": trace.host,
            "thread": labels[trace.line_of(row).index],
            "start_ps": int(trace.start_ps[row]),
            "duration_ps": int(trace.duration_ps[row]),
        }
        for row in map(int, trace.annotations)
    ]


def annotation_task(trace: Trace, _: HostCapture) -> list[Row]:
    """The same as a task."""
    return annotation_rows(trace)


def unplaced_window_task(
    trace: Trace, _: HostCapture, start_ps: int, end_ps: int, device: str | None
) -> tuple[list[str], Excerpt | HostWindow]:
    """The ids of a host's devices, and what the window may hold of it if it begins at most `_APART_PS` after the first
    host; the window's part itself, where the window holds all of it anyway."""
    from tb_xla_insights.analysis.window.excerpt import excerpt
    from tb_xla_insights.analysis.window.window import window_of_host

    its = excerpt(trace, start_ps - _APART_PS, end_ps, device)
    first_ps, last_ps = trace.span_ps
    whole = start_ps <= first_ps and last_ps <= end_ps - _APART_PS
    told = window_of_host(its, start_ps, end_ps) if whole else its.alone()
    return [it.id for it in trace.devices], told


def window_task(trace: Trace, _: HostCapture, start_ps: int, end_ps: int, device: str | None) -> HostWindow:
    """The window of a host that was placed."""
    from tb_xla_insights.analysis.window.excerpt import excerpt
    from tb_xla_insights.analysis.window.window import window_of_host

    return window_of_host(excerpt(trace, start_ps, end_ps, device), start_ps, end_ps)


def load(
    path: str, session: str | None = None, catalog: str | None = None, scheduler: str | None = None
) -> Session:
    """The session that `path` means: a capture, a session's directory, or a logdir (its newest, or `session`).

    `path` is local or a URL that fsspec opens; `catalog` a file with more event names; `scheduler` the address of a
    Dask scheduler whose workers read the hosts. Raises InputError.
    """
    opened = open_session(resolve(str(path), session), catalog, scheduler=scheduler)
    give_back()
    return opened


def open_session(
    files: SessionFiles,
    catalog: str | None = None,
    readings: list[Reading] | None = None,
    scheduler: str | None = None,
) -> Session:
    """A session that was found; `readings` show others how far it is read. Raises InputError."""
    from tb_xla_insights.catalog import load_catalog

    return Session(SessionHosts(files, load_catalog(catalog), scheduler, readings=readings or []))
