"""What tells ops apart, as columns over the ops of a device: program, name, and what their metadata says."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.launches import find_launches
from tb_xla_insights.analysis.propagation.kernels import distinct
from tb_xla_insights.analysis.propagation.scopes import op_name_of
from tb_xla_insights.analysis.propagation.stored import stored_scopes
from tb_xla_insights.trace.model import Device, Int32, Int64, Trace

_NO_PROGRAM = -1

Columns = tuple[Int64, Int64, "Int64 | None", "Int64 | None"]


def columns_of(trace: Trace, device: Device, run: Int32) -> Columns:
    """Per op: its program's id (by its bits), its name, its `tf_op`, and its stored scope (texts, -1: none). None where
    no op has the last ones."""
    rows = device.ops.row
    stats = _EventStats(trace, rows)
    program = stats.get("program_id")
    if program is None or (program == _NO_PROGRAM).any():
        lookup = np.full(len(trace.metadata.name), _NO_PROGRAM, np.int64)
        for entry, text in enumerate(trace.metadata.text.get("program_id", ())):
            if text >= 0:
                lookup[entry] = _bits(trace.strings[text])
        program = _instead(program, lookup[trace.meta[rows]])
    if (program == _NO_PROGRAM).any() and len(find_launches(trace).runs):
        launches = find_launches(trace)
        ids = np.array([_bits(id_) for _, id_ in launches.programs], np.int64)
        program = _instead(program, np.where(run >= 0, ids[launches.runs.program[run]], _NO_PROGRAM))
    name = stats.get("hlo_op")
    if name is None or (name == -1).any():
        name = _instead(name, device.ops.name.astype(np.int64))
    told, texts = stats.get("tf_op"), trace.metadata.text.get("tf_op")
    if texts is not None and (texts >= 0).any():
        told = _instead(told, texts[trace.meta[rows]].astype(np.int64))
    return program, name, told, stored_scopes(trace, device)


class _EventStats:
    """Stats of the ops' own events. A search in a stat's rows for each op would take longer than a column over all
    events, which goes again."""

    def __init__(self, trace: Trace, rows: Int32) -> None:
        self._trace, self._rows = trace, rows
        self._of: Int32 | None = None
        self._place: Int32 | None = None

    def get(self, name: str) -> Int64 | None:
        """Per op, -1 where it has no such stat; None where no event has it."""
        stat = self._trace.stats.get(name)
        if stat is None or not stat.rows.size:
            return None
        if self._of is None or not np.array_equal(self._of, stat.rows):
            places = np.full(len(self._trace), -1, np.int32)
            places[stat.rows] = np.arange(len(stat.rows), dtype=np.int32)
            self._of, self._place = stat.rows, places[self._rows]
        place = self._place
        assert place is not None
        if not len(place) or place.min() < 0:
            return np.where(place >= 0, stat.values[place], np.int64(-1))
        return stat.values[place].astype(np.int64, copy=False)


def _instead(values: Int64 | None, others: Int64) -> Int64:
    return others if values is None else np.where(values == -1, others, values)


def _bits(id_: str) -> int:
    """A program id as a signed number; ids are unsigned or signed decimals."""
    try:
        number = int(id_) % 2**64
    except ValueError:
        return _NO_PROGRAM
    return number - 2**64 if number >= 2**63 else number


def together(columns: list[Columns], which: int) -> Int64 | None:
    """One column of all devices."""
    parts = [column[which] for column in columns]
    if all(part is None for part in parts):
        return None
    lengths = [len(column[0]) for column in columns]
    whole = [
        np.full(n, -1, np.int64) if part is None else part for n, part in zip(lengths, parts, strict=True)
    ]
    return whole[0] if len(whole) == 1 else np.concatenate(whole)


def keys(columns: list[Int64 | None]) -> tuple[Int32, Int32]:
    """The first op of each kind, and the number of each op's kind; ops that agree in all columns are of one kind."""
    first, number = np.zeros(0, np.int32), np.zeros(0, np.int32)
    for column in columns:
        if column is None or not len(column):
            continue
        if len(first) > 1:
            column = number.astype(np.int64) * (int(column.max()) + 2) + column + 1
        first, number = distinct(np.ascontiguousarray(column))
    return first, number


def texts_of(
    trace: Trace, columns: list[Int64 | None], first: Int32
) -> tuple[list[str], list[str], list[str]]:
    """Of the distinct ops: program ids as decimal strings, names as programs know them, and op names that the ops
    themselves or stored rows tell."""
    chosen = [[-1] * len(first) if column is None else column[first].tolist() for column in columns]
    program = ["" if it == _NO_PROGRAM else str(it % 2**64) for it in chosen[0]]
    name = [_instruction(trace.strings[it]) for it in chosen[1]]
    own = [op_name_of(trace.strings[it]) if it >= 0 else "" for it in chosen[2]]
    stored = [f"{trace.strings[it]}/" if it >= 0 else "" for it in chosen[3]]
    # A stored row holds the scope alone: the op's name makes an op name of it.
    told = [
        op_name or (f"{scope}{op}" if scope else "")
        for op_name, scope, op in zip(own, stored, name, strict=True)
    ]
    return program, name, told


def _instruction(name: str) -> str:
    """The name of an instruction, of its name or its whole text."""
    return name.split(" ", 1)[0].lstrip("%") if name.startswith("%") else name


def runs_of_ops(trace: Trace, number: int) -> Int32:
    """The run each op of a device begins in."""
    device, runs = trace.devices[number], find_launches(trace).runs
    mine = runs.of_device(number)
    starts, ends = runs.start_ps[mine], runs.end_ps[mine]
    found = np.full(len(device.ops), -1, np.int32)
    if not len(starts):
        return found
    first = np.searchsorted(device.ops.start_ps, starts, "left")
    count = np.diff(np.append(first, len(found)))
    which = np.repeat(np.arange(len(starts), dtype=np.int32), count)
    inside = device.ops.start_ps[first[0] :] <= ends[which]
    found[first[0] :] = np.where(inside, which + np.int32(mine.start), -1)
    return found
