"""The annotations that a host recorded, as paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.host.templates import annotation_names
from tb_xla_insights.analysis.launches.step_times import annotated_steps, rows_of_steps, steps_at
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.scope_names import HostPaths, fits_limits, truncate_path
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_ancestor
from tb_xla_insights.trace.threads import thread_labels


@dataclass(frozen=True)
class HostAnnotations:
    """Annotations in row order: `row`, `parent` (the annotation around each, an index, -1: none), `path` (index into
    `path_texts`), `step` (index, -1: outside of steps), and `is_cut`: whether the annotation is an outermost one before
    the first or after the last recorded step, as in a step that the capture cuts. `parent_path`: per path, the path
    around it, -1 at the top. `thread`: per path, the helper threads that it is of, None: the driving thread.
    `too_deep_count`: the number of further annotations, whose paths exceed the limits."""

    row: Int32
    parent: Int32
    path: Int32
    step: Int32
    is_cut: NDArray[np.bool_]
    path_texts: list[str]
    parent_path: list[int]
    thread: list[str | None]
    paths: HostPaths
    too_deep_count: int

    def name_of(self, path: int) -> str:
        """A path's last name. The name of an annotation may itself contain slashes."""
        outer = self.parent_path[path]
        return self.path_texts[path][len(self.path_texts[outer]) + 1 if outer >= 0 else 0 :]

    def times(self, trace: Trace, step: int | None = None, *, in_steps: bool = False) -> tuple[Int64, Int64]:
        """Per path: time and number of its annotations, in one step, in all steps, or in the whole capture."""
        selected = self.step >= 0 if in_steps else self.step == step if step is not None else slice(None)
        duration = trace.duration_ps[self.row[selected]]
        time = np.zeros(len(self.path_texts), np.int64)
        np.add.at(time, self.path[selected], duration)
        return time, np.bincount(self.path[selected], minlength=len(self.path_texts))


@memoised
def host_annotations(trace: Trace) -> HostAnnotations:
    """The annotations of one host with their paths. A path is the names of the annotations around one on the same
    thread, outermost first, and its own name. No path is of both the driving thread, with its backward passes, and
    helper threads: an outermost name that both have is a longer one on helper threads.

    A capture that begins or ends inside a step does not record that step's annotation. Outermost annotations of the
    driving thread before the first and after the last recorded step therefore get the path that they have inside steps,
    if they occur there.
    """
    row = trace.annotations
    parent_row = nearest_ancestor(trace.parent, row)
    parent = np.where(parent_row >= 0, np.searchsorted(row, parent_row), -1).astype(np.int32)
    paths = _PathBuilder(trace, parent, trace.metadata.name[trace.metadata_index[row]])
    is_cut, is_step = _find_cut(trace, row, parent)
    is_helper = ~trace.is_on_lines(row, trace.driving_lines)
    is_cut &= ~is_helper
    paths.descend(np.flatnonzero((parent < 0) & ~is_cut & ~is_helper), {})
    paths.descend(
        np.flatnonzero((parent < 0) & is_cut), paths.parents_inside(paths.path[is_step & (paths.path >= 0)])
    )
    paths.of_driving_thread = frozenset(paths.texts)
    paths.descend(np.flatnonzero((parent < 0) & is_helper), {})
    has_path = paths.path >= 0
    # All annotations around one with a path have paths, too.
    new_index = np.cumsum(has_path, dtype=np.int32) - np.int32(1)
    parent = np.where(parent >= 0, new_index[parent], np.int32(-1))[has_path]
    row, is_cut = row[has_path], is_cut[has_path]
    return HostAnnotations(
        row=row,
        parent=parent,
        path=paths.path[has_path],
        step=steps_at(trace, trace.start_ps[row]),
        is_cut=is_cut,
        path_texts=paths.texts,
        parent_path=paths.parent_path,
        thread=_helper_threads(trace, row, paths.path[has_path], len(paths.of_driving_thread)),
        paths=HostPaths(paths.texts),
        too_deep_count=int((~has_path).sum()),
    )


