"""The script's own code on the driving thread, by the Python tracer's frames."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from tb_xla_insights.analysis.host.classes import thread_segments
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import Intervals
from tb_xla_insights.analysis.time.segments import NO_SEGMENTS
from tb_xla_insights.analysis.user_files import is_user_file
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.frames import Frame, parse_frame
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_enclosing, outermost_rows


@dataclass(frozen=True)
class ScriptCode:
    """A function of the script with its own time: including library functions that it calls, without other functions of
    the script. `count`: its calls. `callee`: the library function that has more than half of this time, if any."""

    frame: Frame
    own_ps: int
    count: int
    callee: Frame | None

    @property
    def name(self) -> str:
        """The function's name; of one without a name (`<listcomp>`, `<lambda>`) its callee's."""
        return self.callee.name if self.frame.is_anonymous and self.callee else self.frame.name

    @property
    def place(self) -> str:
        """`augment (train.py:12)`, or the name alone if the file is not recorded."""
        return f"{self.name} ({self.frame.place})" if self.frame.file else self.name


@memoised
def script_frames(trace: Trace) -> Int32:
    """Returns the driving thread's frames in the user's own files, in row order.

    The Python tracer records a file without its folders. It is the user's unless the catalogue's table of libraries has
    it, or all of its functions are called by such a library or by the runtime.
    """
    is_frame, is_library = has_tag(trace, "python_tracer"), has_tag(trace, "library")
    frames = [
        parse_frame(trace.strings[name]) if is_candidate else None
        for name, is_candidate in zip(
            trace.metadata.name.tolist(), (is_frame & ~is_library).tolist(), strict=True
        )
    ]
    files = np.array([frame.file if frame else "" for frame in frames])
    candidates = trace.rows_with_metadata(np.array([is_user_file(file) for file in files.tolist()], np.bool_))
    candidates = candidates[trace.is_on_lines(candidates, trace.lines_with("driving"))]
    if not candidates.size:
        return candidates
    is_runtime = ~is_frame & (trace.metadata.class_index >= 0)
    outside = trace.rows_with_metadata(is_runtime | has_tag(trace, "framework"))
    outside = outside[~trace.annotation_mask[outside]]
    is_called_by_script = nearest_enclosing(trace.parent, candidates, outside) < 0
    file_of_row = files[trace.metadata_index[candidates]]
    return candidates[np.isin(file_of_row, np.unique(file_of_row[is_called_by_script]))]


@memoised
def _named_frames(trace: Trace) -> Int32:
    """Returns the frames that name what they do, without those whose name is damaged."""
    is_named = has_tag(trace, "python_tracer") & ~has_tag(trace, "profiler", "decorator")
    for metadata in np.flatnonzero(is_named).tolist():
        is_named[metadata] = parse_frame(trace.strings[trace.metadata.name[metadata]]) is not None
    return trace.rows_with_metadata(is_named)


def frame_around(trace: Trace, rows: Int32) -> Int32:
    """Returns, for each of some events (-1: none), the innermost frame of the script that it is or that encloses it; if
    there is none, the outermost frame of a library; -1: none."""
    frame = nearest_enclosing(trace.parent, rows, script_frames(trace))
    outermost = nearest_enclosing(trace.parent, rows, outermost_rows(trace.parent, _named_frames(trace)))
    return np.where(frame >= 0, frame, outermost)


@dataclass(frozen=True)
class _Timeline:
    """Which function the driving thread is in, as columns: `frame` (see `frame_around`); `callee`: the library's
    function that a frame of the script has called (-1: none)."""

    start_ps: Int64
    end_ps: Int64
    frame: Int32
    callee: Int32


@memoised
def _timeline(trace: Trace) -> _Timeline:
    lines, frames = trace.lines_with("driving"), _named_frames(trace)
    segments = thread_segments(trace, lines[0]) if lines and len(frames) else NO_SEGMENTS
    script, frame = script_frames(trace), frame_around(trace, segments.row)
    callers = nearest_enclosing(trace.parent, trace.parent[frames], frames)
    callees = frames[np.isin(callers, script)]
    callee = nearest_enclosing(trace.parent, segments.row, np.union1d(callees, script))
    callee = np.where(np.isin(frame, script) & (callee != frame), callee, -1)
    known = frame >= 0
    return _Timeline(segments.start_ps[known], segments.end_ps[known], frame[known], callee[known])


def code_within(trace: Trace, times: Intervals) -> list[ScriptCode]:
    """Returns the functions of the script in which the driving thread is at some times, the longest own time first. A
    function of a library is named if no function of the script is recorded around it."""
    timeline = _timeline(trace)
    own_ps = covered_times(times.start_ps, times.end_ps, timeline.start_ps, timeline.end_ps)
    inside = np.flatnonzero(own_ps)
    frame, callee, own_ps = timeline.frame[inside], timeline.callee[inside], own_ps[inside]
    key = trace.metadata_index[frame]
    result = []
    for metadata in np.unique(key).tolist():
        chosen = key == metadata
        total_ps = int(own_ps[chosen].sum())
        parsed = parse_frame(trace.strings[trace.metadata.name[metadata]])
        assert parsed is not None
        result.append(
            ScriptCode(
                parsed,
                total_ps,
                len(np.unique(frame[chosen])),
                _main_callee(trace, callee[chosen], own_ps[chosen], total_ps),
            )
        )
    return sorted(result, key=lambda code: (-code.own_ps, code.frame.name))


def _main_callee(trace: Trace, callee: Int32, own_ps: Int64, total_ps: int) -> Frame | None:
    """The function among the callees (rows, -1: none) that has more than half of the time."""
    times: Counter[int] = Counter()
    for row, ps in zip(callee.tolist(), own_ps.tolist(), strict=True):
        if row >= 0:
            times[int(trace.metadata_index[row])] += ps
    metadata, longest_ps = times.most_common(1)[0] if times else (-1, 0)
    frame = parse_frame(trace.strings[trace.metadata.name[metadata]]) if metadata >= 0 else None
    if frame is None or frame.is_anonymous or 2 * longest_ps <= total_ps:
        return None
    return frame
