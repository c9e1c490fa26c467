"""Where profiler servers listen, as a person types it."""

from __future__ import annotations

import re

from tb_xla_insights.errors import InputError

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?):([0-9]{1,5})")
_MOST = 1024


def parse_addresses(text: str) -> tuple[str, ...]:
    """`HOST:PORT`, or several with commas between them, each once. Raises InputError.

    Only names, IP addresses (version 6 in brackets) and ports: nothing that a gRPC library would take for a file, a
    socket or another way to find a server.
    """
    found: dict[str, None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        matched = _ADDRESS.fullmatch(part)
        if matched is None or not 0 < int(matched[2]) < 65536:
            raise InputError(f"{part[:80]}: not an address; write HOST:PORT, such as localhost:9012")
        found[part] = None
    if not found:
        raise InputError("no address; write HOST:PORT of a profiler server, such as localhost:9012")
    if len(found) > _MOST:
        raise InputError(f"{len(found)} addresses; at most {_MOST} are captured at once")
    return tuple(found)


def host_name(address: str) -> str:
    """What a capture's file is called: `localhost:9012` -> `localhost_9012`, as other clients do."""
    return re.sub(r"[^A-Za-z0-9.-]", "_", address.replace("[", "").replace("]", ""))


def port(address: str) -> str:
    return address.rpartition(":")[2]
