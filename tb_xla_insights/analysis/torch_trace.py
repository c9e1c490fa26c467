"""The contents of logs that PyTorch writes if TORCH_TRACE is set, one per process: why TorchTPU ran each graph, why
torch.compile broke a graph, and which guard made it compile again."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tb_xla_insights.analysis.graph_break import GraphBreak
from tb_xla_insights.catalog.frames import Frame


class Materialization(NamedTuple):
    """Deferred operators that TorchTPU made one graph of, in order to run it.

    `reason`: as TorchTPU names what asked for their values; `operator`: the first of them. `start_us`: microseconds
    since the epoch, 0 if not recorded, as is `duration_us`, which the host took to make the graph or to find it.
    `is_new`: whether the graph was compiled.
    """

    reason: str
    operator: str
    start_us: int
    duration_us: int
    is_new: bool
    has_failed: bool


@dataclass
class Materializations:
    """All of a log, in columns: a long run has hundreds of thousands."""

    _kinds: dict[tuple[str, str, bool, bool], int] = field(default_factory=dict)
    _kind: array[int] = field(default_factory=lambda: array("i"))
    _start_us: array[int] = field(default_factory=lambda: array("q"))
    _duration_us: array[int] = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        return len(self._kind)

    def __iter__(self) -> Iterator[Materialization]:
        kinds = [*self._kinds]
        for kind, start_us, duration_us in zip(self._kind, self._start_us, self._duration_us, strict=True):
            reason, operator, is_new, has_failed = kinds[kind]
            yield Materialization(reason, operator, start_us, duration_us, is_new, has_failed)

    def add(self, row: Materialization) -> None:
        kind = row.reason, row.operator, row.is_new, row.has_failed
        self._kind.append(self._kinds.setdefault(kind, len(self._kinds)))
        self._start_us.append(row.start_us)
        self._duration_us.append(row.duration_us)


@dataclass(frozen=True)
class LoggedGraph:
    """A graph that was compiled: the name of its program; for deferred operators, the reason, the first operator, and
    the line of Python that called the last one; for a graph of torch.compile, the id of the compilation."""

    program: str
    reason: str | None = None
    operator: str | None = None
    frame: Frame | None = None
    compile_id: str | None = None


@dataclass
class LoggedCompilation:
    """A compilation by torch.compile: its function and that function's place, the guard whose failure made it compile
    again (None for a first compilation) with the guard's line of source, and start (since the epoch) and time in
    microseconds. What the log lacks is None."""

    compile_id: str
    function: str | None = None
    place: str | None = None
    guard: str | None = None
    source: str | None = None
    start_us: int | None = None
    duration_us: int | None = None


@dataclass(frozen=True)
class LoggedBreak:
    """A graph break, and the compilation in which it was found."""

    graph_break: GraphBreak
    compile_id: str | None


@dataclass
class TorchTraceLog:
    """One log. `rank`: None if not recorded; `start_us`: the first recorded time, in microseconds since the epoch, 0 if
    there is none."""

    file: str
    rank: int | None = None
    start_us: int = 0
    materializations: Materializations = field(default_factory=Materializations)
    graphs: list[LoggedGraph] = field(default_factory=list)
    breaks: list[LoggedBreak] = field(default_factory=list)
    compilations: dict[str, LoggedCompilation] = field(default_factory=dict)
    """By compile id, in the order of the log."""

    def compilation(self, compile_id: str) -> LoggedCompilation:
        """The compilation of an id, added if it is new."""
        return self.compilations.setdefault(compile_id, LoggedCompilation(compile_id))
