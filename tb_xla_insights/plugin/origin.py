"""Whether a request that acts comes from the page itself, and not from another one in the same browser.

TensorBoard knows no users: any page that a person has open can send requests to it. A request that acts must be a POST
with a header of our own, which a page of another origin cannot send without being allowed to, and say that it comes
from this origin. A page whose name was made to point to this machine (DNS rebinding) has the right origin under a name
that is not ours: where TensorBoard listens on the loopback interface only, names other than the machine itself are
taken only over https, which such a page cannot have.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit

from werkzeug import wrappers

HEADER = "X-XLA-Insights"


def refusal(request: wrappers.Request, loopback: bool) -> str | None:
    """Why this request may not act, in one line, or None; `loopback` tells that only this machine is served."""
    if not request.headers.get(HEADER):
        return f"only the page may ask for this; the header {HEADER} is missing"
    origin = _parts(request.headers.get("Origin", ""))
    same = origin.netloc == request.host if origin.netloc else False
    # A proxy may change the host's name; the browser still knows that page and address belong together.
    if not same and request.headers.get("Sec-Fetch-Site") != "same-origin":
        return "only the page may ask for this; the request comes from another origin"
    if loopback and origin.scheme != "https" and not _is_this_machine(request.host):
        return f"{request.host} is no name of this machine that TensorBoard knows; open it as localhost, or use --host"
    return None


def _is_this_machine(host: str) -> bool:
    name = _parts(f"//{host}").hostname or ""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _parts(url: str) -> SplitResult:
    """The parts of a URL; of what is none, such as `http://[`, all are empty."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")
