"""The report's `session`, `environment`, `diagnostics`, `devices` and `hosts`: what was captured, and where."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, get_args

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import ClassName
from tb_xla_insights.columns.head import Head
from tb_xla_insights.columns.rules import Rule, anywhere, first, key, total
from tb_xla_insights.schema.common import ByClass
from tb_xla_insights.schema.engines import Engine, WaitsByEngine

Framework = Literal["torch_xla", "torch_tpu", "jax", "tensorflow", "unknown"]
Runtime = Literal["xrt", "pjrt", "unknown"]
"""Each in the order in which the first that any host has is the session's."""


def _first_in_order(names: Any) -> Rule:
    order = get_args(names)
    return Rule(lambda a, b: min(a, b, key=order.index))


class HostFile(TypedDict):
    """One capture file."""

    name: Annotated[str, Head("Host")]
    """Host name: the file's name without `.xplane.pb` or `.xplane.riegeli`."""
    bytes: Annotated[int, Head("Size")]
    """Size of the file."""
    events: Annotated[int, Head("Events", priority=1)]
    """Number of events on all lines."""
    file: Annotated[str, Head("File", "code")]
    """Path or URL of the file."""


class SessionHead(TypedDict):
    """The session as a whole."""

    name: str
    """Name of the session's directory."""
    path: str
    """Path or URL of the session's directory."""
    description: str | None
    """First paragraph of `description.txt` beside the capture, as one line, cut after 300 characters; `null` without
    one."""
    start_unix_ns: str
    """Epoch nanoseconds of time 0, as a decimal string because a double cannot hold them; `0` where unknown."""
    duration_ps: int
    """From time 0 to the end of the last event of any host."""
    hosts: list[HostFile]
    """One row per host."""


class Environment(TypedDict):
    """Framework, runtime and accelerator."""

    framework: Annotated[Framework, _first_in_order(Framework)]
    """The framework that drives the devices."""
    runtime: Annotated[Runtime, _first_in_order(Runtime)]
    """The runtime below it."""
    accelerator: Annotated[str, first]
    """Kind of the devices, as the capture names it."""
    hlo_scopes: Annotated[bool, anywhere]
    """Whether any op carries the name of a scope."""
    synthetic: Annotated[bool, anywhere]
    """Whether the capture was generated, not recorded."""
    label: Annotated[str, first]
    """Framework, runtime and devices in one line."""


class Diagnostic(TypedDict):
    """What limits the analysis: damage, missing data, contradictions."""

    id: str
    """Name of the diagnostic; docs/findings.md explains each."""
    severity: Literal["info", "warning", "error"]
    """How much it limits what the report says."""
    message: str
    """One sentence."""
    host: NotRequired[str]
    """The host that it is about, where it is about one."""
    hosts: NotRequired[int]
    """Number of hosts with this diagnostic, in place of `host`."""


class Stall(TypedDict):
    """An op in which a device only waits."""

    op: Annotated[str, key, Head("Op", "code")]
    """Name of the op."""
    engine: Annotated[Engine, key, Head("Waits for", "words")]
    """What it waits for."""
    count: Annotated[int, total, Head("Count", priority=1)]
    """Number of events."""
    duration_ps: Annotated[int, total, Head("Time")]
    """Their time."""


class Busy(TypedDict):
    """Busy time of a device by one definition."""

    span_ps: int
    """Time that `busy_ps` is divided by."""
    busy_ps: int
    """Time in which the device works."""
    stall_ps: int
    """The part of `busy_ps` in ops that only wait."""


class Duty(TypedDict):
    """Busy time by each definition."""

    ops: Busy
    """Union of ops (of program runs if no ops are recorded), from the device's first to its last op or run."""
    modules: Busy
    """Union of program runs (of ops if no runs are recorded), over the same span."""
    capture: Busy
    """Union of ops (of program runs if no ops are recorded), over the whole capture."""


