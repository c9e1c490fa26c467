"""Whether a host serves a language model, so that each iteration of its loop makes the next token of each request."""

from __future__ import annotations

import re

import numpy as np

from tb_xla_insights.analysis.host.templates import annotation_names
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.arrays import Int32
from tb_xla_insights.errors import InputError
from tb_xla_insights.trace.details import event_stats
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import outermost_rows

_MARKS = (r"execute_model: \S+ reqs", r"run_batch$", r"forward_batch_generation", r"(prefill|generate)$")
"""Annotations of an iteration, in vLLM, in two threads of sglang-jax, and in MaxText, which has one per phase."""

_PHASES = {"prefill", "generate"}
"""Names that only together show that a host serves."""


@memoised
def iteration_marks(trace: Trace) -> Int32:
    """The annotations that begin the iterations of a server, those of one thread in order of time; none if the capture
    has no annotations of a server that decodes."""
    names = annotation_names(trace)
    texts = trace.metadata.name[trace.metadata_index[trace.annotations]]
    for pattern in map(re.compile, _MARKS):
        matching = {text: name for text, name in names.items() if pattern.match(name)}
        if not matching or len(_PHASES & {*matching.values()}) == 1:
            continue
        rows = outermost_rows(trace.parent, trace.annotations[np.isin(texts, [*matching])])
        lines = trace.lines_of(rows)
        rows = rows[lines == np.bincount(lines).argmax()]
        marks: Int32 = rows[np.argsort(trace.start_ps[rows], kind="stable")]
        return marks
    return np.zeros(0, np.int32)


def is_server(trace: Trace) -> bool:
    """Whether the capture has the annotations of a server that decodes."""
    return bool(len(iteration_marks(trace)))


@memoised
def engine_line(trace: Trace) -> int | None:
    """The thread of a server's loop, if another one launches for it; None for all others."""
    line = int(trace.lines_of(iteration_marks(trace)[:1])[0]) if is_server(trace) else None
    return None if line in trace.lines_with("driving") else line


_ROLLOUTS = {"sampler", "trainer"}, {"inference", "train"}
"""Names that together show reinforcement learning, in Tunix and in MaxText."""


@memoised
def needs_its_reads(trace: Trace) -> bool:
    """Whether a loop must read what it decodes: a server's, or the rollout of reinforcement learning."""
    names = {*annotation_names(trace).values()}
    return is_server(trace) or any(together <= names for together in _ROLLOUTS)


def requests_of(trace: Trace, row: int) -> set[str]:
    """The ids of the requests of an iteration; empty if the file is gone."""
    try:
        stats = event_stats(trace, row)
    except InputError:
        return set()
    return {str(stat.value) for stat in stats if stat.name.startswith("request_id")}
