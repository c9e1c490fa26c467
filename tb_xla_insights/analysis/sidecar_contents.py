"""The contents of sidecar files, which describe the same training as a capture: counters, graph breaks, causes of
compilations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tb_xla_insights.analysis.graph_break import GraphBreak

if TYPE_CHECKING:
    from tb_xla_insights.analysis.torch_trace import TorchTraceLog
    from tb_xla_insights.schema.texts import Metric, UnreadLine

RECORD_FILE = "xla_insights_record.json"
"""The file in which a recording describes its circumstances."""

DESCRIPTION_FILE = "description.txt"
"""The file in which users describe a session."""

SAMPLES_PER_STEP_KEY = "samples_per_step"
"""The key in RECORD_FILE for the number of samples per step."""


@dataclass(frozen=True)
class UnparsedLine:
    """A line of a file that could not be parsed: its number, from 1, and its text. Line 0: `text` says why the file, or
    a part of it, is not used."""

    file: str
    line: int
    text: str

    def as_json(self) -> UnreadLine:
        return {"file": self.file, "line": self.line, "text": self.text[:200]}


@dataclass(frozen=True)
class GraphBreaks:
    """The output of `torch._dynamo.explain`: numbers of graphs, breaks and ops, and the breaks that it explains."""

    file: str
    graphs: int
    breaks: int
    explained: list[GraphBreak] = field(default_factory=list)
    ops: int = 0
    unread: list[UnparsedLine] = field(default_factory=list)


_Number = TypeVar("_Number", int, float)

EXTRACTED_GRAPHS_COUNTER = "DynamoExtractCompiledGraph"
"""The counter of graphs that torch.compile extracted."""

PRESERVED_COUNTERS = frozenset((EXTRACTED_GRAPHS_COUNTER, "UncachedCompile"))
"""Counters that survive an extraction. To learn which operators run on the CPU, the bridge of torch.compile clears all
counters before each operator of a graph, and then restores these (torch_xla/_dynamo/dynamo_bridge.py)."""


@dataclass(frozen=True)
class Metrics:
    """A metrics report of PyTorch/XLA: counters by name; metrics by name, with `samples` (None: not understood),
    `total`, `unit` (`ps`, `bytes` or None) and `percentiles`, values by percent."""

    file: str
    counters: dict[str, int]
    metrics: dict[str, Metric]
    unread: list[UnparsedLine] = field(default_factory=list)

    @property
    def is_cleared(self) -> bool:
        """Whether torch.compile extracted graphs and so cleared the counters: all but PRESERVED_COUNTERS cover only the
        time after the last extraction. Metrics, which have samples, are complete."""
        return self.counters.get(EXTRACTED_GRAPHS_COUNTER, 0) > 0

    def fallbacks(self) -> dict[str, int]:
        """Returns the operators that ran on the CPU because PyTorch/XLA has no lowering for them, with their counts.
        `aten::_local_scalar_dense` is no fallback: `.item()` uses it to fetch a value."""
        return {
            name.removeprefix("aten::"): value
            for name, value in self.counters.items()
            if name.startswith("aten::") and name != "aten::_local_scalar_dense" and value > 0
        }

    def since(self, before: Metrics) -> Metrics | None:
        """Returns the difference to an earlier report of the same process; None if something decreased or is missing,
        because the reports are of different processes or the metrics were cleared.

        Totals of rounded numbers (bytes) are differences of rounded numbers; percentiles are left out. If torch.compile
        cleared counters in between, only PRESERVED_COUNTERS remain.
        """
        counters_after, counters_before = self.counters, before.counters
        if counters_after.get(EXTRACTED_GRAPHS_COUNTER, 0) > counters_before.get(EXTRACTED_GRAPHS_COUNTER, 0):
            counters_after, counters_before = (
                {name: values[name] for name in PRESERVED_COUNTERS & set(values)}
                for values in (counters_after, counters_before)
            )
        counters = {name: value - counters_before.get(name, 0) for name, value in counters_after.items()}
        metrics: dict[str, Metric] = {}
        for name, end in self.metrics.items():
            start = before.metrics.get(name, {"samples": 0, "total": 0, "unit": end["unit"]})
            same_unit = end["unit"] == start["unit"]
            metrics[name] = {
                "samples": _difference(start["samples"], end["samples"]),
                "total": _difference(start["total"], end["total"]) if same_unit else None,
                "unit": end["unit"],
            }
        missing = (set(counters_before) - set(counters_after)) | (set(before.metrics) - set(self.metrics))
        counts = [
            *counters.values(),
            *(metric["samples"] for metric in metrics.values() if metric["samples"] is not None),
        ]
        return None if missing or min(counts, default=0) < 0 else Metrics(self.file, counters, metrics)

    def samples(self, *names: str) -> int | None:
        """Returns the sum of the samples of the metrics of these names; None if there is none, or one is unknown."""
        samples = [self.metrics[name]["samples"] for name in names if name in self.metrics]
        valid = [count for count in samples if count is not None]
        return sum(valid) if valid and len(valid) == len(samples) else None

    def total(self, unit: Literal["ps", "bytes"], *names: str) -> int | None:
        """Returns the sum of the totals of the metrics of these names; None if there is none in that unit."""
        metrics = (self.metrics[name] for name in names if name in self.metrics)
        totals = [metric["total"] for metric in metrics if metric["unit"] == unit]
        valid = [total for total in totals if total is not None]
        return round(sum(valid)) if valid else None


def _difference(start: _Number | None, end: _Number | None) -> _Number | None:
    return None if start is None or end is None else end - start


@dataclass(frozen=True)
class Guard:
    """A recompilation of a function, as torch.compile's log records it: `function` and its `place` (`file:line`), the
    `guard` that failed, and the line of `source` that the guard comes from. `limit`: the limit of recompilations if the
    function has reached it, else None. What the log does not record is None."""

    function: str | None
    place: str | None
    guard: str | None
    source: str | None
    limit: int | None
    file: str


@dataclass(frozen=True)
class DebugLogBlock:
    """One compilation or execution in a PT_XLA_DEBUG log: its graph's hash, the logged cause, and the Python frames
    that led to it, the innermost first, without torch's own frames if there are others."""

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
    """The contents of all sidecar files; None or empty for a kind of file that does not exist.

    `metrics` is the report at the end, `before` the one from before the trace. `advice` is what PyTorch/XLA advises in
    its log. `torch_traces` are PyTorch's structured logs, one per process. `recorded` is the content of RECORD_FILE,
    `description` that of DESCRIPTION_FILE as one line. `files` names all files that were used.
    """

    metrics: Metrics | None = None
    before: Metrics | None = None
    breaks: GraphBreaks | None = None
    guards: list[Guard] = field(default_factory=list)
    compilations: list[DebugLogBlock] = field(default_factory=list)
    executions: list[DebugLogBlock] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    torch_traces: list[TorchTraceLog] = field(default_factory=list)
    recorded: dict[str, Any] | None = None
    files: list[str] = field(default_factory=list)
    unread: list[UnparsedLine] = field(default_factory=list)
    description: str | None = None

    @property
    def causes(self) -> dict[str, dict[str, Any]]:
        """Returns, by graph hash, `cause`, `frame` and `frames` of its compilation; of several the last one."""
        return {
            block.graph: {"cause": block.cause, "frame": block.frame, "frames": list(block.frames)}
            for block in self.compilations
            if block.graph
        }


NO_SIDECARS = Sidecars()
