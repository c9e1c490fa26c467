"""Ids of timeline rows, `h0.steps`, `h0.t3` (the thread of line 3), `h0.d1.ops` (a row of device 1); and of events,
`0.345`."""

from __future__ import annotations

import re
from typing import NamedTuple

_HOST_INDEX = re.compile(r"h?(\d{1,6})\.")
_ROW_ID = re.compile(r"h(\d{1,6})\.(?:d(\d{1,9})\.)?([^.]+)")
_EVENT_ID = re.compile(r"(\d{1,6})\.(\d{1,12})")


class RowId(NamedTuple):
    """The id of a row: the host's index in the session, the row's name, and the device's index on the host for a row of
    a device."""

    host: int
    name: str
    device: int | None = None

    def __str__(self) -> str:
        return (
            f"h{self.host}.{self.name}" if self.device is None else f"h{self.host}.d{self.device}.{self.name}"
        )

    @classmethod
    def parse(cls, text: str) -> RowId:
        """Parses an id. Raises ValueError if the text is not one."""
        match = _ROW_ID.fullmatch(text)
        if match is None:
            raise ValueError(f"{text[:80]!r} is not the id of a row")
        return cls(int(match[1]), match[3], None if match[2] is None else int(match[2]))


class EventId(NamedTuple):
    """The id of an event: the host's index in the session, and the event's row in the host's trace."""

    host: int
    row: int

    def __str__(self) -> str:
        return f"{self.host}.{self.row}"

    @classmethod
    def parse(cls, text: str) -> EventId | None:
        """Parses an id; None if the text is not one."""
        match = _EVENT_ID.fullmatch(text)
        return cls(int(match[1]), int(match[2])) if match else None


def thread_row(line: int) -> str:
    """The name of a thread's row; `line` is the index of its line in the trace."""
    return f"t{line}"


def host_of_id(text: str) -> int | None:
    """The host's index at the start of a row's id (`h12.t3`) or an event's id (`12.345`); None for other texts."""
    match = _HOST_INDEX.match(text)
    return int(match[1]) if match else None
