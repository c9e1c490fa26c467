"""The report's `metrics.torch_trace`: logs that PyTorch writes if TORCH_TRACE is set."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from tb_xla_insights.columns.head import Head


class MaterializationReason(TypedDict):
    """Graphs that TorchTPU made of deferred operators for one reason."""

    reason: Annotated[str, Head("Reason", "code")]
    """What asked for their values, as TorchTPU names it: `item()`, `.cpu()`, `debug_mode`."""
    meaning: Annotated[str, Head("Meaning")]
    """The same in words; empty for a reason that is not known."""
    logged: Annotated[int, Head("In the log")]
    """Graphs in the log."""
    compiled: Annotated[int, Head("Compiled", priority=3)]
    """Those of them that were not compiled before."""
    failed: Annotated[int, Head("Failed", priority=1)]
    """Those whose compilation failed."""
    duration_ps: Annotated[int, Head("On the host", priority=2)]
    """Time in which the host made these graphs, or found them; 0 if not recorded."""
    in_capture: Annotated[int | None, Head("In the capture")]
    """Graphs within the time of the capture; `null` if the log is not matched with it, or either records no time."""


class TracedProgram(TypedDict):
    """A program of the capture whose compilation is in the log."""

    program: Annotated[str, Head("Program", "code")]
    """Name of the program, in the capture and in the log."""
    reason: Annotated[str | None, Head("Compiled for", "code")]
    """Why its graph was made; several reasons are joined by commas; `null` for a graph of torch.compile."""
    operator: Annotated[str | None, Head("First operator", "code", priority=1)]
    """First operator of the graph; `null` if several graphs of this name differ, or for a graph of torch.compile."""
    place: Annotated[str | None, Head("Where", "code")]
    """Line of Python that called the last operator, or the function that torch.compile compiles; `null` if several
    graphs of this name differ, or if it is not recorded."""
    compile_id: Annotated[str | None, Head("Compile id", "code", priority=2)]
    """Compilation of torch.compile; `null` for any other graph."""
    launches: Annotated[int, Head("In the capture")]
    """Launches of the program in the capture."""


class TracedBreak(TypedDict):
    """Why torch.compile broke a graph, and where."""

    reason: Annotated[str | None, Head("Why")]
    """What torch.compile cannot compile; `null` if the log does not say."""
    place: Annotated[str | None, Head("Where", "code")]
    """Line of Python and function; `null` if unknown."""
    explanation: str | None
    """torch.compile's explanation; `null` if the log has none."""
    hint: str | None
    """torch.compile's first hint; `null` if the log has none."""
    logged: Annotated[int, Head("In the log", priority=1)]
    """Compilations that it broke."""
    calls: Annotated[int | None, Head("In the capture")]
    """Calls in the capture of what these compilations compiled; `null` if the log is not matched with it, or the
    capture records no calls of compiled functions."""


class TracedCompilation(TypedDict):
    """A compilation by torch.compile."""

    compile_id: Annotated[str, Head("Compile id", "code")]
    """Its id: the number of the function, and how often that was compiled before."""
    function: Annotated[str | None, Head("Function", "code")]
    """Function; `null` if unknown."""
    place: Annotated[str | None, Head("Where", "code")]
    """File and first line of the function; `null` if unknown."""
    guard: Annotated[str | None, Head("Guard that failed", "code")]
    """Guard whose failure made torch.compile compile again; `null` for a first compilation."""
    source: str | None
    """Line of Python that the guard comes from; `null` if unknown."""
    duration_ps: Annotated[int | None, Head("Time", priority=2)]
    """Time that it took; `null` if not recorded."""
    calls: Annotated[int | None, Head("In the capture")]
    """Calls in the capture of what it compiled; `null` as for graph breaks."""


class TorchTrace(TypedDict):
    """Logs that PyTorch writes if TORCH_TRACE is set, of the first host with such logs."""

    files: list[str]
    """Names of the logs that may be of the host's process."""
    matched: str | None
    """The log that is matched with the capture; `null` if it is not known which one is of its process."""
    materializations: list[MaterializationReason]
    """One row per reason; most graphs first."""
    programs: list[TracedProgram]
    """Programs of the capture that the matched log compiles; most launches first."""
    graph_breaks: list[TracedBreak]
    """One row per place and reason."""
    compilations: list[TracedCompilation]
    """One row per compilation of torch.compile, most calls first, then those with a failed guard."""
