"""The report's `slice_transfers`: what each transfer between slices is given, takes and costs. Durations of the device
and of the host are compared, never instants of two clocks. (docs/definitions.md, "Transfers between slices")"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.engines.megascale import Execution, find_executions, merged
from tb_xla_insights.analysis.engines.slice_transfers import (
    SliceTransfers,
    TransferName,
    find_slice_transfers,
    unpaired_ops,
)
from tb_xla_insights.analysis.engines.windows import find_windows
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.opcodes import instruction_name
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.tree import annotation_of_op
from tb_xla_insights.analysis.thresholds import EXPOSED_SHARE, MAIN_SHARE
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.arrays import Int64
from tb_xla_insights.schema.engines import rate_on_the_way
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.engines import AsyncOp, SliceTransfer, WaitCause

_MAX_STEPS = 10
"""How many steps are named."""


@dataclass(frozen=True)
class RecordedTransfers:
    """What the host recorded of each transfer of a device (see `find_slice_transfers`); -1 if it did not. `execution`:
    index into `executions`. `peer_ps`: the part of the wait before the other slice sent; `short_ps`: the part in which
    the transfer takes longer than the time until it is needed. `shared_ps`: how long data of others is on the way too.
    `is_late`: whether most of a wait that counts is the other slice's."""

    executions: list[Execution]
    execution: Int64
    network_ps: Int64
    shared_ps: Int64
    peer_ps: Int64
    short_ps: Int64
    is_late: NDArray[np.bool_]


@memoised
def slice_transfers_report(trace: Trace) -> list[SliceTransfer]:
    """A row per transfer and program, most waiting first."""
    return transfers_of_devices(trace, range(len(trace.devices)))


def transfers_of_devices(trace: Trace, indices: Iterable[int]) -> list[SliceTransfer]:
    """As `slice_transfers_report`, of some devices (indices into the trace's devices)."""
    transfers = {index: find_slice_transfers(trace, index) for index in indices}
    if not any(map(len, transfers.values())):
        return []
    launches = find_launches(trace)
    groups: dict[tuple[str, TransferName], list[tuple[int, NDArray[np.intp]]]] = {}
    for index, found in transfers.items():
        program = launches.runs.program[found.run]
        for of_group in _groups(program, found.name):
            key = launches.programs[program[of_group[0]]].name, found.names[found.name[of_group[0]]]
            groups.setdefault(key, []).append((index, of_group))
    rows = [_row(trace, program, name, of_devices) for (program, name), of_devices in groups.items()]
    return sorted(rows, key=lambda row: (-row["wait_ps"], row["transfer"], row["program"], row["kind"]))


@memoised
def transfers_by_op(trace: Trace) -> dict[str, SliceTransfer]:
    """The transfer that ends with each asynchronous op, by the name of the op that starts it: its receive, else its
    send."""
    by_op: dict[str, SliceTransfer] = {}
    for row in slice_transfers_report(trace):
        if op := row["recv"] or row["send"]:
            by_op.setdefault(op, row)
    return by_op


def explained_transfer(trace: Trace, row: AsyncOp) -> SliceTransfer | None:
    """The transfer between slices that an asynchronous op ends, if it is known why devices wait for it."""
    transfer = transfers_by_op(trace).get(row["op"]) if row["engine"] == "other_slice" else None
    return transfer if transfer and transfer["cause"] else None


def _groups(*columns: NDArray[np.integer]) -> list[NDArray[np.intp]]:
    """The rows of each combination of values, in order."""
    order = np.lexsort(columns)
    is_new = np.zeros(len(order), np.bool_)
    for column in columns:
        is_new[1:] |= np.diff(column[order]) != 0
    return np.split(order, np.flatnonzero(is_new)) if len(order) else []


