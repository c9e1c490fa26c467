"""Transfers between slices as a device's program has them: a send, a receive, or both with one name, from the start of
the first op to the end of the last. (docs/definitions.md, "Transfers between slices")"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.engines.op_texts import ENGINES, short_op_name
from tb_xla_insights.analysis.engines.windows import find_async_ops, find_windows
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.opcodes import instruction_name, opcode
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.arrays import Int64
from tb_xla_insights.trace.model import Trace

OTHER_SLICE = ENGINES.index("other_slice")

_RENDEZVOUS = re.compile(r'_xla_host_transfer_rendezvous="([^"]{1,500})"')
"""The name that a send and its receive share, also with what the host records of the transfer."""

_TYPE = re.compile(r'_xla_megascale_transfer_type="(\w{1,40})"')

_SEND, _RECEIVE = "send", "recv"


@dataclass(frozen=True)
class TransferName:
    """`name`: that of the transfer, else of its only op. `kind`: what it does (`all-reduce`), else its opcode."""

    name: str
    kind: str


@dataclass(frozen=True)
class SliceTransfers:
    """The transfers of one device, by their start. `names`: the distinct ones, `name`: index into them. `send`,
    `receive`: indices into the device's windows (see `find_windows`), -1 without one. `run`: index into Launches.runs.
    `start_ps`: when the send starts, else the receive. `needed_ps`: when the last done op begins. `wait_ps`: own time
    of the done ops, `receive_wait_ps`: of the receive's; `issue_ps`: of the ops that start them. `slack_ps`: the time
    from start to need without all ops of transfers between slices."""

    names: list[TransferName]
    name: Int64
    send: Int64
    receive: Int64
    run: Int64
    start_ps: Int64
    needed_ps: Int64
    end_ps: Int64
    wait_ps: Int64
    receive_wait_ps: Int64
    issue_ps: Int64
    slack_ps: Int64

    def __len__(self) -> int:
        return len(self.name)

    @property
    def window_ps(self) -> Int64:
        return self.end_ps - self.start_ps


@memoised
def find_slice_transfers(trace: Trace, index: int) -> SliceTransfers:
    """The transfers of a device (an index into the trace's devices)."""
    ops, windows = trace.devices[index].ops, find_windows(trace, index)
    of_slices = np.flatnonzero(windows.engine == OTHER_SLICE)
    names, name, is_send = _names(trace, index, of_slices)
    send, receive = _paired(
        windows.run[of_slices],
        name,
        is_send,
        np.where(is_send, windows.start_ps[of_slices], windows.wait_start_ps[of_slices]),
    )
    first = np.where(send >= 0, send, receive)
    last = np.where(receive >= 0, receive, send)
    order = np.argsort(windows.start_ps[of_slices[first]], kind="stable")
    send, receive, first, last = send[order], receive[order], first[order], last[order]
    window_of = np.append(of_slices, -1)
    of_first, of_last = window_of[first], window_of[last]
    start_ps, needed_ps = windows.start_ps[of_first], windows.wait_start_ps[of_last]

    def sums(values: Int64) -> Int64:
        of_window = np.append(values[of_slices], 0)
        total: Int64 = of_window[send] + of_window[receive]
        return total

    found = find_async_ops(trace, index)
    op = found.op[found.engine == OTHER_SLICE]
    moving = union(ops.start_ps[op], ops.end_ps[op])
    between_ps = np.maximum(needed_ps - start_ps, 0)
    return SliceTransfers(
        names,
        name[first],
        window_of[send],
        window_of[receive],
        windows.run[of_first].astype(np.int64),
        start_ps,
        needed_ps,
        windows.end_ps[of_last],
        sums(windows.wait_ps),
        np.append(windows.wait_ps[of_slices], 0)[receive],
        sums(ops.own_ps[windows.start_op]),
        between_ps - covered_times(moving.start_ps, moving.end_ps, start_ps, start_ps + between_ps),
    )


def _names(
    trace: Trace, index: int, windows: NDArray[np.intp]
) -> tuple[list[TransferName], Int64, NDArray[np.bool_]]:
    """The distinct transfers of a device's windows; of each window, which one it is, and whether it sends."""
    ops, start_op = trace.devices[index].ops, find_windows(trace, index).start_op[windows]
    entry, of_window = np.unique(trace.metadata_index[ops.row[start_op]], return_inverse=True)
    texts = [trace.strings[text] for text in trace.metadata.name[entry].tolist()]
    numbers: dict[TransferName, int] = {}
    number = [numbers.setdefault(_transfer_name(text), len(numbers)) for text in texts]
    is_send = [opcode(text).lower() == _SEND for text in texts]
    return [*numbers], np.array(number, np.int64)[of_window], np.array(is_send, np.bool_)[of_window]


def _transfer_name(text: str) -> TransferName:
    rendezvous, type_ = _RENDEZVOUS.search(text), _TYPE.search(text)
    name = rendezvous[1] if rendezvous else short_op_name(instruction_name(text))
    both = f"{_SEND} and {_RECEIVE}" if rendezvous else opcode(text).lower()
    return TransferName(name, type_[1].lower().replace("_", "-") if type_ else both)


def _paired(
    run: NDArray[np.integer], name: Int64, is_send: NDArray[np.bool_], at_ps: Int64
) -> tuple[Int64, Int64]:
    """Sends and receives of one transfer as two columns of indices into these rows, -1 for none: each receive, when it
    is needed, has the last send of its name in the run that started since the receive before."""
    rows = len(name)
    order = np.lexsort((~is_send, at_ps, name, run))
    group = np.zeros(rows, np.int64)
    group[1:] = np.cumsum((np.diff(run[order]) != 0) | (np.diff(name[order]) != 0))
    place, sends = np.arange(rows), is_send[order]
    last_send = np.maximum.accumulate(np.where(sends, place, -1))
    last_receive = np.append(-1, np.maximum.accumulate(np.where(sends, -1, place)))[:-1]
    has_send = ~sends & (last_send > last_receive) & (group[last_send] == group)
    both = place[has_send]
    is_alone = ~has_send
    is_alone[last_send[both]] = False
    alone = order[is_alone]
    no_send, no_receive = np.where(is_send[alone], alone, -1), np.where(is_send[alone], -1, alone)
    return np.append(order[last_send[both]], no_send), np.append(order[both], no_receive)


@memoised
def unpaired_ops(trace: Trace, index: int) -> dict[TransferName, int]:
    """The number of start and done ops of a device's transfers without their counterpart in the same run."""
    ops, found = trace.devices[index].ops, find_async_ops(trace, index)
    of_slices = np.flatnonzero(found.engine == OTHER_SLICE)
    starts = of_slices[~found.is_done[of_slices]]
    first, number = np.unique(found.pair[starts], return_index=True)
    name_of_pair = {
        pair: _transfer_name(trace.name(int(ops.row[found.op[starts[at]]])))
        for pair, at in zip(first.tolist(), number.tolist(), strict=True)
    }
    counts: dict[TransferName, int] = {}
    for pair, count in zip(
        *(part.tolist() for part in np.unique(found.pair[of_slices], return_counts=True)), strict=True
    ):
        if name := name_of_pair.get(pair):
            counts[name] = counts.get(name, 0) + count
    transfers = find_slice_transfers(trace, index)
    for name, paired in zip(
        transfers.names,
        np.bincount(
            np.concatenate((transfers.name[transfers.send >= 0], transfers.name[transfers.receive >= 0])),
            minlength=len(transfers.names),
        ).tolist(),
        strict=True,
    ):
        counts[name] = counts.get(name, 0) - 2 * paired
    return counts
