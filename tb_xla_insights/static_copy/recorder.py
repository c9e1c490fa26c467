"""Records what the routes answer about one session."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice, repeat
from typing import TYPE_CHECKING, Any

from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.sessions import SessionFiles, SessionList
from tb_xla_insights.logdir.store import Store
from tb_xla_insights.routes.arguments import Arguments
from tb_xla_insights.routes.handlers import Handlers

if TYPE_CHECKING:
    from tb_xla_insights.logdir.opened_session import OpenedSession

Document = dict[str, Any]
Answer = tuple[str, Document]
"""A request without its session, its arguments in order of their names; and the document that answers it."""
Span = tuple[int, int]
"""Start and end, ps."""

WHOLE_PX, TILE_PX = 4096, 16_384
"""Pixels of the timeline of the whole session, and of each tile. The page requests three times the span that it shows,
so a tile serves views of up to 4,096 px."""
MIN_TILE_PS = 1000 * TILE_PX
"""The timeline zooms to 1 ns per px."""
TILE_FACTOR = 4
"""How much longer a tile is than those it is divided into."""
CONTEXT = 16
"""The length of the tile around a gap or window, in multiples of its own; links show up to four."""
GAPS_WITH_TILE = 20
MAX_SPANS, MAX_STEPS, MAX_HOSTS, MAX_DEVICES = 200, 50, 64, 8
MAX_GAPS, MAX_NEIGHBORS, MAX_EVENTS = 2000, 2000, 1000


class RouteRecorder:
    """Asks the handlers of the routes about an open session, as the page does."""

    def __init__(self, files: SessionFiles, opened: OpenedSession) -> None:
        listing = _OneSession(files)
        store = Store(listing, lambda _: opened)
        store.loaded(files.name)
        self._gets = Handlers(listing, store).gets()
        self._session = files.name

    def answers(self) -> Iterator[Answer]:
        """The answers, the most important ones first: those that all views need; those behind the links of findings, of
        steps, hosts and devices; the longest gaps and events; and the timeline in ever smaller tiles, as long as they
        have more detail."""
        self.get("scopes")  # afterwards, `session` has all rows
        session = yield from self.ask("session")
        yield from self.ask("sessions")
        overview = yield from self.ask("overview")
        for route in (
            "counts", "executions", "iterations", "compiles", "hosts", "propagation", "device", "engines", "memory",
        ):  # fmt: skip
            yield from self.ask(route)
        items = (yield from self.ask("gaps"))["items"]
        gaps = _gaps_of_cores(items)
        duration = session["session"]["duration_ps"]
        timeline = _Timeline(self, duration, [row["id"] for row in session["rows"]])
        yield from timeline.whole()
        if len(session["session"]["hosts"]) > 1:
            yield from self.ask("waits", start_ps=0, end_ps=duration, px=WHOLE_PX)
        places = [*_places_of_findings(overview), *gaps[:GAPS_WITH_TILE]]
        compared = _ComparedHosts(session, overview)
        for place in places:
            yield from self._place(place, compared, with_events=True)
            yield from timeline.around(place)
        yield from self._choices(session, overview["steps"]["columns"])
        for gap in gaps[:MAX_GAPS]:
            yield from self._place(gap, compared)
        for row in session["rows"]:
            if row["kind"] in ("gaps", "steps"):
                yield from self._neighbors(row["id"], skip_short=row["kind"] == "gaps")
        for row_id, depth, start in timeline.longest_events():
            yield from self.ask("event", row=row_id, depth=depth, start_ps=start)
        yield from timeline.tiles()

    def get(self, route: str, **arguments: object) -> Document:
        """What a route answers. Raises InputError if it refuses."""
        values = {name: str(value) for name, value in arguments.items() if value is not None}
        return dict(self._gets[route](Arguments(route, {"session": self._session, **values})))

    def ask(self, route: str, **arguments: object) -> Generator[Answer, None, Document]:
        """Yields and returns what a route answers; nothing, and an empty document, if it refuses."""
        try:
            document = self.get(route, **arguments)
        except InputError:
            return {}
        yield request_text(route, **arguments), document
        return document

    def _place(self, place: _Place, compared: _ComparedHosts, with_events: bool = False) -> Iterator[Answer]:
        """What the timeline shows of a place, `with_events` also those in the chain of a gap."""
        gap: Document = {}
        if place.device is not None:
            span = {"device": place.device, "start_ps": place.start_ps}
            gap = yield from self.ask("gap", **span, other_host=compared.host(place.device))
            if gap and compared.are_several:
                yield from self.ask("collective", **span, end_ps=place.end_ps)
        if not gap:
            yield from self.ask("window", start_ps=place.start_ps, end_ps=place.end_ps)
        if with_events:
            for event in dict.fromkeys(piece["event"] for piece in gap.get("chain", []) if piece["event"]):
                yield from self._event(event)

    def _event(self, event: str) -> Iterator[Answer]:
        """An event that the page requests by its id, and then selects by row, start and depth."""
        document = yield from self.ask("event", event=event)
        if document:
            yield (
                request_text("event", **{key: document[key] for key in ("row", "start_ps", "depth")}),
                document,
            )

    def _choices(self, session: Document, steps: Document) -> Iterator[Answer]:
        """The views of single steps, hosts and devices."""
        rows = zip(steps["index"], steps["number"], steps["start_ps"], steps["duration_ps"], strict=True)
        for index, number, start, duration in islice(rows, MAX_STEPS):
            yield from self.ask("executions", step=index)
            yield from self.ask("propagation", step_number=number)
            yield from self.ask("device", steps=number)
            yield from self.ask("window", start_ps=start, end_ps=start + duration)
        yield from self.ask("device", steps="mean")
        yield from self.ask("device", steps="all")
        for cores in _device_choices(session):
            yield from self.ask("device", cores=cores)
        yield from self.ask("device", cores="all", steps="mean")
        yield from self.ask("device", cores="all", steps="all")
        devices = session["devices"]
        for host, name in islice(zip(devices["host"], devices["name"], strict=True), MAX_DEVICES):
            yield from self.ask("propagation", device=f"{host}/{name}")
            yield from self.ask("executions", devices=f"{host}/{name}")
            yield from self.ask("engines", device=f"{host}/{name}")
        for host in islice(session["session"]["hosts"], MAX_HOSTS):
            yield from self.ask("host_steps", host=host["name"])
            yield from self.ask("hosts_in_steps", host=host["name"])

    def _neighbors(self, row: str, skip_short: bool) -> Iterator[Answer]:
        """The events of a row in one document, from which the page finds the next and the previous one."""
        arguments = {"row": row, "depth": 0, **({"skip_short": 1} if skip_short else {})}
        events: list[Document] = []
        start = -1
        while len(events) < MAX_NEIGHBORS:
            event = self.get("neighbor", **arguments, start_ps=start, direction="next")["event"]
            if event is None:
                yield request_text("neighbor", **arguments), {"events": events}
                return
            events.append(event)
            start = event["start_ps"]


def _device_choices(session: Document) -> list[str]:
    """What the view Device offers beside its default: all devices, each host, each core."""
    cores = Counter[str]()
    hosts = [host["name"] for host in session["session"]["hosts"]]
    choices = ["all", *map(str, range(len(hosts)))]
    for host in session["devices"]["host"]:
        choices.append(f"{hosts.index(host)}.{cores[host]}")
        cores[host] += 1
    return choices[:MAX_DEVICES]


class _OneSession(Listing):
    """The listing of a session that is open already."""

    def __init__(self, files: SessionFiles) -> None:
        super().__init__(())
        self._session_list = SessionList((files,))

    def refresh(self, wait: float | None = 0, max_age: float = 1.0) -> tuple[SessionFiles, ...]:  # noqa: ARG002
        return self.sessions


@dataclass(frozen=True)
class _Place:
    """A gap of a device, or a window."""

    device: str | None
    start_ps: int
    end_ps: int


def _places_of_findings(overview: Document) -> Iterator[_Place]:
    """The places that findings link to: the gaps that a finding explains, or else its windows."""
    for finding in overview["findings"]:
        if explained := overview["explained_gaps"].get(finding["id"]):
            for gap in explained["gaps"]:
                yield _Place(gap["device"], gap["start_ps"], gap["start_ps"] + gap["duration_ps"])
        else:
            for window in finding["windows"]:
                yield _Place(None, window["start_ps"], window["end_ps"])
                if window["device"]:
                    yield _Place(window["device"], window["start_ps"], window["end_ps"])


def _gaps_of_cores(items: list[Document]) -> list[_Place]:
    """The gap of each core."""
    return [
        _Place(device, start, start + duration)
        for item in items
        for device, start, duration in zip(
            item["devices"], item["starts_ps"], item["durations_ps"], strict=True
        )
    ]


class _ComparedHosts:
    """Which host's gap the page shows beside a device's: the median host's, or else the slowest one's."""

    def __init__(self, session: Document, overview: Document) -> None:
        self._names = [host["name"] for host in session["session"]["hosts"]]
        self._ranks = session.get("ranks") or overview["ranks"]
        self.are_several = len(self._names) > 1

    def host(self, device: str) -> int | None:
        """The index of the host; None if the session has no other host."""
        own = next((i for i, name in enumerate(self._names) if device.startswith(f"{name}/")), None)
        ranked = (self._ranks["median"], self._ranks["slowest"]) if self._ranks else ()
        return next((host for host in ranked if host != own), None)


class _Timeline:
    """Records spans of the timeline, each with all rows."""

    def __init__(self, recorder: RouteRecorder, duration_ps: int, rows: list[str]) -> None:
        self._recorder = recorder
        self._duration_ps = duration_ps
        self._rows = rows
        self._spans: set[Span] = set()
        self._events: dict[tuple[str, int, int], int] = {}

    def whole(self) -> Iterator[Answer]:
        """The timeline of the whole session."""
        yield from self._span(0, self._duration_ps, WHOLE_PX)

    def around(self, place: _Place) -> Iterator[Answer]:
        """The timeline around a place, at the resolution in which links show the place."""
        margin = (place.end_ps - place.start_ps) * (CONTEXT - 1) // 2
        yield from self._span(place.start_ps - margin, place.end_ps + margin, TILE_PX)

    def tiles(self) -> Iterator[Answer]:
        """The timeline in ever smaller tiles where events are merged. Those of a size overlap by half, so that any span
        of half their length is in one of them."""
        tiles = deque([(0, 1 << self._duration_ps.bit_length())])
        while tiles and len(self._spans) < MAX_SPANS:
            start, length = tiles.popleft()
            has_merged = yield from self._span(start, start + length, TILE_PX)
            smaller = length // TILE_FACTOR
            if has_merged and smaller >= MIN_TILE_PS:
                starts = range(start, min(start + length, self._duration_ps) - smaller // 2, smaller // 2)
                tiles += [(at, smaller) for at in starts if (at, smaller) not in tiles]

    def longest_events(self) -> list[tuple[str, int, int]]:
        """Row, depth and start of the longest events that are drawn."""
        return sorted(self._events, key=lambda event: -self._events[event])[:MAX_EVENTS]

    def _span(self, start: int, end: int, px: int) -> Generator[Answer, None, bool]:
        """The timeline of a span, as far as it is in the session. Returns whether events are merged in it."""
        start, end = max(0, start), min(self._duration_ps, end)
        if (start, end) in self._spans or not self._rows:
            return False
        self._spans.add((start, end))
        rows = ",".join(self._rows)
        document = yield from self._recorder.ask("timeline", start_ps=start, end_ps=end, px=px, rows=rows)
        has_merged = False
        for row, depths in document.get("rows", {}).items():
            for depth, lane in enumerate(depths):
                has_merged |= "k" in lane
                starts = accumulate(lane["s"], initial=start)
                counts = lane.get("k") or repeat(1)
                for at, length, count in zip(islice(starts, 1, None), lane["d"], counts, strict=False):
                    if count == 1:
                        self._events[row, depth, at] = length
        return has_merged


def request_text(route: str, **arguments: object) -> str:
    """A request as the page looks it up: without the arguments that make no difference in a copy."""
    shown = {name: value for name, value in arguments.items() if value is not None and name not in _IGNORED}
    return f"{route}?" + "&".join(f"{name}={value}" for name, value in sorted(shown.items()))


_IGNORED = ("rows", "other_host")
"""Each tile has all rows; a gap is compared with one host only."""