def _row(
    trace: Trace,
    program: str,
    name: TransferName,
    of_devices: list[tuple[int, NDArray[np.intp]]],
) -> SliceTransfer:
    recorded = [recorded_transfers(trace, index) for index, _ in of_devices]

    def column(attribute: str, source: list[SliceTransfers] | list[RecordedTransfers]) -> Int64:
        values: list[Int64] = [
            getattr(of_device, attribute)[rows]
            for of_device, (_, rows) in zip(source, of_devices, strict=True)
        ]
        return np.concatenate(values)

    own = [find_slice_transfers(trace, index) for index, _ in of_devices]
    network_ps = column("network_ps", recorded)
    known = network_ps >= 0
    count, network_count = len(known), int(known.sum())
    wait_ps, window_ps = int(column("wait_ps", own).sum()), int(column("window_ps", own).sum())
    peer_ps, short_ps, shared_ps = (
        _known_sum(column(key, recorded)) for key in ("peer_ps", "short_ps", "shared_ps")
    )
    executions = [
        of_device.executions[number]
        for of_device, (_, rows) in zip(recorded, of_devices, strict=True)
        for number in of_device.execution[rows].tolist()
        if number >= 0
    ]
    is_late = column("is_late", recorded) > 0
    row: SliceTransfer = {
        "transfer": name.name,
        "program": program,
        "kind": name.kind,
        "annotation": _annotation(trace, own, of_devices),
        "send": _op(trace, "send", own, of_devices),
        "recv": _op(trace, "receive", own, of_devices),
        "peers": sorted({peer for execution in executions for peer in execution.peers}),
        "count": count,
        "window_ps": window_ps,
        "slack_mean_ps": int(column("slack_ps", own).sum()) // count,
        "network_mean_ps": int(network_ps[known].sum()) // network_count if network_count else None,
        "network_count": network_count,
        "wait_mean_ps": wait_ps // count,
        "wait_ps": wait_ps,
        "issue_ps": int(column("issue_ps", own).sum()),
        "late": None if peer_ps is None else int(is_late.sum()),
        "late_steps": _steps(trace, column("run", own)[is_late]),
        "peer_ps": peer_ps,
        "short_ps": short_ps,
        "shared_ps": shared_ps,
        "bytes": _bytes(executions),
        "bytes_per_s": None,
        "unpaired": sum(unpaired_ops(trace, index).get(name, 0) for index, _ in of_devices),
        "cause": None,
    }
    return row | {"bytes_per_s": rate_on_the_way(row), "cause": _cause(row, int(network_ps[known].sum()))}


def _cause(row: SliceTransfer, network_ps: int) -> WaitCause | None:
    """Why devices wait for a transfer whose data is on the way for so long in all; None if they hardly do, or if that
    is not known."""
    wait_ps = row["wait_ps"]
    if not wait_ps or wait_ps <= EXPOSED_SHARE * row["window_ps"]:
        return None
    if (row["peer_ps"] or 0) >= MAIN_SHARE * wait_ps:
        return "peer"
    if (row["short_ps"] or 0) >= MAIN_SHARE * wait_ps:
        return "bandwidth" if (row["shared_ps"] or 0) >= MAIN_SHARE * network_ps else "slack"
    return None


def _known_sum(values: Int64) -> int | None:
    known = values >= 0
    return int(values[known].sum()) if known.any() else None


def _bytes(executions: list[Execution]) -> int | None:
    """What all executions whose time on the way is known receive; None if that of one is not known."""
    sizes = [one.bytes for one in executions if one.network]
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def _annotation(
    trace: Trace, own: list[SliceTransfers], of_devices: list[tuple[int, NDArray[np.intp]]]
) -> str | None:
    """The annotation of the first op that has one."""
    for found, (index, rows) in zip(own, of_devices, strict=True):
        for column in (found.send, found.receive):
            window = int(column[rows[0]])
            if window >= 0:
                op = find_windows(trace, index).start_op[window]
                if path := annotation_of_op(trace, int(find_ops(trace).devices[index].key[op])):
                    return path
    return None


def _op(
    trace: Trace, column: str, own: list[SliceTransfers], of_devices: list[tuple[int, NDArray[np.intp]]]
) -> str | None:
    """The name of the first op that starts a send or a receive; None without one."""
    for found, (index, rows) in zip(own, of_devices, strict=True):
        windows = getattr(found, column)[rows]
        if (windows >= 0).any():
            op = find_windows(trace, index).start_op[windows[windows >= 0][0]]
            return instruction_name(trace.name(int(trace.devices[index].ops.row[op])))
    return None


def _steps(trace: Trace, runs: Int64) -> list[int]:
    """The steps that some runs belong to: the numbers of the first ones, else their indices."""
    step = np.unique(find_launches(trace).step_of_run[runs])
    steps = find_steps(trace)
    numbers = [(steps[index].number, index) for index in step[step >= 0][:_MAX_STEPS].tolist()]
    return sorted({index if number is None else number for number, index in numbers})


