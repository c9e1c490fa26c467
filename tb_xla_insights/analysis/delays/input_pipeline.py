"""Whether the device waits for data: which threads load it, how long the driving thread waits for a batch, and what
overlaps with loading.

One analysis for every way to load: hand-written annotations and torch loaders on the driving thread, loader threads
(MpDeviceLoader's, tf.data's, or those whose annotations say that they load), and infeed on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from tb_xla_insights.analysis.delays.transfers import TO_DEVICE, find_transfers
from tb_xla_insights.analysis.host.classes import host_class_segments, thread_segments
from tb_xla_insights.analysis.idle.busy import busy_on_any_device
from tb_xla_insights.analysis.idle.idle_time import STARVED, find_gaps
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag, is_loading_annotation
from tb_xla_insights.analysis.opcodes import instruction_name
from tb_xla_insights.analysis.thresholds import INFO_SHARE, WARNING_SHARE
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import (
    Intervals,
    own_time_intervals,
    span_intervals,
    union,
    union_all,
)
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.classes import INPUT
from tb_xla_insights.trace.device import NestedIntervals
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import outermost_rows

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import InputPipeline as InputPipelineRow

Verdict = Literal["bound", "partly_hidden", "hidden", "unknown"]
LoadingKind = Literal["mp_device_loader", "tf_data", "loader_threads", "driving_thread", "infeed"]


@dataclass(frozen=True)
class InputPipeline:
    """How one host gets its batches.

    `kind`: the way batches arrive: `mp_device_loader`, `tf_data`, `loader_threads`, `driving_thread`, `infeed`, or
    None. `waits`: when the driving thread loads or waits for a batch. `starved_ps`: how much of `waits` is in starved
    gaps; `infeed_ps`: how long devices are in infeed ops in all other gaps; both are sums over all devices. `batches`:
    the outermost events on the driving thread that load or wait for one. `loaders`: lines of loader threads. `loading`:
    `waits`, and when loader threads load. `sending`: when data is sent to the device. `working`: when at least one
    device is busy.
    """

    kind: LoadingKind | None
    waits: Intervals
    starved_ps: int
    infeed_ps: int
    batches: Int32
    loaders: list[int]
    loading: Intervals
    sending: Intervals
    working: Intervals

    @cached_property
    def load_hidden(self) -> float | None:
        """The share of `loading` during which a device works; None without loading."""
        return self._hidden_share(self.loading)

    @cached_property
    def send_hidden(self) -> float | None:
        """The share of `sending` during which a device works; None without sending."""
        return self._hidden_share(self.sending)

    def _hidden_share(self, intervals: Intervals) -> float | None:
        total = intervals.total_ps
        hidden = int(
            covered_times(
                self.working.start_ps, self.working.end_ps, intervals.start_ps, intervals.end_ps
            ).sum()
        )
        return hidden / total if total else None


@memoised
def find_input_pipeline(trace: Trace) -> InputPipeline:
    """Finds how one host gets its batches."""
    segments = host_class_segments(trace)
    waits = union(segments.start_ps, segments.end_ps, segments.class_index == INPUT)
    loaders = trace.lines_with("loader")
    loading = union_all([waits, *(_busy_line(trace, line) for line in loaders)])
    transfers = find_transfers(trace)
    sent = transfers.row[transfers.direction == TO_DEVICE]
    batches = _batches(trace)
    gaps = find_gaps(trace)
    infeed_ps = sum(infeed_waits(trace, index).total_ps for index in range(len(trace.devices)))
    starved_ps = int(gaps.by_class_ps[gaps.kind == STARVED, INPUT].sum())
    return InputPipeline(
        kind=_kind(trace, loaders, has_infeed=bool(infeed_ps), has_waits=bool(len(waits))),
        waits=waits,
        starved_ps=starved_ps,
        infeed_ps=infeed_ps,
        batches=batches,
        loaders=loaders,
        loading=loading,
        sending=union(trace.start_ps[sent], trace.end_ps[sent]),
        working=busy_on_any_device(trace),
    )


def infeed_ps_of_runs(trace: Trace) -> Int64:
    """Returns, per run of Launches.runs, how long its device waits in infeed, as in `InputPipeline.infeed_ps`."""
    runs = find_launches(trace).runs
    infeed_ps = np.zeros(len(runs), np.int64)
    for index in range(len(trace.devices)):
        rows, waits = runs.of_device(index), infeed_waits(trace, index)
        infeed_ps[rows] = covered_times(waits.start_ps, waits.end_ps, runs.start_ps[rows], runs.end_ps[rows])
    return infeed_ps


def infeed_waits(trace: Trace, index: int) -> Intervals:
    """Returns when a device is in infeed ops in gaps that are not starved: in starved gaps, the host's waiting is
    counted."""
    gaps = find_gaps(trace)
    not_starved = union(gaps.start_ps, gaps.end_ps, (gaps.device == index) & (gaps.kind != STARVED))
    return _infeed(trace, trace.devices[index].ops).within(not_starved)


def _busy_line(trace: Trace, line: int) -> Intervals:
    segments = thread_segments(trace, line)
    return union(segments.start_ps, segments.end_ps)


def _infeed(trace: Trace, ops: NestedIntervals) -> Intervals:
    """Returns when a device is in infeed ops, which its busy time leaves out."""
    is_infeed = trace.map_texts(ops.name, lambda text: instruction_name(text).startswith("infeed")) > 0
    if not is_infeed.any():
        return span_intervals(0, 0)
    op, start, end = own_time_intervals(ops.start_ps, ops.end_ps, ops.parent)
    return union(start, end, is_infeed[op])


def _batches(trace: Trace) -> Int32:
    """Returns the outermost events of class input on the driving thread."""
    driving = trace.lines_with("driving")
    if not driving:
        return np.zeros(0, np.int32)
    rows = trace.lines[driving[0]].rows
    is_input = trace.class_indices(rows) == INPUT
    row = np.arange(rows.start, rows.stop, dtype=np.int32)
    is_annotation = trace.annotation_mask[rows]
    is_input = np.where(is_annotation, is_loading_annotation(trace)[trace.metadata_index[rows]], is_input)
    return outermost_rows(trace.parent, row[is_input])


def _kind(trace: Trace, loaders: list[int], *, has_infeed: bool, has_waits: bool) -> LoadingKind | None:
    """Returns the way batches arrive; None if nothing records it."""
    # Event metadata suffices, recorded events or not: only a loader puts such names into the file.
    if has_tag(trace, "mp_device_loader").any():
        return "mp_device_loader"
    if has_tag(trace, "tf_data").any():
        return "tf_data"
    if loaders:
        return "loader_threads"
    if has_infeed:
        return "infeed"
    return "driving_thread" if has_waits else None


def input_pipeline_report(trace: Trace) -> InputPipelineRow:
    """The report's `input_pipeline`.

    `wait_ps`: how long the driving threads load or wait for batches. `idle_ps`: how long devices are idle meanwhile in
    starved gaps, or in infeed in other gaps; `share`: its share of their spans. `load_ps`, `load_hidden`: time of
    loading on any thread, and its share during which a device works. `send_ps`, `send_hidden`: the same for transfers
    to the device. `verdict`: `bound` (loading costs a tenth of the span or more), `partly_hidden`, `hidden`, or
    `unknown` if nothing recorded shows loading or no device recorded work. `late_hosts`: hosts that hold up others by
    loading; empty until the hosts are compared.
    """
    pipeline = find_input_pipeline(trace)
    row: InputPipelineRow = {
        "kind": pipeline.kind,
        "batches": len(pipeline.batches),
        "loader_threads": len(pipeline.loaders),
        "wait_ps": pipeline.waits.total_ps,
        "idle_ps": pipeline.starved_ps + pipeline.infeed_ps,
        "infeed_ps": pipeline.infeed_ps,
        "share": 0.0,
        "load_ps": pipeline.loading.total_ps,
        "load_hidden": pipeline.load_hidden,
        "send_ps": pipeline.sending.total_ps,
        "send_hidden": pipeline.send_hidden,
        "verdict": "unknown",
        "late_hosts": [],
    }
    return with_input_verdict(
        row, sum(end - start for start, end in (device.span_ps for device in trace.devices))
    )


def with_input_verdict(row: InputPipelineRow, span_ps: int) -> InputPipelineRow:
    """The report's `input_pipeline` with its `share` and `verdict`. `span_ps`: the sum of all devices' spans."""
    share = row["idle_ps"] / span_ps if span_ps else 0.0
    return {
        **row,
        "share": share,
        "verdict": input_verdict(share, is_known=row["kind"] is not None and span_ps > 0),
    }


def input_verdict(share: float, is_known: bool) -> Verdict:
    """Returns the verdict for the share of the devices' spans that loading costs. `is_known`: whether devices worked
    and loading was recorded."""
    if share >= WARNING_SHARE:
        return "bound"
    if not is_known:
        return "unknown"
    return "partly_hidden" if share >= INFO_SHARE else "hidden"
