"""The report's `steps` and `step_idle`."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.columns.head import Head
from tb_xla_insights.columns.rules import counts, total
from tb_xla_insights.columns.shift import instant, step_index
from tb_xla_insights.schema.common import ByClass

StepSource = Literal["annotation", "steps_line", "step_marker", "modules"]


class Step(TypedDict):
    """One whole step of one host."""

    index: Annotated[int, step_index]
    """Index in `steps`, to which `step` refers elsewhere in the document."""
    name: str
    """Name of the step's annotation or program."""
    source: StepSource
    """What the steps of this capture are found by."""
    number: Annotated[int | None, Head("Step", "text")]
    """Number that the program gave it; `null` without one."""
    host: Annotated[str, Head("Host", priority=7)]
    """Name of the host."""
    start_ps: Annotated[int, instant, Head("Start", priority=1)]
    """Start of the step."""
    duration_ps: Annotated[int, Head("Time")]
    """Duration of the step."""
    device_busy_ps: Annotated[int, Head("Launched work (busiest core)")]
    """Work of the busiest core on what the step launched, whenever it ran; if the steps come from a device, its work
    during the step."""
    device_work_ps: int | None
    """Work of a core during the step, mean of the host's cores; `null` without cores at work."""
    executions: Annotated[int, Head("Executions", priority=5)]
    """Number of launches."""
    compiles: Annotated[int, Head("Compiles", priority=6)]
    """Number of compilations."""
    early_syncs: Annotated[int, Head("Early syncs", priority=4)]
    """Number of early executions."""
    input_syncs: Annotated[int, Head("Input syncs", priority=2)]
    """Number of input syncs: executions that compute the inputs of a dynamo execution."""
    from_device: Annotated[int, Head("Reads", priority=3)]
    """Number of reads from the device on the driving thread."""
    host_ps: Annotated[ByClass, Head("What the host did")]
    """What the driving thread did; adds up to `duration_ps`."""


class StepTimes(TypedDict):
    """Sums over steps and cores."""

    time_ps: Annotated[int, total]
    """Duration of the steps, once per core; the spans of devices where there are no steps."""
    work_ps: Annotated[int, total]
    """Time in which cores work."""
    stall_ps: Annotated[int, total]
    """The part of `work_ps` in ops that only wait."""
    idle_ps: Annotated[int, total]
    """`time_ps` - `work_ps`."""
    small_ps: Annotated[int, total]
    """The part of `idle_ps` in gaps below 10 µs."""
    edges_ps: Annotated[int, total]
    """The part of `idle_ps` before a core's first and after its last work, where no gap is; also part of
    `by_class_ps`."""
    by_class_ps: Annotated[ByClass, counts(CLASSES)]
    """`idle_ps` without `small_ps`, by what the host did."""


class DeviceStepTimes(StepTimes):
    """Sums over the steps of one device."""

    id: str
    """Id of the device."""
    host: str
    """Name of its host."""
    steps: int
    """Number of whole steps of the host."""


class LeftOut(TypedDict):
    """A host that is not part of the mean step."""

    host: str
    """Name of the host."""
    reason: Literal["no_device_work", "no_steps"]
    """Why."""


class PerStepAndCore(TypedDict):
    """Means per step and core."""

    work_ps: int | None
    """Device work; `null` if no core recorded work."""
    stall_ps: int | None
    """The part of `work_ps` in ops that only wait; `null` where that is."""
    idle_ps: int | None
    """Idle time; `null` where `work_ps` is."""
    by_class_ps: ByClass | None
    """`idle_ps` without `small_ps`, by what the host did; `null` where `work_ps` is."""
    small_ps: int | None
    """Idle time in gaps below 10 µs; `null` where `work_ps` is."""


class MeanStep(PerStepAndCore):
    """The mean step: device work and idle time in it, per step and core. `work_ps + idle_ps = step_ps`."""

    steps: int
    """Number of whole steps; 0: the means are per core, from first to last run."""
    cores: int
    """Number of cores with work."""
    step_ps: int | None
    """Mean duration of a step; `null` without steps."""
    median_ps: int | None
    """Median duration of a step; `null` without steps."""
    all_cores: StepTimes | None
    """The sums over all steps and cores; `null` if no core recorded work."""
    left_out: list[LeftOut]
    """Hosts without device work or without steps."""


class StepIdle(MeanStep):
    """The mean step: device work and idle time in it, per step and core, and their sums by device. `work_ps + idle_ps =
    step_ps`."""

    devices: list[DeviceStepTimes]
    """The sums by device."""
