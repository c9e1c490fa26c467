"""Checks the Host header of requests, against DNS rebinding.

A page of another site can make its own name resolve to this machine after it was loaded (DNS rebinding): it then sends
requests under that name, and the browser treats the answers as same-origin. So the Host header must be a name that no
other site can have or point here:

- an IP address, which needs no DNS,
- `localhost` and its subdomains: they always lead to the browser's own machine, so no page of another site was ever
  loaded from one,
- the machine's own name, and that of `--host`,
- if TensorBoard serves the network, also the name that TensorBoard prints, and names that cannot be registered: those
  without a dot and those of local networks,
- the names of `--xla_insights_hosts`.

Any name is accepted if the request was sent over https, as through most proxies: a page whose name was made to resolve
here has no matching certificate. Browsers report it by Sec-Fetch-Site and Origin. The Referer is no evidence: an https
page can lead a window on to an http address, with its own address as the Referer.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from functools import cache
from urllib.parse import SplitResult, urlsplit

from werkzeug import wrappers

from tb_xla_insights.errors import InputError

FLAG = "--xla_insights_hosts"
_ANY = "*"
_FLAG_NAME = re.compile(r"\*|\.?[\w-]+(\.[\w-]+)*\.?", re.ASCII)
_HOST_HEADER = re.compile(r"(?:\[([^\[\]\s]+)\]|([^\s\[\]:@/?#\\,]+))(?::[0-9]*)?")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LOCAL_DOMAINS = (".local", ".internal", ".home.arpa")
"""Domains outside public DNS: RFC 6762, ICANN's resolution of 2024 on `.internal`, RFC 8375."""


def parse_names(text: str) -> tuple[str, ...]:
    """The names of `--xla_insights_hosts`, separated by commas; `.lab.example` stands for all its subdomains, `*` for
    any name. Raises InputError."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    for name in names:
        if not (_FLAG_NAME.fullmatch(name) or _is_address(name)):
            raise InputError(
                f"{FLAG}: {name[:80]} is not a host name; write it as lab.example, without a port"
            )
    return tuple(_normalised(name) for name in names)


class AllowedHosts:
    """The host names that one TensorBoard accepts: the `listed` ones, this machine's and `host` (None: the loopback
    interface) and, if `bind_all` or `host` makes it serve the network, also the name that TensorBoard prints, names
    without a dot, and names of local networks."""

    def __init__(self, listed: Iterable[str] = (), host: str | None = None, bind_all: bool = False) -> None:
        self._listed = tuple(listed)
        self._machine_names = {_normalised(socket.gethostname()), _normalised(host or "localhost")}
        self._serves_network = bind_all or (host or "localhost") not in _LOOPBACK

    def refusal(self, request: wrappers.Request) -> str | None:
        """Why the request's Host header is not accepted, in one line, or None."""
        host = request.headers.get("Host")
        if not host:  # browsers always send one
            return None
        name = name_of(host)
        if name is None:
            return f"{host[:80]} is not a host name"
        if _is_over_https(request) or self._is_allowed(name):
            return None
        return (
            f"TensorBoard does not know {host[:80]} as its name; open it as localhost or by its IP address, "
            f"or start it with {FLAG}={name[:80]}"
        )

    def is_listed(self, name: str) -> bool:
        """Whether `--xla_insights_hosts` has the name, one of its parent domains with a dot in front, or `*`."""
        return any(
            listed in (_ANY, name) or (listed[0] == "." and name.endswith(listed)) for listed in self._listed
        )

    def _is_allowed(self, name: str) -> bool:
        if _is_address(name) or f".{name}".endswith(".localhost"):
            return True
        if name in self._machine_names or self.is_listed(name):
            return True
        if not self._serves_network:
            return False
        return "." not in name or name.endswith(_LOCAL_DOMAINS) or name == _printed_name()


def name_of(host: str) -> str | None:
    """The host name of a Host header: `Box.:6006` -> `box`, `[::1]:6006` -> `::1`; None if it is malformed."""
    match = _HOST_HEADER.fullmatch(host)
    return _normalised(match[1] or match[2]) if match else None


def split_url(url: str) -> SplitResult:
    """The parts of a URL; all are empty if it is malformed, such as `http://[`."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _is_over_https(request: wrappers.Request) -> bool:
    """Whether the browser reports that it sent the request over https or to its own machine: it sends Sec-Fetch-Site to
    such addresses only, and reads nothing over http for a page whose Origin is https. Scripts cannot set these
    headers."""
    if request.headers.get("Sec-Fetch-Site") in ("same-origin", "none"):
        return True
    return split_url(request.headers.get("Origin", "")).scheme == "https"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _normalised(name: str) -> str:
    return name.lower().removesuffix(".")


@cache
def _printed_name() -> str:
    """The name in the address that TensorBoard prints when it serves the network. May wait for DNS."""
    return _normalised(socket.getfqdn())
