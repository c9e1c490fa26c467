"""Capturing from the page: one capture at a time, in the background, from the addresses that the person typed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir import paths
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.plugin.arguments import Arguments
from tb_xla_insights.plugin.respond import Handler

if TYPE_CHECKING:
    from tb_xla_insights.capture.capture import Capture

_LOOKS = 2
"""A look at the logdir that began before the file was there does not see it; the next one does."""


class Captures:
    """The captures of one TensorBoard, into its logdir; `place` is None where it has none."""

    def __init__(self, listing: Listing, place: str | None) -> None:
        self._listing = listing
        self._place = place
        self._lock = threading.Lock()
        self._capture: Capture | None = None
        self._thread: threading.Thread | None = None
        self._session: str | None = None

    @property
    def logdir(self) -> str | None:
        """Where servers are told to write, as they open it; None without a logdir."""
        return self._place and paths.absolute(paths.expand(self._place))

    def posts(self) -> dict[str, Handler]:
        """What acts, by its address below `data/`."""
        return {"capture": self.start, "capture_cancel": self.cancel}

    def gets(self) -> dict[str, Handler]:
        return {"capture_progress": self.progress}

    def start(self, arguments: Arguments) -> dict[str, Any]:
        """Starts a capture from `addresses` of `duration_ms`; the rest as the command line's options."""
        from tb_xla_insights.capture.addresses import parse_addresses
        from tb_xla_insights.capture.capture import Capture
        from tb_xla_insights.capture.server import LIMITS, Options

        addresses = parse_addresses(arguments.text("addresses"))
        options = Options(
            **{name: arguments.integer(name, *its, getattr(Options, name)) for name, its in LIMITS.items()}
        )
        if self._place is None:
            raise InputError("data/capture: no logdir; start TensorBoard with --logdir PATH")
        capture = Capture(addresses, self._place, options)  # which looks at the logdir: not within the lock
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise InputError("data/capture: another capture is under way; wait for it or cancel it")
            self._session, self._capture = None, capture
            self._thread = threading.Thread(target=self._run, args=(capture,), daemon=True)
            self._thread.start()
        return self.progress(arguments)

    def progress(self, _: Arguments) -> dict[str, Any]:
        """How far the capture is (see `Capture.progress`); `session` names it once the page can open it."""
        with self._lock:
            capture, thread = self._capture, self._thread
            over = thread is None or not thread.is_alive()
        if capture is None:
            return {"state": "idle"}
        told = capture.progress()
        if capture.done and not over:  # the logdir is being looked at
            told["state"] = "collecting"
        if over and capture.captured and self._session is None:
            told["message"] = (
                f"{capture.directory} was captured, but is not among the sessions; reload the page"
            )
        return {**told, "session": self._session if over else None}

    def cancel(self, arguments: Arguments) -> dict[str, Any]:
        """Ends the capture; nothing is kept."""
        if self._capture is not None:
            self._capture.cancel()
        return self.progress(arguments)

    def _run(self, capture: Capture) -> None:
        capture.run()
        if not capture.captured:
            return
        for _ in range(_LOOKS):
            sessions = self._listing.refresh(wait=None, max_age=0)
            found = (it.name for it in sessions if paths.absolute(it.path) == capture.directory)
            self._session = next(found, None)
            if self._session is not None:
                return
