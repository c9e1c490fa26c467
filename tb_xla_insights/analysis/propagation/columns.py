"""What tells ops apart, as columns over the ops of a device: program, name, and what their metadata says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.device.opcodes import instruction_name
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.kernels import distinct
from tb_xla_insights.analysis.propagation.scope_rows import stored_scopes
from tb_xla_insights.analysis.propagation.scopes import op_name_of
from tb_xla_insights.trace.model import Device, Int32, Trace

_NO_PROGRAM = -1
"""The id that files give to events of no program."""

_NONE = -1

Columns = tuple[Int32, Int32, "Int32 | None", "Int32 | None"]


class Programs:
    """Program ids by number, in order of occurrence."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def number(self, id_: int) -> int:
        """The number of an id (by its bits); -1 for none."""
        return _NONE if id_ == _NO_PROGRAM else self._numbers.setdefault(id_, len(self._numbers))

    def numbers(self, ids: NDArray[Any]) -> Int32:
        if ids[0] == ids.min() == ids.max():  # most captures have one program
            return np.full(len(ids), self.number(int(ids[0])), np.int32)
        first, which = distinct(ids.astype(np.int64, copy=False))
        return np.array([self.number(id_) for id_ in ids[first].tolist()], np.int32)[which]

    def texts(self) -> list[str]:
        """The ids as decimal strings, and an empty one for none behind them."""
        return [*(str(id_ % 2**64) for id_ in self._numbers), ""]


def columns_of(trace: Trace, device: Device, run: Int32, programs: Programs) -> Columns:
    """Per op: its program's number, its name, its `tf_op`, and its stored scope (texts); -1: none. None where no op has
    the last ones."""
    rows = device.ops.row
    stats = _EventStats(trace, rows)
    program = stats.get("program_id", programs.numbers)
    if program is None or (program < 0).any():
        lookup = np.full(len(trace.metadata.name), _NONE, np.int32)
        for entry, text in enumerate(trace.metadata.text.get("program_id", ())):
            if text >= 0:
                lookup[entry] = programs.number(_bits(trace.strings[text]))
        program = _instead(program, lookup[trace.meta[rows]])
    if (program < 0).any() and len(find_launches(trace).runs):
        launches = find_launches(trace)
        ids = np.array([programs.number(_bits(id_)) for _, id_ in launches.programs], np.int32)
        program = _instead(program, np.where(run >= 0, ids[launches.runs.program[run]], np.int32(_NONE)))
    name = stats.get("hlo_op")
    if name is None or (name < 0).any():
        name = _instead(name, device.ops.name)
    told, texts = stats.get("tf_op"), trace.metadata.text.get("tf_op")
    if texts is not None and (texts >= 0).any():
        told = _instead(told, texts[trace.meta[rows]])
    return program, name, told, stored_scopes(trace, device)


class _EventStats:
    """Stats of the ops' own events. A search in a stat's rows for each op would take longer than a column over all
    events, which goes again."""

    def __init__(self, trace: Trace, rows: Int32) -> None:
        self._trace, self._rows = trace, rows
        self._of: Int32 | None = None
        self._place: Int32 | None = None

    def get(self, name: str, numbers: Callable[[NDArray[Any]], Int32] | None = None) -> Int32 | None:
        """Per op, -1 where it has no such stat; None where no event has it. `numbers` makes numbers of ids."""
        stat = self._trace.stats.get(name)
        if stat is None or not stat.rows.size:
            return None
        if self._of is None or not np.array_equal(self._of, stat.rows):
            places = np.full(len(self._trace), -1, np.int32)
            places[stat.rows] = np.arange(len(stat.rows), dtype=np.int32)
            self._of, self._place = stat.rows, places[self._rows]
        place = self._place
        assert place is not None
        values = numbers(stat.values) if numbers else stat.values
        told: Int32 = np.append(values.astype(np.int32, copy=False), np.int32(_NONE))[place]
        return told


def _instead(values: Int32 | None, others: Int32) -> Int32:
    return others if values is None else np.where(values < 0, others, values)


def _bits(id_: str) -> int:
    """A program id as a signed number; ids are unsigned or signed decimals."""
    try:
        number = int(id_) % 2**64
    except ValueError:
        return _NO_PROGRAM
    return number - 2**64 if number >= 2**63 else number


def together(columns: list[Columns], which: int) -> Int32 | None:
    """One column of all devices."""
    parts = [column[which] for column in columns]
    if all(part is None for part in parts):
        return None
    lengths = [len(column[0]) for column in columns]
    whole = [
        np.full(n, _NONE, np.int32) if part is None else part for n, part in zip(lengths, parts, strict=True)
    ]
    return whole[0] if len(whole) == 1 else np.concatenate(whole)


def keys(columns: list[Int32 | None]) -> tuple[Int32, Int32]:
    """The first op of each kind, and the number of each op's kind; ops that agree in all columns are of one kind."""
    first, number = np.zeros(0, np.int32), np.zeros(0, np.int32)
    told = [column for column in columns if column is not None and len(column)]
    for column in [it for it in told if it.min() < it.max()] or told[:1]:
        key = number.astype(np.int64) if len(first) > 1 else np.zeros(len(column), np.int64)
        key *= int(column.max()) + 2
        key += column
        first, number = distinct(key)
    return first, number


def texts_of(
    trace: Trace, columns: list[Int32 | None], first: Int32, programs: Programs
) -> tuple[list[str], list[str], list[str]]:
    """Of the distinct ops: program ids as decimal strings, names as programs know them, and op names that the ops
    themselves or stored rows tell."""
    chosen = [[_NONE] * len(first) if column is None else column[first].tolist() for column in columns]
    ids = programs.texts()
    program = [ids[it] for it in chosen[0]]
    name = [instruction_name(trace.strings[it]) for it in chosen[1]]
    own = [op_name_of(trace.strings[it]) if it >= 0 else "" for it in chosen[2]]
    stored = [f"{trace.strings[it]}/" if it >= 0 else "" for it in chosen[3]]
    # A stored row holds the scope alone: the op's name makes an op name of it.
    told = [
        op_name or (f"{scope}{op}" if scope else "")
        for op_name, scope, op in zip(own, stored, name, strict=True)
    ]
    return program, name, told


def runs_of_ops(trace: Trace, number: int) -> Int32:
    """The run each op of a device begins in; of a GPU's kernels, the one that they are part of."""
    device, runs = trace.devices[number], find_launches(trace).runs
    mine = runs.of_device(number)
    if device.run_of_op is not None:
        return np.where(device.run_of_op >= 0, device.run_of_op + mine.start, -1).astype(np.int32)
    starts, ends = runs.start_ps[mine], runs.end_ps[mine]
    found = np.full(len(device.ops), -1, np.int32)
    if not len(starts):
        return found
    first = np.searchsorted(device.ops.start_ps, starts, "left")
    until = np.append(first[1:], len(found))  # an op belongs to the run that began last
    last = np.clip(np.searchsorted(device.ops.start_ps, ends, "right"), first, until)
    # Behind the ops of each run come those that begin after its end.
    which = np.column_stack((np.arange(mine.start, mine.stop), np.full(len(starts), -1)))
    count = np.column_stack((last - first, until - last))
    found[first[0] :] = np.repeat(which.astype(np.int32).ravel(), count.ravel())
    return found
