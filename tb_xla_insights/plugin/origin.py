"""Checks that a request that acts was sent by the plugin's page, and not by another page in the same browser.

TensorBoard has no user accounts: any page that a user has open can send requests to it. A request that acts must be a
POST with a custom header, which a page of another origin cannot send without permission (CORS), and must state this
origin. `AllowedHosts` checks that the origin's name belongs to this TensorBoard.
"""

from __future__ import annotations

from werkzeug import wrappers

from tb_xla_insights.plugin.allowed_hosts import FLAG, AllowedHosts, name_of, split_url

HEADER = "X-XLA-Insights"


def refusal(request: wrappers.Request, allowed_hosts: AllowedHosts) -> str | None:
    """Why the request is refused, in one line, or None."""
    if not request.headers.get(HEADER):
        return f"only the page may send this request; the header {HEADER} is missing"
    # A proxy may change the Host header; the browser still knows that page and URL have the same origin.
    if request.headers.get("Sec-Fetch-Site") == "same-origin":
        return None
    origin, host = split_url(request.headers.get("Origin", "")).netloc, request.headers.get("Host", "")
    name = name_of(origin)
    if name is None:
        return "only the page may send this request; the request does not state its origin"
    if origin == host or allowed_hosts.is_listed(name):
        return None
    return (
        f"only the page may send this request; it is at {origin[:80]}, but the request went to {host[:80]}: "
        f"if there is a proxy in between, start TensorBoard with {FLAG}={name[:80]}"
    )
