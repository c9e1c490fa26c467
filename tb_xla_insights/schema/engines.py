"""The report's `async_ops`, `engines` and `slice_transfers`."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from tb_xla_insights.columns.head import Head
from tb_xla_insights.columns.rules import (
    Row,
    computed,
    first,
    key,
    known_mean,
    known_total,
    most_known,
    total,
    union,
    whole_mean,
)

Engine = Literal["sparse_core", "interconnect", "host_memory", "other_slice", "other"]
"""What executes an asynchronous op: a SparseCore, the links between chips, copies from and to the host's memory, the
network between slices, or something else, such as a copy within the chip."""

WaitsByEngine = dict[Engine, int]
"""Times in ps by engine, without zeros."""

Join = Literal["none", "order", "flow", "id"]
"""How a SparseCore's job was found to be an op's, the most certain way last: by name and order in time, by a flow, by
the ids that both record."""

WaitCause = Literal["bottleneck", "order", "late", "dependent", "peer", "slack", "bandwidth", "not_traced"]
"""Why a device waits for an op: the SparseCore has too much to do, or ran other jobs first; the op could
have started earlier; its input was only just ready; another device or slice began later; a transfer between slices
takes longer than the program leaves for it, alone or while others share the network; or the SparseCore is not in the
capture."""


class EngineTime(TypedDict):
    """A SparseCore of a device, in the device's span."""

    device: Annotated[str, Head("Device")]
    """Id of the device."""
    engine: Annotated[str, Head("Engine")]
    """Name on the device: `SparseCore 0`."""
    traced: bool
    """Whether the capture shows what it does."""
    busy_ps: Annotated[int | None, Head("Busy")]
    """Time in which it runs a job; `null` if not traced."""
    busy_while_computing_ps: Annotated[int | None, Head("While computing")]
    """The part of it in which the device computes; `null` if not traced."""
    busy_while_waiting_ps: Annotated[int | None, Head("While waiting")]
    """The part of it in which the device waits for an asynchronous op; `null` if not traced."""
    jobs: Annotated[int | None, Head("Jobs")]
    """Number of jobs; `null` if not traced."""


class AsyncOp(TypedDict):
    """An asynchronous op on one device, from the start of its start op to the end of its done op."""

    op: Annotated[str, Head("Op", "code")]
    """Name of its start op."""
    kind: Annotated[str, Head("Kind", priority=3)]
    """What it does: `all-gather`, `copy` …"""
    engine: Annotated[Engine, Head("Engine", "words")]
    """What executes it."""
    device: Annotated[str, Head("Device", priority=2)]
    """Id of the device."""
    annotation: Annotated[str | None, Head("Annotation", priority=5)]
    """Path of its annotation; `null` without one."""
    count: Annotated[int, Head("Count", priority=4)]
    """Number of times."""
    window_ps: Annotated[int, Head("Under way")]
    """Their time from start to end."""
    hidden_ps: Annotated[int, Head("Hidden", priority=1)]
    """The part of it in which the device computes."""
    exposed_ps: int
    """The rest of it."""
    wait_ps: Annotated[int, Head("Waits")]
    """Own time of the done ops."""
    wait_own_ps: Annotated[int | None, Head("Own", priority=6)]
    """The part of `wait_ps` in which the SparseCore runs this op; `null` if its jobs are not known."""
    wait_queue_ps: Annotated[int | None, Head("Queue", priority=6)]
    """The part of `wait_ps` before, in which the SparseCore runs other jobs; `null` if they are not known."""
    ready_before_ps: int | None
    """Time from when its input was ready to its start; `null` if that is not known."""
    input: str | None
    """Name of its operand that was ready last; `null` if that is not known."""
    hideable_ps: int | None
    """The part of `wait_ps` that would have passed earlier, had the op started as soon as its input was ready and its
    engine idle; `null` if that is not known."""
    peer_ps: int
    """The part of `wait_ps` before another device had begun the same op."""
    bytes: Annotated[int | None, Head("Size", priority=7)]
    """Bytes that it moves; `null` if not recorded."""
    bytes_per_s: Annotated[int | None, Head("Per second", "bytes", priority=7)]
    """Bytes per second of their time, of copies between device and host memory for which the device waits, so that they
    end when the data is there; others that are under way at the same time share the link. `null` for other ops, without
    a wait, and if the bytes are not recorded."""
    join: Join
    """How the SparseCore's jobs were found; of several ways the least certain one."""
    cause: Annotated[WaitCause | None, Head("Why", "words")]
    """Why the device waits: `bottleneck`, the SparseCore has too much to do; `order`, it ran other jobs first; `late`,
    the op could have started earlier; `dependent`, its input was only just ready; `peer`, another device or slice
    began later; `slack`, a transfer between slices takes longer than the program leaves for it; `bandwidth`, it does
    while others share the network; `not_traced`, the SparseCore is not in the capture. `null` if the device hardly
    waits, or if that is not known."""


