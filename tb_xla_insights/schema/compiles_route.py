"""The answer of `data/compiles`."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from tb_xla_insights.columns.rules import entries, first, key, total, union
from tb_xla_insights.schema.launches import Compile
from tb_xla_insights.schema.route_parts import PartialAnswer
from tb_xla_insights.schema.texts import MetricsRow


class CompileRow(Compile):
    """One compilation, in words too."""

    state: str
    """Whether it belongs to the warm-up, and which edge of the capture cuts it: `after warm-up, unfinished`."""
    what_is_new: str | None
    """What differs from the nearest graph, in words; `null` if the file has no HLO to compare."""
    heading: str
    """The title of its card."""
    reason: str
    """Why it was compiled."""
    advice: str | None
    """What to do about it; `null` in the warm-up."""


class GraphRow(TypedDict):
    """A graph, and the steps in which it was compiled or ran."""

    graph: Annotated[str, key]
    """Name of the graph."""
    module: Annotated[str | None, first]
    """Name of its module; `null` if not recorded."""
    program_ids: Annotated[list[str], union(int)]
    """Ids of its programs."""
    compiles: Annotated[int, total]
    """Number of compilations."""
    cost_ps: Annotated[int, total]
    """Time of the compilations."""
    steps: Annotated[dict[str, Literal["compiled", "run"]], entries]
    """By index of a step (as text), whether the graph was compiled in it or only ran."""


class CountedMetrics(TypedDict):
    """The counts of a metrics report beside the capture."""

    file: str
    """Name of the file."""
    rows: list[MetricsRow]
    """One row per operation."""
    uncached_compiles: int | None
    """Number of compilations; `null` if the report does not count them."""
    cached_compiles: int | None
    """Number of times that a compiled graph was found in the cache; `null` if the report does not count them, or
    torch.compile cleared the counter."""
    fallbacks: dict[str, int] | None
    """Calls of ops that ran on the CPU, by op; `null` if torch.compile cleared the counters and none is left."""
    text: str
    """The graphs that were compiled and found in the cache, and the ops that ran on the CPU."""


class Compiles(PartialAnswer):
    """`data/compiles`: compilations, and the graphs by step."""

    compiles: list[CompileRow]
    """The compilations."""
    graphs: list[GraphRow]
    """The graphs that were compiled or ran, most compilations first; at most 100."""
    graph_count: int
    """Number of graphs."""
    steps: list[int]
    """The numbers of all steps; the index where a step has no number."""
    step_hosts: list[tuple[str, int]]
    """The hosts of the steps in their order, and the number of steps of each."""
    metrics: CountedMetrics | None
    """The counts of a metrics report; `null` without one."""
    note: str | None
    """Where causes come from; `null` where no cause is known."""
    how_to_record_causes: str
    """How to record why graphs are compiled."""
