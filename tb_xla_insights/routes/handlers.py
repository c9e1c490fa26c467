"""The data routes of sessions and of their views: one method per route, from the request's arguments to the response
document."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.loaded_hosts import head_without_rows
from tb_xla_insights.logdir.opened_session import Needed
from tb_xla_insights.logdir.sessions import SessionFiles
from tb_xla_insights.logdir.store import Load, Store
from tb_xla_insights.routes.arguments import MAX_DEPTH, Arguments, Handler
from tb_xla_insights.routes.requested_sessions import READ_SECONDS, RequestedSessions
from tb_xla_insights.routes.timeline_handlers import TimelineRoutes
from tb_xla_insights.trace.row_ids import RowId

if TYPE_CHECKING:
    from tb_xla_insights.pod.comparison import HostComparison
    from tb_xla_insights.report.session_view import SessionView
    from tb_xla_insights.schema.annotations import AnnotationOrder, Propagation
    from tb_xla_insights.schema.compare_route import CompareAnswer
    from tb_xla_insights.schema.device_route import DeviceAnswer
    from tb_xla_insights.schema.engines_route import EnginesAnswer
    from tb_xla_insights.schema.executions_route import Executions
    from tb_xla_insights.schema.hosts_route import HostsAnswer, HostsInSteps, HostSteps
    from tb_xla_insights.schema.propagation_route import PropagationAnswer
    from tb_xla_insights.schema.route_parts import HostCounts
    from tb_xla_insights.schema.session_route import (
        ChosenHostsReady,
        ListedSession,
        OpenedSession,
        PartialSession,
        SessionAnswer,
        SessionList,
        SessionLoading,
        SessionReady,
        Stopped,
    )

# How long `data/session` and `data/sessions` wait for reading in the background: short, as the page shows progress.
_POLL_SECONDS = 0.25
_FIRST_LISTING_SECONDS = 5.0
_MAX_STEP = 2**31
_MAX_HOST = 10**6 - 1


class Handlers:
    """The handlers, over the logdir's listing and the sessions in memory. `capture_logdir` is where the page's captures
    are written, None if it may not capture."""

    def __init__(self, listing: Listing, store: Store, capture_logdir: str | None = None) -> None:
        self._listing = listing
        self._store = store
        self._sessions = RequestedSessions(store)
        self._capture_logdir = capture_logdir

    def posts(self) -> dict[str, Handler]:
        """The handlers of requests that act, by route below `data/`."""
        return {"reload": self.reload, "stop": self.stop}

    def gets(self) -> dict[str, Handler]:
        """The handlers of requests that only read, by route below `data/`."""
        return {
            "sessions": self.sessions,
            "session": self.session,
            **TimelineRoutes(self._sessions).gets(),
            "overview": self.overview,
            "counts": self.counts,
            "gaps": self.gaps,
            "gap": self.gap,
            "executions": self.executions,
            "iterations": self.iterations,
            "memory": self.memory,
            "compiles": self.compiles,
            "compare": self.compare,
            "propagation": self.propagation,
            "hosts": self.hosts,
            "host_steps": self.host_steps,
            "hosts_in_steps": self.hosts_in_steps,
            "device": self.device,
            "engines": self.engines,
        }

    def sessions(self, _: Arguments) -> SessionList:
        """All sessions, newest first. Waits longer for a slow store only while no session is known."""
        has_sessions = bool(self._listing.sessions)
        sessions = self._listing.refresh(wait=_POLL_SECONDS if has_sessions else _FIRST_LISTING_SECONDS)
        return {
            "logdir": self._listing.roots_text,
            "sessions": [_session_row(session) for session in sessions],
            "message": self._listing.message,
            "note": self._listing.note,
            "capture": self._capture_logdir is not None,
            "capture_logdir": self._capture_logdir,
        }

    def session(self, arguments: Arguments) -> SessionAnswer:
        """Starts reading a session and returns the progress, or once it is read the data that the page draws first.

        `fingerprint` identifies the files that were read; `changed`: they have changed since. Requests with a
        `fingerprint` fail (409) once files with another one were read. If not all hosts are in memory, the answer has
        the rows of `hosts` (see `host_choice.chosen_hosts`). While the session is being read, `partial` has the numbers
        of hosts (null before the first partial report), and `head` the data that the page needs to draw that report, if
        it covers more than `seen` hosts.
        """
        load = self._store.load(arguments.text("session"))
        load.wait(_POLL_SECONDS)
        if not load.done:
            progress: SessionLoading = {"state": "loading", **load.progress()}
            head = _partial_head(load, arguments)
            if head is None:
                return progress
            partial_session: PartialSession = {**progress, "head": head}
            return partial_session
        if load.opened is None:
            return {"state": "error", "message": str(load.error), "hosts": load.progress()["hosts"]}
        hosts = load.opened.choose(arguments.names("hosts"))
        document: SessionReady = {
            "state": "ready",
            "fingerprint": load.fingerprint,
            "changed": self._store.has_changed(load),
            **hosts.head,
            **hosts.timeline.rows(),
        }
        if not hosts.is_choice:
            return document
        document_of_hosts: ChosenHostsReady = {**document, **load.hosts_read}
        return document_of_hosts

    def reload(self, arguments: Arguments) -> SessionAnswer:
        """Reads a session again, unless it is being read; answers as `session`."""
        self._store.load(arguments.text("session"), reload=True)
        return self.session(arguments)

    def stop(self, arguments: Arguments) -> Stopped:
        """Stops reading a session, which then consists of the hosts read so far."""
        return {"stopped": self._store.stop(arguments.text("session"))}

    def overview(self, arguments: Arguments) -> dict[str, Any]:
        from tb_xla_insights.report import views

        return self._report_view(arguments, views.overview)

    def counts(self, arguments: Arguments) -> dict[str, Any]:
        from tb_xla_insights.report import views

        return self._report_view(arguments, lambda session: {"counts": views.counts(session)})

    def gaps(self, arguments: Arguments) -> dict[str, Any]:
        from tb_xla_insights.report import gap_views

        return self._report_view(arguments, gap_views.gaps)

    def gap(self, arguments: Arguments) -> dict[str, Any]:
        """One gap, by its device and its start. With `other_host`, the index of a host, also that host's gap of the
        same step."""
        from tb_xla_insights.report import gap_views

        device, start = arguments.text("device"), arguments.integer("start_ps")
        other_host = arguments.optional_integer("other_host", 0, _MAX_HOST)
        # The id of any row of the other host names that host.
        ids = [] if other_host is None else [str(RowId(other_host, "steps"))]
        answer = gap_views.gap(
            self._sessions.hosts_for(arguments, ids, [device]).view, device, start, other_host
        )
        return {**answer}

    def executions(self, arguments: Arguments) -> dict[str, Any]:
        """All executions, or those on `devices`, and the runs of one step."""
        from tb_xla_insights.report import execution_views

        step = arguments.optional_integer("step", 0, _MAX_STEP)
        devices = arguments.names("devices")

        def view(session: SessionView) -> Executions:
            return execution_views.executions(session, step, None if devices is None else frozenset(devices))

        return self._report_view(arguments, view, devices or [], step, use_default=step is None)

    def iterations(self, arguments: Arguments) -> dict[str, Any]:
        from tb_xla_insights.report.iterations_view import iterations

        return self._report_view(arguments, iterations)

    def memory(self, arguments: Arguments) -> dict[str, Any]:
        """What fills the memory of a device at the peak of `program`, by default of the one with the highest peak."""
        from tb_xla_insights.report.memory_view import memory

        program = arguments.optional_text("program")
        return self._report_view(arguments, lambda session: memory(session, program))

    def compiles(self, arguments: Arguments) -> dict[str, Any]:
        from tb_xla_insights.report import compile_views

        return self._report_view(arguments, compile_views.compiles)

    def compare(self, arguments: Arguments) -> CompareAnswer:
        """Two sessions side by side; the second one is read first if it is not in memory."""
        baseline = self._store.loaded(arguments.text("other"), READ_SECONDS).default_step_host()
        return self._sessions.opened(arguments).default_step_host().compare_with(baseline)

    def propagation(self, arguments: Arguments) -> PropagationAnswer:
        """The device time of annotations, in one step on one device: `step` (an index into the report's steps) and
        `device`; without either, those of the annotation or scope at `row`, `start_ps` and `depth`; else the step with
        `step_number`; else the default step and its first device.

        `propagation_view` documents the keys. They cover the hosts that `hosts` names; `total` covers all.
        `requested_path` is the path of that annotation or scope, or None; `stale`: there is no such event.
        """
        from tb_xla_insights.analysis.propagation import propagation_view
        from tb_xla_insights.report.default_step import default_step

        step = arguments.optional_integer("step", 0, _MAX_STEP)
        device = arguments.optional_text("device")
        requested_path, stale = None, False
        row = arguments.optional_text("row")
        step_number = arguments.optional_text("step_number")
        is_unspecified = step is None and not (row or device or step_number)
        loaded = self._sessions.hosts_for(
            arguments, [row] if row else [], [device] if device else [], step, use_default=is_unspecified
        )
        if row:
            loaded.timeline.find_more_rows()
            start, depth = arguments.integer("start_ps"), arguments.optional_integer("depth", 0, MAX_DEPTH)
            try:
                annotation = loaded.timeline.annotation_at(row, start, depth)
            except InputError:  # the valid parts of a link are shown
                stale = True
            else:
                requested_path = annotation["path"]
                if step is None and device is None:
                    step, device = annotation["step"], annotation["device"]
        default = default_step(loaded.view.report) if is_unspecified and loaded.is_choice else None
        view = propagation_view(loaded.hosts, step, device, step_number, default)
        if loaded.is_choice:
            view["total"] = _without_ops(loaded.view.report["propagation"])
        hosts = [trace.host for trace in loaded.hosts.traces]
        return {**view, "hosts": hosts, "requested_path": requested_path, "stale": stale}

    def hosts(self, arguments: Arguments) -> HostsAnswer:
        """Which host holds up the others, and why; while hosts are being read, among those read so far."""
        from tb_xla_insights.pod.hosts_view import hosts_view

        load, partial_view = self._sessions.partial(arguments)
        results = (partial_view or self._sessions.opened(arguments)).results
        view = hosts_view(results.comparison, len(load.files.hosts))
        return view if partial_view is None else {**view, "partial": _host_counts(load, partial_view)}

    def host_steps(self, arguments: Arguments) -> HostSteps:
        """What one host did in each step; while hosts are being read, in the steps of those read so far."""
        from tb_xla_insights.pod.hosts_view import host_steps_view

        load, partial_view = self._sessions.partial(arguments)
        results = (partial_view or self._sessions.opened(arguments)).results
        host = _host_index(arguments, results.comparison, "data/host_steps")
        view = host_steps_view(results.comparison, host, results.report["steps"])
        return view if partial_view is None else {**view, "partial": _host_counts(load, partial_view)}

    def hosts_in_steps(self, arguments: Arguments) -> HostsInSteps:
        """What is said of the common steps from the index `first` to `last`, of all without them, and of `host` in
        these."""
        from tb_xla_insights.pod.steps_in_words import hosts_in_steps

        load, partial_view = self._sessions.partial(arguments)
        comparison = (partial_view or self._sessions.opened(arguments)).results.comparison
        host = _host_index(arguments, comparison, "data/hosts_in_steps")
        last_step = comparison.arrivals.step_count - 1
        first = arguments.optional_integer("first", 0, last_step)
        steps = None if first is None else range(first, arguments.integer("last", first, last_step) + 1)
        view = hosts_in_steps(comparison, host, steps)
        return view if partial_view is None else {**view, "partial": _host_counts(load, partial_view)}

    def device(self, arguments: Arguments) -> DeviceAnswer:
        """The work of chosen devices in chosen steps, and its efficiency. `cores`: a core `31.2` (indices of the host
        and of the core), a host `31`, or `all`; `steps`: a step's number, `mean` or `all`; `peaks`: the user's;
        `category` restricts the ops to one category; `whole` lists all ops."""
        from tb_xla_insights.device_work.device_view import device_view
        from tb_xla_insights.report.host_ranks import rank_hosts

        opened = self._sessions.opened(arguments)
        has_several = len(opened.files.hosts) > 1
        median = rank_hosts(opened.results.report)["median"] if has_several else 0
        devices = arguments.optional_text("cores")
        host = devices.partition(".")[0] if devices else str(median)
        needed = {int(host)} if re.fullmatch(r"[0-9]{1,6}", host) else set()
        loaded = opened.choose(arguments.names("hosts"), Needed(hosts=needed))
        return device_view(
            loaded.hosts, devices, arguments.optional_text("steps"),
            default_host=median, category=arguments.optional_text("category"), user_peaks=arguments.peaks("peaks"),
            all_ops=arguments.flag("whole"), report=loaded.view.report if loaded.is_choice else None,
        )  # fmt: skip

    def engines(self, arguments: Arguments) -> EnginesAnswer:
        """What a device's engines do, and what the device waits for. `device`: its id; by default the one that waits
        longest."""
        from tb_xla_insights.report.engines_view import engines_view

        opened = self._sessions.opened(arguments)
        report, requested = opened.results.report, arguments.optional_text("device")
        ids = [device["id"] for device in report["devices"]]
        waiting = [row["device"] for row in report["async_ops"][:1]]
        device = requested if requested in ids else next(iter([*waiting, *ids]), None)
        loaded = opened.choose(arguments.names("hosts"), Needed(devices=[device] if device else []))
        return engines_view(loaded.view, device, stale=requested not in (None, device))

    def _report_view(
        self,
        arguments: Arguments,
        view: Callable[[SessionView], Mapping[str, Any]],
        devices: Sequence[str] = (),
        step: int | None = None,
        use_default: bool = False,
    ) -> dict[str, Any]:
        """A view of the report of all hosts, with the traces of `RequestedSessions.hosts_for`. While hosts are being
        read, it covers the hosts read so far, and `partial` has their number."""
        load, partial_view = self._sessions.partial(arguments)
        if partial_view is not None:
            return {**view(partial_view), "partial": _host_counts(load, partial_view)}
        return {
            **view(self._sessions.hosts_for(arguments, (), devices, step, use_default, strict=False).view)
        }


def _without_ops(propagation: Propagation) -> AnnotationOrder:
    """The report's `propagation` without its lists of ops."""
    return {
        "device_ps": propagation["device_ps"],
        "direct_ps": propagation["direct_ps"],
        "recovered_ps": propagation["recovered_ps"],
        "bare_ps": propagation["bare_ps"],
        "none_ps": propagation["none_ps"],
        "runs": propagation["runs"],
        "phases": propagation["phases"],
        "inversion_share": propagation["inversion_share"],
        "programs": propagation["programs"],
    }


def _host_index(arguments: Arguments, comparison: HostComparison, route: str) -> int:
    """The index of the argument `host`. Raises InputError if the session has no such host."""
    host = arguments.text("host")
    names = [row.name for row in comparison.hosts]
    if host not in names:
        raise InputError(f"{route}: no host {host} in this session; choose one of data/hosts")
    return names.index(host)


def _host_counts(load: Load, partial_view: SessionView) -> HostCounts:
    """The number of hosts that an answer covers, and of all."""
    return {"hosts_read": len(partial_view.results.tables), "hosts_total": len(load.readings)}


def _partial_head(load: Load, arguments: Arguments) -> OpenedSession | None:
    """The head of the partial report, None if it does not cover more hosts than the page has seen."""
    hosts_seen = arguments.integer("seen", 0, _MAX_HOST, default=_MAX_HOST)
    if load.partial_view is None:
        return None
    report = load.partial_view.report
    return head_without_rows(report) if len(report["session"]["hosts"]) > hosts_seen else None


def _session_row(session: SessionFiles) -> ListedSession:
    return {
        "name": session.name,
        "hosts": [{"name": host.name, "bytes": host.file.bytes} for host in session.hosts],
        "modified_unix_ns": str(session.modified_unix_ns),
    }