class _PathBuilder:
    """Builds paths of annotations level by level. `parent`: the annotation around each; `name`: its name, an index into
    the trace's strings. Annotations whose path exceeds the limits have no path, nor have those nested in them.
    `of_driving_thread`: the paths that helper threads do not get."""

    def __init__(self, trace: Trace, parent: Int32, name: Int32) -> None:
        self.path = np.full(len(parent), -1, np.int32)
        self.texts: list[str] = []
        self.parent_path: list[int] = []
        self.of_driving_thread: frozenset[str] = frozenset()
        self._path_index: dict[str, int] = {}
        self._segments: dict[int, str] = {}
        self._strings, self._parent, self._name = trace.strings, parent, name
        self._names = annotation_names(trace)

    def descend(self, level: NDArray[np.intp], parent_of_name: dict[str, int]) -> None:
        """Builds the paths of some annotations and all nested in them. `parent_of_name`: by the name of an annotation
        at the top, the path to put around it."""
        width = len(self._strings) + 1
        while level.size:
            parent = self._parent[level]
            parent_path = np.where(parent >= 0, self.path[parent], -1).astype(np.int64)
            pairs, inverse = np.unique((parent_path + 1) * width + self._name[level], return_inverse=True)
            paths = [self._add(pair // width - 1, pair % width, parent_of_name) for pair in pairs.tolist()]
            self.path[level] = np.array(paths, np.int32)[inverse]
            in_level = np.zeros(len(self._parent) + 1, np.bool_)  # the last element: no parent
            in_level[level] = self.path[level] >= 0
            level = np.flatnonzero(in_level[self._parent])

    def parents_inside(self, outer_paths: Int32) -> dict[str, int]:
        """By the name of an annotation inside some paths, the path around it; of several, the one with the fewest
        names."""
        inside = set(outer_paths.tolist())
        parents: dict[str, int] = {}
        for path, parent in enumerate(self.parent_path):  # outer paths come first
            if parent in inside:
                inside.add(path)
        for path in sorted(inside, key=lambda path: (self.texts[path].count("/"), path)):
            parent = self.parent_path[path]
            if parent in inside:
                parents.setdefault(self.texts[path][len(self.texts[parent]) + 1 :], parent)
        return parents

    def _add(self, parent: int, text_index: int, parent_of_name: dict[str, int]) -> int:
        segment = self._segment(text_index)
        parent = parent_of_name.get(segment, -1) if parent < 0 else parent
        text = f"{self.texts[parent]}/{segment}" if parent >= 0 else segment
        if text in self.of_driving_thread:
            text += " (other threads)"
        if not fits_limits(text):
            return -1
        if text not in self._path_index:
            self._path_index[text] = len(self.texts)
            self.texts.append(text)
            self.parent_path.append(parent)
        return self._path_index[text]

    def _segment(self, text_index: int) -> str:
        """An annotation's name as a segment of a path."""
        if text_index not in self._segments:
            self._segments[text_index] = truncate_path(self._names[text_index])
        return self._segments[text_index]


def _helper_threads(trace: Trace, row: Int32, path: Int32, driving: int) -> list[str | None]:
    """Per path, the first of its threads and how many more there are; None for the first paths, those of the driving
    thread, `driving` of them."""
    labels, lines = thread_labels(trace), trace.lines_of(row)
    threads: list[str | None] = [None] * driving
    for index in range(driving, int(path.max(initial=-1)) + 1):
        first, *others = np.unique(lines[path == index]).tolist()
        threads.append(f"{labels[first]} and {len(others)} more" if others else labels[first])
    return threads


def _find_cut(trace: Trace, row: Int32, parent: Int32) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether each annotation is an outermost one before the first or after the last step, and whether it is a step."""
    steps = annotated_steps(trace)
    if not steps:
        return np.zeros(len(row), np.bool_), np.zeros(len(row), np.bool_)
    start = trace.start_ps[row]
    outside = (start < steps[0].start_ps) | (start >= max(step.end_ps for step in steps))
    outside &= (start > steps[0].start_ps) | (trace.end_ps[row] < steps[0].end_ps)  # not around steps
    return (parent < 0) & outside, np.isin(row, rows_of_steps(trace))
