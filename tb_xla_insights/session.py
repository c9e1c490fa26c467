"""The Python interface: a session's report, windows and tables."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tb_xla_insights.errors import Diagnostic, InputError, NoDeviceError
from tb_xla_insights.files.paths import absolute
from tb_xla_insights.logdir.paths import expand
from tb_xla_insights.logdir.read_hosts import Reading, read_session
from tb_xla_insights.logdir.session_hosts import HostExtras, SessionHosts
from tb_xla_insights.logdir.sessions import SessionFiles, joined, resolve
from tb_xla_insights.system.memory import release_freed_memory
from tb_xla_insights.table import Table, report_table
from tb_xla_insights.tasks import HostCapture, HostResult

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.logdir.opened_session import OpenedSession
    from tb_xla_insights.report.session_view import SessionView
    from tb_xla_insights.schema.compare import Comparison
    from tb_xla_insights.schema.parts import WorkKeys
    from tb_xla_insights.schema.propagation_route import PropagationView
    from tb_xla_insights.schema.report import Report
    from tb_xla_insights.schema.window import Window
    from tb_xla_insights.trace.model import SessionTrace, Trace

Row = dict[str, Any]
_T = TypeVar("_T")

_ANNOTATION_COLUMNS = ("name", "host", "thread", "start_ps", "duration_ps")

_MAX_NUMBER = 10**18
"""The largest instant and index that are accepted: within 64 bits, as `xla-insights window` has it."""


class Session:
    """One session. All times count from its start, in picoseconds.

    A single host is held in memory from the beginning. For several hosts, or with a scheduler, answers come from one
    task per host, which keeps no trace; tables of the report share its tasks. `trace` holds all hosts in memory;
    windows and comparisons do so too if the hosts fit (`trace_if_small`).
    """

    def __init__(self, hosts: SessionHosts) -> None:
        self.hosts = hosts
        self._trace: SessionTrace | None = None
        self._view: SessionView | None = None
        self._report_with_all_gaps: Report | None = None
        if not hosts.is_streamed:
            _ = self.trace

    @property
    def trace(self) -> SessionTrace:
        """The events of all hosts, read on first use. Raises InputError if no host can be read."""
        if self._trace is None:
            hosts = self.hosts
            self._trace = read_session(hosts.files, hosts.catalog, hosts.readings)
        return self._trace

    @property
    def trace_if_small(self) -> SessionTrace | None:
        """The events of all hosts, if they have been read or may all be held in memory (`SessionHosts.fits_in_memory`);
        else None."""
        return self.trace if self._trace is None and self.hosts.fits_in_memory else self._trace

    @property
    def name(self) -> str:
        return self.hosts.files.name

    def __repr__(self) -> str:
        count = len(self.hosts.files.hosts)
        return f"Session({self.name!r}, {count} {'host' if count == 1 else 'hosts'})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles what opens the session again: another process reads the files itself."""
        return open_session, (self.hosts.files, self.hosts.catalog, None, self.hosts.scheduler)

    def _repr_html_(self) -> str:
        """The notebook representation: verdict, figures, findings, devices."""
        from tb_xla_insights.html.cells import session_cell

        return str(session_cell(self._full_report()))

    def show(self, height: int = 640) -> None:
        """Shows the report as a page in the notebook's cell, `height` pixels high.

        Raises ImportError, with the remedy, if IPython is not installed.
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
        return self._full_report()["session"]["duration_ps"]

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The diagnostics of the files read so far."""
        return self._trace.all_diagnostics if self._trace is not None else self.hosts.diagnostics

    def report(
        self,
        all_gaps: bool = False,
        samples_per_step: float | None = None,
        peaks: tuple[float, float] | None = None,
    ) -> Report:
        """The document of `xla-insights report --json`.

        `all_gaps` includes all gaps instead of the 1,000 longest. `samples_per_step` sets the `throughput` in place of
        the number that was recorded. `peaks` are a device's FLOP/s and bytes/s, in place of the known ones.

        Raises InputError for samples that are not above 0, and for peaks that are not from 1e6 to 1e24.
        """
        document = self.document(all_gaps, samples_per_step, peaks)
        return {**document, "steps": list(document["steps"])}

    def document(
        self,
        all_gaps: bool = False,
        samples_per_step: float | None = None,
        peaks: tuple[float, float] | None = None,
    ) -> Report:
        """The document of `report` with its `steps` in columns (see `report.step_rows`)."""
        from tb_xla_insights.device_work.peaks import check_peaks
        from tb_xla_insights.report.throughput import check_samples

        samples_per_step = check_samples(samples_per_step)
        given_peaks = None if peaks is None else check_peaks(peaks)
        if self._trace is None:
            document = self.hosts.report(all_gaps, samples_per_step)
        else:
            from tb_xla_insights.report.document import session_report

            document = session_report(self._trace, all_gaps, samples_per_step)
        if given_peaks is None:
            return document
        from tb_xla_insights.report.document import report_with_peaks

        return report_with_peaks(document, given_peaks)

    def _full_report(self) -> Report:
        """The memoised report with all gaps, the source of the tables of several hosts."""
        if self._report_with_all_gaps is None:
            self._report_with_all_gaps = self.document(all_gaps=True)
        return self._report_with_all_gaps

    def window(self, start_ps: int, end_ps: int, device: str | None = None) -> Window:
        """The activity of every class, thread and device in [start_ps, end_ps), for one device (by id) or all. The
        instants are whole numbers, also as a data frame has them (1e9).

        Raises InputError for an empty window and for other instants, NoDeviceError for an unknown device.
        """
        from tb_xla_insights.analysis.window.window_document import merge_windows, window
        from tb_xla_insights.logdir.host_windows import read_host_windows

        path = self.hosts.files.path
        start_ps, end_ps = _whole_number("start_ps", start_ps), _whole_number("end_ps", end_ps)
        if end_ps <= start_ps:
            raise InputError(f"{path}: the window is empty; give an end after its start")
        if (trace := self.trace_if_small) is None:
            return merge_windows(read_host_windows(self.hosts, start_ps, end_ps, device), start_ps, end_ps)
        devices = [trace_device.id for trace_device in trace.devices]
        if device is not None and device not in devices:
            raise NoDeviceError(path, device, devices)
        return window(trace, start_ps, end_ps, device)

    def compare(
        self, other: Session, samples_per_step: tuple[float | None, float | None] = (None, None)
    ) -> Comparison:
        """The document of `xla-insights compare --json`, with this session as A and the other one as B.
        `samples_per_step` of A and of B take precedence over the recorded numbers.

        Raises InputError for samples that are not above 0."""
        from tb_xla_insights.compare import compare
        from tb_xla_insights.report.throughput import check_samples

        try:
            of_a, of_b = samples_per_step
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{samples_per_step!r} is no pair of samples per step; give (A's, B's)"
            ) from error
        samples = check_samples(of_a), check_samples(of_b)
        return _copy(compare(self.view, other.view, samples))

    @property
    def view(self) -> SessionView:
        """The session as views and comparisons use it: all hosts if they fit into memory (`trace_if_small`), else the
        results of all hosts with the trace of the host of the default step."""
        from tb_xla_insights.logdir.opened_session import Needed
        from tb_xla_insights.report.session_view import SessionView

        if self._view is None:
            if (hosts := self.trace_if_small) is not None:
                self._view = SessionView(hosts)
            else:
                streamed = self.hosts.streamed(self.hosts.results())
                self._view = streamed.choose(None, Needed(default_step=True), strict=True).view
        return self._view

    @property
    def opened(self) -> OpenedSession:
        """The session as the routes answer about it: all hosts if they fit into memory (`trace_if_small`), else the
        results of all hosts, with the traces that an answer needs."""
        from tb_xla_insights.logdir.loaded_hosts import LoadedHosts
        from tb_xla_insights.logdir.opened_session import OpenedSession
        from tb_xla_insights.report.session_view import SessionView
        from tb_xla_insights.timeline import Timeline

        if (trace := self.trace_if_small) is None:
            return OpenedSession(self.hosts.streamed(self.hosts.results()))
        return OpenedSession(LoadedHosts(self.hosts.files, SessionView(trace), Timeline(trace)))

    def propagation(self, step: int | None = None, device: str | None = None) -> PropagationView:
        """The device time of annotations, in one step (an index into `steps()`; None: the step of median duration) on
        one device (by id; None: the step's first), and in total. `schema.propagation_route` documents the keys.

        Raises InputError for an unknown step or device.
        """
        from tb_xla_insights.analysis.propagation import propagation_view

        return propagation_view(self.trace, None if step is None else _whole_number("step", step), device)

    def device_work(
        self, step: int | None = None, device: str | None = None, peaks: tuple[float, float] | None = None
    ) -> WorkKeys:
        """The report's keys `ops` and `device_work`, for one step (an index into `steps()`) or all, on one device (by
        id) or all. `peaks` are a device's FLOP/s and bytes/s, in place of the known ones.

        Raises InputError for an unknown step or device and for peaks that are not from 1e6 to 1e24.
        """
        from tb_xla_insights.device_work import session_work
        from tb_xla_insights.device_work.peaks import check_peaks

        index = None if step is None else _whole_number("step", step)
        return session_work(self.trace, index, device, None if peaks is None else check_peaks(peaks))

    def devices(self) -> Table:
        """One row per device core, as in the report."""
        from tb_xla_insights.analysis.engines.device_rows import device_summaries

        return self._table("devices", device_summaries)

    def steps(self) -> Table:
        """One row per step, as in the report; `host_ps` is a dict by class."""
        from tb_xla_insights.analysis.steps.step_table import steps_report

        return self._table("steps", steps_report)

    def gaps(self) -> Table:
        """One row per gap of at least 10 µs, as in the report, the longest first."""
        return report_table(_copy(self._full_report()["gaps"]["items"]), "gaps", "items")

    def executions(self) -> Table:
        """One row per program and quality of the join, as in the report."""
        from tb_xla_insights.report.host_document import execution_rows

        return self._table("executions", execution_rows)

    def compiles(self) -> Table:
        """One row per compilation, as in the report."""
        from tb_xla_insights.analysis.compiles.compile_table import compiles_report
        from tb_xla_insights.report.sidecar_files import read_sidecars

        return self._table("compiles", lambda trace: compiles_report(trace, read_sidecars(trace).causes))

    def transfers(self) -> Table:
        """One row per direction of transfer, `direction` and the report's keys."""
        from tb_xla_insights.analysis.delays.transfers import transfers_report

        rows = self._from_trace_or_report(transfers_report, lambda report: report["transfers"])
        return Table([{"direction": name, **row} for name, row in rows.items()])

    def collectives(self) -> Table:
        """One row per collective op, as in the report."""
        from tb_xla_insights.analysis.delays.collectives import collectives_report

        return self._table("collectives", collectives_report)

    def ops(self) -> Table:
        """One row per program, op and annotation, over all cores, as in the report."""
        from tb_xla_insights.device_work import host_work

        return self._table("ops", lambda trace: host_work(trace, [])["ops"])

    def findings(self) -> Table:
        """One row per finding, as in the report: mistakes, then limits, or limits first."""
        return report_table(_copy(self._full_report()["findings"]), "findings")

    def annotations(self) -> Table:
        """One row per event of a user annotation: name, host, thread, start_ps, duration_ps."""
        if self._trace is not None:
            rows = (row for trace in self._trace.traces for row in annotation_rows(trace))
            return Table(rows, _ANNOTATION_COLUMNS)
        results = [
            result.value for result in self.hosts.map_hosts(annotation_task) if isinstance(result, HostResult)
        ]
        return self._annotations_table(results)

    def report_and_annotations(self) -> tuple[Report, Table]:
        """The report with all gaps, and `annotations`, in one pass over the hosts."""
        if self._trace is not None:
            return self.document(all_gaps=True), self.annotations()
        rows = HostExtras(annotation_rows)
        report = self.hosts.report(all_gaps=True, extras=rows)
        return report, self._annotations_table(rows.in_session_order())

    def _annotations_table(self, rows_by_host: Sequence[list[Row]]) -> Table:
        """The rows of all hosts that were read, shifted from each host's own zero to the session's."""
        shifted_rows = (
            row | {"start_ps": row["start_ps"] + host.shift_ps}
            for host, rows in zip(self.hosts.hosts_read, rows_by_host, strict=True)
            for row in rows
        )
        return Table(shifted_rows, _ANNOTATION_COLUMNS)

    def _from_trace_or_report(
        self, from_trace: Callable[[Trace], Any], from_report: Callable[[Report], Any]
    ) -> Any:
        """The value computed from the trace of a single host, or copied from the merged report of several."""
        if self._trace is not None and len(self._trace.traces) == 1:
            return from_trace(self._trace.traces[0])
        return _copy(from_report(self._full_report()))

    def _table(self, key: str, from_trace: Callable[[Trace], Any]) -> Table:
        """The table of a key of the report."""
        return report_table(
            self._from_trace_or_report(from_trace, lambda report: cast(Row, report)[key]), key
        )


