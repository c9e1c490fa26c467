"""Whether the device waits for data: who loads, how long the driving thread waits for a batch, and what
overlaps.

One answer for every way to load: hand-written annotations and torch loaders on the driving thread, loader
threads (MpDeviceLoader's, tf.data's, or those whose annotations speak of loading), and infeed on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from tb_xla_insights.analysis.device.opcodes import instruction_name
from tb_xla_insights.analysis.host.classes import host_class_segments, thread_segments
from tb_xla_insights.analysis.host.transfers import find_transfers
from tb_xla_insights.analysis.idle.busy import busy_on_any_device
from tb_xla_insights.analysis.idle.idle_time import STARVED, find_gaps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag, is_loading_annotation
from tb_xla_insights.analysis.thresholds import INFO_SHARE, WARNING_SHARE
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import (
    Intervals,
    own_time_intervals,
    span_intervals,
    union,
    union_all,
)
from tb_xla_insights.catalog.classes import INPUT
from tb_xla_insights.trace.annotations import annotated
from tb_xla_insights.trace.model import Int32, SessionTrace, Spans, Trace
from tb_xla_insights.trace.nesting import outermost_rows

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import InputPipeline as InputPipelinePart

Verdict = Literal["bound", "partly_hidden", "hidden", "unknown"]
Loading = Literal["mp_device_loader", "tf_data", "loader_threads", "driving_thread", "infeed"]


@dataclass(frozen=True)
class InputPipeline:
    """What one host does to get batches.

    `kind`: how batches come: `mp_device_loader`, `tf_data`, `loader_threads`, `driving_thread`, `infeed`, or
    None. `waits`: when the driving thread loads or waits for a batch. `starved_ps`: how much of them lies in
    starved gaps, and how much devices idled in infeed ops, over all devices. `batches`: the outermost events
    that load or wait for one on the driving thread. `loaders`: lines of loader threads. `loading`: when
    those, or the driving thread, load. `sending`: when data goes to the device.
    """

    kind: Loading | None
    waits: Intervals
    starved_ps: int
    infeed_ps: int
    batches: Int32
    loaders: list[int]
    loading: Intervals
    sending: Intervals
    working: Intervals
    """When some device is busy."""

    @cached_property
    def load_hidden(self) -> float | None:
        """The share of `loading` in which a device works; None where nothing loads."""
        return self._hidden(self.loading)

    @cached_property
    def send_hidden(self) -> float | None:
        """The same of `sending`."""
        return self._hidden(self.sending)

    def _hidden(self, what: Intervals) -> float | None:
        total = what.total_ps
        hidden = int(
            covered_times(self.working.start_ps, self.working.end_ps, what.start_ps, what.end_ps).sum()
        )
        return hidden / total if total else None


@memoised
def find_input_pipeline(trace: Trace) -> InputPipeline:
    """How one host gets its batches."""
    segments = host_class_segments(trace)
    mine = segments.class_index == INPUT
    waits = union(segments.start_ps, segments.end_ps, mine)
    loaders = trace.lines_with("loader")
    loading = union_all([waits, *(_busy_line(trace, line) for line in loaders)])
    transfers = find_transfers(trace)
    sent = transfers.row[transfers.direction == 0]
    infeed = [_infeed(trace, device.ops) for device in trace.devices]
    batches = _batches(trace)
    gaps = find_gaps(trace)
    idle_in_infeed = 0
    for device, its in enumerate(infeed):
        here = (gaps.device == device) & (
            gaps.kind != STARVED
        )  # of starved ones the host's waiting is counted
        idle_in_infeed += int(
            covered_times(its.start_ps, its.end_ps, gaps.start_ps[here], gaps.end_ps[here]).sum()
        )
    starved = int(gaps.shares[gaps.kind == STARVED, INPUT].sum())
    return InputPipeline(
        _kind(trace, loaders, bool(idle_in_infeed), bool(len(waits))), waits, starved, idle_in_infeed, batches, loaders,
        loading, union(trace.start_ps[sent], trace.end_ps[sent]), busy_on_any_device(trace),
    )  # fmt: skip


def _busy_line(trace: Trace, line: int) -> Intervals:
    segments = thread_segments(trace, line)
    return union(segments.start_ps, segments.end_ps)


def _infeed(trace: Trace, ops: Spans) -> Intervals:
    """When a device is in infeed ops, which busy leaves out."""
    chosen = trace.map_texts(ops.name, lambda text: instruction_name(text).startswith("infeed")) > 0
    if not chosen.any():
        return span_intervals(0, 0)
    op, start, end = own_time_intervals(ops.start_ps, ops.end_ps, ops.parent)
    return union(start, end, chosen[op])


def _batches(trace: Trace) -> Int32:
    """The outermost events of class input on the driving thread."""
    driving = trace.lines_with("driving")
    if not driving:
        return np.zeros(0, np.int32)
    rows = trace.lines[driving[0]].rows
    mine = trace.class_indices(rows) == INPUT
    its = np.arange(rows.start, rows.stop, dtype=np.int32)
    noted = annotated(trace)[rows]
    mine = np.where(noted, is_loading_annotation(trace)[trace.meta[rows]], mine)
    return outermost_rows(trace.parent, its[mine])


def _kind(trace: Trace, loaders: list[int], infeed: bool, waits: bool) -> Loading | None:
    # Kinds of events that the file names, whether or not one was recorded: a loader's are there for no other reason.
    known = np.flatnonzero(has_tag(trace, "loader")).tolist()
    names = {trace.strings[trace.metadata.name[entry]] for entry in known}
    if any(
        name.startswith(("cpu_loader.", "get_batch_from_cpu_queue", "cpu_data_to_xla_device"))
        for name in names
    ):
        return "mp_device_loader"
    if names:
        return "tf_data"
    if loaders:
        return "loader_threads"
    if infeed:
        return "infeed"
    return "driving_thread" if waits else None


def input_pipeline_report(session: SessionTrace) -> InputPipelinePart:
    """The report's `input_pipeline`, over all hosts.

    `wait_ps`: the driving threads load or wait for batches; `idle_ps`: devices are idle meanwhile; `share`:
    that of their spans. `load_ps` and `load_hidden`: loading on any thread, and its share while a device
    works; `send_ps` and `send_hidden`: the same for transfers to the device. `verdict`: `bound` (a tenth of
    the span or more is lost), `partly_hidden`, `hidden`, or `unknown` where nothing recorded tells of
    loading or no device recorded work. `late_hosts`: those that hold up the others by loading (none of one).
    """
    parts = [find_input_pipeline(trace) for trace in session.traces]
    span = sum(_span(trace) for trace in session.traces)
    idle = sum(part.starved_ps + part.infeed_ps for part in parts)
    load = sum(part.loading.total_ps for part in parts)
    kinds = [part.kind for part in parts if part.kind]
    share = idle / span if span else 0.0
    return {
        "kind": kinds[0] if kinds else None,
        "batches": sum(len(part.batches) for part in parts),
        "loader_threads": sum(len(part.loaders) for part in parts),
        "wait_ps": sum(part.waits.total_ps for part in parts),
        "idle_ps": idle,
        "infeed_ps": sum(part.infeed_ps for part in parts),
        "share": share,
        "load_ps": load,
        "load_hidden": _mean([(part.load_hidden, part.loading.total_ps) for part in parts]),
        "send_ps": sum(part.sending.total_ps for part in parts),
        "send_hidden": _mean([(part.send_hidden, part.sending.total_ps) for part in parts]),
        "verdict": input_verdict(share, bool(kinds) and span > 0),
        "late_hosts": [],
    }


def input_verdict(share: float, known: bool) -> Verdict:
    """What the share of the devices' spans that is lost to loading means; `known`: whether devices worked and anything
    tells of loading."""
    if share >= WARNING_SHARE:
        return "bound"
    if not known:
        return "unknown"
    return "partly_hidden" if share >= INFO_SHARE else "hidden"


def _mean(shares: list[tuple[float | None, int]]) -> float | None:
    weight = sum(total for share, total in shares if share is not None)
    return sum(share * total for share, total in shares if share is not None) / weight if weight else None


def _span(trace: Trace) -> int:
    return sum(end - start for start, end in (device.span_ps for device in trace.devices))
