"""The report's `annotations` and `propagation`: which annotations reached the device, and in which order."""

from __future__ import annotations

from operator import itemgetter
from typing import Annotated, Literal

from typing_extensions import TypedDict

from tb_xla_insights.columns.head import Head
from tb_xla_insights.columns.merge import rows_of
from tb_xla_insights.columns.rules import Rule, first, key, mean, median, of_first, total, union

Lost = Literal["flag off", "autograd thread", "dynamo", "no ops of its own", "optimised away"]


first_lost = Rule(
    min,
    lambda lost, _, at: (lost is None, at, lost),
    itemgetter(2),
    computed=lambda row: None if row["device_ps"] else row["lost"],
)
"""That of the first host with a reason; of a path that reaches the devices of any host, None."""


class AnnotationTotals(TypedDict):
    """Sums over the capture for one path of annotations or scopes."""

    path: Annotated[str, key, Head("Annotation")]
    """Names from the outermost one, joined by `/`. An outermost name of other threads that the driving thread has as
    well ends in ` (other threads)`."""
    kind: Annotated[Literal["annotation", "scope"], first]
    """`scope`: a function or name scope of JAX or TensorFlow without an annotation."""
    thread: Annotated[str | None, first, Head("Thread", priority=5)]
    """Thread that has it; of several the first, with the number of others; `null`: the driving thread, or a scope."""
    count: Annotated[int, total, Head("Count", priority=4)]
    """Number of events on the host."""
    host_ps: Annotated[int, total, Head("Host")]
    """Host time, summed over threads."""
    device_ps: Annotated[int, total, Head("Device")]
    """Own time of its ops on all devices, with those of the paths inside."""
    device_ops: Annotated[int, total, Head("Device ops", priority=2)]
    """Number of its ops."""
    executions: Annotated[int, total, Head("Launches", priority=1)]
    """Number of launches of programs with its ops."""
    lost: Annotated[Lost | None, first_lost, Head("Lost", priority=3)]
    """Why no op carries its name; `null` if one does, if the framework never names ops after annotations, or on other
    threads than the driving one."""


class Annotation(AnnotationTotals):
    """One path of annotations or scopes."""

    programs: Annotated[list[str], union(str)]
    """Ids of the programs with its ops."""


class ProgramOrder(TypedDict):
    """How the annotations of one program interleave on the device."""

    program: Annotated[str, key, Head("Program", "code")]
    """Name of the program."""
    program_id: Annotated[str, key]
    """Id of the program."""
    executions: Annotated[int, total, Head("Executions", priority=3)]
    """Number of executions."""
    device_ps: Annotated[int, total, Head("Device")]
    """Own time of its ops."""
    runs: Annotated[int, median("executions"), Head("Runs of phases", priority=1)]
    """Median number of uninterrupted sequences of ops of one phase in an execution."""
    phases: Annotated[int, median("executions"), Head("Phases", priority=2)]
    """Number of different phases; ops without a phase count as one."""
    inversion_share: Annotated[float, mean("device_ps"), Head("Inverted")]
    """Share of device time in sequences that begin after a later phase has begun."""


class UnannotatedOp(TypedDict):
    """Ops without an annotation that do the same operation for the same line of Python."""

    op: Annotated[str, key, Head("Op", "code")]
    """The operation: that of the op name, else the opcode."""
    device_ps: Annotated[int, total, Head("Time")]
    """Own time."""
    state: Annotated[Literal["bare", "none"], key, Head("Scope", priority=1)]
    """`bare`: they have an op name, the name that the framework gave them, but no scope; `none`: they have no op
    name."""
    source: Annotated[str, key, Head("Line", priority=2)]
    """Their line of Python; empty if unknown."""
    count: Annotated[int, total]
    """Number of events."""


class SharedPart(TypedDict):
    """A part of an op that consists of several annotations' ops."""

    path: str
    """Path of the annotation."""
    share: float
    """Its share of the op's time: of the instructions that have an annotation, the share of this one's."""


class SharedOp(TypedDict):
    """An op that consists of several annotations' ops, such as a fusion."""

    op: Annotated[str, key, Head("Op", "code")]
    """The operation: that of the op name, else the opcode."""
    name: Annotated[str, key]
    """Name of the op in its program."""
    device_ps: Annotated[int, total, Head("Time")]
    """Own time."""
    parts: Annotated[list[SharedPart], key, Head("Divided among")]
    """Its annotations."""
    source: Annotated[str, key, Head("Line", priority=1)]
    """Its line of Python; empty if unknown."""
    unscoped_share: Annotated[float, key]
    """Share of instructions without an annotation."""


class SourceLine(TypedDict):
    """Device time of one line of Python in one annotation."""

    source: Annotated[str, key]
    """File and line; empty if unknown."""
    path: Annotated[str | None, key]
    """Path of the annotation; `null`: ops without one."""
    device_ps: Annotated[int, total]
    """Own time of ops; that of an op of several annotations is divided by their shares."""
    ops: Annotated[int, total]
    """Number of ops; an op of several annotations counts for each."""


class Coverage(TypedDict):
    """Own time of ops by the source of their scope."""

    device_ps: Annotated[int, total]
    """Own time of all ops."""
    direct_ps: Annotated[int, total]
    """Of ops whose own op name has a scope."""
    recovered_ps: Annotated[int, total]
    """Of ops whose scope comes from what they consist of or call, or, for copies, from their neighbours."""
    bare_ps: Annotated[int, total]
    """Of ops with an op name but without a scope."""
    none_ps: Annotated[int, total]
    """Of ops without an op name."""


class AnnotationOrder(Coverage):
    """How far annotations reached the devices, and in which order."""

    runs: Annotated[int, of_first("programs", "runs", 0)]
    """`runs` of the program with most device time."""
    phases: Annotated[int, of_first("programs", "phases", 0)]
    """`phases` of that program."""
    inversion_share: Annotated[float, of_first("programs", "inversion_share", 0.0)]
    """`inversion_share` of that program."""
    programs: Annotated[list[ProgramOrder], rows_of(ProgramOrder, "device_ps")]
    """One row per program."""


class Propagation(AnnotationOrder):
    """Own time of ops by the source of their scope: `direct_ps + recovered_ps + bare_ps + none_ps = device_ps`."""

    unannotated_ops: Annotated[list[UnannotatedOp], rows_of(UnannotatedOp, "device_ps")]
    """Ops without an annotation; most time first."""
    shared_ops: Annotated[list[SharedOp], rows_of(SharedOp, "device_ps")]
    """Ops that consist of several annotations' ops; most time first."""
    lines: Annotated[list[SourceLine], rows_of(SourceLine, "device_ps")]
    """Device time by line of Python; most time first."""
