"""A second derivation of the ops of a CPU capture whose programs have no loops: from protobuf's parser, flow by
flow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from independent import Event, parse

COMPLETION = "ThunkExecutor::Execute (wait for completion)"
EXECUTE = "ThunkExecutor::Execute"
Flow = tuple[object, object]


@dataclass
class Op:
    """An op, the end of its event, the flow to its `end:` event, and the region of its thread around it."""

    start_ps: int
    event_end_ps: int
    flow: Flow
    region: Region | None


@dataclass
class OpenEvent:
    """An event that may contain others, with the name and start of the last one in it that is not an `end:` event."""

    end_ps: float
    last_inner: tuple[str, int] = ("", 0)


@dataclass
class Region:
    """A pool thread's work on one task, which the flow `source` handed over; or a program's inline run
    (`ExecuteHelper`), without a flow. `end_ps` is None if a `StopRegion` ends it. `complete_ps` is when the program
    that runs in it is complete, None if none runs in it."""

    source: Flow
    outer: Region | None
    end_ps: int | None = None
    complete_ps: int | None = None


@dataclass
class Recorded:
    """The ops that the threads of one file recorded. By flow: the region that produced it, its `end:` event, and when
    the thread of that event resumed the program."""

    ops: list[Op] = field(default_factory=list)
    producers: dict[Flow, Region | None] = field(default_factory=dict)
    ends_ps: dict[Flow, int] = field(default_factory=dict)
    resumed_ps: dict[Flow, int] = field(default_factory=dict)

    def add_line(self, events: list[tuple[int, Event]]) -> None:
        open_regions: list[Region] = []
        open_events = [OpenEvent(float("inf"))]
        for start, event in sorted(events, key=lambda item: (item[0], -item[1].duration_ps)):
            while open_regions and open_regions[-1].end_ps is not None and open_regions[-1].end_ps <= start:
                open_regions.pop()
            end, stats = start + event.duration_ps, event.stats
            consumed = stats.get("_ct"), stats.get("_c")
            region = open_regions[-1] if open_regions else None
            while open_events[-1].end_ps <= start:
                open_events.pop()
            if event.name == "ThreadpoolListener::StartRegion":
                open_regions.append(Region(consumed, region))
            elif event.name.endswith("::ExecuteHelper"):
                open_regions.append(Region((None, None), region, end))
            elif event.name == "ThreadpoolListener::StopRegion":
                while open_regions and open_regions.pop().end_ps is not None:
                    pass
            elif event.name == COMPLETION and region:
                region.complete_ps = end
            elif event.name.startswith("end: "):
                self.ends_ps.setdefault(consumed, start)
                if open_events[-1].last_inner[0] == EXECUTE:
                    self.resumed_ps.setdefault(consumed, open_events[-1].last_inner[1])
            produced = stats.get("_pt"), stats.get("_p")
            if "_p" in stats:
                self.producers.setdefault(produced, region)
            if "hlo_op" in stats:
                self.ops.append(Op(start, end, produced, region))
            if not event.name.startswith("end: "):
                open_events[-1].last_inner = event.name, start
            open_events.append(OpenEvent(end))

    def complete_ps(self, op: Op) -> int:
        """When the run that the op belongs to is complete."""
        region = op.region
        while region is not None and region.complete_ps is None:
            region = self.producers.get(region.source, region.outer)
        assert region is not None
        assert region.complete_ps is not None
        return region.complete_ps

    def spans(self) -> Iterator[tuple[int, int, int]]:
        """Per op its start, its `end:` event and the end of its run."""
        for op in self.ops:
            yield op.start_ps, self.ends_ps[op.flow], self.complete_ps(op)

    def union(self) -> list[list[int]]:
        """The intervals in which at least one op runs."""
        return merged([(op.start_ps, self.end_ps(op)) for op in self.ops])

    def end_ps(self, op: Op) -> int:
        """When the op is complete: at its `end:` event, or when the thread that records that event resumed the program;
        at the latest at the end of the run."""
        end, resumed = self.ends_ps[op.flow], self.resumed_ps.get(op.flow, 0)
        if op.event_end_ps <= resumed:
            end = resumed
        return min(end, self.complete_ps(op))


def read(folder: Path) -> Recorded:
    recorded = Recorded()
    (host,) = (
        item for item in parse(next(folder.rglob("*.xplane.pb")).read_bytes()) if item.name == "/host:CPU"
    )
    lines = [
        [(1000 * line.timestamp_ns + event.offset_ps, event) for event in line.events] for line in host.lines
    ]
    first = min(start for line in lines for start, _ in line)
    for line in lines:
        recorded.add_line([(start - first, event) for start, event in line])
    return recorded


def merged(spans: list[tuple[int, int]]) -> list[list[int]]:
    """The union of spans, one after the other."""
    union: list[list[int]] = []
    for start, end in sorted(item for item in spans if item[1] > item[0]):
        if union and start <= union[-1][1]:
            union[-1][1] = max(union[-1][1], end)
        else:
            union.append([start, end])
    return union
