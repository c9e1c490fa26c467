"""Waits that the runtime records as two instants: the thread begins to wait, and it goes on.

`CommonPjRtBuffer::Await` of JAX (`jax.block_until_ready`) is an event of 0.4 us with a flow to another one of the same
name, the next that its thread records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.catalog import Catalog
from tb_xla_insights.trace.metadata_events import rows_with_metadata
from tb_xla_insights.trace.model import Int32, Int64, Line
from tb_xla_insights.trace.nesting import nearest_enclosing
from tb_xla_insights.xplane.columns import StatColumns


def join_waits(
    lines: list[Line],
    names: list[str],
    catalog: Catalog,
    meta: Int32,
    parent: Int32,
    start_ps: Int64,
    duration_ps: Int64,
    stats: StatColumns,
) -> None:
    """Makes the first instant of such a wait last until the second one, in `duration_ps`; what encloses the events
    stays as it is. In a read they remain instants: a read waits for its value itself. `names`: of each metadata entry.
    (docs/definitions.md, "Class at an instant")"""
    if "_p" not in stats or "_c" not in stats:
        return
    rows = _tagged("blocks", names, catalog, meta)
    first = rows[:-1][(np.diff(rows) == 1) & ~np.isin(rows[1:], [line.first for line in lines])]
    first = first[(meta[first] == meta[first + 1]) & (parent[first] == parent[first + 1])]
    for made, used in (("_p", "_c"), ("_pt", "_ct")):
        if made in stats and used in stats:
            # What carries no flow has another number on either side.
            first = first[stats[made].at(first, -1) == stats[used].at(first + 1, -2)]
    if not first.size:
        return
    first = first[nearest_enclosing(parent, first, _tagged("read", names, catalog, meta)) < 0]
    duration_ps[first] = np.maximum(duration_ps[first], start_ps[first + 1] - start_ps[first])


def _tagged(tag: str, names: list[str], catalog: Catalog, meta: Int32) -> Int32:
    """The events whose names have a tag, in row order."""
    entries: NDArray[np.bool_] = np.array([tag in catalog.tags(name) for name in names], np.bool_)
    return rows_with_metadata(entries, meta)
