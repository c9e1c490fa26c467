"""Parser of PyTorch/XLA metrics reports: those of `metrics_report()` and `short_metrics_report()` in
`torch_xla.debug.metrics`, also inside a log."""

from __future__ import annotations

import re
from typing import Any

from tb_xla_insights.analysis.sidecar_contents import Metrics, UnparsedLine

_HEAD = re.compile(r"(Metric|Counter): (\S.*)")
_FIELD = re.compile(r"\s+(\w+): (.*)")
_PERCENTILE = re.compile(r"\s*(\d+(?:\.\d+)?)%=(\S+)\s*")
# Rates are the other fields divided by a time that the report does not contain.
_IGNORED_FIELDS = ("ValueRate", "Rate")
# PyTorch/XLA prints 64-bit numbers in the C locale: at most 18 digits, a decimal point, no digit groups.
_COUNT = re.compile(r"-?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"(-?\d{1,18}(?:\.\d+)?)([KMGTP]?B)?", re.ASCII)
_TIME_PART = re.compile(r"(\d{1,18}(?:\.\d+)?)(d|h|ms|us|m|s)", re.ASCII)
_PS_PER_UNIT = {
    "d": 86_400 * 10**12,
    "h": 3_600 * 10**12,
    "m": 60 * 10**12,
    "s": 10**12,
    "ms": 10**9,
    "us": 10**6,
}
_BYTES_PER_UNIT = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40, "PB": 1 << 50}


def parse_metrics(text: str, file: str = "") -> Metrics | None:
    """Parses a metrics report; None if the text has none.

    Times become picoseconds, sizes bytes (the report rounds them to two decimals of a power of 1024). Fields of a
    metric or counter that are not understood are in `unread`; other lines are not part of the report. An unterminated
    last line may have lost digits: its value is ignored.
    """
    report = _Report(file)
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        terminated = number < len(lines) or text.endswith(("\n", "\r"))
        if head := _HEAD.match(line):
            report.begin(head[1], head[2].rstrip(), number)
        elif report.is_open and (field := _FIELD.match(line)):
            report.add_field(
                field[1], field[2].rstrip(), UnparsedLine(file, number, line.strip()), terminated
            )
        else:
            report.end()
    report.end()
    return Metrics(file, report.counters, report.metrics, report.unread) if report.has_content else None


class _Report:
    """A report, as far as it has been read."""

    def __init__(self, file: str) -> None:
        self.counters: dict[str, int] = {}
        self.metrics: dict[str, Any] = {}
        self.unread: list[UnparsedLine] = []
        self._file = file
        self._kind = self._name = ""
        self._line = self._field_count = 0

    @property
    def is_open(self) -> bool:
        """Whether the last line is of a metric or counter."""
        return bool(self._kind)

    @property
    def has_content(self) -> bool:
        return bool(self.counters or self.metrics)

    def begin(self, kind: str, name: str, line: int) -> None:
        self.end()
        self._kind, self._name, self._line, self._field_count = kind, name, line, 0

    def end(self) -> None:
        """Ends the current metric or counter; one without fields was cut off."""
        if self._kind and not self._field_count:
            self.unread.append(UnparsedLine(self._file, self._line, f"{self._kind}: {self._name}"))
        self._kind = ""

    def add_field(self, name: str, value: str, line: UnparsedLine, terminated: bool) -> None:
        self._field_count += 1
        if name in _IGNORED_FIELDS:
            return
        parse_field = self._parse_counter_field if self._kind == "Counter" else self._parse_metric_field
        if not terminated or not parse_field(name, value):
            self.unread.append(line)

    def _parse_counter_field(self, name: str, value: str) -> bool:
        number = parse_count(value) if name == "Value" else None
        if number is not None:
            self.counters[self._name] = number
        return number is not None

    def _parse_metric_field(self, name: str, value: str) -> bool:
        empty: dict[str, Any] = {"samples": None, "total": None, "unit": None, "percentiles": {}}
        metric = self.metrics.setdefault(self._name, empty)
        if name == "TotalSamples":
            number = parse_count(value)
            metric["samples"] = number if number is None or number >= 0 else None
            return metric["samples"] is not None
        if name == "Accumulator":
            metric["total"], metric["unit"] = parse_quantity(value)
            return metric["total"] is not None
        if name == "Percentiles":
            parts = [_PERCENTILE.fullmatch(part) for part in value.split(";")]
            values = {part[1]: parse_quantity(part[2])[0] for part in parts if part}
            metric["percentiles"] = {name: value for name, value in values.items() if value is not None}
            return len(metric["percentiles"]) == len(parts)
        return False


def parse_count(text: str) -> int | None:
    """Parses an integer of at most 18 digits; None for any other text."""
    return int(text) if _COUNT.fullmatch(text) else None


def parse_quantity(text: str) -> tuple[float | int | None, str | None]:
    """Parses the value and unit (`ps`, `bytes` or None) of a metric's total or percentile: `01s147ms508.595us`,
    `171.02KB`, `716.00`. The value is None if the text is not understood."""
    if match := _NUMBER.fullmatch(text):
        number = float(match[1])
        return (round(number * _BYTES_PER_UNIT[match[2]]), "bytes") if match[2] else (number, None)
    parts = _TIME_PART.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(round(float(number) * _PS_PER_UNIT[unit]) for number, unit in parts), "ps"
    return None, None
