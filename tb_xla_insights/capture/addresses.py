"""Parses the addresses of profiler servers."""

from __future__ import annotations

import re

from tb_xla_insights.errors import InputError

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?):([0-9]{1,5})")
_MAX_ADDRESSES = 1024


def parse_addresses(text: str) -> tuple[str, ...]:
    """The distinct addresses in a comma-separated list of `HOST:PORT`. Raises InputError.

    Accepts only host names, IP addresses (IPv6 in brackets) and ports. A host may have the name of a scheme of gRPC,
    such as `unix`: `Server` adds the prefix that makes it a host.
    """
    addresses: dict[str, None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _ADDRESS.fullmatch(part)
        if match is None or not 0 < int(match[2]) < 65536:
            raise InputError(f"{part[:80]}: not an address; write HOST:PORT, such as localhost:9012")
        addresses[part] = None
    if not addresses:
        raise InputError("no address; write HOST:PORT of a profiler server, such as localhost:9012")
    if len(addresses) > _MAX_ADDRESSES:
        raise InputError(f"{len(addresses)} addresses; at most {_MAX_ADDRESSES} are captured at once")
    return tuple(addresses)


def host_name(address: str) -> str:
    """The name of a capture's file, as other clients form it: `localhost_9012` for `localhost:9012`."""
    return re.sub(r"[^A-Za-z0-9.-]", "_", address.replace("[", "").replace("]", ""))


def port(address: str) -> str:
    return address.rpartition(":")[2]
