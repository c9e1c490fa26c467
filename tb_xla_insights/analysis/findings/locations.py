"""The locations that findings name: steps, phases and annotation paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_path
from tb_xla_insights.analysis.launches.step_times import find_steps, rows_of_steps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.arrays import Int32
from tb_xla_insights.catalog.frames import Frame
from tb_xla_insights.text.units import count
from tb_xla_insights.trace.annotations import step_annotation_rows
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_enclosing, outermost_rows

Name = TypeVar("Name", str, Frame)


def most_common(names: Iterable[Name | None]) -> Name | None:
    """The most frequent name, None without any."""
    counts = Counter(name for name in names if name)
    return counts.most_common(1)[0][0] if counts else None


@memoised
def step_paths(trace: Trace) -> frozenset[str]:
    """Paths of the annotations that are steps. An event with such a path is in no phase of a step."""
    return frozenset(enclosing_path(trace, row) or "" for row in step_annotation_rows(trace).tolist())


def phase_rows(trace: Trace) -> Int32:
    """The rows of the annotations directly below the steps, in order."""
    roots = rows_of_steps(trace)
    return trace.annotations[np.isin(trace.parent[trace.annotations], roots)]


@memoised
def rows_beside_steps(trace: Trace) -> Int32:
    """The rows of the outermost annotations on the driving thread that are in no step's annotation and contain none,
    such as an evaluation or a checkpoint, in order."""
    steps, rows = step_annotation_rows(trace), trace.annotations
    rows = rows[trace.is_on_lines(rows, trace.lines_with("driving"))]
    contains_step = np.zeros(len(trace.parent), np.bool_)
    ancestors = steps
    while ancestors.size:
        contains_step[ancestors] = True
        ancestors = np.unique(trace.parent[ancestors])
        ancestors = ancestors[ancestors >= 0]
    outside = (nearest_enclosing(trace.parent, rows, steps) < 0) & ~contains_step[rows]
    return outermost_rows(trace.parent, rows[outside])


def enclosing_paths(trace: Trace, rows: Iterable[int]) -> list[str | None]:
    """The path of the annotations around each event (a row, -1: none); None without any."""
    return [enclosing_path(trace, row) if row >= 0 else None for row in rows]


def step_numbers(trace: Trace, steps: Iterable[int]) -> list[int]:
    """The numbers of distinct steps (given as indices; -1, outside of steps, is left out), or the indices of steps
    without a number; sorted. A number that several of the steps have, as in several epochs, occurs several times."""
    all_steps = find_steps(trace)
    numbers = {index: all_steps[index].number for index in set(steps) if index >= 0}
    return sorted(index if number is None else number for index, number in numbers.items())


def steps_text(numbers: Sequence[int], total: int, preposition: str = "in") -> str:
    """`in step 1209`, `in steps 3, 6 and 9`, `in 12 of 40 steps`, `in every step`."""
    if not numbers:
        return "outside of steps"
    if len(numbers) == total > 1:
        return f"{preposition} every step"
    if len(numbers) == 1:
        return f"{preposition} step {numbers[0]}"
    if len(numbers) <= 3:
        return f"{preposition} steps {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    return f"{preposition} {count(len(numbers))} of {count(total)} steps"
