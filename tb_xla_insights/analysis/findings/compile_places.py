"""The call in which a graph was compiled, and the function of the script around it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.catalog.frames import Frame, parse_frame
from tb_xla_insights.trace.model import Trace


def compiling_call(trace: Trace, row: int) -> int:
    """The outermost runtime event around a compilation, within its innermost annotation; the compilation itself (`row`)
    if there is none."""
    is_frame, call = has_tag(trace, "python_tracer"), row
    for ancestor in _ancestors(trace, row):
        if trace.annotation_mask[ancestor]:
            break
        call = call if is_frame[trace.metadata_index[ancestor]] else ancestor
    return call


def compiling_function(trace: Trace, row: int) -> Frame | None:
    """The outermost Python function between the call that compiles and the annotation around it, which is the script's
    own or the first one of a library. If there is none, the nearest
    function around the annotation; without an annotation, the nearest one around the call. None if no Python functions
    are recorded. `row`: the compilation."""
    is_frame = has_tag(trace, "python_tracer")
    ancestors = [*_ancestors(trace, compiling_call(trace, row))]
    inside = [*takewhile(lambda ancestor: not trace.annotation_mask[ancestor], ancestors)]  # all are frames
    if inside and len(inside) < len(ancestors):
        return parse_frame(trace.name(inside[-1]))
    frames = (ancestor for ancestor in ancestors if is_frame[trace.metadata_index[ancestor]])
    return next((parse_frame(trace.name(frame)) for frame in frames), None)


def _ancestors(trace: Trace, row: int) -> Iterator[int]:
    """The events around an event, the innermost first."""
    while (row := int(trace.parent[row])) >= 0:
        yield row
