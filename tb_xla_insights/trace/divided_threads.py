"""Threads that two recorders wrote as two lines: the framework's, with Python frames and annotations, and the
runtime's, whose library has a recorder of its own (libtpu from pip).

The recorders meet at the calls of the runtime's interface, `PJRT_…`: directly before each, the framework's line has a
mark `PJRT_… linkage`, or the framework's own call is around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog import Catalog
from tb_xla_insights.catalog.classes import COMPILE, DISPATCH, FROM_DEVICE, TO_DEVICE
from tb_xla_insights.trace.metadata_events import rows_with_metadata
from tb_xla_insights.trace.model import DividedThread, Line
from tb_xla_insights.trace.nesting import nearest_enclosing, nest_events

_CALL, _MARK = "PJRT_", " linkage"
_MIN_MARKED_CALLS = 3
"""So many calls of a line must follow their marks, unless it has fewer."""

_CALL_CLASSES = (COMPILE, TO_DEVICE, FROM_DEVICE, DISPATCH)
"""Classes of the framework's calls that call the runtime."""

_ByLine = Mapping[int, Mapping[str, Int32]]
"""Events, in order of time, by line and name."""


@dataclass(frozen=True)
class Recorded:
    """What divided threads are found in: a file's lines, whose events may not be sorted yet, and columns of its events.
    `names` are those of the event metadata."""

    lines: Sequence[Line]
    names: Sequence[str]
    metadata_index: Int32
    start_ps: Int64
    duration_ps: Int64

    def sorted_rows(self, *lines: int) -> Int64:
        """The events of some lines by start, the longer first; of equal ones, those of the first line first."""
        rows_of_lines = [self.lines[line].rows for line in lines]
        rows = np.concatenate([np.arange(rows.start, rows.stop) for rows in rows_of_lines])
        return rows[np.lexsort((-self.duration_ps[rows], self.start_ps[rows]))]

    def by_line(self, ending: str) -> dict[int, dict[str, Int32]]:
        """The runtime's calls, or with `ending` their marks, by line and by the name of the call."""
        is_selected = np.array(
            [
                name.startswith(_CALL) and name.endswith(ending) and (ending or not name.endswith(_MARK))
                for name in self.names
            ],
            np.bool_,
        )
        rows = rows_with_metadata(is_selected, self.metadata_index)
        rows = rows[np.argsort(self.start_ps[rows], kind="stable")]
        lines = np.searchsorted([line.first for line in self.lines], rows, "right") - 1
        groups: dict[int, dict[str, list[int]]] = {}
        for row, line in zip(rows.tolist(), lines.tolist(), strict=True):
            name = self.names[self.metadata_index[row]].removesuffix(ending)
            groups.setdefault(line, {}).setdefault(name, []).append(row)
        return {
            line: {name: np.array(group, np.int32) for name, group in by_name.items()}
            for line, by_name in groups.items()
        }


def find_divided_threads(recorded: Recorded, catalog: Catalog) -> list[DividedThread]:
    """Finds the threads that two recorders wrote. (docs/definitions.md, "Threads of two lines")

    Two lines are one thread if no event of one crosses an event of the other, and each mark of one is followed by its
    call on the other before the next mark. In a file without marks, the innermost event of the framework's line around
    each call must be a call of the framework, and no other line may fit.
    """
    if not any(name.startswith(_CALL) for name in recorded.names):  # the usual case
        return []
    marks, calls = recorded.by_line(_MARK), recorded.by_line("")
    if marks:
        return _pairs_with_marks(recorded, marks, calls)
    return _pairs_by_nesting(recorded, calls, catalog)


def join_lines(lines: Sequence[Line], threads: Sequence[DividedThread]) -> tuple[list[Line], Int64]:
    """Moves the events of the runtime's lines behind those of the framework's; the runtime's lines are empty then.
    Returns the lines and the order of the events: row i is now the event that was row `order[i]`."""
    runtime_of_framework = {thread.framework: lines[thread.runtime] for thread in threads}
    moved = {thread.runtime for thread in threads}
    joined: list[Line] = []
    rows: list[Int64] = []
    for line in lines:
        parts = [line, runtime_of_framework.get(line.index)] if line.index not in moved else []
        first = sum(map(len, rows))
        rows += [np.arange(part.rows.start, part.rows.stop) for part in parts if part is not None]
        joined.append(replace(line, first=first, count=sum(map(len, rows)) - first))
    return joined, np.concatenate(rows)


def _pairs_with_marks(recorded: Recorded, marks: _ByLine, calls: _ByLine) -> list[DividedThread]:
    """The lines in which calls follow marks; of several that fit, those with the shortest delay."""
    delays_ps = {
        pair: delay_ps
        for pair in product(marks, calls)
        if pair[0] not in calls
        and pair[1] not in marks
        and (delay_ps := _delay_ps(recorded.start_ps, marks, calls, *pair)) is not None
        and not _Nested(recorded, *pair).has_crossings
    }
    threads: list[DividedThread] = []
    paired: set[int] = set()
    for pair in sorted(delays_ps, key=delays_ps.__getitem__):
        if paired.isdisjoint(pair):
            threads.append(DividedThread(*pair, is_exact=True))
            paired.update(pair)
    return threads


