"""What the page asks for: one method per address, from its arguments to the document it answers with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.loaded_hosts import LoadedHosts, head_without_rows
from tb_xla_insights.logdir.partial_reports import PartialReport
from tb_xla_insights.logdir.pod import Pod
from tb_xla_insights.logdir.sessions import SessionFiles
from tb_xla_insights.logdir.store import Load, Store
from tb_xla_insights.plugin.arguments import Arguments
from tb_xla_insights.plugin.respond import Handler

if TYPE_CHECKING:
    from tb_xla_insights.schema.report import Report
    from tb_xla_insights.schema.window import Window
    from tb_xla_insights.trace.model import SessionTrace

# A request for data of a session that is not in memory (any more) waits for it this long.
_READ_SECONDS = 120.0
# `data/session` answers after this long at most; short enough for a page to show progress with.
_POLL_SECONDS = 0.25
_FIRST_LOOK_SECONDS = 5.0
_DEEPEST = 2**15
_MOST_EVENTS = 5000
_MOST_STEPS = 2**31
_MOST_HOSTS = 10**6 - 1


class Routes:
    """The handlers, over the logdir's listing and the sessions in memory; `captures`: where the page may capture to."""

    def __init__(self, listing: Listing, store: Store, captures: str | None = None) -> None:
        self._listing = listing
        self._store = store
        self._captures = captures

    def posts(self) -> dict[str, Handler]:
        """What acts, by its address below `data/`."""
        return {"reload": self.reload, "stop": self.stop}

    def gets(self) -> dict[str, Handler]:
        """What only reads, by its address below `data/`."""
        return {
            "sessions": self.sessions,
            "session": self.session,
            "timeline": self.timeline,
            "event": self.event,
            "neighbor": self.neighbor,
            "search": self.search,
            "window": self.window,
            "table": self.table,
            "overview": self.overview,
            "counts": self.counts,
            "gaps": self.gaps,
            "gap": self.gap,
            "executions": self.executions,
            "compiles": self.compiles,
            "compare": self.compare,
            "propagation": self.propagation,
            "scopes": self.scopes,
            "hosts": self.hosts,
            "device": self.device,
            "waits": self.waits,
            "collective": self.collective,
        }

    def sessions(self, _: Arguments) -> dict[str, Any]:
        """All sessions, newest first; a slow place is waited for only while none is known."""
        known = bool(self._listing.sessions)
        sessions = self._listing.refresh(wait=_POLL_SECONDS if known else _FIRST_LOOK_SECONDS)
        return {
            "logdir": self._listing.roots_text,
            "sessions": [_session(session) for session in sessions],
            "message": self._listing.message,
            "capture": self._captures is not None,
            "capture_logdir": self._captures,
        }

    def session(self, arguments: Arguments) -> dict[str, Any]:
        """Starts the reading of a session and tells how far it is; in the end what the page needs to draw it.

        `mark` stands for the files that were read; `changed`: they are others by now. Requests with a `mark` fail (409)
        once other files were read. Where not all hosts are in memory, the answer has the rows of `hosts` (see
        `choice.chosen`). While the session is read, `partial` has the numbers of hosts (null before views have a
        report), and `head` the data that the page needs to draw that report, if it covers more than `seen` hosts.
        """
        load = self._store.load(arguments.text("session"))
        load.wait(_POLL_SECONDS)
        if not load.done:
            return {"state": "loading", **load.progress(), **_first_hosts(load, arguments)}
        if load.loaded is None:
            return {"state": "error", "message": load.error, "hosts": load.progress()["hosts"]}
        shown = load.loaded.choose(arguments.names("hosts"))
        told = {
            "state": "ready",
            "mark": load.fingerprint,
            "changed": self._store.has_changed(load),
            **shown.head,
            **shown.timeline.rows(),
        }
        return told if shown.report is None else told | load.hosts_read

    def reload(self, arguments: Arguments) -> dict[str, Any]:
        """Reads a session anew, unless it is being read; answers as `session`."""
        self._store.load(arguments.text("session"), reload=True)
        return self.session(arguments)

    def stop(self, arguments: Arguments) -> dict[str, Any]:
        """Ends the reading of a session; what was read stays."""
        stopped = self._store.stop(arguments.text("session"))
        return {"stopped": stopped}

    def timeline(self, arguments: Arguments) -> dict[str, Any]:
        start, end = arguments.window()
        px = arguments.integer("px", 1, 20_000)
        rows = arguments.names("rows") or []
        return self._shown(arguments, rows).timeline.view(start, end, px, rows)

    def event(self, arguments: Arguments) -> dict[str, Any]:
        """One event, by its id or by its place."""
        event = arguments.optional_text("event")
        if event is not None:
            return self._shown(arguments, [event]).timeline.event(event)
        row, start = arguments.text("row"), arguments.integer("start_ps")
        depth = arguments.optional_integer("depth", 0, _DEEPEST)
        return self._shown(arguments, [row]).timeline.event_at(row, start, depth)

    def neighbor(self, arguments: Arguments) -> dict[str, Any]:
        row, start = arguments.text("row"), arguments.integer("start_ps")
        depth = arguments.integer("depth", 0, _DEEPEST)
        direction = arguments.choice("direction", "next", "previous")
        return self._shown(arguments, [row]).timeline.neighbor(row, depth, start, direction)

    def search(self, arguments: Arguments) -> dict[str, Any]:
        query, rows = arguments.text("q"), arguments.names("rows")
        return self._shown(arguments, rows or []).timeline.search(query, rows)

    def window(self, arguments: Arguments) -> Window:
        from tb_xla_insights.analysis.window.window import window

        start, end = arguments.window()
        device = arguments.optional_text("device")
        trace = self._shown(arguments, devices=[device] if device else []).trace
        if device is not None and device not in {it.id for it in trace.devices}:
            raise InputError(f"data/window: no device {device} in this session; leave it out for all")
        return window(trace, start, end, device)

    def table(self, arguments: Arguments) -> dict[str, Any]:
        start, end = arguments.window()
        limit = arguments.integer("limit", 1, _MOST_EVENTS, default=500)
        rows = arguments.names("rows") or []
        return self._shown(arguments, rows).timeline.table(start, end, rows, limit)

    def overview(self, arguments: Arguments) -> dict[str, Any]:
        from tb_xla_insights.report import views

        return self._reported(arguments, views.overview)

    def counts(self, arguments: Arguments) -> dict[str, Any]:
        from tb_xla_insights.report import views

        return self._reported(arguments, lambda session: {"counts": views.counts(session)})

    def gaps(self, arguments: Arguments) -> dict[str, Any]:
        from tb_xla_insights.report import views

        return self._reported(arguments, views.gaps)

    def gap(self, arguments: Arguments) -> dict[str, Any]:
        """One gap, by its device and its start; with `beside`, a host's place, also its gap of the same step."""
        from tb_xla_insights.report import views

        device, start = arguments.text("device"), arguments.integer("start_ps")
        beside = arguments.optional_integer("beside", 0, _MOST_HOSTS)
        ids = [] if beside is None else [f"h{beside}."]
        return views.gap(self._shown(arguments, ids, [device]).trace, device, start, beside)

    def executions(self, arguments: Arguments) -> dict[str, Any]:
        """All executions, or those on `devices`, and the runs of one step."""
        from tb_xla_insights.report import execution_views

        step = arguments.optional_integer("step", 0, _MOST_STEPS)
        devices = arguments.names("devices")

        def view(session: SessionTrace) -> dict[str, Any]:
            return execution_views.executions(session, step, devices)

        return self._reported(arguments, view, devices or [], step, usual=step is None)

    def compiles(self, arguments: Arguments) -> dict[str, Any]:
        from tb_xla_insights.report import execution_views

        return self._reported(arguments, execution_views.compiles)

    def compare(self, arguments: Arguments) -> dict[str, Any]:
        """Two sessions side by side; the second one is read first where it is not in memory."""
        other = self._store.loaded(arguments.text("other"), _READ_SECONDS).usual_step_host()
        return self._loaded(arguments).usual_step_host().compare_with(other)

    def propagation(self, arguments: Arguments) -> dict[str, Any]:
        """Where annotations went on the device, in one step on one device: those of `step` (an index into the report's
        steps) or `st` (its number, as links write it) and `device`, else those of the annotation or scope at `row`,
        `start_ps` and `depth`, else usual ones.

        `propagation_view` says what is in it, of the hosts that `hosts` names; `total` is of all. `picked` is the path
        of that annotation or scope, None for none; `stale` says that there is no such event.
        """
        from tb_xla_insights.analysis.propagation import propagation_view
        from tb_xla_insights.report.execution_views import usual_step

        step = arguments.optional_integer("step", 0, _MOST_STEPS)
        device = arguments.optional_text("device")
        picked, stale = None, False
        row = arguments.optional_text("row")
        named = arguments.optional_text("st")
        free = step is None and not (row or device or named)
        loaded = self._shown(arguments, [row] if row else [], [device] if device else [], step, usual=free)
        if row:
            loaded.timeline.find_scopes()
            start, depth = arguments.integer("start_ps"), arguments.optional_integer("depth", 0, _DEEPEST)
            try:
                place = loaded.timeline.annotation_at(row, start, depth)
            except InputError:  # what fits of a link is shown
                stale = True
            else:
                picked = place["path"]
                if step is None and device is None:
                    step, device = place["step"], place["device"]
        usual = usual_step(loaded.report) if free and loaded.report is not None else None
        found = propagation_view(loaded.trace, step, device, named, usual)
        if loaded.report is not None:
            every: Mapping[str, Any] = loaded.report["propagation"]
            found["total"] = {name: every[name] for name in found["total"]}
        hosts = [trace.host for trace in loaded.trace.traces]
        return {**found, "hosts": hosts, "picked": picked, "stale": stale}

    def scopes(self, arguments: Arguments) -> dict[str, Any]:
        """All rows of the timeline, those of scopes among them, which are not found yet when a session opens."""
        timeline = self._shown(arguments).timeline
        timeline.find_scopes()
        return timeline.rows()

    def hosts(self, arguments: Arguments) -> dict[str, Any]:
        """Which host holds up the others, and why: `pod.view` tells every key. With `host`, what that one did in each
        step: `step_class_us` as in the whole document, and `start_ps`, from the session's start, and `duration_ps`,
        null without the step. While hosts are read both are of those that were read by then, and `partial` says so."""
        from tb_xla_insights.pod.view import difference, hosts_view

        load = self._store.load(arguments.text("session"))
        load.check(arguments.optional_text("mark"))
        partial_report = _so_far(load)
        known = partial_report or self._loaded(arguments)
        compared = known.comparison
        partial = {} if partial_report is None else {"partial": _partial(load, partial_report)}
        host = arguments.optional_text("host")
        if host is None:
            return hosts_view(compared, len(load.files.hosts)) | partial
        names = [own.name for own in compared.hosts]
        if host not in names:
            raise InputError(f"data/hosts: no host {host} in this session; leave it out for all")
        at = names.index(host)
        steps = [step for step in _report_of(known)["steps"] if step["host"] == host]
        places = compared.arrivals.step_of[at].tolist()
        times = dict(zip(places, steps, strict=True))
        found = [times.get(place, {}) for place in range(compared.arrivals.steps)]
        columns = {key: [step.get(key) for step in found] for key in ("start_ps", "duration_ps")}
        return {"step_class_us": difference(compared, at), **columns} | partial

    def waits(self, arguments: Arguments) -> dict[str, Any]:
        """Where cores of the hosts wait for other hosts in a window: see `timeline.waits`."""
        from tb_xla_insights.timeline.waits import waits_in

        start, end = arguments.window()
        px = arguments.integer("px", 1, 20_000)
        shown = self._shown(arguments).timeline
        return waits_in(*self._loaded(arguments).arrivals, shown.hosts, start, end, px)

    def collective(self, arguments: Arguments) -> dict[str, Any]:
        """Who comes when to one collective: to that whose op starts there on a device, or with `end_ps` to the one that
        a gap delays: see `timeline.waits`."""
        from tb_xla_insights.timeline.waits import collective_at

        device, start = arguments.text("device"), arguments.integer("start_ps")
        end = arguments.window()[1] if arguments.optional_text("end_ps") else None
        shown = self._shown(arguments, devices=[device]).timeline
        return collective_at(*self._loaded(arguments).arrivals, shown.hosts, device, start, end)

    def device(self, arguments: Arguments) -> dict[str, Any]:
        """What chosen devices do in chosen steps, and how well: `device_work.view` tells every key. `dd`, `st` and `pk`
        are as links write them; `category`: only ops of it; with `whole`, all ops are listed."""
        from tb_xla_insights.device_work.view import device_view
        from tb_xla_insights.report.host_ranks import ranks
        from tb_xla_insights.report.views import whole_report

        loaded = self._loaded(arguments)
        report = loaded.report
        several = len(loaded.files.hosts) > 1
        usual = ranks(report or whole_report(loaded.choose(None).trace))["median"] if several else 0
        dd = arguments.optional_text("dd")
        place = dd.partition(".")[0] if dd else str(usual)
        needed = {int(place)} if re.fullmatch(r"[0-9]{1,6}", place) else set()
        return device_view(
            loaded.choose(arguments.names("hosts"), needed).trace, dd, arguments.optional_text("st"), usual=usual,
            category=arguments.optional_text("category"), own_peaks=arguments.peaks("pk"),
            whole=arguments.flag("whole"), report=report,
        )  # fmt: skip

    def _loaded(self, arguments: Arguments) -> LoadedHosts | Pod:
        return self._store.loaded(arguments.text("session"), _READ_SECONDS, arguments.optional_text("mark"))

    def _shown(
        self,
        arguments: Arguments,
        ids: Sequence[str] = (),
        devices: Sequence[str] = (),
        step: int | None = None,
        usual: bool = False,
        strict: bool = True,
    ) -> LoadedHosts:
        """The hosts that an answer is about: those that `hosts` names (see `choice.chosen`), and those of these rows or
        events, devices, and of the step, or of the usual one. All where all are in memory. `strict`: see
        `Pod.choose`."""
        loaded = self._loaded(arguments)
        needed = loaded.hosts_of(ids, devices) | loaded.hosts_of_step(step, usual)
        return loaded.choose(arguments.names("hosts"), needed, strict)

    def _reported(
        self,
        arguments: Arguments,
        view: Callable[[SessionTrace], dict[str, Any]],
        devices: Sequence[str] = (),
        step: int | None = None,
        usual: bool = False,
    ) -> dict[str, Any]:
        """A view of what the report tells of all hosts, with the traces of `_shown`. While hosts are read, it is of
        those that were read by then, and `partial` says so."""
        load = self._store.load(arguments.text("session"))
        load.check(arguments.optional_text("mark"))
        partial_report = _so_far(load)
        if partial_report is not None:
            return view(partial_report.session) | {"partial": _partial(load, partial_report)}
        return view(self._shown(arguments, (), devices, step, usual, strict=False).trace)