class Device(TypedDict):
    """One device: a TPU core, a GPU, or a CPU that runs XLA programs."""

    id: str
    """Id in the whole document: `HOST/TPU:0`."""
    name: Annotated[str, Head("Device")]
    """Name on its host: `TPU:0`."""
    kind: Literal["tpu", "gpu", "cpu", "other"]
    """Kind of the device."""
    host: Annotated[str, Head("Host", priority=1)]
    """Name of its host."""
    duty_cycle: Annotated[float, Head("Duty cycle")]
    """`busy_ps` / `span_ps`."""
    span_ps: Annotated[int, Head("Span", priority=5)]
    """From the start of its first op or run to the end of the last one."""
    busy_ps: Annotated[int, Head("Busy")]
    """Time in that span in which ops work; in which programs run if no ops are recorded."""
    idle_ps: Annotated[int, Head("Idle")]
    """The rest of that span."""
    barrier_ps: int
    """The part of `idle_ps` in which it waits at the start of a run for the other devices of the launch."""
    compute_ps: int
    """The part of `busy_ps` in which ops do more than wait."""
    stall_ps: Annotated[int, Head("Stall", priority=4)]
    """The rest of `busy_ps`, in ops that only wait for an asynchronous one."""
    waits_ps: WaitsByEngine
    """The parts of `stall_ps` by the engine that it waits for."""
    stalls: list[Stall]
    """Ops in which it only waits."""
    duty_cycle_xprof: float | None
    """xprof's duty cycle, which leaves out ops that wait for a SparseCore or the host, and includes the work of
    SparseCores; `null` without ops."""
    duty: Duty
    """Busy time by three definitions."""
    modules: Annotated[int, Head("Modules", priority=3)]
    """Number of program runs."""
    ops: Annotated[int, Head("Ops", priority=2)]
    """Number of op events."""


DifferenceClass = TypedDict("DifferenceClass", {"class": ClassName | Literal["device"]})


class Difference(DifferenceClass):
    """The class in which a host's mean step differs most from the median host's, without waiting."""

    longer_ps: int
    """By how much the host is longer in that class than the median host; negative if it is shorter."""


class Host(TypedDict):
    """One host, and how it compares with the others."""

    name: Annotated[str, Head("Host")]
    """Name of the host."""
    steps: Annotated[int, Head("Steps")]
    """Number of whole steps."""
    step_ps: Annotated[int | None, Head("Step (median)")]
    """Median duration of its steps; `null` without steps."""
    duty_cycle: Annotated[float | None, Head("Duty cycle")]
    """Busy time over span of its devices; `null` without devices."""
    idle_ps: ByClass
    """Idle time of its devices in gaps of at least 10 µs by what the host did, summed over devices."""
    compiles: int
    """Number of compilations."""
    shared_collectives: int
    """Number of collectives that it shares with other hosts."""
    last_count: int | None
    """Number of these at which it arrived last, beyond the clocks' uncertainty; `null` where `clock_offset_ps` is."""
    last_share: Annotated[float | None, Head("Last in")]
    """`last_count` / `shared_collectives`; `null` where `clock_offset_ps` is, or if it shares none."""
    others_wait_ps: Annotated[int | None, Head("Others wait", unit_basis="sum")]
    """How long the other hosts waited for it; `null` where `clock_offset_ps` is."""
    waits_ps: int | None
    """How long it waited for other hosts; `null` where `clock_offset_ps` is."""
    difference: Annotated[Difference | None, Head("Differs most")]
    """Where its mean step differs most from the median host's; `null` without a difference of 150 µs or more. For a cut
    file it is `unrecorded`, whatever the difference."""
    clock_offset_ps: Annotated[int | None, Head("Clock offset, µs", "number")]
    """How far its clock is ahead of the session's, from shared collectives; `null` if that is not known."""
    residual_ps: int | None
    """Uncertainty of the clock's offset, which is not given if this is too large; `null` if too few collectives are
    shared to know it."""
    drift_ppm: float | None
    """How much faster its clock runs, in parts per million; `null` where `clock_offset_ps` is."""
