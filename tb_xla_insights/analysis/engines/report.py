"""The report's `async_ops` and `engines`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.engines.op_texts import ENGINES, kind_of, operands
from tb_xla_insights.analysis.engines.slice_rows import explained_transfer
from tb_xla_insights.analysis.engines.sparse_cores import JOINS, find_jobs, find_sparse_cores
from tb_xla_insights.analysis.engines.waits import engine_times, find_waits
from tb_xla_insights.analysis.engines.windows import computing, find_windows, waits_by_engine
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.opcodes import instruction_name
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.tree import annotation_of_op
from tb_xla_insights.analysis.thresholds import DEVICE_BOUND_SHARE, EXPOSED_SHARE, MAIN_SHARE
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.engines import AsyncOp, Engine, EngineTime, WaitCause


_HOST_MEMORY = ENGINES.index("host_memory")


@memoised
def async_ops_report(trace: Trace) -> list[AsyncOp]:
    """The report's `async_ops`: a row per op, annotation and device, most waiting first."""
    return in_order(row for index in range(len(trace.devices)) for row in rows_of_device(trace, index))


def in_order(rows: Iterable[AsyncOp]) -> list[AsyncOp]:
    """Rows of `async_ops`, most waiting first."""
    return sorted(
        rows,
        key=lambda row: (
            -row["wait_ps"],
            -row["window_ps"],
            row["device"],
            row["op"],
            row["annotation"] or "",
        ),
    )


def rows_of_device(trace: Trace, index: int, of_runs: Int32 | None = None) -> list[AsyncOp]:
    """The rows of a device (an index into the trace's devices), in the order of `keys_of_windows`; `of_runs`: only of
    these runs (indices into Launches.runs)."""
    windows = find_windows(trace, index)
    chosen, key = keys_of_windows(trace, index, of_runs)
    if not len(chosen):
        return []
    device, jobs, waits = trace.devices[index], find_jobs(trace, index), find_waits(trace, index)
    size = _bytes(trace, index)
    # Where the device waits, the window ends when the data is there.
    is_timed = (windows.engine == _HOST_MEMORY) & (windows.wait_ps > 0) & (size >= 0)
    columns = {
        "window_ps": windows.window_ps,
        "hidden_ps": windows.hidden_ps,
        "wait_ps": windows.wait_ps,
        "wait_own_ps": waits.own_ps,
        "wait_queue_ps": waits.queue_ps,
        "ready_before_ps": waits.ready_before_ps,
        "hideable_ps": np.where(
            waits.idle_before_ps < 0, -1, np.minimum(windows.wait_ps, waits.idle_before_ps)
        ),
        "peer_ps": waits.peer_ps,
        "overtaken_ps": np.where(waits.is_overtaken, windows.wait_ps, 0),
        "bytes": size,
        "timed_bytes": np.where(is_timed, size, 0),
        "timed_ps": np.where(is_timed, windows.window_ps, 0),
    }
    distinct, group = np.unique(key, return_inverse=True)
    first = np.unique(group, return_index=True)[1]
    count = np.bincount(group)
    sums = {name: _sums(values[chosen], group, len(distinct)) for name, values in columns.items()}
    worst_join = np.minimum.reduceat(
        jobs.join[chosen][np.argsort(group, kind="stable")], np.cumsum(count) - count
    )
    rows: list[AsyncOp] = []
    for at, op in enumerate(distinct.tolist()):
        window = int(chosen[first[at]])
        text = trace.name(int(device.ops.row[windows.start_op[window]]))
        name, engine = instruction_name(text), ENGINES[windows.engine[window]]
        times = {column: int(values[at]) for column, values in sums.items()}
        row: AsyncOp = {
            "op": name,
            "kind": kind_of(name),
            "engine": engine,
            "device": device.id,
            "annotation": annotation_of_op(trace, op),
            "count": int(count[at]),
            "window_ps": times["window_ps"],
            "hidden_ps": times["hidden_ps"],
            "exposed_ps": times["window_ps"] - times["hidden_ps"],
            "wait_ps": times["wait_ps"],
            "wait_own_ps": _known(times["wait_own_ps"]),
            "wait_queue_ps": _known(times["wait_queue_ps"]),
            "ready_before_ps": _known(times["ready_before_ps"]),
            "input": operands(text)[waits.last_operand[window]] if waits.last_operand[window] >= 0 else None,
            "hideable_ps": _known(times["hideable_ps"]),
            "peer_ps": times["peer_ps"],
            "bytes": _known(times["bytes"]),
            "bytes_per_s": times["timed_bytes"] * 10**12 // times["timed_ps"] if times["timed_ps"] else None,
            "join": JOINS[worst_join[at]],
            "cause": None,
        }
        rows.append(row | {"cause": _cause(trace, index, row, times["overtaken_ps"])})
    return rows


