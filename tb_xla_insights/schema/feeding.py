"""The report's `transfers`, `input_pipeline`, `collectives` and `outside_span`."""

from __future__ import annotations

import operator
from typing import Annotated, Literal

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.columns.head import Head
from tb_xla_insights.columns.merge import row_of
from tb_xla_insights.columns.rules import (
    Row,
    Rule,
    computed,
    counts,
    first,
    key,
    known_total,
    mean,
    total,
    whole_mean,
)
from tb_xla_insights.schema.common import ByClass
from tb_xla_insights.schema.gaps import Meanwhile


class Transfers(TypedDict):
    """Transfers in one direction."""

    count: Annotated[int, total, Head("Count")]
    """Number of transfers."""
    per_step: Annotated[float | None, first, Head("Per step", priority=2)]
    """Mean number per step; `null` without steps."""
    duration_ps: Annotated[int, total, Head("Time")]
    """Their time, summed over threads."""
    bytes: Annotated[int | None, known_total, Head("Size")]
    """Their bytes; `null` if no event records them."""
    bytes_per_step: Annotated[int | None, first, Head("Size per step", priority=1)]
    """Mean bytes per step; `null` if none is known, or without steps."""
    known_size_count: Annotated[int, total]
    """Number of transfers whose bytes are known."""
    in_steps: Annotated[int, total]
    """Number of transfers in whole steps."""
    bytes_in_steps: Annotated[int | None, known_total]
    """Bytes of these; `null` if none is known."""


class TransfersByDirection(TypedDict):
    """Transfers by direction."""

    to_device: Transfers
    """From host to device."""
    from_device: Transfers
    """From device to host."""


class InputPipeline(TypedDict):
    """How batches reach the device, and whether it waits for them."""

    kind: Annotated[
        Literal["mp_device_loader", "tf_data", "loader_threads", "driving_thread", "infeed"] | None, first
    ]
    """How batches are loaded; of several hosts, on the first one for which it is known; `null` if unknown."""
    batches: Annotated[int, total]
    """Number of times that the driving thread loads or waits for a batch."""
    loader_threads: Annotated[int, total]
    """Number of threads that load."""
    wait_ps: Annotated[int, total]
    """Time that driving threads load or wait for batches."""
    idle_ps: Annotated[int, total]
    """Idle time of devices that loading explains, `infeed_ps` included; over all devices."""
    infeed_ps: Annotated[int, total]
    """Time that devices wait in infeed ops in gaps that are not starved: in starved ones, the host's loading counts."""
    share: Annotated[float, first]
    """`idle_ps` as a share of the spans of the devices."""
    load_ps: Annotated[int, total]
    """Time that threads load."""
    load_hidden: Annotated[float | None, mean("load_ps", None)]
    """The share of it in which a device works; `null` where nothing loads."""
    send_ps: Annotated[int, total]
    """Time that batches are sent to devices."""
    send_hidden: Annotated[float | None, mean("send_ps", None)]
    """The share of it in which a device works; `null` where nothing is sent."""
    verdict: Annotated[Literal["bound", "partly_hidden", "hidden", "unknown"], first]
    """What `share` means: at least 10 %, at least 3 %, less, or not known. With `late_hosts`, the gain of the finding
    `straggler` counts if it is larger."""
    late_hosts: Annotated[list[str], first]
    """Hosts that hold up the others by loading."""


class Collective(TypedDict):
    """One collective op, over all devices."""

    op: Annotated[str, key, Head("Op", "code")]
    """Name of the op."""
    kind: Annotated[str, key, Head("Kind")]
    """Kind of the collective: `all-reduce`, `all-gather` …"""
    count: Annotated[int, total, Head("Count")]
    """Number of events; the start and the done op of an asynchronous collective are two."""
    duration_ps: Annotated[int, total, Head("Time")]
    """Their own time."""
    exposed_ps: Annotated[int, total, Head("Exposed")]
    """The part of it in which nothing else runs on the device."""
    exposed_in_steps_ps: Annotated[int, total]
    """The same of the events that begin in whole steps; 0 without steps."""


_host_mean = whole_mean(lambda _: 1)
_longest = Rule(
    min,
    lambda event, _, at: (-event["duration_ps"] if event else 1, at, event),
    operator.itemgetter(2),
)


def share_outside(row: Row) -> float:
    """Both parts of the report's `outside_span` as a share of the capture."""
    outside_ps = sum(row[part]["duration_ps"] for part in ("before", "after"))
    return outside_ps / row["capture_ps"] if row["capture_ps"] else 0.0


class OutsidePart(TypedDict):
    """A part of the capture without device work."""

    duration_ps: Annotated[int, _host_mean]
    """Its duration; for several hosts the mean."""
    by_class_ps: Annotated[ByClass, counts(CLASSES)]
    """What the host did; for several hosts, the sum over all hosts with devices."""
    longest: Annotated[Meanwhile | None, _longest]
    """The event in which the host spent most of it; for several hosts, the longest of any host; `null` without one."""


class TimeOutsideSpan(TypedDict):
    """Time before the first and after the last run of any device, without the profiler's own start and stop."""

    before: Annotated[OutsidePart, row_of(OutsidePart)]
    """Before the first run."""
    after: Annotated[OutsidePart, row_of(OutsidePart)]
    """After the last run; where a host stops the profiler the capture ends there."""
    profiler_start_ps: Annotated[int, _host_mean]
    """How long the profiler's start takes, which is not part of `capture_ps`; for several hosts the mean."""
    profiler_stop_ps: Annotated[int, _host_mean]
    """How long the profiler's stop takes, which is not part of `capture_ps`; for several hosts the mean."""
    capture_ps: Annotated[int, _host_mean]
    """Duration of the capture without them; for several hosts the mean."""
    share: Annotated[float, computed(share_outside)]
    """Both parts as a share of the capture."""
    text: Annotated[str | None, first]
    """The same as a sentence; `null` where the share is small."""
