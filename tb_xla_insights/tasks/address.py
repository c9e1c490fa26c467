"""Validation of a Dask scheduler's address."""

from __future__ import annotations

import re

from tb_xla_insights.errors import InputError

_ADDRESS = re.compile(
    r"(?:(?:tcp|tls|ucx|wss?)://)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?):([0-9]{1,5})"
)


def scheduler_address(text: str) -> str:
    """Returns a valid address unchanged. Raises InputError if it is invalid."""
    match = _ADDRESS.fullmatch(text)
    if match is None or not 0 < int(match[1]) < 65536:
        raise InputError(f"{text[:80]!r} is not a scheduler's address; write it as tcp://HOST:8786")
    return text
