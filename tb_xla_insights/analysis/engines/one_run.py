"""One run of a device's main program: what the device and its SparseCores do, and its asynchronous ops from start to
done, as pieces to draw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.delays.collectives import find_collectives
from tb_xla_insights.analysis.engines.op_texts import short_op_name
from tb_xla_insights.analysis.engines.sparse_cores import find_jobs, find_sparse_cores
from tb_xla_insights.analysis.engines.windows import computing, find_windows, waits_by_engine
from tb_xla_insights.analysis.idle.busy import busy, stalls
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.opcodes import instruction_name
from tb_xla_insights.analysis.thresholds import EXPOSED_SHARE, HIDDEN_SHARE
from tb_xla_insights.analysis.time.intervals import Intervals, span_intervals, union, union_all
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.engines_route import (
        EnginePiece,
        EnginePieceKind,
        EngineRow,
        HiddenKind,
        ShownRun,
        WindowPiece,
        WindowPieceKind,
        WindowRow,
    )

MAX_OPS = 12
"""How many ops are shown one by one."""

_MAX_CORES = 16
"""How many SparseCores are shown; a TPU core has at most four."""

TENSOR_CORE = "TensorCore"

_MIN_SHOWN_SHARE = 0.01
"""Of the run: the least share of an op that does not wait and has a row of its own."""

_PX = 1000
"""The width that the pieces are made for."""

_MIN_COVER = 0.5
"""Of several intervals that are drawn as one: the least share that they cover."""


@memoised
def main_runs(trace: Trace, index: int) -> Int32:
    """The runs of the program that a device (an index into the trace's devices) spends most time in, of those with
    asynchronous ops, if any has some; indices into Launches.runs."""
    runs = find_launches(trace).runs
    rows = runs.of_device(index)
    if not len(runs.program[rows]):
        return np.zeros(0, np.int32)
    _, program = np.unique(runs.program[rows], return_inverse=True)
    times = np.bincount(program, weights=runs.duration_ps[rows])
    has_windows = np.zeros(len(times), np.bool_)
    has_windows[program[np.isin(np.arange(rows.start, rows.stop), find_windows(trace, index).run)]] = True
    if has_windows.any():
        times[~has_windows] = -1
    main: Int32 = (np.flatnonzero(program == times.argmax()) + rows.start).astype(np.int32)
    return main


@memoised
def collectives_alone(trace: Trace, index: int) -> Intervals:
    """When a device (an index into the trace's devices) exchanges data, does nothing else, and does not only wait."""
    device = trace.devices[index]
    exposed = find_collectives(trace, index).exposed_intervals.without(stalls(trace, device))
    return exposed.within(busy(trace, device))


@memoised
def busy_computing(trace: Trace, index: int) -> Intervals:
    """The rest of a device's busy time that is no stall."""
    device = trace.devices[index]
    return busy(trace, device).without(union_all([stalls(trace, device), collectives_alone(trace, index)]))


@memoised
def shown_run(trace: Trace, index: int) -> ShownRun:
    """The run of median duration of a device's main program (`main_runs`), of those with asynchronous ops."""
    runs, main = find_launches(trace).runs, main_runs(trace, index)
    with_windows = main[np.isin(main, find_windows(trace, index).run)]
    main = with_windows if len(with_windows) else main
    run = int(main[np.argsort(runs.duration_ps[main], kind="stable")[(len(main) - 1) // 2]])
    return _ShownRun(trace, index, run).document()


class _ShownRun:
    """A run of a device. `groups`: the asynchronous ops that have a row each, as indices into `find_windows`; `rest`:
    all others."""

    def __init__(self, trace: Trace, index: int, run: int) -> None:
        runs = find_launches(trace).runs
        self._trace, self._index, self._device = trace, index, trace.devices[index]
        self._start_ps, self._end_ps = int(runs.start_ps[run]), int(runs.end_ps[run])
        self._windows = find_windows(trace, index)
        window = np.flatnonzero(self._windows.run == run)
        name = self._device.ops.name[self._windows.start_op[window]]
        groups = grouped(window, name)
        self._pixel_ps = (self._end_ps - self._start_ps) / _PX
        groups.sort(key=self._rank)
        shown = sum(self._is_shown(group) for group in groups[:MAX_OPS])
        self._groups, self._rest = groups[:shown], groups[shown:]

    def document(self) -> ShownRun:
        return {
            "start_ps": self._start_ps,
            "duration_ps": self._end_ps - self._start_ps,
            "engines": [self._own_row(), *self._core_rows()],
            "windows": self._window_rows(),
        }

    def _rank(self, group: Int64) -> tuple[int, int]:
        """Most waiting first; of those whose wait is too short to be seen, the longest first."""
        wait_ps = int(self._windows.wait_ps[group].sum())
        return -wait_ps if wait_ps >= self._pixel_ps / 2 else 0, -int(self._windows.window_ps[group].sum())

    def _is_shown(self, group: Int64) -> bool:
        """Whether an op has a row of its own: it waits, or takes a part of the run that can be seen."""
        minus_wait_ps, minus_window_ps = self._rank(group)
        return minus_wait_ps < 0 or -minus_window_ps >= _MIN_SHOWN_SHARE * (self._end_ps - self._start_ps)

    def _own_row(self) -> EngineRow:
        computes = self._clipped(busy_computing(self._trace, self._index))
        exchanges = self._clipped(collectives_alone(self._trace, self._index))
        waits = self._clipped(stalls(self._trace, self._device))
        pieces = [*self._pieces("computing", None, computes), *self._pieces("collective", None, exchanges)]
        for name, of_op in self._named(self._windows.wait_start_ps, self._windows.end_ps):
            pieces += self._pieces("waiting", name, of_op.within(waits))
            waits = waits.without(of_op)
        pieces += self._pieces("waiting", None, waits)
        return {
            "name": TENSOR_CORE if self._device.kind == "tpu" else self._device.name,
            "traced": True,
            "busy_ps": computes.total_ps + exchanges.total_ps,
            "computing_ps": computes.total_ps,
            "pieces": pieces,
        }

    def _core_rows(self) -> Iterator[EngineRow]:
        cores, jobs = find_sparse_cores(self._trace, self._index), find_jobs(self._trace, self._index)
        for number, core in enumerate(cores[:_MAX_CORES]):
            left = self._clipped(core.busy)
            busy_ps, computing_ps = left.total_ps, left.within(computing(self._trace, self._index)).total_ps
            pieces: list[EnginePiece] = []
            for name, of_op in self._named(jobs.start_ps, jobs.end_ps, jobs.core == number):
                pieces += self._core_pieces(name, of_op.within(left))
                left = left.without(of_op)
            pieces += self._core_pieces(None, left)
            yield {
                "name": core.name,
                "traced": True,
                "busy_ps": busy_ps,
                "computing_ps": computing_ps,
                "pieces": pieces,
            }
        if not cores and "sparse_core" in waits_by_engine(self._trace, self._index):
            yield {"name": "SparseCore", "traced": False, "busy_ps": 0, "computing_ps": 0, "pieces": []}

    def _core_pieces(self, op: str | None, times: Intervals) -> Iterator[EnginePiece]:
        """A SparseCore's work by what the device does meanwhile."""
        computes, waits = computing(self._trace, self._index), stalls(self._trace, self._device)
        yield from self._pieces("busy", op, times.without(union_all([computes, waits])))
        yield from self._pieces("computing", op, times.within(computes))
        yield from self._pieces("waiting", op, times.within(waits))

    def _named(
        self, start_ps: Int64, end_ps: Int64, chosen: Int64 | None = None
    ) -> Iterator[tuple[str, Intervals]]:
        """The name of each op that is shown, and the union of some intervals of its windows."""
        for group in self._groups:
            rows = group if chosen is None else group[chosen[group]]
            if len(rows):
                yield self._name(group), self._clipped(union(start_ps[rows], end_ps[rows]))

    def _name(self, group: Int64) -> str:
        return short_op_name(window_name(self._trace, self._index, int(group[0])))

    def _window_rows(self) -> list[WindowRow]:
        shown = sorted(self._groups, key=lambda group: int(self._windows.start_ps[group[0]]))
        rows = [self._window_row([group]) for group in shown]
        return [*rows, self._window_row(self._rest)] if self._rest else rows

    def _window_row(self, groups: list[Int64]) -> WindowRow:
        """The row of an op, or of several."""
        group, windows = np.concatenate(groups), self._windows
        times = self._clipped(union(windows.start_ps[group], windows.end_ps[group]))
        waits = union(windows.wait_start_ps[group], windows.end_ps[group])
        window_ps, hidden_ps = int(windows.window_ps[group].sum()), int(windows.hidden_ps[group].sum())
        return {
            "op": self._name(group) if len(groups) == 1 else None,
            "ops": len(groups),
            "count": len(group),
            "window_ps": window_ps,
            "hidden_ps": hidden_ps,
            "hidden": _hidden_kind(hidden_ps, window_ps),
            "pieces": [
                *self._window_pieces("under_way", times),
                *self._window_pieces("hidden", times.within(computing(self._trace, self._index))),
                *self._window_pieces(
                    "waiting", times.within(waits).within(stalls(self._trace, self._device))
                ),
            ],
        }

    def _pieces(self, kind: EnginePieceKind, op: str | None, times: Intervals) -> Iterator[EnginePiece]:
        for start, end, covered in self._drawn(times):
            yield {"kind": kind, "op": op, "start_ps": start, "end_ps": end, "ps": covered}

    def _window_pieces(self, kind: WindowPieceKind, times: Intervals) -> Iterator[WindowPiece]:
        for start, end, covered in self._drawn(times):
            yield {"kind": kind, "start_ps": start, "end_ps": end, "ps": covered}

    def _clipped(self, times: Intervals) -> Intervals:
        return times.within(span_intervals(self._start_ps, self._end_ps))

    def _drawn(self, times: Intervals) -> Iterable[tuple[int, int, int]]:
        """Intervals relative to the run's start, with the time that they cover. Those less than a pixel apart are one,
        if they cover most of it; those shorter than half a pixel are left out."""
        if not len(times):
            return []
        is_apart = times.start_ps[1:] - times.end_ps[:-1] >= self._pixel_ps
        first, last = np.flatnonzero(np.append(True, is_apart)), np.append(is_apart, True)
        start, end = times.start_ps[first], times.end_ps[last]
        covered_ps = np.add.reduceat(times.end_ps - times.start_ps, first)
        is_shown = (end - start >= self._pixel_ps / 2) & (covered_ps >= _MIN_COVER * (end - start))
        columns = start - self._start_ps, end - self._start_ps, covered_ps
        return zip(*(column[is_shown].tolist() for column in columns), strict=True)


def grouped(rows: NDArray[np.intp], key: Int32) -> list[NDArray[np.intp]]:
    """The rows with each key, by key."""
    order = np.argsort(key, kind="stable")
    return np.split(rows[order], np.flatnonzero(np.diff(key[order])) + 1) if len(rows) else []


def window_name(trace: Trace, index: int, window: int) -> str:
    """The name of the start op of one of a device's windows."""
    ops = trace.devices[index].ops
    return instruction_name(trace.name(int(ops.row[find_windows(trace, index).start_op[window]])))


def _hidden_kind(hidden_ps: int, window_ps: int) -> HiddenKind:
    if hidden_ps >= HIDDEN_SHARE * window_ps:
        return "hidden"
    return "exposed" if hidden_ps <= EXPOSED_SHARE * window_ps else "partly_hidden"
