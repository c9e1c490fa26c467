"""Parses and validates a request's arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from tb_xla_insights.errors import InputError
from tb_xla_insights.text import units

# No event of a trace ends later, as its start and its duration are limited (see `trace.clock.MAX_DISTANCE_PS`). The
# page rounds numbers beyond 2**53, two and a half hours in picoseconds.
_MAX_INTEGER = 2**61
MAX_DEPTH = 2**15
"""No row of the timeline has a deeper lane."""
_INTEGER = re.compile(r"-?[0-9]{1,19}")


class Arguments:
    """The arguments of one request. Every getter raises an InputError that names the route and the argument."""

    def __init__(self, route: str, values: Mapping[str, str]) -> None:
        self._route = route
        self._values = values

    def text(self, name: str) -> str:
        value = self._values.get(name, "")
        if not value:
            raise InputError(f"{self._route}: {name} is missing; add it")
        return value

    def optional_text(self, name: str) -> str | None:
        return self._values.get(name) or None

    def flag(self, name: str) -> bool:
        return self._values.get(name, "") not in ("", "0")

    def integer(
        self, name: str, low: int = -_MAX_INTEGER, high: int = _MAX_INTEGER, default: int | None = None
    ) -> int:
        """An integer from `low` to `high`; `default`, if given, for a missing argument."""
        if default is not None and not self._values.get(name):
            return default
        text = self.text(name)
        if not _INTEGER.fullmatch(text) or not low <= int(text) <= high:
            raise InputError(
                f"{self._route}: {name} must be a whole number from {low} to {high}, not {text[:40]}"
            )
        return int(text)

    def optional_integer(self, name: str, low: int, high: int) -> int | None:
        return self.integer(name, low, high) if self._values.get(name) else None

    def window(self) -> tuple[int, int]:
        """`start_ps` and `end_ps` of a non-empty window."""
        start, end = self.integer("start_ps"), self.integer("end_ps")
        if end <= start:
            raise InputError(f"{self._route}: end_ps must be greater than start_ps; give a later end")
        return start, end

    def names(self, name: str) -> list[str] | None:
        """The distinct items of a comma-separated list, in which `%2C` and `%25` stand for `,` and `%`; None if the
        argument is missing."""
        value = self._values.get(name)
        return (
            None if value is None else list(dict.fromkeys(unquote(item) for item in value.split(",") if item))
        )

    def peaks(self, name: str) -> tuple[float, float] | None:
        """A device's FLOP/s and bytes/s, as `918e12,1638e9`; None if the argument is missing."""
        text = self._values.get(name)
        if not text:
            return None
        try:
            return units.parse_peaks(text)
        except ValueError as error:
            raise InputError(
                f"{self._route}: {name} must be FLOP/s and bytes/s, {units.PEAKS_RANGE_TEXT}, such as "
                f"918e12,1638e9, not {text[:40]}"
            ) from error

    def choice(self, name: str, *choices: str) -> str:
        value = self.text(name)
        if value not in choices:
            raise InputError(f"{self._route}: {name} must be {' or '.join(choices)}, not {value[:40]}")
        return value


Handler = Callable[[Arguments], Mapping[str, Any]]
"""What answers the requests to one route."""
