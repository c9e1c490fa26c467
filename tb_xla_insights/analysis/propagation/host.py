"""The annotations that a host recorded, as paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.scopes import HostPaths, fits_limits, truncate_path
from tb_xla_insights.analysis.steps.step_times import annotated_steps, steps_at
from tb_xla_insights.trace.model import Int32, Int64, Trace
from tb_xla_insights.trace.nesting import nearest_ancestor


@dataclass(frozen=True)
class HostAnnotations:
    """Annotations in row order: `row`, `parent` (the annotation around each, an index, -1: none), path (index into
    `names`), step (index, -1: outside of steps), and `cut`: whether the annotation is in an incompletely recorded step.
    `parent_path`: per path, the path around it, -1 at the top. `too_deep`: the number of further annotations, whose
    paths exceed the limits."""

    row: Int32
    parent: Int32
    path: Int32
    step: Int32
    cut: NDArray[np.bool_]
    names: list[str]
    parent_path: list[int]
    paths: HostPaths
    too_deep: int

    def times(self, trace: Trace, step: int | None = None, *, in_steps: bool = False) -> tuple[Int64, Int64]:
        """Per path: time and number of its annotations, in one step, in all steps, or in the whole capture."""
        selected = self.step >= 0 if in_steps else self.step == step if step is not None else slice(None)
        duration = trace.duration_ps[self.row[selected]]
        time = np.zeros(len(self.names), np.int64)
        np.add.at(time, self.path[selected], duration)
        return time, np.bincount(self.path[selected], minlength=len(self.names))


@memoised
def host_annotations(trace: Trace) -> HostAnnotations:
    """The annotations of one host with their paths: the names of the annotations around it on the same thread,
    outermost first, and its own name.

    A capture that begins or ends inside a step does not record that step's annotation. Outermost annotations before the
    first and after the last recorded step therefore get the path that they have inside steps, if they occur there.
    """
    row = trace.annotations
    parent_row = nearest_ancestor(trace.parent, row)
    parent = np.where(parent_row >= 0, np.searchsorted(row, parent_row), -1).astype(np.int32)
    paths = _PathBuilder(trace, parent, trace.metadata.name[trace.metadata_index[row]])
    cut, step_names = _find_cut(trace, row, parent)
    paths.descend(np.flatnonzero((parent < 0) & ~cut), {})
    outer_path: dict[str, int] = {}
    for path in sorted(range(len(paths.names)), key=lambda path: paths.names[path].count("/")):
        if paths.parent_path[path] >= 0 and paths.names[path].split("/", 1)[0] in step_names:
            outer_path.setdefault(paths.names[path].rpartition("/")[2], paths.parent_path[path])
    paths.descend(np.flatnonzero((parent < 0) & cut), outer_path)
    has_path = paths.path >= 0
    # All annotations around one with a path have paths, too.
    new_index = np.cumsum(has_path, dtype=np.int32) - np.int32(1)
    parent = np.where(parent >= 0, new_index[parent], np.int32(-1))[has_path]
    row, cut = row[has_path], cut[has_path]
    return HostAnnotations(
        row=row,
        parent=parent,
        path=paths.path[has_path],
        step=steps_at(trace, trace.start_ps[row]),
        cut=cut,
        names=paths.names,
        parent_path=paths.parent_path,
        paths=HostPaths(paths.names),
        too_deep=int((~has_path).sum()),
    )


class _PathBuilder:
    """Builds paths of annotations level by level. `parent`: the annotation around each; `text`: its name. Annotations
    whose path exceeds the limits have no path, nor have those nested in them."""

    def __init__(self, trace: Trace, parent: Int32, text: Int32) -> None:
        self.path = np.full(len(parent), -1, np.int32)
        self.names: list[str] = []
        self.parent_path: list[int] = []
        self._path_index: dict[str, int] = {}
        self._segments: dict[int, str] = {}
        self._strings, self._parent, self._text = trace.strings, parent, text

    def descend(self, level: NDArray[np.intp], outer_path: dict[str, int]) -> None:
        """Builds the paths of some annotations and all nested in them. `outer_path`: by name, the path to put around an
        annotation at the top."""
        width = len(self._strings) + 1
        while level.size:
            parent = self._parent[level]
            parent_path = np.where(parent >= 0, self.path[parent], -1).astype(np.int64)
            pairs, inverse = np.unique((parent_path + 1) * width + self._text[level], return_inverse=True)
            paths = [self._add(pair // width - 1, pair % width, outer_path) for pair in pairs.tolist()]
            self.path[level] = np.array(paths, np.int32)[inverse]
            in_level = np.zeros(len(self._parent) + 1, np.bool_)  # the last element: no parent
            in_level[level] = self.path[level] >= 0
            level = np.flatnonzero(in_level[self._parent])

    def _add(self, outer: int, text: int, outer_path: dict[str, int]) -> int:
        segment = self._segment(text)
        outer = outer_path.get(segment, -1) if outer < 0 else outer
        full = f"{self.names[outer]}/{segment}" if outer >= 0 else segment
        if not fits_limits(full):
            return -1
        if full not in self._path_index:
            self._path_index[full] = len(self.names)
            self.names.append(full)
            self.parent_path.append(outer)
        return self._path_index[full]

    def _segment(self, text_index: int) -> str:
        """An annotation's name as a segment of a path."""
        if text_index not in self._segments:
            self._segments[text_index] = truncate_path(self._strings[text_index].split("#", 1)[0])
        return self._segments[text_index]


def _find_cut(trace: Trace, row: Int32, parent: Int32) -> tuple[NDArray[np.bool_], set[str]]:
    """Whether each annotation is an outermost one before the first or after the last step; and the names of steps."""
    steps = annotated_steps(trace)
    if not steps:
        return np.zeros(len(row), np.bool_), set()
    start = trace.start_ps[row]
    outside = (start < steps[0].start_ps) | (start >= max(step.end_ps for step in steps))
    return (parent < 0) & outside, {step.name.split("#", 1)[0] for step in steps}
