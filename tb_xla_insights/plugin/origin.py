"""Whether a request that acts comes from the page itself, and not from another one in the same browser.

TensorBoard knows no users: any page that a person has open can send requests to it. A request that acts must be a POST
with a header of our own, which a page of another origin cannot send without being allowed to, and say that it comes
from this origin. That the origin's name is ours is told by `names`.
"""

from __future__ import annotations

from werkzeug import wrappers

from tb_xla_insights.plugin.allowed_hosts import FLAG, Names, name_of, parts

HEADER = "X-XLA-Insights"


def refusal(request: wrappers.Request, names: Names) -> str | None:
    """Why this request may not act, in one line, or None."""
    if not request.headers.get(HEADER):
        return f"only the page may ask for this; the header {HEADER} is missing"
    # A proxy may change the host's name; the browser still knows that page and address belong together.
    if request.headers.get("Sec-Fetch-Site") == "same-origin":
        return None
    origin, host = parts(request.headers.get("Origin", "")).netloc, request.headers.get("Host", "")
    name = name_of(origin)
    if name is None:
        return "only the page may ask for this; the request does not tell its origin"
    if origin == host or names.lists(name):
        return None
    return (
        f"only the page may ask for this; it is at {origin[:80]}, and TensorBoard was asked as {host[:80]}: "
        f"if a proxy lies between, start TensorBoard with {FLAG}={name[:80]}"
    )