@memoised
def recorded_transfers(trace: Trace, index: int) -> RecordedTransfers:
    """What the host recorded of the transfers of a device (an index into the trace's devices)."""
    transfers = find_slice_transfers(trace, index)
    execution = np.full(len(transfers), -1, np.int64)
    executions: list[Execution] = []
    for rows in _groups(transfers.name):
        of_name = find_executions(trace).get((index, transfers.names[transfers.name[rows[0]]].name), [])
        found = _matching(transfers, rows, of_name)
        execution[rows] = np.where(found >= 0, found + len(executions), -1)
        executions += of_name
    columns = np.array(
        [(one.network_ps, one.under_way_ps, one.awaited_ps) for one in executions] + [(-1, -1, -1)], np.int64
    )
    network_ps, under_way_ps, awaited_ps = columns[execution].T
    shared_ps = np.where(network_ps >= 0, _shared_ps(trace, executions)[execution], -1)
    wait_ps = transfers.receive_wait_ps
    peer_ps = np.where(awaited_ps >= 0, np.minimum(awaited_ps, wait_ps), -1)
    left_ps = wait_ps - np.maximum(peer_ps, 0)
    short_ps = np.clip(under_way_ps - (transfers.needed_ps - transfers.start_ps), 0, left_ps)
    is_late = (peer_ps >= MAIN_SHARE * wait_ps) & (wait_ps > EXPOSED_SHARE * transfers.window_ps)
    return RecordedTransfers(
        executions,
        execution,
        network_ps,
        shared_ps,
        peer_ps,
        np.where(under_way_ps >= 0, short_ps, -1),
        is_late,
    )


def _matching(transfers: SliceTransfers, rows: NDArray[np.intp], executions: list[Execution]) -> Int64:
    """Per transfer of one name, the execution that the host recorded of it, -1 without one: in order if there are as
    many of both, as in most captures; else the one next to it in time that overlaps it, if it is next to none other."""
    if len(rows) == len(executions):
        return np.arange(len(rows), dtype=np.int64)
    found = np.full(len(rows), -1, np.int64)
    if not len(rows) or not executions:
        return found
    start_ps, end_ps = transfers.start_ps[rows], transfers.end_ps[rows]
    middle, (first, last) = (start_ps + end_ps) // 2, np.array([(e.start_ps, e.end_ps) for e in executions]).T
    of_execution = (first + last) // 2
    after = np.clip(np.searchsorted(middle, of_execution), 1, max(1, len(middle) - 1))
    before = after - 1
    after = np.minimum(after, len(middle) - 1)
    is_before = np.abs(middle[before] - of_execution) <= np.abs(middle[after] - of_execution)
    nearest = np.where(is_before, before, after)
    overlaps = (first < end_ps[nearest]) & (last > start_ps[nearest])
    is_single = np.bincount(nearest[overlaps], minlength=len(rows))[nearest] == 1
    chosen = np.flatnonzero(overlaps & is_single)
    found[nearest[chosen]] = chosen
    return found


@memoised
def _shared(trace: Trace) -> Intervals:
    """When data of several transfers is on the way to the host, whatever its device."""
    times: dict[str, list[tuple[int, int]]] = {}
    for (_, name), executions in find_executions(trace).items():
        for execution in executions:
            times.setdefault(name, []).extend(execution.network)
    bounds = [
        edge
        for of_name in times.values()
        for start, end in merged(of_name)
        for edge in ((start, 1), (end, -1))
    ]
    at, change = np.ascontiguousarray(np.array(sorted(bounds), np.int64).reshape(-1, 2).T)
    is_shared = np.cumsum(change)[:-1] >= 2
    return union(at[:-1], at[1:], is_shared)


def _shared_ps(trace: Trace, executions: list[Execution]) -> Int64:
    """How long data of other transfers is on the way while that of each of these is; a last 0 for none."""
    times = [
        (number, start, end)
        for number, execution in enumerate(executions)
        for start, end in merged(execution.network)
    ]
    number, start_ps, end_ps = np.ascontiguousarray(np.array(times, np.int64).reshape(-1, 3).T)
    shared, shared_ps = _shared(trace), np.zeros(len(executions) + 1, np.int64)
    np.add.at(shared_ps, number, covered_times(shared.start_ps, shared.end_ps, start_ps, end_ps))
    return shared_ps
