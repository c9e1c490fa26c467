"""The properties that distinguish ops, as columns over the ops of a device: program, name, and metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.opcodes import instruction_name
from tb_xla_insights.analysis.propagation.kernels import find_distinct
from tb_xla_insights.analysis.propagation.scope_lines import stored_scopes
from tb_xla_insights.analysis.scope_names import op_name_in_tf_op
from tb_xla_insights.arrays import Int32
from tb_xla_insights.trace.device import Device
from tb_xla_insights.trace.model import Trace

_NO_PROGRAM = -1
"""The program id of events without a program, in files."""

_NONE = -1


class PropertyColumns(NamedTuple):
    """Per op: its program's number, and its name, `tf_op` and stored scope (`stored_scopes`), as indices into the
    trace's strings; -1: none. The latter two are None if the trace has no such stat, or the device no
    such line."""

    program: Int32
    name: Int32
    tf_op: Int32 | None
    scope: Int32 | None


class ProgramNumbers:
    """Numbers program ids in order of occurrence."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def number(self, id_: int) -> int:
        """The number of an id (a signed 64-bit integer); -1 for no program."""
        return _NONE if id_ == _NO_PROGRAM else self._numbers.setdefault(id_, len(self._numbers))

    def numbers(self, ids: NDArray[Any]) -> Int32:
        if ids[0] == ids.min() == ids.max():  # most captures have one program
            return np.full(len(ids), self.number(int(ids[0])), np.int32)
        first, index = find_distinct(ids.astype(np.int64, copy=False))
        return np.array([self.number(id_) for id_ in ids[first].tolist()], np.int32)[index]

    def texts(self) -> list[str]:
        """The ids as unsigned decimal strings, followed by an empty string for no program (index -1)."""
        return [*(str(id_ % 2**64) for id_ in self._numbers), ""]


def property_columns(trace: Trace, device: Device, run: Int32, programs: ProgramNumbers) -> PropertyColumns:
    """The properties of a device's ops. `run`: per op, its run (`runs_of_ops`). Numbers new programs in `programs`."""
    rows = device.ops.row
    stats = _EventStats(trace, rows)
    program = stats.get("program_id", programs.numbers)
    if program is None or (program < 0).any():
        lookup = np.full(len(trace.metadata.name), _NONE, np.int32)
        for metadata_index, text_index in enumerate(trace.metadata.text.get("program_id", ())):
            if text_index >= 0:
                lookup[metadata_index] = programs.number(_signed_id(trace.strings[text_index]))
        program = _fill_missing(program, lookup[trace.metadata_index[rows]])
    if (program < 0).any() and len(find_launches(trace).runs):
        launches = find_launches(trace)
        ids = np.array([programs.number(_signed_id(id_)) for _, id_ in launches.programs], np.int32)
        program = _fill_missing(program, np.where(run >= 0, ids[launches.runs.program[run]], np.int32(_NONE)))
    name = stats.get("hlo_op")
    if name is None or (name < 0).any():
        name = _fill_missing(name, device.ops.name)
    tf_op, texts = stats.get("tf_op"), trace.metadata.text.get("tf_op")
    if texts is not None and (texts >= 0).any():
        tf_op = _fill_missing(tf_op, texts[trace.metadata_index[rows]])
    return PropertyColumns(program, name, tf_op, stored_scopes(trace, device))


class _EventStats:
    """Stats of the ops' own events. Looks them up in a temporary column over all events, which is faster than a search
    in the stat's rows for each op."""

    def __init__(self, trace: Trace, rows: Int32) -> None:
        self._trace, self._rows = trace, rows
        self._stat_rows: Int32 | None = None
        self._index_of_op: Int32 | None = None

    def get(self, name: str, convert: Callable[[NDArray[Any]], Int32] | None = None) -> Int32 | None:
        """The stat's value per op, -1 without one; None if no event has the stat. `convert` is applied to the
        values."""
        stat = self._trace.stats.get(name)
        if stat is None or not stat.rows.size:
            return None
        if self._stat_rows is None or not np.array_equal(self._stat_rows, stat.rows):
            index_of_event = np.full(len(self._trace), -1, np.int32)
            index_of_event[stat.rows] = np.arange(len(stat.rows), dtype=np.int32)
            self._stat_rows, self._index_of_op = stat.rows, index_of_event[self._rows]
        index = self._index_of_op
        assert index is not None
        values = convert(stat.values) if convert else stat.values
        values_of_ops: Int32 = np.append(values.astype(np.int32, copy=False), np.int32(_NONE))[index]
        return values_of_ops


def _fill_missing(values: Int32 | None, substitutes: Int32) -> Int32:
    return substitutes if values is None else np.where(values < 0, substitutes, values)


