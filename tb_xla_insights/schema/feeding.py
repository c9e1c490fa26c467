"""The report's `transfers`, `input_pipeline`, `collectives` and `outside_span`."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from tb_xla_insights.columns.head import Head
from tb_xla_insights.columns.rules import first, key, known_total, total
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


class InputPipelineSums(TypedDict):
    """How batches reach the device."""

    kind: Literal["mp_device_loader", "tf_data", "loader_threads", "driving_thread", "infeed"] | None
    """How batches are loaded; of several hosts, on the first one for which it is known; `null` if unknown."""
    batches: int
    """Number of times that the driving thread loads or waits for a batch."""
    loader_threads: int
    """Number of threads that load."""
    wait_ps: int
    """Time that driving threads load or wait for batches."""
    idle_ps: int
    """Idle time of devices that loading explains, `infeed_ps` included; over all devices."""
    infeed_ps: int
    """Time that devices wait in infeed ops in gaps that are not starved: in starved ones, the host's loading counts."""
    load_ps: int
    """Time that threads load."""
    load_hidden: float | None
    """The share of it in which a device works; `null` where nothing loads."""
    send_ps: int
    """Time that batches are sent to devices."""
    send_hidden: float | None
    """The share of it in which a device works; `null` where nothing is sent."""


class InputPipeline(InputPipelineSums):
    """How batches reach the device, and whether it waits for them."""

    share: float
    """`idle_ps` as a share of the spans of the devices."""
    verdict: Literal["bound", "partly_hidden", "hidden", "unknown"]
    """What `share` means: at least 10 %, at least 3 %, less, or not known. With `late_hosts`, the gain of the finding
    `straggler` counts if it is larger."""
    late_hosts: list[str]
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


class OutsidePart(TypedDict):
    """A part of the capture without device work."""

    duration_ps: int
    """Its duration; for several hosts the mean."""
    by_class_ps: ByClass
    """What the host did; for several hosts, the sum over all hosts with devices."""
    longest: Meanwhile | None
    """The event in which the host spent most of it; for several hosts, the longest of any host; `null` without one."""


class TimeOutsideSpan(TypedDict):
    """Time before the first and after the last run of any device, without the profiler's own start and stop."""

    before: OutsidePart
    """Before the first run."""
    after: OutsidePart
    """After the last run; where a host stops the profiler the capture ends there."""
    profiler_start_ps: int
    """How long the profiler's start takes, which is not part of `capture_ps`; for several hosts the mean."""
    profiler_stop_ps: int
    """How long the profiler's stop takes, which is not part of `capture_ps`; for several hosts the mean."""
    capture_ps: int
    """Duration of the capture without them; for several hosts the mean."""
    share: float
    """Both parts as a share of the capture."""
    text: str | None
    """The same as a sentence; `null` where the share is small."""
