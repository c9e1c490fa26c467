"""The report's `annotations` and `propagation`: which annotations reached the device, and in which order."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

Lost = Literal["flag off", "autograd thread", "dynamo", "no ops of its own", "optimised away"]


class AnnotationTotals(TypedDict):
    """Sums over the capture for one path of annotations or scopes."""

    path: str
    """Names from the outermost one, joined by `/`."""
    kind: Literal["annotation", "scope"]
    """`scope`: a function or name scope of JAX or TensorFlow without an annotation."""
    count: int
    """Number of events on the host."""
    host_ps: int
    """Host time, summed over threads."""
    device_ps: int
    """Own time of its ops on all devices, with those of the paths inside."""
    device_ops: int
    """Number of its ops."""
    executions: int
    """Number of launches of programs with its ops."""
    lost: Lost | None
    """Why no op carries its name; `null` if one does, or if the framework never names ops after annotations."""


class Annotation(AnnotationTotals):
    """One path of annotations or scopes."""

    programs: list[str]
    """Ids of the programs with its ops."""


class ProgramOrder(TypedDict):
    """How the annotations of one program interleave on the device."""

    program: str
    """Name of the program."""
    program_id: str
    """Id of the program."""
    executions: int
    """Number of executions."""
    device_ps: int
    """Own time of its ops."""
    runs: int
    """Median number of uninterrupted sequences of ops of one phase in an execution."""
    phases: int
    """Number of different phases; ops without a phase count as one."""
    inversion_share: float
    """Share of device time in sequences that begin after a later phase has begun."""


class UnannotatedOp(TypedDict):
    """Ops without an annotation that do the same operation for the same line of Python."""

    op: str
    """The operation: that of the op name, else the opcode."""
    source: str
    """Their line of Python; empty if unknown."""
    state: Literal["bare", "none"]
    """`bare`: they have an op name, the name that the framework gave them, but no scope; `none`: they have no op
    name."""
    device_ps: int
    """Own time."""
    count: int
    """Number of events."""


class SharedPart(TypedDict):
    """A part of an op that consists of several annotations' ops."""

    path: str
    """Path of the annotation."""
    share: float
    """Its share of the op's time: of the instructions that have an annotation, the share of this one's."""


class SharedOp(TypedDict):
    """An op that consists of several annotations' ops, such as a fusion."""

    op: str
    """The operation: that of the op name, else the opcode."""
    name: str
    """Name of the op in its program."""
    source: str
    """Its line of Python; empty if unknown."""
    device_ps: int
    """Own time."""
    parts: list[SharedPart]
    """Its annotations."""
    unscoped_share: float
    """Share of instructions without an annotation."""


class SourceLine(TypedDict):
    """Device time of one line of Python in one annotation."""

    source: str
    """File and line; empty if unknown."""
    path: str | None
    """Path of the annotation; `null`: ops without one."""
    device_ps: int
    """Own time of ops; that of an op of several annotations is divided by their shares."""
    ops: int
    """Number of ops; an op of several annotations counts for each."""


class Coverage(TypedDict):
    """Own time of ops by the source of their scope."""

    device_ps: int
    """Own time of all ops."""
    direct_ps: int
    """Of ops whose own op name has a scope."""
    recovered_ps: int
    """Of ops whose scope comes from what they consist of or call, or, for copies, from their neighbours."""
    bare_ps: int
    """Of ops with an op name but without a scope."""
    none_ps: int
    """Of ops without an op name."""


class AnnotationOrder(Coverage):
    """How far annotations reached the devices, and in which order."""

    runs: int
    """`runs` of the program with most device time."""
    phases: int
    """`phases` of that program."""
    inversion_share: float
    """`inversion_share` of that program."""
    programs: list[ProgramOrder]
    """One row per program."""


class Propagation(AnnotationOrder):
    """Own time of ops by the source of their scope: `direct_ps + recovered_ps + bare_ps + none_ps = device_ps`."""

    unannotated_ops: list[UnannotatedOp]
    """Ops without an annotation; most time first."""
    shared_ops: list[SharedOp]
    """Ops that consist of several annotations' ops; most time first."""
    lines: list[SourceLine]
    """Device time by line of Python; most time first."""
