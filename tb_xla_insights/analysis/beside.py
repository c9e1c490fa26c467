"""What files beside a capture tell about the same run: counters, graph breaks, causes of compilations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

RECORD = "xla_insights_record.json"
"""What a recording writes about its circumstances."""

SAMPLES = "samples_per_step"
"""Its key for how many samples a step takes."""


@dataclass(frozen=True)
class Unread:
    """A place in a file that was not understood: its line, from 1, and what stands there."""

    file: str
    line: int
    text: str

    def as_json(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "text": self.text[:200]}


@dataclass(frozen=True)
class GraphBreaks:
    """What `torch._dynamo.explain` says: graphs, breaks, ops, and per break that it gives a reason for `reason` and
    `place`, and `explanation` and `hint` where it has them."""

    file: str
    graphs: int
    breaks: int
    reasons: list[dict[str, str | None]] = field(default_factory=list)
    ops: int = 0
    unread: list[Unread] = field(default_factory=list)


@dataclass(frozen=True)
class Metrics:
    """A metrics report of PyTorch/XLA: counters by name; metrics by name, with `samples` (None: not understood),
    `total`, `unit` (`ps`, `bytes` or None) and `percentiles`, values by percent."""

    file: str
    counters: dict[str, int]
    metrics: dict[str, dict[str, Any]]
    unread: list[Unread] = field(default_factory=list)

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

        Totals that are rounded (bytes) are differences of rounded numbers; percentiles have none.
        """
        counters = {name: value - before.counters.get(name, 0) for name, value in self.counters.items()}
        metrics: dict[str, dict[str, Any]] = {}
        for name, now in self.metrics.items():
            then = before.metrics.get(name, {"samples": 0, "total": 0, "unit": now["unit"]})
            counted = now["samples"], then["samples"]
            known = now["total"] is not None and then["total"] is not None and now["unit"] == then["unit"]
            metrics[name] = {
                "samples": None if None in counted else now["samples"] - then["samples"],
                "total": now["total"] - then["total"] if known else None,
                "unit": now["unit"],
            }
        gone = (set(before.counters) - set(self.counters)) | (set(before.metrics) - set(self.metrics))
        counts = [
            *counters.values(),
            *(it["samples"] for it in metrics.values() if it["samples"] is not None),
        ]
        return None if gone or min(counts, default=0) < 0 else Metrics(self.file, counters, metrics)

    def samples(self, *names: str) -> int | None:
        """How often the metrics of these names were taken, together; None where there is none or one is not known."""
        found = [self.metrics[name]["samples"] for name in names if name in self.metrics]
        return sum(found) if found and None not in found else None

    def total(self, unit: str, *names: str) -> int | float | None:
        """What the metrics of these names have accumulated, together; None where there is none in that unit."""
        entries = (self.metrics[name] for name in names if name in self.metrics)
        found = [entry["total"] for entry in entries if entry["unit"] == unit]
        return sum(found) if found else None


@dataclass(frozen=True)
class Block:
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
class Beside:
    """Everything that was found; None and empty where a file of that kind is not there.

    `metrics` is the report at the end, `before` the one from before the trace. `recorded` is what a recording wrote
    about its circumstances, `files` names all that was used.
    """

    metrics: Metrics | None = None
    before: Metrics | None = None
    breaks: GraphBreaks | None = None
    compilations: list[Block] = field(default_factory=list)
    executions: list[Block] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    recorded: dict[str, Any] | None = None
    files: list[str] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)

    @property
    def causes(self) -> dict[str, dict[str, Any]]:
        """By graph hash, `cause`, `frame` and `frames` of its compilation; a graph's last one counts."""
        return {
            it.graph: {"cause": it.cause, "frame": it.frame, "frames": list(it.frames)}
            for it in self.compilations
            if it.graph
        }


NOTHING = Beside()
