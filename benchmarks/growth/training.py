"""A small training as a capture, the base of the captures along each axis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from synthetic.hlo import Computation, HloModule, Instruction
from synthetic.writer import Line, Plane, Space, Stat

US = 10**6
STEP = 1000 * US
EPOCH = 1_700_000_000_000_000_000


class Capture(Protocol):
    """A capture that can be written to a file."""

    def to_bytes(self) -> bytes: ...
    def write(self, path: Path) -> Path: ...


Builder = Callable[[int], Space]
AXES: dict[str, Callable[[int], Capture]] = {}
"""The builders of captures by axis. A capture of size n has at most about 500 (n + 1) bytes; recorded captures have
20 kB times n of events."""


def axis(build: Builder) -> Builder:
    """Decorator that adds a builder to AXES under its name."""
    AXES[build.__name__] = build
    return build


class Training:
    """A host that trains on one TPU core: steps of 1 ms that launch a program of three ops."""

    def __init__(self, steps: int = 3, program: bytes | None = None, ops: bool = True) -> None:
        self.space = Space()
        self.host = self.space.plane("/host:CPU")
        self.python = self.host.line("python", id=1, timestamp_ns=EPOCH)
        self.device = self.space.plane("/device:TPU:0")
        self.modules = self.device.line("XLA Modules", timestamp_ns=EPOCH)
        self.ops = self.device.line("XLA Ops", timestamp_ns=EPOCH)
        if program is not None:
            metadata = self.space.plane("/host:metadata")
            metadata.event_metadata("SyncTensorsGraph.1(7)", 7, stats={"Hlo Proto": program})
        for step in range(steps):
            start = step * STEP
            self.python.event("Training_Step", start, STEP, _r=1, step_num=step)
            self.launch(start + 700 * US, step + 1, ops)

    def launch(self, start: int, flow: int, ops: bool = True, module: str = "SyncTensorsGraph.1(7)") -> None:
        self.python.event("StepMarker", start, 50 * US)
        self.python.event("DoEnqueueProgram", start + 10 * US, 20 * US, _pt=12, _p=flow)
        self.modules.event(module, start + 40 * US, 200 * US, _ct=12, _c=flow)
        if ops:
            for number, name in enumerate(("fusion.1", "dot.2", "copy.3")):
                self.op(name, start + (45 + 60 * number) * US, 50 * US)

    def op(self, name: str, start: int, duration: int, **stats: Stat) -> None:
        metadata = shared_metadata(self.device, name, {"program_id": 7, **stats})
        self.ops.event(metadata, start, duration)


def shared_metadata(plane: Plane, name: str, stats: dict[str, Stat] | None = None) -> Any:
    """The event metadata of a name in a plane, created on first use. `Plane.event_metadata` alone would search all ids
    for a free one each time."""
    metadata = plane._by_name.get(name)
    return metadata or plane.event_metadata(name, len(plane.metadata) + 1, stats=stats)


def nest(plane: Plane, line: Line, names: list[str], start: int, end: int, **stats: Stat) -> None:
    """Adds events inside each other, the first one outermost."""
    for depth, name in enumerate(names):
        line.event(shared_metadata(plane, name), start + depth, end - start - 2 * depth, stats)


def module(
    entry: list[Instruction],
    bodies: list[Computation] | None = None,
    name: str = "SyncTensorsGraph.1",
    id: int = 7,
) -> bytes:
    """A compiled program: the entry computation's instructions, and other computations."""
    return HloModule(name, id, [*(bodies or []), Computation(10**6, "entry", entry)]).to_bytes()
