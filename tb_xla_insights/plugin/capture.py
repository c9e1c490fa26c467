"""Captures requested by the page: one at a time, in the background, from the addresses that the user entered."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.paths import absolute
from tb_xla_insights.logdir import paths
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.routes.arguments import Arguments, Handler

if TYPE_CHECKING:
    from tb_xla_insights.capture.capture import SessionCapture
    from tb_xla_insights.schema.capture_route import CaptureAnswer

_MAX_REFRESHES = 2
"""A refresh of the listing that began before the file was written misses it; the next one finds it."""


class Captures:
    """Runs the captures of one TensorBoard into its logdir; `root` is None without a logdir."""

    def __init__(self, listing: Listing, root: str | None) -> None:
        self._listing = listing
        self._root = root
        self._lock = threading.Lock()
        self._capture: SessionCapture | None = None
        self._thread: threading.Thread | None = None
        self._session: str | None = None

    @property
    def logdir(self) -> str | None:
        """The absolute directory or URL that servers write to; None without a logdir."""
        return self._root and absolute(paths.expand(self._root))

    def posts(self) -> dict[str, Handler]:
        """The handlers of requests that act, by route below `data/`."""
        return {"capture": self.start, "capture_cancel": self.cancel}

    def gets(self) -> dict[str, Handler]:
        return {"capture_progress": self.progress}

    def start(self, arguments: Arguments) -> CaptureAnswer:
        """Starts a capture of `duration_ms` from `addresses`; the other arguments are those of the command line."""
        from tb_xla_insights.capture.addresses import parse_addresses
        from tb_xla_insights.capture.capture import SessionCapture
        from tb_xla_insights.capture.server import LIMITS, Options

        addresses = parse_addresses(arguments.text("addresses"))
        options = Options(
            **{
                name: arguments.integer(name, *limits, getattr(Options, name))
                for name, limits in LIMITS.items()
            }
        )
        if self._root is None:
            raise InputError("data/capture: no logdir; start TensorBoard with --logdir PATH")
        capture = SessionCapture(addresses, self._root, options)  # lists the logdir, so outside the lock
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise InputError("data/capture: another capture is under way; wait for it or cancel it")
            self._session, self._capture = None, capture
            self._thread = threading.Thread(target=self._run, args=(capture,), daemon=True)
            self._thread.start()
        return self.progress(arguments)

    def progress(self, _: Arguments) -> CaptureAnswer:
        """The capture's progress (see `SessionCapture.progress`); `session` is the name of the session once the page
        can open it, else None."""
        with self._lock:
            capture, thread = self._capture, self._thread
            has_ended = thread is None or not thread.is_alive()
        if capture is None:
            return {"state": "idle"}
        progress = capture.progress()
        if capture.done and not has_ended:  # the listing is being refreshed
            progress["state"] = "collecting"
        if has_ended and capture.has_captures and self._session is None:
            progress["message"] = (
                f"{capture.directory} was captured, but is not among the sessions; reload the page"
            )
        return {**progress, "session": self._session if has_ended else None}

    def cancel(self, arguments: Arguments) -> CaptureAnswer:
        """Cancels the capture: servers that still trace write no file; files that others have written stay."""
        if self._capture is not None:
            self._capture.cancel()
        return self.progress(arguments)

    def _run(self, capture: SessionCapture) -> None:
        capture.run()
        if not capture.has_captures:
            return
        for _ in range(_MAX_REFRESHES):
            sessions = self._listing.refresh(wait=None, max_age=0)
            names = (session.name for session in sessions if absolute(session.path) == capture.directory)
            self._session = next(names, None)
            if self._session is not None:
                return
