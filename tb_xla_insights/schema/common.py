"""Types that several parts of the documents share."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import ClassName
from tb_xla_insights.columns.head import Head
from tb_xla_insights.columns.rules import total

ByClass = dict[ClassName, int]
"""Picoseconds by class; a class without time is left out."""

Severity = Literal["critical", "warning", "info"]

DutyDefinition = Literal["ops", "modules", "capture"]
"""Definitions of busy time: see `schema.session.Duty`."""

ExecutionKind = Literal["lazy", "dynamo", "other"]
"""What launches a program: lazy tensors, torch.compile, or anything else."""

Join = Literal["exact", "ordered", "none"]
"""How a run was matched to its launch: by an id in the capture, by order, or not at all."""

BoundBy = Literal["compute", "memory", "link", "wait", "neither", "unknown", "mixed"]
"""What bounds an op (docs/definitions.md, "Ops"); `mixed`: a sum of ops of which no bound has most time."""


class Spread(TypedDict):
    """The range of a time over the runs of a program."""

    min: int
    """Minimum."""
    median: int
    """Median: the lower one of two in the middle; for several hosts the median of their medians, each weighted by
    its number of runs."""
    max: int
    """Maximum."""


class Sums(TypedDict):
    """Host, device, queue and overhead time of executions; `host_ps` is the sum of the other three."""

    launches: Annotated[int, total, Head("Launches", priority=1)]
    """Number of execute calls; a call that runs on several cores counts once."""
    count: Annotated[int, total, Head("Runs")]
    """Number of runs; one per core."""
    host_ps: Annotated[int, total, Head("Host")]
    """From the start of the execute call to the later of its end and the end of the run, summed over runs."""
    device_ps: Annotated[int, total, Head("Device")]
    """Time of the runs on the device."""
    queue_ps: Annotated[int, total, Head("Queue", priority=4)]
    """Time that the launched program waited for earlier programs on its core."""
    overhead_ps: Annotated[int, total, Head("Overhead")]
    """The rest of `host_ps`."""
