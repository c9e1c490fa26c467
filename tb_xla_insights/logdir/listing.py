"""The sessions of a logdir as last seen, looked up again in the background: asking never waits long for a bucket."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.sessions import Root, SessionFiles, find_sessions

_log = logging.getLogger(__name__)


class Listing:
    """What `find_sessions` last said. Safe to ask from many threads; one look runs at a time."""

    def __init__(self, places: Sequence[Root], clock: Callable[[], float] = time.monotonic) -> None:
        self._places = tuple(places)
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: tuple[SessionFiles, ...] = ()
        self._message: str | None = None
        self._looking: threading.Event | None = None
        self._looked_at: float | None = None

    @property
    def place(self) -> str:
        """The places as a person would write them."""
        return ", ".join(f"{root.group}:{root.path}" if root.group else root.path for root in self._places)

    @property
    def sessions(self) -> tuple[SessionFiles, ...]:
        """Those seen last, newest first; none before the first look has ended."""
        return self._sessions

    @property
    def message(self) -> str | None:
        """Why there is nothing to show, in one sentence, or None."""
        if self._message or self._sessions:
            return self._message
        if not self._places:
            return "No logdir: start TensorBoard with --logdir PATH."
        if self._looked_at is None:
            return f"Looking for profiles under {self.place}."
        return f"No profile under this logdir: {self.place}."

    def look(self, wait: float | None = 0, fresh: float = 1.0) -> tuple[SessionFiles, ...]:
        """Starts a look unless one runs or ended less than `fresh` seconds ago.

        Waits for it up to `wait` seconds (None: until it ends), then gives what is known by then.
        """
        with self._lock:
            done = self._looking
            if done is None:
                if self._looked_at is not None and self._clock() - self._looked_at < fresh:
                    return self._sessions
                done = self._looking = threading.Event()
                threading.Thread(target=self._look, args=(done,), daemon=True).start()
        done.wait(wait)
        return self._sessions

    def find(self, name: str) -> SessionFiles | None:
        """The session of that name, looking once more where it is not among those seen last."""
        if (known := self.known(name)) is None:
            self.look(wait=None)
            known = self.known(name)
        return known

    def known(self, name: str) -> SessionFiles | None:
        """The session of that name as last seen."""
        return next((session for session in self._sessions if session.name == name), None)

    def _look(self, done: threading.Event) -> None:
        sessions, message = self._sessions, None
        try:
            sessions = tuple(find_sessions(self._places))
        except InputError as error:
            message = str(error)
        except Exception as error:  # the next look may do better
            _log.exception("looking for sessions failed")
            message = (
                f"{self.place}: {type(error).__name__} while looking for sessions; see TensorBoard's output"
            )
        with self._lock:
            self._sessions, self._message = sessions, message
            self._looked_at, self._looking = self._clock(), None
        done.set()
