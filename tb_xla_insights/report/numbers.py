"""Numbers as programs print them, also under locales that write a comma for the point or group digits.

What can be read in two ways (is `1.234` a thousand or a little more than one?) is not read, and neither is what is
longer than any number of a report.
"""

from __future__ import annotations

import re

_GROUPED = re.compile(r"-?\d{1,3}(?:([.,'’ \u00a0\u2009\u202f])\d{3})(?:\1\d{3})*", re.ASCII)
_DECIMAL = re.compile(
    r"(-?(?:\d+|\d{1,3}(?:(?P<group>[.,'’ \u00a0\u2009\u202f])\d{3})(?:(?P=group)\d{3})*))"
    r"(?:(?P<point>[.,])(?P<fraction>\d+))?",
    re.ASCII,
)
_LONGEST = 40
_PART = re.compile(r"(\d+(?:[.,]\d+)?)(d|h|ms|us|ns|m|s)")
_PS = {
    "d": 86_400 * 10**12, "h": 3_600 * 10**12, "m": 60 * 10**12, "s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3,
}  # fmt: skip
_BYTES = re.compile(r"(.*\d)\s?([KMGTP]?)B")


def whole(text: str) -> int | None:
    """A count, its digits perhaps in groups: `11520`, `11,520`, `11.520`; None where it is none."""
    if len(text) > _LONGEST:
        return None
    if re.fullmatch(r"-?[0-9]+", text):
        return int(text)
    return int(re.sub(r"[^0-9-]", "", text)) if text.isprintable() and _GROUPED.fullmatch(text) else None


def decimal(text: str) -> float | None:
    """A number with or without a fraction. One separator before exactly three digits may mean either: None."""
    found = _DECIMAL.fullmatch(text) if text.isprintable() and len(text) <= _LONGEST else None
    if found is None:
        return None
    group, point, fraction = found["group"], found["point"], found["fraction"]
    either = point is not None and group is None and len(fraction) == 3 and found[1] not in ("0", "-0")
    if either or (point is not None and point == group):
        return None
    return float(f"{re.sub(r'[^0-9-]', '', found[1])}.{fraction or 0}")


def quantity(text: str) -> tuple[float | int | None, str | None]:
    """Value and unit (`ps`, `bytes` or None) of what a metric has accumulated: `01s147ms508.595us`, `171.02KB`,
    `716.00`."""
    if found := _BYTES.fullmatch(text):
        number = decimal(found[1])
        return (
            (None, None)
            if number is None
            else (round(number * 1024 ** " KMGTP".index(found[2] or " ")), "bytes")
        )
    parts = _PART.findall(text) if len(text) <= _LONGEST else []
    if parts and "".join(number + unit for number, unit in parts) == text:
        # A part stays below a thousand, so what stands before three digits is its point.
        return sum(round(float(number.replace(",", ".")) * _PS[unit]) for number, unit in parts), "ps"
    return decimal(text), None
