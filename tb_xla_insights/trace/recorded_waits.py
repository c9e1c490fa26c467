"""Waits that the runtime records as two instants: the thread begins to wait, and continues.

`CommonPjRtBuffer::Await` of JAX (`jax.block_until_ready`) is an event of 0.4 µs with a flow to another one of the same
name, the next that its thread records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog import Catalog
from tb_xla_insights.trace.metadata_events import rows_with_metadata
from tb_xla_insights.trace.model import Line
from tb_xla_insights.trace.nesting import nearest_enclosing
from tb_xla_insights.xplane.columns import StatColumns


def extend_waits(
    lines: list[Line],
    names: list[str],
    catalog: Catalog,
    metadata_index: Int32,
    parent: Int32,
    start_ps: Int64,
    duration_ps: Int64,
    stats: StatColumns,
) -> None:
    """Extends the first of the two instants of each wait to the second one, in `duration_ps`; enclosing events do not
    change. Inside a read both remain instants, since the read itself waits for its value. `names` are those of the
    event metadata. (docs/definitions.md, "Class at an instant")"""
    if "_p" not in stats or "_c" not in stats:
        return
    rows = _tagged("blocks", names, catalog, metadata_index)
    first = rows[:-1][(np.diff(rows) == 1) & ~np.isin(rows[1:], [line.first for line in lines])]
    first = first[(metadata_index[first] == metadata_index[first + 1]) & (parent[first] == parent[first + 1])]
    for producer_stat, consumer_stat in (("_p", "_c"), ("_pt", "_ct")):
        if producer_stat in stats and consumer_stat in stats:
            # Different placeholders for events without a flow, so that they never match.
            first = first[stats[producer_stat].at(first, -1) == stats[consumer_stat].at(first + 1, -2)]
    if not first.size:
        return
    first = first[nearest_enclosing(parent, first, _tagged("read", names, catalog, metadata_index)) < 0]
    duration_ps[first] = np.maximum(duration_ps[first], start_ps[first + 1] - start_ps[first])


def _tagged(tag: str, names: list[str], catalog: Catalog, metadata_index: Int32) -> Int32:
    """The events whose names have the tag, in row order."""
    has_tag: NDArray[np.bool_] = np.array([tag in catalog.tags(name) for name in names], np.bool_)
    return rows_with_metadata(has_tag, metadata_index)
