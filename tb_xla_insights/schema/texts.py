"""The report's `metrics`, `recorded` and `throughput`: the contents of sidecar files."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from tb_xla_insights.columns.head import Head
from tb_xla_insights.columns.rules import anywhere, first, key, total
from tb_xla_insights.schema.torch_trace import TorchTrace

Counted = Literal["compile", "execute", "to_device", "from_device"]


class Metric(TypedDict):
    """One metric of a PyTorch/XLA metrics report."""

    samples: int | None
    """Number of samples; `null` if unknown."""
    total: float | None
    """Sum of all samples; `null` if unknown."""
    unit: Literal["ps", "bytes"] | None
    """Unit of the values; `null` without one."""
    percentiles: NotRequired[dict[str, float]]
    """Values by percentile; a difference has none."""


class Figures(TypedDict):
    """Main figures of a metrics report; `null` if the report lacks them, or torch.compile cleared them."""

    uncached_compiles: int | None
    """Compilations."""
    cached_compiles: int | None
    """Compiled graphs that were found in the cache."""
    step_markers: int | None
    """Step markers."""
    fallback_calls: int | None
    """Calls of ops that ran on the CPU because they are not lowered."""
    compile_count: int | None
    """Compilations with a time."""
    compile_ps: int | None
    """Time of compilations."""
    execute_count: int | None
    """Executions."""
    execute_ps: int | None
    """Time of executions."""
    to_device_count: int | None
    """Transfers to devices."""
    to_device_ps: int | None
    """Time of transfers to devices."""
    from_device_count: int | None
    """Transfers from devices."""
    from_device_ps: int | None
    """Time of transfers from devices."""
    to_device_bytes: int | None
    """Bytes sent to devices."""
    from_device_bytes: int | None
    """Bytes received from devices."""


class MetricsDifference(TypedDict):
    """What changed between two metrics reports, around the capture."""

    before: str
    """Name of the earlier file."""
    after: str
    """Name of the later file."""
    counters: dict[str, int]
    """Counters that changed, by how much."""
    metrics: dict[str, Metric]
    """Metrics with new samples."""
    fallbacks: dict[str, int]
    """Fallbacks by op."""
    figures: Figures
    """Differences of the figures."""


class MetricsAgainstTrace(TypedDict):
    """The counts of an operation in a metrics report and in the trace."""

    operation: Annotated[Counted, key, Head("What")]
    """What is counted."""
    metrics: Annotated[int | None, first, Head("Report")]
    """Count in the report; `null` where it has none."""
    since_earlier_report: Annotated[int | None, first, Head("During the capture")]
    """Count since the earlier report, so during the capture; `null` without an earlier report."""
    trace: Annotated[int, total, Head("Trace")]
    """Count in the trace."""
    agrees: Annotated[bool, anywhere, Head("")]
    """Whether the report counts at least as many as the trace of the host with the lowest count."""


class MetricsRow(MetricsAgainstTrace):
    """The same with the report's time, and in words."""

    time_ps: int | None
    """Time in the report; `null` where it has none."""
    label: str
    """What is counted: `Transfers to the device`."""
    agreement: str
    """`disagree`; empty if the counts agree."""


class GraphBreak(TypedDict):
    """Why torch.compile broke a graph."""

    reason: str | None
    """Reason, as torch.compile gives it; `null` if the text has none."""
    place: str | None
    """Line of Python and function; `null` if unknown."""
    explanation: NotRequired[str | None]
    """torch.compile's explanation; `null` if the text has none."""
    hint: NotRequired[str | None]
    """torch.compile's hint; `null` if the text has none."""


class DynamoExplanation(TypedDict):
    """Output of `torch._dynamo.explain`."""

    file: str
    """Name of the file."""
    graphs: int
    """Number of graphs."""
    breaks: int
    """Number of graph breaks."""
    ops: int
    """Number of ops."""
    reasons: list[GraphBreak]
    """One row per graph break; fewer if the text is cut."""


class DebugLog(TypedDict):
    """Contents of PyTorch/XLA debug logs, and how much of the trace they explain."""

    compilations: Annotated[int, first]
    """Compilations in the logs."""
    executions: Annotated[int, first]
    """Executions in the logs."""
    graphs: Annotated[int, first]
    """Different graphs in the logs."""
    joined_compiles: Annotated[int, total]
    """Compilations in the trace that the logs explain."""
    joined_executions: Annotated[int, total]
    """Executions in the trace that the logs explain."""


class UnreadLine(TypedDict):
    """A line of a file that is not understood."""

    file: str
    """Name of the file."""
    line: int
    """Number of the line; 0: the file as a whole, or a part of it."""
    text: str
    """The line, or why the file is not used."""


class Metrics(TypedDict):
    """Metrics report, explanation of graph breaks, and logs beside the capture."""

    file: str | None
    """Name of the metrics report; `null` without one."""
    counters: dict[str, int]
    """Its counters."""
    cleared: bool
    """Whether torch.compile cleared the counters when it extracted graphs."""
    metrics: dict[str, Metric]
    """Its metrics."""
    fallbacks: dict[str, int]
    """Calls by op that is not lowered."""
    figures: Figures | None
    """Main figures; `null` without a metrics report."""
    difference: MetricsDifference | None
    """Against an earlier metrics report; `null` without one."""
    against_trace: list[MetricsAgainstTrace]
    """Counts of operations in the report and in the trace."""
    dynamo: DynamoExplanation | None
    """Output of `torch._dynamo.explain`; `null` without one."""
    debug: DebugLog | None
    """Debug logs; `null` without one."""
    torch_trace: TorchTrace | None
    """Logs that PyTorch wrote because of TORCH_TRACE; `null` without any."""
    advice: list[str]
    """Advice that PyTorch/XLA wrote into its log."""
    files: list[str]
    """Names of the files with such content."""
    unread: list[UnreadLine]
    """Lines that are not understood."""


Recorded = dict[str, Any]
"""What `record` wrote into `xla_insights_record.json`; from other writers, only keys with values of the right type."""


class SamplesPerSecond(TypedDict):
    """Samples per second."""

    median: float
    """By the median step."""
    mean: float
    """By the mean step."""


class Throughput(TypedDict):
    """Samples per second, of all hosts and devices together."""

    samples_per_step: float
    """As given, or as recorded."""
    samples_per_s: SamplesPerSecond
    """Samples per second."""