def keys_of_windows(
    trace: Trace, index: int, of_runs: Int32 | None = None
) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """The windows of a device (an index into the trace's devices), and the distinct op of each; `of_runs`: only of
    these runs."""
    windows = find_windows(trace, index)
    chosen = np.flatnonzero(windows.run >= -1 if of_runs is None else np.isin(windows.run, of_runs))
    return chosen, find_ops(trace).devices[index].key[windows.start_op[chosen]]


def _sums(values: Int64, group: Int64, groups: int) -> Int64:
    """The sum of each group; -1 if a value of it is not known."""
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, group, values)
    sums[group[values < 0]] = -1
    return sums


def _known(value: int) -> int | None:
    return None if value < 0 else value


def _bytes(trace: Trace, index: int) -> Int64:
    """The bytes that each window's op moves, as its metadata say; -1 if they do not."""
    ops, windows = trace.devices[index].ops, find_windows(trace, index)
    entry, entry_of_window = np.unique(trace.metadata_index[ops.row[windows.start_op]], return_inverse=True)
    values = [trace.metadata.stats[at].get("bytes_accessed") for at in entry.tolist()]
    known = [value if isinstance(value, int) and 0 < value < 2**53 else -1 for value in values]
    return np.array(known, np.int64)[entry_of_window]


def _cause(trace: Trace, index: int, row: AsyncOp, overtaken_ps: int) -> WaitCause | None:
    """Why the device (an index into the trace's devices) waits for an op; None if it hardly does, or if that is not
    known. `overtaken_ps`: its waits in which the SparseCore first ran a job that is needed later."""
    wait_ps, ready_ps, hideable_ps = row["wait_ps"], row["ready_before_ps"], row["hideable_ps"]
    if not wait_ps or wait_ps <= EXPOSED_SHARE * row["window_ps"]:
        return None
    if transfer := explained_transfer(trace, row):
        return transfer["cause"]
    if row["engine"] == "sparse_core" and not find_sparse_cores(trace, index):
        return "not_traced"
    if row["engine"] == "sparse_core" and busy_share(trace, row["engine"]) >= DEVICE_BOUND_SHARE:
        return "bottleneck"
    is_queued: WaitCause = "order" if overtaken_ps >= MAIN_SHARE * wait_ps else "bottleneck"
    if (row["wait_queue_ps"] or 0) >= MAIN_SHARE * wait_ps:
        return is_queued
    if row["peer_ps"] >= MAIN_SHARE * wait_ps:
        return "peer"
    if ready_ps is None or hideable_ps is None:
        return None
    if hideable_ps >= MAIN_SHARE * wait_ps:
        return "late"
    if ready_ps < MAIN_SHARE * wait_ps:
        return "dependent"
    # Only a recorded engine is known to have worked since the input was ready.
    return is_queued if row["engine"] == "sparse_core" else None


@memoised
def busy_share(trace: Trace, engine: Engine) -> float:
    """The share of the devices' spans in which an engine works for them, of those that it works for: of several
    SparseCores, the busiest one."""
    busy_ps, span_ps = 0, 0
    for index, device in enumerate(trace.devices):
        start, end = device.span_ps
        cores = find_sparse_cores(trace, index) if engine == "sparse_core" else []
        times = [core.busy for core in cores] or [engine_times(trace, index, ENGINES.index(engine))]
        if device_ps := max(busy.clipped(start, end).total_ps for busy in times):
            busy_ps, span_ps = busy_ps + device_ps, span_ps + end - start
    return busy_ps / span_ps if span_ps else 0.0


def engines_report(trace: Trace) -> list[EngineTime]:
    """The report's `engines`: the SparseCores of each device that has some or waits for one."""
    rows: list[EngineTime] = []
    for index, device in enumerate(trace.devices):
        cores, waits = find_sparse_cores(trace, index), waits_by_engine(trace, index)
        for core in cores:
            busy = core.busy.clipped(*device.span_ps)
            rows.append(
                {
                    "device": device.id,
                    "engine": core.name,
                    "traced": True,
                    "busy_ps": busy.total_ps,
                    "busy_while_computing_ps": busy.within(computing(trace, index)).total_ps,
                    "busy_while_waiting_ps": sum(busy.within(times).total_ps for times in waits.values()),
                    "jobs": len(core.jobs),
                }
            )
        if not cores and "sparse_core" in waits:
            rows.append(
                {
                    "device": device.id,
                    "engine": "SparseCore",
                    "traced": False,
                    "busy_ps": None,
                    "busy_while_computing_ps": None,
                    "busy_while_waiting_ps": None,
                    "jobs": None,
                }
            )
    return rows
