"""The function of the script in which a graph was compiled, from the Python functions around the compilation."""

from __future__ import annotations

from tb_xla_insights.analysis.names import frame_name, has_tag
from tb_xla_insights.trace.model import Trace


def compiling_function(trace: Trace, row: int) -> str | None:
    """The outermost Python function between the call that compiles and the annotation around it, which is the script's
    own or the first one of a library, such as `save at async_checkpointer.py:578`. If there is none, the nearest
    function around the annotation; without an annotation, the nearest one around the call. None if no Python functions
    are recorded. `row`: the compilation."""
    is_frame = has_tag(trace, "python_tracer")
    ancestors = _ancestors(trace, row)
    annotation = next(
        (index for index, ancestor in enumerate(ancestors) if trace.annotation_mask[ancestor]), len(ancestors)
    )
    frames = [index for index, ancestor in enumerate(ancestors) if is_frame[trace.metadata_index[ancestor]]]
    calls = [index for index in range(annotation) if index not in frames]
    call = max(calls, default=-1)
    outside = [index for index in frames if index > call]
    inside = [index for index in outside if index < annotation]
    if not outside:
        return None
    chosen = inside[-1] if inside and annotation < len(ancestors) else outside[0]
    return frame_name(trace.name(ancestors[chosen]))


def _ancestors(trace: Trace, row: int) -> list[int]:
    """The events around an event, the innermost first."""
    ancestors = []
    while (row := int(trace.parent[row])) >= 0:
        ancestors.append(row)
    return ancestors