def rate_on_the_way(row: Row) -> int | None:
    """The bytes that a transfer between slices receives per second in which its data is on the way."""
    network_ps = (row["network_mean_ps"] or 0) * row["network_count"]
    return None if row["bytes"] is None or not network_ps else int(row["bytes"] * 10**12 // network_ps)


class SliceTransfer(TypedDict):
    """A transfer between slices, over all devices: a send, a receive, or both with one name."""

    transfer: Annotated[str, key, Head("Transfer", "code")]
    """Its name, which sends and receives share; without one, that of its op."""
    program: Annotated[str, key]
    """Name of the program."""
    kind: Annotated[str, key, Head("Kind", priority=3)]
    """What it does: `all-reduce`, `one-to-one` …; `send`, `recv` or `send and recv` if that is not recorded."""
    annotation: Annotated[str | None, first, Head("Annotation", priority=5)]
    """Path of its annotation; `null` without one."""
    send: Annotated[str | None, first]
    """Name of the op that sends; `null` without one."""
    recv: Annotated[str | None, first]
    """Name of the op that receives; `null` without one."""
    peers: Annotated[list[int], union(order=lambda peer: peer), Head("From slices", priority=5)]
    """Numbers of the slices that data comes from; empty if they are not recorded."""
    count: Annotated[int, total, Head("Count", priority=4)]
    """Number of times."""
    window_ps: Annotated[int, total]
    """Their time from the start of the first op to the end of the last."""
    slack_mean_ps: Annotated[int, whole_mean("count"), Head("Slack", priority=8)]
    """What the program leaves for one: mean time from its start until it is needed, without the ops of all transfers
    between slices."""
    network_mean_ps: Annotated[int | None, known_mean("network_count"), Head("On the way", priority=8)]
    """Mean time in which its data is on the way; `null` if that is not recorded."""
    network_count: Annotated[int, total]
    """Number of times for which that is recorded."""
    wait_mean_ps: Annotated[int, whole_mean("count"), Head("Waits", priority=8)]
    """Mean wait for one."""
    wait_ps: Annotated[int, total, Head("All waits")]
    """Own time of the done ops."""
    issue_ps: Annotated[int, total]
    """Own time of the ops that start them; with `wait_ps` what xprof calls stall."""
    late: Annotated[int | None, known_total, Head("Peer late", priority=7)]
    """Number of times in which at least half of the wait passed before the other slice sent; `null` if that is not
    recorded."""
    late_steps: Annotated[list[int], union(order=lambda step: step)]
    """The first 10 steps of each host with such a time: their numbers, else their indices."""
    peer_ps: Annotated[int | None, known_total]
    """The part of `wait_ps` before the other slice sent; `null` if that is not recorded."""
    short_ps: Annotated[int | None, known_total]
    """The part of `wait_ps` in which the transfer takes longer than the program leaves for it; `null` if that is not
    recorded."""
    shared_ps: Annotated[int | None, known_total]
    """The part of the time on the way in which data of other transfers is on the way to the host; `null` if that is not
    recorded."""
    bytes: Annotated[int | None, known_total, Head("Received", priority=6)]
    """Bytes that it receives from other slices in the times of `network_count`; `null` if they are not recorded."""
    bytes_per_s: Annotated[int | None, computed(rate_on_the_way), Head("Per second", "bytes", priority=6)]
    """These bytes per second on the way; `null` if either is not recorded."""
    unpaired: Annotated[int, total]
    """Number of start and done ops without their counterpart in the same run, which are in no other column."""
    cause: Annotated[WaitCause | None, most_known("wait_ps"), Head("Why", "words")]
    """Why the devices wait: `peer`, the other slice sends late; `slack`, it takes longer than the program leaves for
    it; `bandwidth`, it does while others share the network. `null` if they hardly wait, or if that is not known."""
