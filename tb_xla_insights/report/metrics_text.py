"""Metrics reports of PyTorch/XLA: `torch_xla.debug.metrics.metrics_report()`, the short one, or either inside a log."""

from __future__ import annotations

import re
from typing import Any

from tb_xla_insights.analysis.sidecars import Metrics, UnparsedLine

_HEAD = re.compile(r"^(Metric|Counter): (\S.*?)\s*$")
_FIELD = re.compile(r"^\s+(\w+): (.*?)\s*$")
_PERCENTILE = re.compile(r"\s*(\d+(?:\.\d+)?)%=(\S+)\s*")
# Rates follow from the rest, over a time that the report does not tell.
_PASSED_OVER = ("ValueRate", "Rate")
# PyTorch/XLA prints 64-bit numbers in C++'s own locale: 18 digits at most, a point, no groups.
_COUNT = re.compile(r"-?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"(-?\d{1,18}(?:\.\d+)?)([KMGTP]?B)?", re.ASCII)
_PART = re.compile(r"(\d{1,18}(?:\.\d+)?)(d|h|ms|us|m|s)", re.ASCII)
_PS = {"d": 86_400 * 10**12, "h": 3_600 * 10**12, "m": 60 * 10**12, "s": 10**12, "ms": 10**9, "us": 10**6}
_BYTES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40, "PB": 1 << 50}


def parse_metrics(text: str, file: str = "") -> Metrics | None:
    """A metrics report; None where the text has none.

    Times become picoseconds, sizes bytes (the report rounds them to two decimals of a power of 1024). What stands in
    a metric or counter and is not understood is in `unread`; lines outside of them are not the report's. A last line
    without an end may have lost digits: its value is not taken.
    """
    report = _Report(file)
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        whole_line = number < len(lines) or text.endswith(("\n", "\r"))
        if head := _HEAD.match(line):
            report.begin(head[1], head[2], number)
        elif report.open and (field := _FIELD.match(line)):
            report.field(field[1], field[2], UnparsedLine(file, number, line.strip()), whole_line)
        else:
            report.end()
    report.end()
    return Metrics(file, report.counters, report.metrics, report.unread) if report.found else None


class _Report:
    """What has been read of a report."""

    def __init__(self, file: str) -> None:
        self.counters: dict[str, int] = {}
        self.metrics: dict[str, Any] = {}
        self.unread: list[UnparsedLine] = []
        self._file = file
        self._kind = self._name = ""
        self._line = self._fields = 0

    @property
    def open(self) -> bool:
        return bool(self._kind)

    @property
    def found(self) -> bool:
        return bool(self.counters or self.metrics)

    def begin(self, kind: str, name: str, line: int) -> None:
        self.end()
        self._kind, self._name, self._line, self._fields = kind, name, line, 0

    def end(self) -> None:
        """A metric or counter without anything in it was cut off."""
        if self._kind and not self._fields:
            self.unread.append(UnparsedLine(self._file, self._line, f"{self._kind}: {self._name}"))
        self._kind = ""

    def field(self, name: str, value: str, place: UnparsedLine, complete: bool) -> None:
        self._fields += 1
        if name in _PASSED_OVER:
            return
        if not complete or not (self._of_counter if self._kind == "Counter" else self._of_metric)(
            name, value
        ):
            self.unread.append(place)

    def _of_counter(self, name: str, value: str) -> bool:
        number = count(value) if name == "Value" else None
        if number is not None:
            self.counters[self._name] = number
        return number is not None

    def _of_metric(self, name: str, value: str) -> bool:
        empty: dict[str, Any] = {"samples": None, "total": None, "unit": None, "percentiles": {}}
        entry = self.metrics.setdefault(self._name, empty)
        if name == "TotalSamples":
            number = count(value)
            entry["samples"] = number if number is None or number >= 0 else None
            return entry["samples"] is not None
        if name == "Accumulator":
            entry["total"], entry["unit"] = quantity(value)
            return entry["total"] is not None
        if name == "Percentiles":
            parts = [_PERCENTILE.fullmatch(part) for part in value.split(";")]
            read = {part[1]: quantity(part[2])[0] for part in parts if part}
            entry["percentiles"] = {name: value for name, value in read.items() if value is not None}
            return len(entry["percentiles"]) == len(parts)
        return False


def count(text: str) -> int | None:
    """A whole number; None where the text is none."""
    return int(text) if _COUNT.fullmatch(text) else None


def quantity(text: str) -> tuple[float | int | None, str | None]:
    """Value and unit (`ps`, `bytes` or None) of what a metric has accumulated: `01s147ms508.595us`, `171.02KB`,
    `716.00`; a value of None where it is not understood."""
    if found := _NUMBER.fullmatch(text):
        number = float(found[1])
        return (round(number * _BYTES[found[2]]), "bytes") if found[2] else (number, None)
    parts = _PART.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(round(float(number) * _PS[unit]) for number, unit in parts), "ps"
    return None, None
