"""Whether a host serves a language model: then each iteration of its loop makes the next token of each request."""

from __future__ import annotations

import re

from tb_xla_insights.analysis.host.templates import annotation_names
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.trace.model import Trace

_ITERATION = re.compile(r"execute_model: \S+ reqs|run_batch$|forward_batch_generation")
"""Annotations of an iteration in vLLM and sglang-jax."""

_PHASES = {"prefill", "generate"}
"""Step annotations of MaxText."""


@memoised
def is_server(trace: Trace) -> bool:
    """Whether the capture has the annotations of a server that decodes."""
    names = set(annotation_names(trace).values())
    return names >= _PHASES or any(map(_ITERATION.match, names))
