"""Why a TPU core waits for its asynchronous ops: what the engine did meanwhile, whether the op could have started
earlier, and who came late. (docs/definitions.md, "Engines")"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.engines.op_texts import ENGINES, is_at_hand, operands
from tb_xla_insights.analysis.engines.sparse_cores import (
    Jobs,
    busy_on_sparse_cores,
    find_jobs,
    find_sparse_cores,
)
from tb_xla_insights.analysis.engines.windows import Windows, find_windows
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.opcodes import is_container
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import Intervals
from tb_xla_insights.arrays import Int8, Int64
from tb_xla_insights.schema.engines import Engine
from tb_xla_insights.trace.model import Trace

_SAME_END_SHARE = 0.02
"""Of a window: how far the ends of the windows of two cores that exchange data are apart at most."""

_MAX_OPERANDS = 100
"""Of an op with more operands it is not known when they are ready."""

_EXCHANGING: Sequence[Engine] = ("sparse_core", "interconnect")
"""The engines whose ops may exchange data with other cores."""

_SPARSE_CORE = ENGINES.index("sparse_core")


@dataclass(frozen=True)
class Waits:
    """Per window of a device (see `find_windows`), parts of its wait: while the SparseCore runs the op's own job
    (`own_ps`), and while it runs another one before (`queue_ps`), -1 without a job; `peer_ps`, the part before another
    core had begun its own. `ready_before_ps`: how long before the start op the input was ready, and `idle_before_ps`,
    how much of that the engine was idle; -1 if that is not known. `is_overtaken`: whether the job that the SparseCore
    ran before the op's own is one that the core needs later. `last_operand`: which of the op's operands was ready last,
    -1 if that is not known."""

    own_ps: Int64
    queue_ps: Int64
    peer_ps: Int64
    ready_before_ps: Int64
    idle_before_ps: Int64
    is_overtaken: NDArray[np.bool_]
    last_operand: Int8


@memoised
def find_waits(trace: Trace, index: int) -> Waits:
    """The parts of the waits of a device (an index into the trace's devices)."""
    windows, jobs = find_windows(trace, index), find_jobs(trace, index)
    begin, end = windows.wait_start_ps, windows.end_ps
    own_ps, queue_ps = np.full((2, len(windows)), -1, np.int64)
    for number, core in enumerate(find_sparse_cores(trace, index)):
        of_core = jobs.core == number
        own_start = np.clip(jobs.start_ps[of_core], begin[of_core], end[of_core])
        own_ps[of_core] = np.clip(jobs.end_ps[of_core], own_start, end[of_core]) - own_start
        queue_ps[of_core] = covered_times(core.busy.start_ps, core.busy.end_ps, begin[of_core], own_start)
    ready_ps, last_operand = _ready(trace, index, windows)
    known = ready_ps >= 0
    ready_before_ps = np.where(known, windows.start_ps - ready_ps, -1)
    idle_before_ps = ready_before_ps.copy()
    for engine in range(len(ENGINES)):
        busy, of_engine = engine_times(trace, index, engine), known & (windows.engine == engine)
        idle_before_ps[of_engine] -= covered_times(
            busy.start_ps, busy.end_ps, ready_ps[of_engine], windows.start_ps[of_engine]
        )
    peer_ps = _peer_ps(trace, index, windows)
    return Waits(
        own_ps, queue_ps, peer_ps, ready_before_ps, idle_before_ps, _is_overtaken(windows, jobs), last_operand
    )


def _is_overtaken(windows: Windows, jobs: Jobs) -> NDArray[np.bool_]:
    """Per window, whether the job before its own on that SparseCore is awaited later."""
    is_overtaken = np.zeros(len(windows), np.bool_)
    order = np.lexsort((jobs.start_ps, jobs.core))
    order = order[jobs.core[order] >= 0]
    before, after = order[:-1], order[1:]
    is_later = windows.wait_start_ps[before] > windows.wait_start_ps[after]
    is_overtaken[after] = (jobs.core[before] == jobs.core[after]) & is_later
    return is_overtaken


def engine_times(trace: Trace, index: int, engine: int) -> Intervals:
    """When an engine (an index into ENGINES) works for a device: as recorded, else while an op of it is under way."""
    if engine == _SPARSE_CORE and find_sparse_cores(trace, index):
        return busy_on_sparse_cores(trace, index)
    return find_windows(trace, index).of_engine(engine)


def _ready(trace: Trace, index: int, windows: Windows) -> tuple[Int64, Int8]:
    """When the input of each window's op was ready: at the end of the last op in the same run that made an operand, or
    with the first op of the run if all operands exist before; -1 if some operand is neither. And which operand was the
    last one. A parameter exists before unless it is that of a loop's or a call's own program."""
    ops = trace.devices[index].ops
    ready_ps, last = np.full(len(windows), -1, np.int64), np.full(len(windows), -1, np.int8)
    if not len(windows):
        return ready_ps, last
    run_start_ps = find_launches(trace).runs.start_ps[windows.run]
    first_ps = ops.start_ps[np.searchsorted(ops.start_ps, run_start_ps)]
    parent = ops.parent[windows.start_op]
    is_of_program = (parent < 0) | (trace.map_texts(ops.name, is_container)[parent] <= 0)
    made = _MadeBy(trace, index)
    entry = trace.metadata_index[ops.row[windows.start_op]]
    order = np.argsort(entry, kind="stable")
    for of_entry in np.split(order, np.flatnonzero(np.diff(entry[order])) + 1):
        names = operands(trace.strings[trace.metadata.name[entry[of_entry[0]]]])
        times = [
            np.where(is_of_program[of_entry], first_ps[of_entry], -1)
            if is_at_hand(name)
            else made.before(name, windows.start_ps[of_entry], first_ps[of_entry])
            for name in names[:_MAX_OPERANDS]
        ]
        if times:
            is_known = (np.min(times, axis=0) >= 0) & (len(names) <= _MAX_OPERANDS)
            ready_ps[of_entry] = np.where(is_known, np.max(times, axis=0), -1)
            last[of_entry] = np.where(is_known, np.argmax(times, axis=0), -1)
    return ready_ps, last


class _MadeBy:
    """The ends of the ops of a device by name."""

    def __init__(self, trace: Trace, index: int) -> None:
        self._trace, self._ops = trace, trace.devices[index].ops
        self._order = np.argsort(self._ops.name, kind="stable")
        self._names = self._ops.name[self._order]
        self._number = {trace.strings[name]: name for name in np.unique(self._names).tolist()}

    def before(self, name: str, instants: Int64, not_before: Int64) -> Int64:
        """The end of the last op with a name that ended by each instant, -1 if that is not after `not_before`."""
        number = self._number.get(name)
        if number is None:
            return np.full(len(instants), -1, np.int64)
        of_name = self._order[slice(*np.searchsorted(self._names, (number, number + 1)))]
        ends = np.sort(self._ops.end_ps[of_name])
        at = np.searchsorted(ends, instants, "right") - 1
        end = np.where(at >= 0, ends[np.maximum(at, 0)], -1)
        return np.where(end > not_before, end, -1)


def _peer_ps(trace: Trace, index: int, windows: Windows) -> Int64:
    """The part of each wait before the last core had begun the same op of the same launch (`_last_starts`)."""
    waited_ps = np.minimum(_last_starts(trace)[index], windows.end_ps) - windows.wait_start_ps
    is_exchange = np.isin(windows.engine, [ENGINES.index(engine) for engine in _EXCHANGING])
    return np.where(is_exchange, np.clip(waited_ps, 0, windows.wait_ps), 0)


@memoised
def _last_starts(trace: Trace) -> list[Int64]:
    """Per device and window, when the last core began the same op of the same launch, of the cores that end it at the
    same time; the window's own start if it has no launch."""
    all_windows = [find_windows(trace, index) for index in range(len(trace.devices))]
    start_ps = np.concatenate([windows.start_ps for windows in all_windows])
    end_ps = np.concatenate([windows.end_ps for windows in all_windows])
    launch, name, number = np.concatenate(
        [_occurrences(trace, index) for index in range(len(all_windows))], 1
    )
    order = np.lexsort((end_ps, number, name, launch))
    order = order[launch[order] >= 0]
    last_ps = start_ps.copy()
    if order.size:
        is_other = np.any(np.diff((launch[order], name[order], number[order]), axis=1) != 0, axis=0)
        tolerance_ps = _SAME_END_SHARE * (end_ps - start_ps)[order]
        first = np.flatnonzero(np.append(True, is_other | (np.diff(end_ps[order]) > tolerance_ps[1:])))
        counts = np.diff(np.append(first, len(order)))
        last_ps[order] = np.repeat(np.maximum.reduceat(start_ps[order], first), counts)
    return np.split(last_ps, np.cumsum([len(windows) for windows in all_windows])[:-1])


def _occurrences(trace: Trace, index: int) -> Int64:
    """What identifies each window of a device on all devices: its launch (-1: none), its name, and its number among
    those of that name in the run."""
    windows, runs = find_windows(trace, index), find_launches(trace).runs
    name = trace.devices[index].ops.name[windows.start_op]
    order = np.lexsort((np.arange(len(windows)), name, windows.run))
    is_first = (np.diff(windows.run[order], prepend=-1) != 0) | (np.diff(name[order], prepend=-1) != 0)
    place = np.arange(len(order))
    number = np.empty(len(order), np.int64)
    number[order] = place - np.maximum.accumulate(np.where(is_first, place, 0))
    return np.stack((runs.launch[windows.run], name, number)).astype(np.int64)
