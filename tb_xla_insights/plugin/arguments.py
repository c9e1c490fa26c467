"""A request's arguments, checked before anything computes with them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tb_xla_insights import units
from tb_xla_insights.errors import InputError

# Times are exact in a page's numbers up to here; far beyond any capture.
_LARGEST = 2**53
_WHOLE = re.compile(r"-?[0-9]{1,16}")


class Arguments:
    """The arguments of one request. Every getter raises InputError that names the route and the argument."""

    def __init__(self, route: str, values: Mapping[str, str]) -> None:
        self._route = route
        self._values = values

    def text(self, name: str) -> str:
        value = self._values.get(name, "")
        if not value:
            raise InputError(f"{self._route}: {name} is missing; give it")
        return value

    def optional_text(self, name: str) -> str | None:
        return self._values.get(name) or None

    def flag(self, name: str) -> bool:
        return self._values.get(name, "") not in ("", "0")

    def integer(
        self, name: str, low: int = -_LARGEST, high: int = _LARGEST, default: int | None = None
    ) -> int:
        """A whole number from `low` to `high`; `default` where it is missing and a default was given."""
        if default is not None and not self._values.get(name):
            return default
        text = self.text(name)
        if not _WHOLE.fullmatch(text) or not low <= int(text) <= high:
            raise InputError(
                f"{self._route}: {name} must be a whole number from {low} to {high}, not {text[:40]}"
            )
        return int(text)

    def optional_integer(self, name: str, low: int, high: int) -> int | None:
        return self.integer(name, low, high) if self._values.get(name) else None

    def window(self) -> tuple[int, int]:
        """`start_ps` and `end_ps` of a window that is not empty."""
        start, end = self.integer("start_ps"), self.integer("end_ps")
        if end <= start:
            raise InputError(f"{self._route}: end_ps must be greater than start_ps; give a later end")
        return start, end

    def names(self, name: str) -> list[str] | None:
        """A list with commas between its items, each once; None where it is missing."""
        value = self._values.get(name)
        return None if value is None else [item for item in dict.fromkeys(value.split(",")) if item]

    def peaks(self, name: str) -> tuple[float, float] | None:
        """FLOP/s and bytes/s of a device, as `918e12,1638e9`; None where they are missing."""
        text = self._values.get(name)
        if not text:
            return None
        try:
            return units.parse_peaks(text)
        except ValueError as error:
            raise InputError(
                f"{self._route}: {name} must be FLOP/s and bytes/s, as 918e12,1638e9, not {text[:40]}"
            ) from error

    def choice(self, name: str, *choices: str) -> str:
        value = self.text(name)
        if value not in choices:
            raise InputError(f"{self._route}: {name} must be {' or '.join(choices)}, not {value[:40]}")
        return value
