"""What files beside a capture tell about the same run: counters, graph breaks, causes of compilations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tb_xla_insights.schema.texts import GraphBreak, Metric, UnreadLine

RECORD_FILE = "xla_insights_record.json"
"""What a recording writes about its circumstances."""

DESCRIPTION_FILE = "description.txt"
"""The file in which people say what a session is, or what to look at in it."""

SAMPLES_PER_STEP_KEY = "samples_per_step"
"""Its key for how many samples a step takes."""


@dataclass(frozen=True)
class UnparsedLine:
    """A place in a file that was not understood: its line, from 1, and what stands there; or line 0, and why nothing of
    the file, or of a part of it, is used."""

    file: str
    line: int
    text: str

    def as_json(self) -> UnreadLine:
        return {"file": self.file, "line": self.line, "text": self.text[:200]}


@dataclass(frozen=True)
class GraphBreaks:
    """What `torch._dynamo.explain` says: graphs, breaks, ops, and per break that it gives a reason for `reason` and
    `place`, and `explanation` and `hint` where it has them."""

    file: str
    graphs: int
    breaks: int
    reasons: list[GraphBreak] = field(default_factory=list)
    ops: int = 0
    unread: list[UnparsedLine] = field(default_factory=list)


_Number = TypeVar("_Number", int, float)

EXTRACTED_GRAPHS_COUNTER = "DynamoExtractCompiledGraph"
"""The counter of graphs that torch.compile has extracted."""

PRESERVED_COUNTERS = frozenset((EXTRACTED_GRAPHS_COUNTER, "UncachedCompile"))
"""Counters that survive that. To learn which operators run on the CPU, the bridge of torch.compile clears all counters
before each operator of a graph, and puts these back (torch_xla/_dynamo/dynamo_bridge.py)."""


@dataclass(frozen=True)
class Metrics:
    """A metrics report of PyTorch/XLA: counters by name; metrics by name, with `samples` (None: not understood),
    `total`, `unit` (`ps`, `bytes` or None) and `percentiles`, values by percent."""

    file: str
    counters: dict[str, int]
    metrics: dict[str, Metric]
    unread: list[UnparsedLine] = field(default_factory=list)

    @property
    def cleared(self) -> bool:
        """Whether torch.compile extracted graphs and so cleared the counters: all but PRESERVED_COUNTERS cover only the
        time after the last extraction. Metrics, which have samples, are complete."""
        return self.counters.get(EXTRACTED_GRAPHS_COUNTER, 0) > 0

    def fallbacks(self) -> dict[str, int]:
        """Operators that ran on the CPU because PyTorch/XLA has no lowering for them.
        `aten::_local_scalar_dense` is how `.item()` fetches a value, and none of them."""
        return {
            name.removeprefix("aten::"): value
            for name, value in self.counters.items()
            if name.startswith("aten::") and name != "aten::_local_scalar_dense" and value > 0
        }

    def since(self, before: Metrics) -> Metrics | None:
        """What came after an earlier report of the same run; None where something has become less: it is of another
        one, or was cleared.

        Totals that are rounded (bytes) are differences of rounded numbers; percentiles have none. Of counters that
        torch.compile cleared in between nothing is known.
        """
        now, then = self.counters, before.counters
        if now.get(EXTRACTED_GRAPHS_COUNTER, 0) > then.get(EXTRACTED_GRAPHS_COUNTER, 0):
            now, then = ({name: it[name] for name in PRESERVED_COUNTERS & set(it)} for it in (now, then))
        counters = {name: value - then.get(name, 0) for name, value in now.items()}
        metrics: dict[str, Metric] = {}
        for name, end in self.metrics.items():
            start = before.metrics.get(name, {"samples": 0, "total": 0, "unit": end["unit"]})
            alike = end["unit"] == start["unit"]
            metrics[name] = {
                "samples": _grown(start["samples"], end["samples"]),
                "total": _grown(start["total"], end["total"]) if alike else None,
                "unit": end["unit"],
            }
        gone = (set(then) - set(now)) | (set(before.metrics) - set(self.metrics))
        counts = [
            *counters.values(),
            *(it["samples"] for it in metrics.values() if it["samples"] is not None),
        ]
        return None if gone or min(counts, default=0) < 0 else Metrics(self.file, counters, metrics)

    def samples(self, *names: str) -> int | None:
        """How often the metrics of these names were taken, together; None where there is none or one is not known."""
        found = [self.metrics[name]["samples"] for name in names if name in self.metrics]
        known = [it for it in found if it is not None]
        return sum(known) if known and len(known) == len(found) else None

    def total(self, unit: str, *names: str) -> int | float | None:
        """What the metrics of these names have accumulated, together; None where there is none in that unit."""
        entries = (self.metrics[name] for name in names if name in self.metrics)
        found = [entry["total"] for entry in entries if entry["unit"] == unit]
        known = [it for it in found if it is not None]
        return sum(known) if known else None


def _grown(start: _Number | None, end: _Number | None) -> _Number | None:
    return None if start is None or end is None else end - start


@dataclass(frozen=True)
class Guard:
    """Why torch.compile compiled a function again, as its log says: `function` and its `place` (`file:line`), the
    `guard` that failed and the line of `source` that it comes from. `limit`: so many recompilations are allowed, and
    the function has reached that; None where it has not. What the log leaves out is None."""

    function: str | None
    place: str | None
    guard: str | None
    source: str | None
    limit: int | None
    file: str


@dataclass(frozen=True)
class DebugLogBlock:
    """One compilation or execution of a PT_XLA_DEBUG log: its graph's hash, the cause in the log's own words, and the
    Python frames that led to it, the innermost first, without those of torch where there are others."""

    graph: str | None
    cause: str | None
    frames: tuple[str, ...]
    file: str
    line: int

    @property
    def frame(self) -> str | None:
        """The innermost frame, as `function (file:line)`."""
        return self.frames[0] if self.frames else None


@dataclass(frozen=True)
class Sidecars:
    """Everything that was found; None and empty where a file of that kind is not there.

    `metrics` is the report at the end, `before` the one from before the trace. `recorded` is what a recording wrote
    about its circumstances, `files` names all that was used. `description` is what people say of the session, in a
    line.
    """

    metrics: Metrics | None = None
    before: Metrics | None = None
    breaks: GraphBreaks | None = None
    guards: list[Guard] = field(default_factory=list)
    compilations: list[DebugLogBlock] = field(default_factory=list)
    executions: list[DebugLogBlock] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    recorded: dict[str, Any] | None = None
    files: list[str] = field(default_factory=list)
    unread: list[UnparsedLine] = field(default_factory=list)
    description: str | None = None

    @property
    def causes(self) -> dict[str, dict[str, Any]]:
        """By graph hash, `cause`, `frame` and `frames` of its compilation; a graph's last one counts."""
        return {
            it.graph: {"cause": it.cause, "frame": it.frame, "frames": list(it.frames)}
            for it in self.compilations
            if it.graph
        }


NO_SIDECARS = Sidecars()
