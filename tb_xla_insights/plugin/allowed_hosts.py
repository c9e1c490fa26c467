"""Under which names of this machine data is given out.

A page of another site may have its own name point to this machine after it has come (DNS rebinding): it then asks under
that name, and the browser takes the answers for its own. So the name that is asked for, the Host header, must be one
that nobody else can have or point here:

- an IP address, which no DNS resolves,
- `localhost` and every name below it: they always lead to the browser's own machine, so no page of another site ever
  came from one,
- the machine's own name, and that of `--host`,
- where TensorBoard serves the network also the name that TensorBoard prints, and names that no one can register: those
  without a dot and those of local networks,
- the names of `--xla_insights_hosts`.

Any name will do where the browser tells that the page came over https, as it does through most proxies: a page whose
name was made to point here has no certificate that fits.
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
_LISTED = re.compile(r"\*|\.?[\w-]+(\.[\w-]+)*\.?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*", re.ASCII)
_HOST = re.compile(r"(?:\[([^\[\]\s]+)\]|([^\s\[\]:@/?#\\,]+))(?::[0-9]*)?")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_OF_LOCAL_NETWORKS = (".local", ".internal", ".home.arpa")
"""Domains that public DNS does not have: RFC 6762, ICANN's resolution of 2024 on `.internal`, RFC 8375."""


def parse_names(text: str) -> tuple[str, ...]:
    """The names of `--xla_insights_hosts`: with commas between them, `.lab.example` for all below that one, `*` for
    all there are. Raises InputError."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    for name in names:
        if not _LISTED.fullmatch(name):
            raise InputError(
                f"{FLAG}: {name[:80]} is no name of a host; write it as lab.example, without port"
            )
    return tuple(_plain(name) for name in names)


class Names:
    """The names that one TensorBoard may be asked under: those `listed`, those of its `host` (None: the loopback
    interface), and where `bind_all` makes it serve the network those that lead there."""

    def __init__(self, listed: Iterable[str] = (), host: str | None = None, bind_all: bool = False) -> None:
        self._listed = tuple(listed)
        self._own = {_plain(socket.gethostname()), _plain(host or "localhost")}
        self._network = bind_all or (host or "localhost") not in _LOOPBACK

    def refusal(self, request: wrappers.Request) -> str | None:
        """Why a request gets no data under the name that it asks for, in one line, or None."""
        host = request.headers.get("Host")
        if not host:  # browsers always name one
            return None
        name = name_of(host)
        if name is None:
            return f"{host[:80]} is no name of a host"
        if _is_of_secure_page(request) or self._knows(name):
            return None
        return (
            f"TensorBoard was not told that {host[:80]} leads to it; open it as localhost or by its IP address, "
            f"or start it with {FLAG}={name[:80]}"
        )

    def lists(self, name: str) -> bool:
        """Whether `--xla_insights_hosts` has the name, or a domain that it is in."""
        return any(it in (_ANY, name) or (it[0] == "." and name.endswith(it)) for it in self._listed)

    def _knows(self, name: str) -> bool:
        if _is_address(name) or f".{name}".endswith(".localhost") or name in self._own or self.lists(name):
            return True
        if not self._network:
            return False
        return "." not in name or name.endswith(_OF_LOCAL_NETWORKS) or name == _printed_name()


def name_of(host: str) -> str | None:
    """`Box.:6006` -> `box`, `[::1]:6006` -> `::1`; None for what is no host of an address."""
    found = _HOST.fullmatch(host)
    return _plain(found[1] or found[2]) if found else None


def parts(url: str) -> SplitResult:
    """The parts of a URL; of what is none, such as `http://[`, all are empty."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _is_of_secure_page(request: wrappers.Request) -> bool:
    """Whether the browser tells that the page came over https, or from its own machine: it sends Sec-Fetch-Site to such
    addresses only. Scripts can set none of these headers."""
    if request.headers.get("Sec-Fetch-Site") in ("same-origin", "none"):
        return True
    page = request.headers.get("Origin") or request.headers.get("Referer") or ""
    return parts(page).scheme == "https"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _plain(name: str) -> str:
    return name.lower().removesuffix(".")


@cache
def _printed_name() -> str:
    """The name in the address that TensorBoard prints where it serves the network. May wait for DNS, as that does."""
    return _plain(socket.getfqdn())
