"""One event: what encloses it, what it is tied to, what it carries, and the others of its name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.name_limit import MAX_NAME_LENGTH, shorten_name
from tb_xla_insights.timeline.links import Links
from tb_xla_insights.timeline.rows import HostRows
from tb_xla_insights.timeline.scopes import ScopeTrack, op_facts
from tb_xla_insights.timeline.tracks import Place, Track
from tb_xla_insights.trace.model import Spans
from tb_xla_insights.trace.nesting import self_ps

_SPARKS = 64
_MOST_PARTNERS = 256
_MOST_AROUND = 100
"""Stacks of Python functions are seldom deeper than twice that."""
_HEX_BYTES = 32
_BY_CLASS = ("annotations", "thread", "classes")
"""Kinds of rows whose slices have a class of the host's."""
_OF_PROGRAM = ("hlo_module", "program_id")
"""Stats of a GPU's kernel that are its run's as well."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Mark:
    """An event that no row shows as a slice: it stands at its thread, in the lane of what encloses it."""

    track: Track
    depth: int
    event: int

    @property
    def start_ps(self) -> int:
        return int(self.track.trace.start_ps[self.event])

    @property
    def duration_ps(self) -> int:
        return int(self.track.trace.duration_ps[self.event])


class Path(NamedTuple):
    """What encloses an event, the outermost first: all of it, or where that is more than twice _MOST_AROUND, as many
    of the outermost and of the innermost ones. `left_out` is the number of those between them."""

    shown: list[Place]
    left_out: int

    @classmethod
    def of(cls, around: list[Place]) -> Path:
        more = max(0, len(around) - 2 * _MOST_AROUND)
        return cls([*around[:_MOST_AROUND], *around[_MOST_AROUND + more :]], more)


class Details:
    """Answers about single events of one host."""

    def __init__(self, host: HostRows) -> None:
        self._host = host
        self._links = Links(host.trace, host.hidden)

    def find(self, event: int) -> Place | Mark | None:
        """Where an event of the trace is at home, None where no row shows it."""
        home = int(self._host.home[event])
        if home < 0:
            return None
        track = self._host.tracks[home]
        place = track.place(event)
        if place is not None:
            return place
        above = self._links.enclosing(event)
        around = None if above is None else track.place(above)
        return Mark(track, 0 if around is None else around.depth, event)

    def brief(self, place: Place | Mark) -> Json:
        """What a list says about an event."""
        track, event = place.track, place.event
        trace = track.trace
        if isinstance(place, Place):
            name, kind = int(place.lane.name[place.index]), int(place.lane.kind[place.index])
            none = "no scope" if isinstance(track, ScopeTrack) else CLASSES[kind]
            text = track.texts[name] if name >= 0 else none
        else:
            text, kind = shorten_name(trace.short_name(event)), int(self._host.kind[event])
        return {
            "event": f"{track.host}.{event}" if event >= 0 else None,
            "row": track.head.id,
            "depth": place.depth,
            "name": text,
            "class": CLASSES[kind] if track.head.kind in _BY_CLASS else None,
            "thread": shorten_name(self._thread(place)),
            "start_ps": place.start_ps,
            "duration_ps": place.duration_ps,
        }

    def _thread(self, place: Place | Mark) -> str:
        track, event = place.track, place.event
        if track.head.kind == "thread" or event < 0:
            return track.head.label
        line = self._host.trace.line_of(event)
        row = self._host.thread_rows.get(line.index)
        return line.name if row is None else row.head.label

    def full(self, place: Place | Mark) -> Json:
        """Everything about one event, as the page's protocol gives it."""
        event, trace = place.event, place.track.trace
        brief, path = self.brief(place), self._path(place)
        return {
            **brief,
            "title": self._title(event, brief["name"]),
            "thread": self._thread(place),
            "host": trace.host,
            "self_ps": self._self_ps(place),
            "path": [self.brief(it) for it in path.shown],
            "path_left_out": path.left_out,
            "stats": self._stats(place),
            "flow": self._flow(event),
            "occurrences": self._occurrences(place),
        }

    def names(self, place: Place) -> list[str]:
        """What encloses an event in its row, outermost first, and the event itself; see `Path`."""
        return [self.brief(it)["name"] for it in (*self._path(place).shown, place)]

    def _title(self, event: int, name: str) -> str | None:
        """The long name of an event that has a short one, or whose name lists cut."""
        trace = self._host.trace
        if event < 0 or trace.name(event) == name:
            return None
        has_short = trace.metadata.display_name[trace.meta[event]] >= 0 or len(name) > MAX_NAME_LENGTH
        return trace.name(event) if has_short else None

    def _span(self, place: Place | Mark) -> tuple[int, Spans, int] | None:
        """The number of the device whose op or run a slice is, all its ops or runs, and the place among them."""
        head, devices = place.track.head, place.track.trace.devices
        if head.kind not in ("ops", "modules"):
            return None
        number = next(number for number, it in enumerate(devices) if it.id == head.device)
        spans = devices[number].ops if head.kind == "ops" else devices[number].modules
        return number, spans, int(np.flatnonzero(spans.row == place.event)[0])

    def _self_ps(self, place: Place | Mark) -> int:
        trace, span = place.track.trace, self._span(place)
        if span is None:
            return self_ps(trace, place.event) if place.event >= 0 else place.duration_ps
        number, spans, at = span
        if trace.devices[number].from_host_events and spans is trace.devices[number].ops:
            # Times of ops side by side do not tell what is part of what.
            return int(find_ops(trace).devices[number].own_ps[at])
        return int(spans.self_ps[at])

    def _path(self, place: Place | Mark) -> Path:
        """What encloses an event in its own row; before ops stands the run they are in."""
        trace, track = place.track.trace, place.track
        if isinstance(track, ScopeTrack) and isinstance(place, Place):
            return Path.of(track.around(place))
        span = self._span(place)
        around: list[int] = []
        if span is None:
            row = int(trace.parent[place.event]) if place.event >= 0 else -1
            while row >= 0:
                around.append(row)
                row = int(trace.parent[row])
            return Path.of(track.places(around[::-1]))
        _, spans, at = span
        while (at := int(spans.parent[at])) >= 0:
            around.append(int(spans.row[at]))
        runs = None
        if track.head.kind == "ops":
            runs = next((it for it in self._host.tracks if _same_device(it, track)), None)
        outermost = _known(runs and _open_at(runs, place.start_ps))
        return Path.of([*outermost, *track.places(around[::-1])])

    def _stats(self, place: Place | Mark) -> list[Json]:
        from tb_xla_insights.trace.details import event_stats

        if isinstance(place.track, ScopeTrack) and isinstance(place, Place):
            return place.track.facts(place)
        facts = self._facts(place) if self._host.scoped and place.track.head.kind == "ops" else []
        span = self._span(place) if place.track.head.kind == "modules" else None
        of_kernels = span is not None and place.track.trace.devices[span[0]].run_of_op is not None
        return facts + [
            {"name": it.name, "value": _text(it.value), "kind": it.kind}
            for it in (event_stats(self._host.trace, place.event) if place.event >= 0 else ())
            if it.name in _OF_PROGRAM or not of_kernels
        ]

    def _facts(self, place: Place | Mark) -> list[Json]:
        """What the compiled programs tell of an op."""
        span = self._span(place)
        return [] if span is None else op_facts(place.track.trace, span[0], span[2])

    def _flow(self, event: int) -> Json:
        if event < 0:
            return {"from": [], "to": []}
        return {
            "from": self._partners(self._links.sources(event)),
            "to": self._partners(self._links.targets(event)),
        }

    def _partners(self, events: Iterable[int]) -> list[Json]:
        places = [place for event in list(events)[:_MOST_PARTNERS] for place in _known(self.find(event))]
        return [self.brief(place) for place in sorted(places, key=lambda it: it.start_ps)]

    def _occurrences(self, place: Place | Mark) -> Json:
        """The events of the same name in the same row; on the rows of steps and of classes, those of the class."""
        track = place.track
        if isinstance(place, Mark):
            first = track.trace.lines[track.line].rows if track.line is not None else slice(0)
            same = np.flatnonzero(track.trace.meta[first] == track.trace.meta[place.event]) + first.start
            depth, index = np.zeros(len(same), np.int64), same
            start, duration = track.trace.start_ps[same], track.trace.duration_ps[same]
            here = int(np.searchsorted(same, place.event))
        else:
            column = "name" if track.head.kind not in ("classes", "steps") else "kind"
            wanted = getattr(place.lane, column)[place.index]
            found = [np.flatnonzero(getattr(lane, column) == wanted) for lane in track.lanes]
            depth = np.repeat(np.arange(len(found)), [len(it) for it in found])
            index = np.concatenate(found)
            start = np.concatenate([lane.start[at] for lane, at in zip(track.lanes, found, strict=True)])
            end = np.concatenate([lane.end[at] for lane, at in zip(track.lanes, found, strict=True)])
            order = np.lexsort((depth, start))
            depth, index, duration = depth[order], index[order], (end - start)[order]
            here = int(np.flatnonzero((depth == place.depth) & (index == place.index))[0])

        def at(number: int) -> Json | None:
            if not 0 <= number < len(index):
                return None
            if isinstance(place, Mark):
                return self.brief(Mark(track, place.depth, int(index[number])))
            return self.brief(Place(track, int(depth[number]), int(index[number])))

        sample = np.unique(np.linspace(0, len(index) - 1, min(_SPARKS, len(index))).round().astype(np.int64))
        return {
            "count": len(index),
            "index": here,
            "mean_ps": int(duration.sum()) // len(index),
            "min_ps": int(duration.min()),
            "max_ps": int(duration.max()),
            "previous": at(here - 1),
            "next": at(here + 1),
            "durations_ps": duration[sample].tolist(),
        }


def _known(place: Any) -> list[Any]:
    return [] if place is None else [place]


def _same_device(runs: Track, ops: Track) -> bool:
    return runs.head.kind == "modules" and runs.head.device == ops.head.device


def _open_at(track: Track, at_ps: int) -> Place | None:
    """The outermost slice of a row that is open at an instant."""
    for depth, lane in enumerate(track.lanes):
        index = int(np.searchsorted(lane.start, at_ps, "right")) - 1
        if index >= 0 and lane.end[index] > at_ps:
            return Place(track, depth, index)
    return None


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        more = " …" if len(value) > _HEX_BYTES else ""
        return f"{value[:_HEX_BYTES].hex(' ')}{more} ({len(value)} bytes)"
    return str(value)
