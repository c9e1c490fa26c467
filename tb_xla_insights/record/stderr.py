"""Keeps what the process writes to stderr, where PyTorch/XLA prints its debug text, and passes it on."""

from __future__ import annotations

import os
import sys
import threading

_MOST_BYTES = 8_000_000
_PART = 1 << 16
_DRAIN_SECONDS = 1.0


class DebugText:
    """From `start` to `stop`; also what is added to the file of `PT_XLA_DEBUG_FILE`, which PyTorch/XLA writes instead.

    The descriptor itself is led through a pipe, because the text comes from C++.
    """

    def start(self) -> None:
        self._file = os.environ.get("PT_XLA_DEBUG_FILE")
        self._length = os.path.getsize(self._file) if self._file and os.path.isfile(self._file) else 0
        sys.stderr.flush()
        self._kept = bytearray()
        self._original = os.dup(2)
        self._out, into = os.pipe()
        os.dup2(into, 2)
        os.close(into)
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._thread.start()

    def stop(self) -> str:
        """The text."""
        sys.stderr.flush()
        os.dup2(self._original, 2)  # closes the pipe's end, which ends the thread
        self._thread.join(_DRAIN_SECONDS)
        if (
            not self._thread.is_alive()
        ):  # a process that was started meanwhile may go on writing, and is passed on
            os.close(self._out)
            os.close(self._original)
        return bytes(self._kept).decode("utf-8", "replace") + self._of_file()

    def _pass_on(self) -> None:
        while part := os.read(self._out, _PART):
            os.write(self._original, part)
            self._kept += part[: max(0, _MOST_BYTES - len(self._kept))]

    def _of_file(self) -> str:
        if not self._file or not os.path.isfile(self._file):  # such as /dev/stderr, which is kept already
            return ""
        with open(self._file, "rb") as file:
            file.seek(self._length)
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
