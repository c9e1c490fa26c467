"""Errors and diagnostics about the user's input: one line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tb_xla_insights.text.escapes import escape_text

Severity = Literal["info", "warning", "error"]


class InputError(Exception):
    """The input cannot be read. The message is one line: which file, where in it, what to do. Its control characters
    are escaped."""

    def __init__(self, message: str) -> None:
        super().__init__(escape_text(message))


_MAX_NAMED_DEVICES = 16


class NoDeviceError(InputError):
    """The session has no device of this id. The message names some of those that it has."""

    def __init__(self, path: str, device: str, devices: Sequence[str]) -> None:
        names = ", ".join(devices[:_MAX_NAMED_DEVICES])
        more = len(devices) - _MAX_NAMED_DEVICES
        available = f"it has {names}{f' and {more} more' if more > 0 else ''}" if devices else "it has none"
        super().__init__(f"{path}: no device {device}; {available}")
        self._arguments = path, device, devices

    def __reduce__(self) -> tuple[Any, ...]:  # an exception's own passes the message as the only argument
        return NoDeviceError, self._arguments


@dataclass(frozen=True)
class Diagnostic:
    """A note about a limitation of the analysis that the input causes: damage, missing data.

    `id` is one of the documented diagnostic ids; `message` is one line of one or two sentences, with control characters
    escaped; `host` is the host whose file is affected, None for the whole session. `variant`: which of the messages of
    its id and severity a message with numbers is (empty: the only one); hosts' diagnostics of one variant are reported
    once. None: they are if their messages are equal.
    """

    id: str
    severity: Severity
    message: str
    host: str | None = None
    variant: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", escape_text(self.message))

    def as_json(self) -> Any:
        """A row of the report's `diagnostics`; its type is defined in a layer above this one."""
        document = {"id": self.id, "severity": self.severity, "message": self.message}
        if self.host is not None:
            document["host"] = self.host
        return document