def _copy(document: _T) -> _T:
    """A copy of a part of a memoised document, which the caller may change. Faster than `copy.deepcopy`."""
    copied: _T = pickle.loads(pickle.dumps(document, pickle.HIGHEST_PROTOCOL))
    return copied


def _whole_number(name: str, value: float) -> int:
    """Converts a whole number: of any integer type, or a float as in a column of a data frame that has nulls. Raises
    InputError for all others."""
    try:
        number = int(value)
        if number == value and abs(number) <= _MAX_NUMBER:
            return number
    except (TypeError, ValueError, OverflowError):  # no number, NaN, infinity
        pass
    raise InputError(f"{name} is {str(value)[:40]}; give a whole number, up to {_MAX_NUMBER:g}")


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
    """`annotation_rows` as a task."""
    return annotation_rows(trace)


def load(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    session: str | None = None,
    catalog: str | os.PathLike[str] | None = None,
    scheduler: str | None = None,
) -> Session:
    """The session at `path`: a capture, a session's directory, or a logdir (its newest session, or `session`). A list
    of paths is read as one session.

    `path` is local or a URL that fsspec opens; the session has the absolute path, so the process may change directories
    between calls. `catalog` is a file with more event names, `scheduler` the address of a Dask scheduler whose workers
    read the hosts. Raises InputError.
    """
    from tb_xla_insights.catalog import load_catalog

    given = path if isinstance(path, list | tuple) else [path]
    expanded = [expand(os.fspath(item) if isinstance(item, os.PathLike) else str(item)) for item in given]
    names = load_catalog(None if catalog is None else os.fspath(catalog))
    files = joined([resolve(item and absolute(item), session) for item in expanded])
    loaded = open_session(files, names, scheduler=scheduler)
    release_freed_memory()
    return loaded


def open_session(
    files: SessionFiles,
    catalog: Catalog,
    readings: list[Reading] | None = None,
    scheduler: str | None = None,
) -> Session:
    """Opens the session with these files; `readings` show its progress. Raises InputError."""
    return Session(SessionHosts(files, catalog, scheduler, readings=readings or []))
