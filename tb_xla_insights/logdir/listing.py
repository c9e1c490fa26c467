"""The last listing of a logdir's sessions. Refreshes run in the background, so that few requests wait for a bucket."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.sessions import Root, SessionFiles, SessionList, list_sessions

_log = logging.getLogger(__name__)


class Listing:
    """The last result of `list_sessions`. Thread-safe; one refresh runs at a time."""

    def __init__(self, roots: Sequence[Root], clock: Callable[[], float] = time.monotonic) -> None:
        self._roots = tuple(roots)
        self._clock = clock
        self._lock = threading.Lock()
        self._session_list = SessionList()
        self._message: str | None = None
        self._refresh_done: threading.Event | None = None
        self._refreshed_at: float | None = None

    @property
    def roots_text(self) -> str:
        """The roots as a user would write them."""
        return ", ".join(f"{root.group}:{root.path}" if root.group else root.path for root in self._roots)

    @property
    def sessions(self) -> tuple[SessionFiles, ...]:
        """The sessions of the last refresh that did not fail, newest first; none before it."""
        return self._session_list.sessions

    @property
    def note(self) -> str | None:
        """One line about directories that were not readable in the last refresh, or None."""
        return self._session_list.note

    @property
    def message(self) -> str | None:
        """Why the last refresh failed, or why there are no sessions, in one sentence; None otherwise."""
        if self._message or self.sessions:
            return self._message
        if not self._roots:
            return "No logdir: start TensorBoard with --logdir PATH."
        if self._refreshed_at is None:
            return f"Looking for profiles under {self.roots_text}."
        return f"No profile under {'this logdir' if len(self._roots) == 1 else 'these logdirs'}: {self.roots_text}."

    def refresh(self, wait: float | None = 0, max_age: float = 1.0) -> tuple[SessionFiles, ...]:
        """Starts a refresh unless one runs or ended less than `max_age` seconds ago.

        Waits for it up to `wait` seconds (None: until it ends), then returns the sessions known by then.
        """
        with self._lock:
            refresh_done = self._refresh_done
            if refresh_done is None:
                if self._refreshed_at is not None and self._clock() - self._refreshed_at < max_age:
                    return self.sessions
                refresh_done = self._refresh_done = threading.Event()
                threading.Thread(target=self._refresh, args=(refresh_done,), daemon=True).start()
        refresh_done.wait(wait)
        return self.sessions

    def find(self, name: str) -> SessionFiles | None:
        """The session of that name. If the listing has none, waits for its refresh, unless the last one ended less than
        a second ago."""
        if (session := self.last_seen(name)) is None:
            self.refresh(wait=None)
            session = self.last_seen(name)
        return session

    def last_seen(self, name: str) -> SessionFiles | None:
        """The session of that name in the last listing."""
        return next((session for session in self.sessions if session.name == name), None)

    def _refresh(self, refresh_done: threading.Event) -> None:
        session_list, message = self._session_list, None
        try:
            session_list = list_sessions(self._roots)
        except InputError as error:
            message = str(error)
        except Exception as error:  # the next refresh may succeed
            _log.exception("looking for sessions failed")
            message = f"{self.roots_text}: {type(error).__name__} while looking for sessions; see TensorBoard's output"
        with self._lock:
            self._session_list, self._message = session_list, message
            self._refreshed_at, self._refresh_done = self._clock(), None
        refresh_done.set()