def _signed_id(id_: str) -> int:
    """A program id as a signed number; ids are unsigned or signed decimals."""
    try:
        number = int(id_) % 2**64
    except ValueError:
        return _NO_PROGRAM
    return number - 2**64 if number >= 2**63 else number


def concatenate_columns(devices: Sequence[PropertyColumns]) -> PropertyColumns:
    """The columns over the ops of all devices, one device after the other."""
    return PropertyColumns(
        _concatenate([columns.program for columns in devices]),
        _concatenate([columns.name for columns in devices]),
        _concatenate_optional([(len(columns.name), columns.tf_op) for columns in devices]),
        _concatenate_optional([(len(columns.name), columns.scope) for columns in devices]),
    )


def _concatenate(columns: Sequence[Int32]) -> Int32:
    return columns[0] if len(columns) == 1 else np.concatenate([np.zeros(0, np.int32), *columns])


def _concatenate_optional(columns: Sequence[tuple[int, Int32 | None]]) -> Int32 | None:
    """Concatenates columns given with their lengths, with -1 for those that are None; None if all are."""
    if all(column is None for _, column in columns):
        return None
    return _concatenate(
        [np.full(length, _NONE, np.int32) if column is None else column for length, column in columns]
    )


def distinct_keys(columns: PropertyColumns) -> tuple[Int32, Int32]:
    """Per distinct op, its first op, and per op, the index of its distinct op. Ops are the same distinct op if they
    agree in all columns."""
    first, number = np.zeros(0, np.int32), np.zeros(0, np.int32)
    nonempty = [column for column in columns if column is not None and len(column)]
    varying = [column for column in nonempty if column.min() < column.max()]
    for column in varying or nonempty[:1]:
        key = number.astype(np.int64) if len(first) > 1 else np.zeros(len(column), np.int64)
        key *= int(column.max()) + 2
        key += column
        first, number = find_distinct(key)
    return first, number


class OpTexts(NamedTuple):
    """Per distinct op: its program's id as a decimal string, its name as in the program, and its op name, from its
    metadata or from a stored scope; empty if unknown."""

    program: list[str]
    name: list[str]
    op_name: list[str]


def texts_of_ops(trace: Trace, columns: PropertyColumns, first: Int32, programs: ProgramNumbers) -> OpTexts:
    """The texts of the distinct ops; `first`: their first ops (`distinct_keys`)."""
    ids = programs.texts()
    program = [ids[number] for number in columns.program[first].tolist()]
    name = [instruction_name(trace.strings[text_index]) for text_index in columns.name[first].tolist()]
    from_metadata = [
        op_name_in_tf_op(trace.strings[text_index]) if text_index >= 0 else ""
        for text_index in _values_at(columns.tf_op, first)
    ]
    scopes = [
        f"{trace.strings[text_index]}/" if text_index >= 0 else ""
        for text_index in _values_at(columns.scope, first)
    ]
    # A stored scope lacks the last segment of an `op_name`; the instruction's name takes its place.
    op_names = [
        op_name or (f"{scope}{op}" if scope else "")
        for op_name, scope, op in zip(from_metadata, scopes, name, strict=True)
    ]
    return OpTexts(program, name, op_names)


def _values_at(column: Int32 | None, rows: Int32) -> list[int]:
    values: list[int] = [_NONE] * len(rows) if column is None else column[rows].tolist()
    return values


def runs_of_ops(trace: Trace, index: int) -> Int32:
    """Per op of a device (an index into the trace's devices), the run in which it begins, or, for a kernel of a GPU,
    the run that it belongs to; an index into Launches.runs, -1: none."""
    device, runs = trace.devices[index], find_launches(trace).runs
    rows = runs.of_device(index)
    if device.run_of_op is not None:
        return np.where(device.run_of_op >= 0, device.run_of_op + rows.start, -1).astype(np.int32)
    starts, ends = runs.start_ps[rows], runs.end_ps[rows]
    run_of_op = np.full(len(device.ops), -1, np.int32)
    if not len(starts):
        return run_of_op
    first = np.searchsorted(device.ops.start_ps, starts, "left")
    next_first = np.append(first[1:], len(run_of_op))  # an op belongs to the run that began last
    stop = np.clip(np.searchsorted(device.ops.start_ps, ends, "right"), first, next_first)
    # The ops of each run are followed by those that begin after its end.
    run = np.column_stack((np.arange(rows.start, rows.stop), np.full(len(starts), -1)))
    count = np.column_stack((stop - first, next_first - stop))
    run_of_op[first[0] :] = np.repeat(run.astype(np.int32).ravel(), count.ravel())
    return run_of_op
