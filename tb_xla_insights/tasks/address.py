"""Where a Dask scheduler listens, as a person types it."""

from __future__ import annotations

import re

from tb_xla_insights.errors import InputError

_ADDRESS = re.compile(
    r"(?:(?:tcp|tls|ucx|wss?)://)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?):([0-9]{1,5})"
)


def scheduler_address(text: str) -> str:
    """The address as it is. Raises InputError where no scheduler can have it."""
    matched = _ADDRESS.fullmatch(text)
    if matched is None or not 0 < int(matched[1]) < 65536:
        raise InputError(f"{text[:80]!r} is no address of a scheduler; write it as tcp://HOST:8786")
    return text
