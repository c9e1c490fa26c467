"""A small capture to be cut and damaged, and helpers to inspect the rest."""

from __future__ import annotations

from build import MemorySource
from independent import Line, of_space
from synthetic.hlo import Computation, HloModule, Instruction
from synthetic.writer import Ref, Space

from tb_xla_insights.errors import InputError
from tb_xla_insights.xplane.read_xspace import XSpace, read_space

NEVER_ENDS = b"\xff" * 10 + b"\x01"
"""A varint of eleven bytes."""


def small() -> bytes:
    """A file with threads, a device, a program, a clock and a host name."""
    space = Space(hostnames=["vm"])
    host = space.plane("/host:CPU")
    epoch = 1_700_000_000_000_000_000
    python = host.line("python", id=-3, timestamp_ns=epoch)
    python.event("Training_Step", 0, 90, _r=1, step_num=3)
    python.event("ThreadpoolListener::Record", 10, 1, _pt=15, _p=7)
    client = host.line("tf_XLAPjRtCpuClient/8", id=8, timestamp_ns=epoch + 1)
    client.event("ThreadpoolListener::StartRegion", 0, 0, _ct=15, _c=7)
    client.event("dot.1", 20, 30, hlo_op=Ref("dot.1"), hlo_module=Ref("m"), program_id=5)
    client.event("ThunkExecutor::Execute (wait for completion)", 60, 1)
    device = space.plane("/device:TPU:0", stats={"peak": 1.5})
    device.line("XLA Ops", timestamp_ns=epoch).event(
        device.event_metadata("fusion", display_name="f", stats={"tf_op": "a/b"}), 5, 50, run_id="12"
    )
    program = HloModule("m", 5, [Computation(1, "main", [Instruction(1, "dot.1", "dot")])]).to_bytes()
    space.plane("/host:metadata").event_metadata("m", id=5, stats={"Hlo Proto": program})
    space.plane("Task Environment", stats={"profile_start_time": epoch})
    return space.to_bytes()


def read(data: bytes) -> XSpace:
    return read_space(MemorySource(data))


def read_or_none(data: bytes) -> XSpace | None:
    """The readable part of a file, or None if it is refused in one line."""
    try:
        return read(data)
    except InputError as error:
        message = str(error)
    assert "\n" not in message
    return None


def ids(space: XSpace) -> list[str]:
    return [diagnostic.id for diagnostic in space.diagnostics]


def lines_of(data: bytes) -> list[tuple[int, int, Line]]:
    """The start, end and content of each line of an undamaged file."""
    space = read(data)
    lines = [line for plane in space.planes for line in plane.lines]
    contents = [line for plane in of_space(space) for line in plane.lines]
    return [(line.start, line.end, content) for line, content in zip(lines, contents, strict=True)]


def without_metadata_names(line: Line) -> tuple[object, ...]:
    """A line without the names and stats of its events, whose names its plane defines after it."""
    return (
        line.id,
        line.name,
        line.timestamp_ns,
        [(event.metadata_id, event.offset_ps, event.duration_ps) for event in line.events],
    )
