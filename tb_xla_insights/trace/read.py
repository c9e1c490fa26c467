"""From a file to the data model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tb_xla_insights.files.source import Source
from tb_xla_insights.xplane.read import read_space

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.trace.model import Trace


def read_trace(
    source: Source,
    catalog: Catalog,
    *,
    host: str,
    progress: Callable[[int], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Trace:
    """Reads one host's file. Damage is told in the trace's diagnostics; InputError where nothing can be read.

    `progress` is told the bytes read so far. When `stop` becomes true, the trace holds what was read until
    then.
    """
    progress = progress or (lambda _: None)
    space = read_space(source, progress=progress, stop=stop or (lambda: False))
    progress(source.size)  # headers and names included, which nobody has counted
    # Not above: a command imports it beside decoding, which leaves the interpreter free.
    from tb_xla_insights.trace.build import build_trace

    return build_trace(space, source, catalog, host)
