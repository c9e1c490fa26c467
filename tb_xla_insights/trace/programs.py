"""The program that an op or a kernel records as its own."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Trace

UNNAMED = "device run"
"""The placeholder for the program of a run whose ops record none."""


def programs_at(trace: Trace, rows: Int32) -> tuple[Int64, Int64]:
    """The module (index into the strings) and the program id of some events, -1 if not recorded."""
    module, ids = (
        trace.stats[name].at(rows, -1) if name in trace.stats else np.full(len(rows), -1)
        for name in ("hlo_module", "program_id")
    )
    return module, ids


def program_names(trace: Trace, rows: Int32) -> Int32:
    """The programs of some events, named as on device planes: `module(program id)`."""
    names = [
        (trace.strings[module] if module >= 0 else "program") + (f"({id_ % 2**64})" if id_ != -1 else "")
        for module, id_ in zip(*(column.tolist() for column in programs_at(trace, rows)), strict=True)
    ]
    return np.array([trace.intern(text) for text in names], np.int32)
