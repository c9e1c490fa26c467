"""Opens a capture: a protocol buffer, or the records of a Riegeli file."""

from __future__ import annotations

from collections.abc import Callable

from tb_xla_insights.files.open import open_source
from tb_xla_insights.files.paths import decoded
from tb_xla_insights.files.source import Source

RIEGELI_SUFFIX = ".riegeli"


def is_riegeli(path: str) -> bool:
    """Whether a path is named as a Riegeli file, from which the bytes of a capture are decoded."""
    return decoded(path).endswith(RIEGELI_SUFFIX)


def open_capture(
    path: str,
    *,
    whole: bool = False,
    on_bytes: Callable[[int], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Source:
    """Opens a capture as `open_source` opens a file. A Riegeli file is decoded at once, within `should_stop`. Raises
    InputError."""
    is_records = is_riegeli(path)
    source = open_source(path, whole=whole or is_records, on_bytes=on_bytes, should_stop=should_stop)
    if not is_records:
        return source
    from tb_xla_insights.xplane.riegeli.source import RiegeliSource  # few captures need it

    try:
        return RiegeliSource(source, should_stop)
    except BaseException:
        source.close()
        raise
