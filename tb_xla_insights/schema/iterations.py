"""The report's `iterations`."""

from __future__ import annotations

import operator
from typing import Annotated, Literal

from typing_extensions import TypedDict

from tb_xla_insights.columns.head import Head
from tb_xla_insights.columns.merge import rows_of
from tb_xla_insights.columns.rules import Rule, first, key, total

Part = Literal[
    "no_requests",
    "schedule",
    "build",
    "to_device",
    "launch",
    "wait",
    "results",
    "compile",
    "other",
    "unrecorded",
]
"""What a server's thread does: it has no request; chooses a batch; builds its inputs; sends them; launches; waits for
the device, or for what it returns; gives tokens to requests; compiles; other recorded work; nothing recorded. In the
order of its loop."""

TimesByPart = dict[Part, int]
"""Times in ps by part, without zeros."""

BatchKind = Literal["decode", "speculative", "mixed", "prefill", "with_prefill", "iteration"]
"""What a batch consists of: the next token of each request; several tokens of each, guessed ahead; prompts beside
these; prompts alone; prompts, alone or not; not known."""

SchedulingKind = Literal["sync", "ahead", "drained"]
"""Whether the next batch is chosen when the device has done everything, while it still works, or sometimes so."""


class Scheduling(TypedDict):
    """How far a server schedules ahead of the device."""

    kind: SchedulingKind
    """`sync`: nothing is in flight at the start of nine in ten iterations; `ahead`: of at most one in four."""
    ahead_by: int | None
    """The usual number of iterations in flight at the start of one; `null` if `sync`."""
    share: float
    """Share of the iterations at whose start nothing is in flight."""


class SlotRange(TypedDict):
    """The values of a number in the names of iterations."""

    min: int
    """The smallest."""
    median: int
    """The median, of two in the middle the lower one."""
    max: int
    """The largest."""


class WallTime(TypedDict):
    """Durations of iterations."""

    mean: int
    """The mean in ps, rounded down."""
    p50: int
    """In ps: half of the iterations, or more, are not longer."""
    p99: int
    """In ps: 99 % of the iterations, or more, are not longer; of fewer than a hundred, the longest one."""


_of_most = Rule(min, lambda value, row, at: (-row["count"], at, value), operator.itemgetter(2))
"""That of the host with the most iterations of the kind. Sums of a row stay exact."""


class IterationKind(TypedDict):
    """Iterations of one kind, with means per iteration and device. `wall_ps.mean` is `device_ps + bubble_ps`;
    `bubble_by_part_ps` adds up to `bubble_ps`, `hidden_by_part_ps` to `device_ps`."""

    kind: Annotated[BatchKind, key, Head("Kind", "words")]
    """What their batches consist of."""
    bucket: Annotated[int | None, key]
    """Where names do not tell the kind: the largest dimension in which the parameters of the longest program differ
    between iterations; `null` if that is not known."""
    template: Annotated[str, key, Head("Annotation", "code", priority=2)]
    """Name of the annotation that marks them, with `{}` in place of numbers."""
    count: Annotated[int, total, Head("Iterations")]
    """Number of iterations."""
    slots: Annotated[dict[str, SlotRange], _of_most]
    """The numbers in their names, by the word after each, without one that only counts iterations."""
    wall_ps: Annotated[WallTime, _of_most]
    """Time from the start of one to the start of the next."""
    device_ps: Annotated[int, _of_most, Head("Device")]
    """Time in which a device works."""
    bubble_ps: Annotated[int, _of_most, Head("Device waits")]
    """Time in which it does not."""
    bubble_by_part_ps: Annotated[TimesByPart, _of_most]
    """The same by what the server's thread does meanwhile."""
    hidden_by_part_ps: Annotated[TimesByPart, _of_most]
    """What that thread does while the device works."""
    launched_ps: Annotated[int, _of_most, Head("Its programs", priority=2)]
    """How long a device works for what it launches, which may be later if the server schedules ahead."""
    round_trips: Annotated[int, _of_most, Head("Round trips", priority=3)]
    """How often an iteration usually reads from the device; reads between which nothing is launched are one."""
    arrays_sent: Annotated[int, _of_most, Head("Arrays sent", priority=4)]
    """How many transfers to the device an iteration usually makes."""
    programs: Annotated[int, _of_most, Head("Launches", priority=5)]
    """How many programs an iteration usually launches."""


class Iterations(TypedDict):
    """The loop of a server that decodes."""

    scheduling: Annotated[Scheduling | None, first]
    """How far it schedules ahead; `null` without two whole iterations."""
    no_requests_ps: Annotated[int, total]
    """Idle time of the devices, over all of them, in which the server has no request to work on."""
    kinds: Annotated[list[IterationKind], rows_of(IterationKind, order_by="count")]
    """The iterations by kind, the most frequent first."""
