"""Reads a file into the data model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tb_xla_insights.files.source import Source
from tb_xla_insights.xplane.read_xspace import read_space

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.trace.model import Trace


def read_trace(
    source: Source,
    catalog: Catalog,
    *,
    host: str,
    progress: Callable[[int], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Trace:
    """Reads one host's file. The trace's diagnostics report damage; raises InputError if nothing can be read.

    Calls `progress` with the bytes read so far. Once `should_stop` returns True, the trace holds the events read so
    far.
    """
    progress = progress or (lambda _: None)
    space = read_space(source, progress=progress, should_stop=should_stop)
    progress(source.size)  # includes headers and names, which were not counted
    # Imported here, since a command imports it in parallel with decoding, which releases the interpreter's lock.
    from tb_xla_insights.trace.build import build_trace

    return build_trace(space, source, catalog, host)