def _delay_ps(start_ps: Int64, marks: _ByLine, calls: _ByLine, framework: int, runtime: int) -> float | None:
    """The mean time from the marks of one line to the calls of another, None if the calls do not follow the marks.

    The recorders start and stop at different times: a mark may miss its call, or a call its mark, before the first or
    after the last event that the other recorder wrote.
    """
    delays_ps: list[Int64] = []
    marked_names = {name for by_name in marks.values() for name in by_name}
    none = np.empty(0, np.int32)
    for name in marked_names & (marks[framework].keys() | calls[runtime].keys()):
        mark_ps, call_ps = (
            start_ps[by_name.get(name, none)] for by_name in (marks[framework], calls[runtime])
        )
        mark = np.searchsorted(mark_ps, call_ps, "right") - 1
        follows = np.diff(mark, prepend=-1) > 0
        without_call = np.delete(mark_ps, mark[follows])
        all_marks_ps, all_calls_ps = (
            np.concatenate([start_ps[by_name.get(name, none)] for by_name in by_line.values()])
            for by_line in (marks, calls)
        )
        if not _is_outside(call_ps[~follows], all_marks_ps) or not _is_outside(without_call, all_calls_ps):
            return None
        delays_ps.append(call_ps[follows] - mark_ps[mark[follows]])
    pairs = sum(map(len, delays_ps))
    events = min(sum(map(len, by_name.values())) for by_name in (marks[framework], calls[runtime]))
    if not pairs or pairs < min(events, _MIN_MARKED_CALLS):
        return None
    return float(np.concatenate(delays_ps).mean())


def _is_outside(times_ps: Int64, others_ps: Int64) -> bool:
    """Whether all times are before the first or after the last of some others."""
    if not len(others_ps):
        return True
    return bool(((times_ps < others_ps.min()) | (times_ps > others_ps.max())).all())


def _pairs_by_nesting(recorded: Recorded, calls: _ByLine, catalog: Catalog) -> list[DividedThread]:
    """The lines in which all calls of the runtime are inside calls of the framework, and that fit no other line."""
    is_framework_call = np.array(
        [
            catalog.class_index(name) in _CALL_CLASSES or "jitted_call" in catalog.tags(name)
            for name in recorded.names
        ],
        np.bool_,
    )
    is_framework_call &= np.array([not name.startswith(_CALL) for name in recorded.names])
    rows = rows_with_metadata(is_framework_call, recorded.metadata_index)
    lines = np.searchsorted([line.first for line in recorded.lines], rows, "right") - 1
    pairs = [
        (framework, runtime)
        for framework, runtime in product(np.unique(lines).tolist(), calls)
        if framework not in calls
        and (nested := _Nested(recorded, framework, runtime)).encloses(calls[runtime], is_framework_call)
        and not nested.has_crossings
    ]
    fits = Counter(line for pair in pairs for line in pair)
    return [DividedThread(*pair, is_exact=False) for pair in pairs if max(map(fits.__getitem__, pair)) == 1]


class _Nested:
    """The events of two lines, nested as if one thread had recorded them."""

    def __init__(self, recorded: Recorded, framework: int, runtime: int) -> None:
        self._recorded = recorded
        self._rows = recorded.sorted_rows(framework, runtime)
        line = recorded.lines[framework]
        self._is_framework = (self._rows >= line.first) & (self._rows < line.first + line.count)
        self._start_ps, self._duration_ps = recorded.start_ps[self._rows], recorded.duration_ps[self._rows]
        _, self._parent = nest_events(self._start_ps, self._duration_ps, [(0, len(self._rows))])

    @property
    def has_crossings(self) -> bool:
        """Whether an event of one line begins inside an event of the other and ends after it."""
        order = np.argsort(self._parent, kind="stable")  # siblings follow each other
        earlier, later = order[:-1], order[1:]
        crosses = (
            (self._parent[earlier] == self._parent[later])
            & (self._is_framework[earlier] != self._is_framework[later])
            & (self._start_ps[earlier] + self._duration_ps[earlier] > self._start_ps[later])
        )
        return bool(crosses.any())

    def encloses(self, calls: Mapping[str, Int32], is_framework_call: NDArray[np.bool_]) -> bool:
        """Whether the innermost event of the framework's line around each call is a call of the framework."""
        rows = np.concatenate(list(calls.values()))
        positions = np.flatnonzero(np.isin(self._rows, rows)).astype(np.int32)
        around = nearest_enclosing(
            self._parent, positions, np.flatnonzero(self._is_framework).astype(np.int32)
        )
        metadata_index = self._recorded.metadata_index[self._rows[around]]
        return bool(((around >= 0) & is_framework_call[metadata_index]).all())
