"""Asynchronous ops of a TPU core from the start of their start op to the end of their done op, and how much of that
time the core's computing hides. (docs/definitions.md, "Engines")"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.engines.op_texts import (
    ENGINES,
    engine_of,
    is_start,
    started_by,
)
from tb_xla_insights.analysis.idle.busy import stalls, waiting_ops
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.opcodes import collective_kind, instruction_name, is_container
from tb_xla_insights.analysis.propagation.columns import runs_of_ops
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import NO_INTERVALS, Intervals, own_time_intervals, union
from tb_xla_insights.arrays import Int8, Int32, Int64
from tb_xla_insights.schema.engines import Engine
from tb_xla_insights.trace.model import Trace


@dataclass(frozen=True)
class Windows:
    """Asynchronous ops of one device, by their start. `start_op`, `done_op`: indices into the device's ops. `run`:
    index into Launches.runs. `engine`: index into ENGINES. `wait_ps`: the own time of the done op. `hidden_ps`: the
    part of the window in which the core computes. `unpaired`: the number of start and done ops without their
    counterpart in the same run."""

    start_op: Int32
    done_op: Int32
    run: Int32
    engine: Int8
    start_ps: Int64
    end_ps: Int64
    wait_start_ps: Int64
    wait_ps: Int64
    hidden_ps: Int64
    unpaired: int

    def __len__(self) -> int:
        return len(self.start_op)

    @property
    def window_ps(self) -> Int64:
        return self.end_ps - self.start_ps

    def of_engine(self, engine: int) -> Intervals:
        """When an asynchronous op of an engine (an index into ENGINES) is under way."""
        return union(self.start_ps, self.end_ps, self.engine == engine)


@dataclass(frozen=True)
class AsyncOps:
    """The start and done ops of one device, in order of time. `op`: index into the device's ops. `is_done`: whether it
    ends an asynchronous op. `pair`: a number that a start op and its done op share. `engine`: index into ENGINES."""

    op: Int32
    is_done: NDArray[np.bool_]
    pair: Int32
    engine: Int8


@memoised
def find_async_ops(trace: Trace, index: int) -> AsyncOps:
    """The start and done ops of a device (an index into the trace's devices)."""
    ops = trace.devices[index].ops
    is_done = waiting_ops(trace, index)
    is_async = is_done | (trace.map_texts(ops.name, is_start) > 0)
    op = np.flatnonzero(is_async).astype(np.int32)
    entry, entry_of_op = np.unique(trace.metadata_index[ops.row[op]], return_inverse=True)
    done_of_entry = np.zeros(len(entry), np.bool_)
    done_of_entry[entry_of_op] = is_done[op]
    texts = [trace.strings[name] for name in trace.metadata.name[entry].tolist()]
    categories = trace.metadata.text.get("hlo_category")
    category = ["" if at < 0 else trace.strings[at] for at in _of_entries(categories, entry)]
    start_name = [
        started_by(text) if is_done else instruction_name(text)
        for text, is_done in zip(texts, done_of_entry.tolist(), strict=True)
    ]
    engine_of_start = {
        name: engine_of(text, of_category)
        for name, text, of_category, is_done in zip(start_name, texts, category, done_of_entry, strict=True)
        if not is_done
    }
    engines = [
        ENGINES.index(engine_of_start.get(name) or engine_of(text, of_category))
        for name, text, of_category in zip(start_name, texts, category, strict=True)
    ]
    number = {name: at for at, name in enumerate(dict.fromkeys(start_name))}
    pairs = np.array([number[name] for name in start_name], np.int32)
    return AsyncOps(op, is_done[op], pairs[entry_of_op], np.array(engines, np.int8)[entry_of_op])


def _of_entries(column: Int32 | None, entries: NDArray[np.int32]) -> list[int]:
    return [-1] * len(entries) if column is None else column[entries].tolist()


@memoised
def find_windows(trace: Trace, index: int) -> Windows:
    """The asynchronous ops of a device (an index into the trace's devices): each done op with the first start op of its
    pair in the same run that no earlier done op ended."""
    ops, found = trace.devices[index].ops, find_async_ops(trace, index)
    start, done = _paired(found, ops.start_ps[found.op], runs_of_ops(trace, index)[found.op])
    order = np.argsort(ops.start_ps[found.op[start]], kind="stable")
    start, done = start[order], done[order]
    start_op, done_op = found.op[start], found.op[done]
    start_ps, end_ps = ops.start_ps[start_op], ops.end_ps[done_op]
    # Most captures have no asynchronous op, and need no union of all ops.
    computes = computing(trace, index) if len(start_op) else NO_INTERVALS
    return Windows(
        start_op,
        done_op,
        runs_of_ops(trace, index)[start_op],
        found.engine[start],
        start_ps,
        end_ps,
        ops.start_ps[done_op],
        ops.own_ps[done_op],
        covered_times(computes.start_ps, computes.end_ps, start_ps, end_ps),
        len(found.op) - 2 * len(start),
    )


def _paired(found: AsyncOps, start_ps: Int64, run: Int32) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The start and the done op (indices into `found`) of each window. In order of time, a start op of a pair opens a
    window, and a done op ends the one that was opened first; a done op without an open one is left out."""
    order = np.lexsort((found.is_done, start_ps, found.pair, run))  # a start op may have no duration
    order = order[run[order] >= 0]
    done, group = found.is_done[order], np.stack((run[order], found.pair[order]))
    group = np.cumsum(np.any(np.diff(group, axis=1, prepend=group[:, :1]) != 0, axis=0))
    # The number of open windows. Each group counts from so far below the one before that one running minimum serves
    # all: it falls at each done op that no start op preceded.
    count = np.cumsum(np.where(done, -1, 1))
    first_of_group = np.searchsorted(group, group)
    base = -group * (len(order) + 1)
    opened = base + count - np.append(0, count)[first_of_group]
    lowest = np.minimum.accumulate(np.minimum(opened, base))
    is_ended = done & (lowest == np.append(0, lowest[:-1]))
    starts, dones = order[~done], order[is_ended]
    starts_of, dones_of = group[~done], group[is_ended]
    place = np.arange(len(dones)) - np.searchsorted(dones_of, dones_of)
    return starts[np.searchsorted(starts_of, dones_of) + place], dones


@memoised
def computing(trace: Trace, index: int) -> Intervals:
    """When a device computes: the union of its innermost ops but for those that start, end or are a transfer, and for
    loops and calls."""
    ops = trace.devices[index].ops
    computes = trace.map_texts(ops.name, _may_compute) > 0
    computes &= ~waiting_ops(trace, index)
    computes[ops.parent[ops.parent >= 0]] = False
    return union(ops.start_ps, ops.end_ps, computes)


def _may_compute(name: str) -> bool:
    return not (is_start(name) or is_container(name) or collective_kind(name))


def waits_by_engine(trace: Trace, index: int) -> dict[Engine, Intervals]:
    """When a device (an index into the trace's devices) waits for each engine: all its stalls, each in one engine."""
    ops, found = trace.devices[index].ops, find_async_ops(trace, index)
    left = stalls(trace, trace.devices[index])
    if not len(left):
        return {}
    engine_of_op = np.full(len(ops), -1, np.int8)
    engine_of_op[found.op[found.is_done]] = found.engine[found.is_done]
    op, start, end = own_time_intervals(ops.start_ps, ops.end_ps, ops.parent)
    waits: dict[Engine, Intervals] = {}
    for number, engine in enumerate(ENGINES):
        is_last = number == len(ENGINES) - 1
        waits[engine] = left if is_last else union(start, end, engine_of_op[op] == number).within(left)
        left = left.without(waits[engine])
    return {engine: times for engine, times in waits.items() if len(times)}
