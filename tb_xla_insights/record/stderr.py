"""Copies what the process writes to stderr, where PyTorch/XLA prints its debug text, and forwards it."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

_MAX_BYTES = 8_000_000
"""The size limit of the text from stderr, and of that from the file."""

_READ_BYTES = 1 << 16
_DRAIN_SECONDS = 1.0
"""How long to wait for the rest of the pipe."""


class CapturedStderr:
    """The debug text from `start` to `stop`, including what is appended to the file that the environment variable
    PT_XLA_DEBUG_FILE names: if it is set, PyTorch/XLA writes there instead.

    The file descriptor itself is redirected through a pipe, because C++ code writes the text.
    """

    def start(self) -> None:
        self._file = os.environ.get("PT_XLA_DEBUG_FILE")
        self._length = os.path.getsize(self._file) if self._file and os.path.isfile(self._file) else 0
        sys.stderr.flush()
        self._captured = bytearray()
        self._original = os.dup(2)
        self._read_end, write_end = os.pipe()
        os.dup2(write_end, 2)
        os.close(write_end)
        self._thread = threading.Thread(target=self._forward, daemon=True)
        self._thread.start()

    def stop(self) -> str:
        """Ends the copy and returns the text."""
        sys.stderr.flush()
        os.dup2(self._original, 2)  # closes the pipe's write end, which ends the thread
        self._thread.join(_DRAIN_SECONDS)
        # A child process started meanwhile may still write, which the thread then continues to forward.
        if not self._thread.is_alive():
            os.close(self._read_end)
            os.close(self._original)
        return bytes(self._captured).decode("utf-8", "replace") + self._new_file_text()

    def _forward(self) -> None:
        while chunk := os.read(self._read_end, _READ_BYTES):
            with suppress(OSError):  # if nothing reads stderr, a full pipe must still not block the program
                os.write(self._original, chunk)
            self._captured += chunk[: max(0, _MAX_BYTES - len(self._captured))]

    def _new_file_text(self) -> str:
        if not self._file or not os.path.isfile(self._file):  # such as /dev/stderr, which is already captured
            return ""
        with open(self._file, "rb") as file:
            file.seek(self._length)
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
