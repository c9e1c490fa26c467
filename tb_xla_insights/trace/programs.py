"""Which program an op or a kernel says that it is a part of."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.trace.model import Int32, Int64, Trace

UNNAMED = "device run"
"""Stands for the program of a run of which no op tells it."""


def programs_at(trace: Trace, rows: Int32) -> tuple[Int64, Int64]:
    """The module (a text) and the program id of some events, -1 where there is none."""
    module, ids = (
        trace.stats[name].at(rows, -1) if name in trace.stats else np.full(len(rows), -1)
        for name in ("hlo_module", "program_id")
    )
    return module, ids


def program_names(trace: Trace, rows: Int32) -> Int32:
    """The programs of some events as device planes name them: `module(program id)`."""
    found = [
        (trace.strings[module] if module >= 0 else "program") + (f"({id_ % 2**64})" if id_ != -1 else "")
        for module, id_ in zip(*(column.tolist() for column in programs_at(trace, rows)), strict=True)
    ]
    return np.array([trace.intern(text) for text in found], np.int32)
