"""The report: `xla-insights report --json`, `session.report()`."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import TypedDict

from tb_xla_insights.schema.annotations import Annotation, Propagation
from tb_xla_insights.schema.device_work import DeviceWork, Op
from tb_xla_insights.schema.engines import AsyncOp, EngineTime, SliceTransfer
from tb_xla_insights.schema.feeding import Collective, InputPipeline, TimeOutsideSpan, TransfersByDirection
from tb_xla_insights.schema.findings import Finding, Mistakes, Verdict
from tb_xla_insights.schema.gaps import Gaps
from tb_xla_insights.schema.iterations import Iterations
from tb_xla_insights.schema.launches import Compile, EarlyExecution, Execution, Launching, Program
from tb_xla_insights.schema.memory import ProgramMemory
from tb_xla_insights.schema.session import Device, Diagnostic, Environment, Host, SessionHead
from tb_xla_insights.schema.steps import Step, StepIdle
from tb_xla_insights.schema.texts import Metrics, Recorded, Throughput


class HostReport(TypedDict):
    """The report of one host alone, or of all hosts, without the findings."""

    schema: int
    """Increases if a key changes its meaning or is removed."""
    session: SessionHead
    """The session."""
    environment: Environment
    """Framework, runtime and accelerator."""
    diagnostics: list[Diagnostic]
    """What limits the analysis."""
    devices: list[Device]
    """One row per device."""
    steps: Sequence[Step]
    """One row per whole step of each host."""
    gaps: Gaps
    """Idle time of the devices."""
    step_idle: StepIdle
    """The mean step."""
    executions: list[Execution]
    """Runs by program and by how they were joined to their launches; most device time first."""
    programs: list[Program]
    """Runs by program; most device time first."""
    launching: Launching
    """Cost of launching, and how far the host runs ahead."""
    early_executions: list[EarlyExecution]
    """Executions that something forced before the step's end."""
    compiles: list[Compile]
    """One row per compilation."""
    transfers: TransfersByDirection
    """Transfers between hosts and devices."""
    input_pipeline: InputPipeline
    """How batches reach the devices."""
    collectives: list[Collective]
    """One row per collective op; most time first."""
    engines: list[EngineTime]
    """SparseCores of the devices; none on other kinds of devices."""
    async_ops: list[AsyncOp]
    """One row per asynchronous op and device; most waiting first."""
    slice_transfers: list[SliceTransfer]
    """One row per transfer between slices; most waiting first."""
    iterations: Iterations | None
    """The loop of a server that decodes; `null` for any other program."""
    outside_span: TimeOutsideSpan | None
    """Time before the first and after the last run; `null` where no device recorded work."""
    annotations: list[Annotation]
    """One row per path; outer ones before inner ones."""
    propagation: Propagation
    """Which device ops carry annotations, and in which order."""
    ops: list[Op]
    """One row per program, op and annotation; most time first."""
    device_work: DeviceWork
    """Sums over `ops`."""
    memory: list[ProgramMemory]
    """One row per program that ran and whose buffers the capture has; the highest peak first."""
    metrics: Metrics | None
    """Metrics report, explanation of graph breaks, and logs beside the capture; `null` without any."""
    recorded: Recorded | None
    """Circumstances that `record` wrote down; `null` without them."""
    throughput: Throughput | None
    """Samples per second; `null` without steps, or if the number of samples per step is unknown."""


class HostsReport(HostReport):
    """The report of all hosts, without the verdict."""

    findings: list[Finding]
    """What to change, in the order in which to look at it: mistakes, then limits, or limits first."""
    mistakes: Mistakes
    """What the mistakes cost together."""
    hosts: list[Host]
    """One row per host."""


class Report(HostsReport):
    """The report of a session."""

    verdict: Verdict
    """What the report says in a few sentences."""