def _report_of(known: PartialReport | LoadedHosts | Pod) -> Report:
    """The report of the hosts that were read, on the session's time base."""
    from tb_xla_insights.report.views import whole_report

    if isinstance(known, PartialReport):
        of_some: Report = whole_report(known.session)
        return of_some
    report: Report = known.report or whole_report(known.usual_step_host().trace)
    return report


def _so_far(load: Load) -> PartialReport | None:
    """The hosts that were read by now, as long as others are still to come."""
    return None if load.done else load.partial_report


def _partial(load: Load, partial_report: PartialReport) -> dict[str, int]:
    """How many hosts an answer is about, of how many."""
    return {"hosts_read": partial_report.hosts, "hosts_in_all": len(load.hosts)}


def _first_hosts(load: Load, arguments: Arguments) -> dict[str, Any]:
    """`head` of the hosts that were read so far, where they are more than the page has seen."""
    from tb_xla_insights.report.views import whole_report

    seen = arguments.integer("seen", 0, _MOST_HOSTS, default=_MOST_HOSTS)
    if load.partial_report is None:
        return {}
    report = whole_report(load.partial_report.session)
    return {"head": head_without_rows(report)} if len(report["session"]["hosts"]) > seen else {}


def _session(session: SessionFiles) -> dict[str, Any]:
    return {
        "name": session.name,
        "hosts": [{"name": host.name, "bytes": host.file.bytes} for host in session.hosts],
        "modified_unix_ns": str(session.modified_unix_ns),
    }
