"""What goes wrong in the data a user gave, and how it is said: one line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tb_xla_insights.escapes import escape_text

Severity = Literal["info", "warning", "error"]


class InputError(Exception):
    """The input cannot be read. The message is one line: which file, where in it, what to do; names in it are as they
    may be printed."""

    def __init__(self, message: str) -> None:
        super().__init__(escape_text(message))


class NoDeviceError(InputError):
    """A session has no such device."""

    def __init__(self, path: str, device: str, known: Sequence[str]) -> None:
        have = f"it has {', '.join(known)}" if known else "it has none"
        super().__init__(f"{path}: no device {device}; {have}")


@dataclass(frozen=True)
class Diagnostic:
    """Something a reader of the answers must know about the input.

    `id` is one of the documented diagnostic ids, `message` one sentence or two on one line, in which
    names are as they may be printed, `host` the host whose file it is about, or None for the whole session.
    """

    id: str
    severity: Severity
    message: str
    host: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", escape_text(self.message))

    def as_json(self) -> Any:
        """A row of the report's `diagnostics`, whose type lies in a layer above this one."""
        document = {"id": self.id, "severity": self.severity, "message": self.message}
        if self.host is not None:
            document["host"] = self.host
        return document
