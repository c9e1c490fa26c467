"""The annotations that a host recorded, as paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.scopes import HostPaths, fits, fitting
from tb_xla_insights.analysis.steps.step_times import annotated_steps, steps_at
from tb_xla_insights.trace.model import Int32, Int64, Trace
from tb_xla_insights.trace.nesting import nearest_ancestor


@dataclass(frozen=True)
class HostAnnotations:
    """Annotations in row order: `row`, the annotation around each (`up`, index, -1: none), its path (index into
    `names`) and its step (index, -1: outside). `cut` ones lie in a step that was not recorded, whole. `above` is the
    path around each path, -1 at the top. `too_deep` is how many more the file has, whose paths do not fit."""

    row: Int32
    up: Int32
    path: Int32
    step: Int32
    cut: NDArray[np.bool_]
    names: list[str]
    above: list[int]
    paths: HostPaths
    too_deep: int

    def times(self, trace: Trace, step: int | None = None, *, in_steps: bool = False) -> tuple[Int64, Int64]:
        """Per path: time and number of its annotations, of one step, of all steps, or of the whole capture."""
        mine = self.step >= 0 if in_steps else self.step == step if step is not None else slice(None)
        duration = trace.duration_ps[self.row[mine]]
        time = np.zeros(len(self.names), np.int64)
        np.add.at(time, self.path[mine], duration)
        return time, np.bincount(self.path[mine], minlength=len(self.names))


@memoised
def host_annotations(trace: Trace) -> HostAnnotations:
    """The annotations of one host with their paths: names from the outermost one in, on the same thread.

    A capture that begins or ends inside of a step does not record that step: what lies outermost before the first and
    after the last recorded step has the path that it has inside of steps, if it occurs there.
    """
    row = trace.annotations
    above = nearest_ancestor(trace.parent, row)
    up = np.where(above >= 0, np.searchsorted(row, above), -1).astype(np.int32)
    made = _Paths(trace, up, trace.metadata.name[trace.meta[row]])
    cut, roots = _cut(trace, row, up)
    made.descend(np.flatnonzero((up < 0) & ~cut), {})
    inside: dict[str, int] = {}
    for path in sorted(range(len(made.names)), key=lambda it: made.names[it].count("/")):
        if made.above[path] >= 0 and made.names[path].split("/", 1)[0] in roots:
            inside.setdefault(made.names[path].rpartition("/")[2], made.above[path])
    made.descend(np.flatnonzero((up < 0) & cut), inside)
    told = made.path >= 0
    # What encloses an annotation with a path has one, too.
    place = np.cumsum(told, dtype=np.int32) - np.int32(1)
    up = np.where(up >= 0, place[up], np.int32(-1))[told]
    row, cut = row[told], cut[told]
    step, too_deep = steps_at(trace, trace.start_ps[row]), int((~told).sum())
    paths = HostPaths(made.names)
    return HostAnnotations(row, up, made.path[told], step, cut, made.names, made.above, paths, too_deep)


class _Paths:
    """Paths of annotations, found level by level; `up` is the annotation around each, `text` its name. An annotation
    whose path does not fit has none, nor has what lies inside of it."""

    def __init__(self, trace: Trace, up: Int32, text: Int32) -> None:
        self.path = np.full(len(up), -1, np.int32)
        self.names: list[str] = []
        self.above: list[int] = []
        self._number: dict[str, int] = {}
        self._segments: dict[int, str] = {}
        self._strings, self._up, self._text = trace.strings, up, text

    def descend(self, level: NDArray[np.intp], outermost: dict[str, int]) -> None:
        """Names some annotations and all inside of them; `outermost` gives the paths around those at the top."""
        width = len(self._strings) + 1
        while level.size:
            up = self._up[level]
            around = np.where(up >= 0, self.path[up], -1).astype(np.int64)
            pairs, inverse = np.unique((around + 1) * width + self._text[level], return_inverse=True)
            paths = [self._add(pair // width - 1, pair % width, outermost) for pair in pairs.tolist()]
            self.path[level] = np.array(paths, np.int32)[inverse]
            inside = np.zeros(len(self._up) + 1, np.bool_)  # the last one stands for nothing around
            inside[level] = self.path[level] >= 0
            level = np.flatnonzero(inside[self._up])

    def _add(self, outer: int, text: int, outermost: dict[str, int]) -> int:
        segment = self._segment(text)
        outer = outermost.get(segment, -1) if outer < 0 else outer
        full = f"{self.names[outer]}/{segment}" if outer >= 0 else segment
        if not fits(full):
            return -1
        if full not in self._number:
            self._number[full] = len(self.names)
            self.names.append(full)
            self.above.append(outer)
        return self._number[full]

    def _segment(self, text: int) -> str:
        """The name of an annotation as paths have it."""
        if text not in self._segments:
            self._segments[text] = fitting(self._strings[text].split("#", 1)[0])
        return self._segments[text]


def _cut(trace: Trace, row: Int32, up: Int32) -> tuple[NDArray[np.bool_], set[str]]:
    """Outermost annotations before the first and after the last step, and the names of steps."""
    steps = annotated_steps(trace)
    if not steps:
        return np.zeros(len(row), np.bool_), set()
    start = trace.start_ps[row]
    outside = (start < steps[0].start_ps) | (start >= max(step.end_ps for step in steps))
    return (up < 0) & outside, {step.name.split("#", 1)[0] for step in steps}
