"""The answer of `data/engines`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from tb_xla_insights.schema.engines import Engine, Join, SliceTransfer, WaitsByEngine

EnginePieceKind = Literal["computing", "collective", "waiting", "busy"]
"""What an engine does: the device computes, exchanges data and does nothing else, or only waits for an asynchronous op;
a SparseCore works while the device computes (`computing`), while it waits (`waiting`), or while it does neither
(`busy`)."""

WindowPieceKind = Literal["under_way", "hidden", "waiting"]
"""From start to done; the parts in which the device computes, and in which it waits for the op."""

HiddenKind = Literal["hidden", "partly_hidden", "exposed"]
"""How much of an op's time is hidden: at least 90 %, less, at most 10 %."""


class EnginePiece(TypedDict):
    """A piece of an engine's time; times are relative to the run's start."""

    kind: EnginePieceKind
    """What the engine does."""
    op: str | None
    """Short name of the asynchronous op that it works on, or that the device waits for; `null` if there is none, if it
    is not known, or for several ops."""
    start_ps: int
    """When it begins."""
    end_ps: int
    """When it ends."""
    ps: int
    """How much of that time it takes."""


class EngineRow(TypedDict):
    """What an engine does in the shown run."""

    name: str
    """`TensorCore`, `SparseCore 0`; on other devices than TPUs the device's name."""
    traced: bool
    """Whether the capture shows what it does."""
    busy_ps: int
    """Time in which the device computes or exchanges data; in which a SparseCore works, 0 if that is not traced."""
    computing_ps: int
    """The part of it in which the device computes."""
    pieces: list[EnginePiece]
    """The pieces; pieces closer than a pixel are one, and those too short to be seen are left out."""


class WindowPiece(TypedDict):
    """A piece of the time of an asynchronous op; times are relative to the run's start."""

    kind: WindowPieceKind
    """What it is."""
    start_ps: int
    """When it begins."""
    end_ps: int
    """When it ends."""
    ps: int
    """How much of that time it takes."""


class WindowRow(TypedDict):
    """An asynchronous op in the shown run."""

    op: str | None
    """Its short name; `null` in the last row, which sums further ops."""
    ops: int
    """Number of ops in the row."""
    count: int
    """How often they ran."""
    window_ps: int
    """Their time from start to done."""
    hidden_ps: int
    """The part of it in which the device computes."""
    hidden: HiddenKind
    """How much that is."""
    pieces: list[WindowPiece]
    """The pieces, later ones above earlier ones."""


class ShownRun(TypedDict):
    """The run of median duration of the device's main program, of those with asynchronous ops, engine by engine."""

    start_ps: int
    """When it begins."""
    duration_ps: int
    """How long it takes."""
    engines: list[EngineRow]
    """The device, then its first 16 SparseCores."""
    windows: list[WindowRow]
    """The 12 asynchronous ops with most waiting, in order of time, and the others in one row."""


class LongestWait(TypedDict):
    """The longest wait for an op, as a place in the timeline."""

    row: str
    """The row of the timeline."""
    depth: int
    """The lane."""
    start_ps: int
    """When the done op begins."""
    duration_ps: int
    """How long it takes."""


class WaitRow(TypedDict):
    """What a device waits for in the runs of its main program; times are sums over the runs."""

    op: str | None
    """Short name of the op; `null` in the last row, which sums further ops."""
    ops: int
    """Number of ops in the row."""
    engine: Engine | None
    """What executes it; `null` for further ops."""
    engine_name: str
    """The same in words, a SparseCore with its number."""
    annotation: str | None
    """Path of its annotation; `null` without one."""
    wait_ps: int
    """Time in which the device waits for it."""
    wait_own_ps: int | None
    """The part of it in which the SparseCore runs this op; `null` if that is not known."""
    wait_queue_ps: int | None
    """The part of it in which the SparseCore runs other jobs before; `null` if that is not known."""
    start_up_ps: int | None
    """The rest; `null` if that is not known."""
    hidden_ps: int
    """The part of its time in which the device computes."""
    why: str
    """Why the device waits; empty if it hardly does, or if that is not known."""
    advice: str
    """What to do; empty if the device hardly waits."""
    join: Join
    """How its SparseCore's jobs were found."""
    longest: LongestWait | None
    """Its longest wait; `null` for further ops."""


class ShownTransfer(SliceTransfer):
    """A transfer between slices, of one device."""

    why: str
    """Why the device waits for it; empty if it hardly does, or if that is not known."""


class EnginesOfDevice(TypedDict):
    """What a device and its engines do in the runs of its main program, the one with most time of those with
    asynchronous ops."""

    program: str
    """Name of the program."""
    runs: int
    """Number of its runs on the device. Times are sums over these."""
    duration_ps: int
    """Their duration."""
    computing_ps: int
    """Time in which the device computes."""
    collectives_ps: int
    """Time in which it exchanges data and does nothing else."""
    waits_ps: WaitsByEngine
    """Time in which it waits for each engine."""
    duty_cycle_xprof: float | None
    """xprof's duty cycle over the device's span; `null` without ops."""
    headline: str
    """What the device does, in a sentence."""
    details: str
    """Why it waits longest, and what to do."""
    waits: list[WaitRow]
    """At most 12 ops with at least 1 % of the waits and 0.1 % of the time, and the others in one row. Waits add up to
    those of `waits_ps`."""
    shown: ShownRun
    """One of the runs."""
    slice_transfers: list[ShownTransfer]
    """The 12 transfers between slices with most waiting, in all runs of all programs."""
    more_slice_transfers: int
    """Number of the others."""


class EnginesAnswer(TypedDict):
    """`data/engines`: what a device's engines do, and what the device waits for."""

    async_ops: int
    """Number of asynchronous ops in the session."""
    device: str | None
    """Id of the shown device; `null` if the session has none."""
    stale: bool
    """Whether another device is shown because the session does not have the one requested."""
    of_device: EnginesOfDevice | None
    """`null` if the device has no program run."""
