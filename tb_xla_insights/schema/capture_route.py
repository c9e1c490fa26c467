"""The answers of `data/capture`, `data/capture_progress` and `data/capture_cancel`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

CaptureState = Literal["waiting", "tracing", "collecting", "done", "error", "cancelled"]


class CapturedHost(TypedDict):
    """One server's part of a capture."""

    address: str
    """Address of the server."""
    state: CaptureState
    """What the server does, or how its capture ended."""
    message: str | None
    """Why it failed or is tried again; `null` without an error."""
    bytes: int
    """Size of the file; 0 until it is written."""


class CaptureProgress(TypedDict):
    """How far a capture is."""

    state: CaptureState
    """What the servers do, or how the capture ended."""
    elapsed_ms: int
    """Milliseconds since the last request to a server, at most `duration_ms`; 0 before any server traces."""
    duration_ms: int
    """The requested duration in milliseconds."""
    message: str | None
    """The errors in one line; until the capture ends, why a server is tried again. `null` without errors."""
    hosts: list[CapturedHost]
    """The servers."""


class PageCapture(CaptureProgress):
    """The last capture that a page started."""

    session: str | None
    """Name of the session to open; `null` until it can be opened."""


class NoCapture(TypedDict):
    """No page has started a capture."""

    state: Literal["idle"]
    """No page has started a capture."""


CaptureAnswer = PageCapture | NoCapture
