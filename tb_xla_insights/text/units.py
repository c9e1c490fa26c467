"""Formatting of numbers for the interface; all conversions of picoseconds to text are here.

U+202F, a narrow no-break space, separates groups of digits, and a number from its unit. A missing value is an en dash;
zero is a number. Times are integer picoseconds, and round half away from zero in integer arithmetic, so that a time
reads the same in every table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from numbers import Real
from typing import Any

MAX_SAMPLES_PER_STEP = 10**15
"""Sums of larger numbers would lose precision or overflow."""
MIN_PEAK, MAX_PEAK = 1e6, 1e24
"""The range of FLOP/s and bytes/s that a user can give as a device's peaks: `918,1638` is a mistake, in TFLOP/s and
GB/s."""
PEAKS_RANGE_TEXT = f"two numbers from {MIN_PEAK:g} to {MAX_PEAK:g}"
NARROW_SPACE = "\u202f"
MISSING = "–"
MINUS = "\u2212"

PS_PER = {"ns": 10**3, "µs": 10**6, "ms": 10**9, "s": 10**12}

_MIN_SHARE = 0.001
"""Smaller shares read `< 0.1 %`."""


def check_samples(samples: float) -> float:
    """Converts a number of samples per step, NumPy's included, to an int or float, for JSON. Raises ValueError unless
    it is a number above 0 and at most MAX_SAMPLES_PER_STEP."""
    if not isinstance(samples, Real) or not 0 < samples <= MAX_SAMPLES_PER_STEP:
        raise ValueError(f"not a number of samples per step: {samples!r}")
    return int(samples) if samples == int(samples) else float(samples)


def parse_peaks(text: str) -> tuple[float, float]:
    """Parses FLOP/s and bytes/s of a device, as in `918e12,1638e9`. Raises ValueError unless both are numbers from
    MIN_PEAK to MAX_PEAK."""
    return check_peaks(text.split(","))


def check_peaks(peaks: Iterable[Any]) -> tuple[float, float]:
    """Converts FLOP/s and bytes/s of a device to floats. Raises ValueError or TypeError unless both are numbers from
    MIN_PEAK to MAX_PEAK."""
    flops, nbytes = map(float, peaks)
    if not (MIN_PEAK <= flops <= MAX_PEAK and MIN_PEAK <= nbytes <= MAX_PEAK):
        raise ValueError(f"{flops:g},{nbytes:g}")
    return flops, nbytes


def time_unit(ps: int) -> str:
    """The unit to show a time in: `s` from 10 s, `ms` from 0.1 ms, `µs` from 0.1 µs, else `ns`."""
    magnitude = abs(ps)
    if magnitude >= 10 * PS_PER["s"]:
        return "s"
    if magnitude >= PS_PER["ms"] // 10:
        return "ms"
    return "µs" if magnitude >= PS_PER["µs"] // 10 else "ns"


def brief_unit(ps: int) -> str:
    """The unit of the times of a sentence, and of a column that sentences quote: `s` from 1 s on, else `time_unit`."""
    return "s" if abs(ps) >= PS_PER["s"] else time_unit(ps)


def time_in(ps: int, unit: str, decimals: int = 3) -> str:
    """A time as a bare number of `unit`, for columns with the unit in their header."""
    return _fixed(ps, PS_PER[unit], decimals)


def time_text(ps: int | None, decimals: int = 3) -> str:
    """A time with its unit: `72.143 ms`, `4.118 µs`; a dash for None."""
    if ps is None:
        return MISSING
    unit = time_unit(ps)
    return f"{time_in(ps, unit, decimals)}{NARROW_SPACE}{unit}"


def range_text(start_ps: int, end_ps: int) -> str:
    """Both ends of an interval in ms, with enough decimals to distinguish them: `715.080 – 787.223 ms`."""
    length_ps = end_ps - start_ps
    decimals = 3 if length_ps >= PS_PER["ms"] // 100 else min(9, 13 - len(str(length_ps)))
    start, end = (time_in(ps, "ms", decimals) for ps in (start_ps, end_ps))
    return f"{start} – {end}{NARROW_SPACE}ms"


def brief_time(ps: int) -> str:
    """A time for sentences, with three digits: `1.79 s` (from 1 s on), `318 ms`, `27.4 ms`, `0.163 ms`, `34.0 µs`."""
    return brief_times(ps)[0]


def brief_times(*times_ps: int) -> list[str]:
    """The times of a sentence in one unit, that of the longest one, so that they compare at a glance: `0.034 ms`,
    `0.561 ms`."""
    unit = brief_unit(max(map(abs, times_ps), default=0))
    return [f"{time_in(ps, unit, _decimals(ps, PS_PER[unit]))}{NARROW_SPACE}{unit}" for ps in times_ps]


def brief_range(low_ps: int, high_ps: int, *, joint: str = "to") -> str:
    """Two times of a sentence in one unit: `61 to 64 ms`; one if they read the same: `707 ms`."""
    unit = brief_unit(high_ps)
    low, high = (time_in(ps, unit, _decimals(ps, PS_PER[unit])) for ps in (low_ps, high_ps))
    return f"{high if low == high else f'{low} {joint} {high}'}{NARROW_SPACE}{unit}"


def _decimals(ps: int, unit_ps: int) -> int:
    """The number of decimals, at most three, that shows three digits of a time."""
    return next((decimals for decimals, limit in enumerate((100, 10, 1)) if abs(ps) >= limit * unit_ps), 3)


def change_text(before_ps: int, after_ps: int, decimals: int = 1, to: str = "→") -> str:
    """A change of a time, in one unit: `290.8 → 169.3 ms`. Takes more decimals, up to three, where different times
    would read the same. Where the result would read as zero with two decimals, each time has its own unit:
    `75.0 s → 0.5 ms`."""
    unit = time_unit(before_ps)
    before, after = (time_in(ps, unit, decimals) for ps in (before_ps, after_ps))
    ambiguous = before == after and before_ps != after_ps
    reads_as_zero = 0 < 2 * after_ps * 10**decimals < PS_PER[unit]
    if reads_as_zero and decimals > 1:
        return f"{time_text(before_ps, 1)} {to} {time_text(after_ps, 1)}"
    if (ambiguous or reads_as_zero) and decimals < 3:
        return change_text(before_ps, after_ps, decimals + 1, to)
    return f"{before} {to} {after}{NARROW_SPACE}{unit}"


def part_text(part_ps: int, whole_ps: int, decimals: int = 1) -> str:
    """A part of a time, in the unit of the whole: `69.5 of 290.8 ms`. Takes more decimals, up to three, where the part
    would read as zero."""
    unit = time_unit(whole_ps)
    if part_ps and 2 * part_ps * 10**decimals < PS_PER[unit] and decimals < 3:
        return part_text(part_ps, whole_ps, decimals + 1)
    return f"{time_in(part_ps, unit, decimals)} of {time_in(whole_ps, unit, decimals)}{NARROW_SPACE}{unit}"


def column_unit(times_ps: Sequence[int]) -> str:
    """The unit of a column of times: that of its largest value."""
    return time_unit(max((abs(ps) for ps in times_ps), default=0))


def share(value: float | None) -> str:
    """A share from 0 to 1 in percent with one decimal; `< 0.1 %` for less, `0.0 %` and `100.0 %` only if it is exactly
    0 or 1."""
    if value is None:
        return MISSING
    if 0 < value < _MIN_SHARE:
        return f"<{NARROW_SPACE}0.1{NARROW_SPACE}%"
    percent = 99.9 if 1 - _MIN_SHARE < value < 1 else value * 100
    return f"{percent:.1f}{NARROW_SPACE}%"


def rounded_share(value: float) -> str:
    """A share for a sentence that is read in passing, in whole percent, below 10 % with one decimal: `60 %`, `2.6 %`;
    `over 99 %` where rounding would say all."""
    if 0.995 <= value < 1:
        return f"over{NARROW_SPACE}99{NARROW_SPACE}%"
    return share(value) if value < 0.0995 else f"{value * 100:.0f}{NARROW_SPACE}%"


def reduction_text(value: float) -> str:
    """A reduction, given as a share from 0 to 1: `−36.0 %`; `< 0.1 %` for less."""
    return share(value) if value < _MIN_SHARE else f"{_fixed(-round(value * 1000), 10, 1)}{NARROW_SPACE}%"


def count(value: int | None) -> str:
    """A count with its digits in groups: `11 520`."""
    return MISSING if value is None else _grouped(value)


def rate(value: float | None) -> str:
    """A rate per second, as a bare number of at least four digits: `12 804`, `318.4`, `0.7500`; 0.0000 for less."""
    if value is None:
        return MISSING
    decimals = next((decimals for decimals, limit in enumerate((1000, 100, 10, 1)) if value >= limit), 4)
    return _fixed(round(value * 10**decimals), 10**decimals, decimals)


def samples(value: float) -> str:
    """A number of samples, without trailing zeros: `128 samples`, `0.5 samples`."""
    integer, point, decimals = f"{value:.6f}".rstrip("0").rstrip(".").partition(".")
    return f"{_grouped(int(integer))}{point}{decimals}{NARROW_SPACE}{'sample' if value == 1 else 'samples'}"


def byte_size(value: int | None) -> str:
    """Bytes in powers of 1000 with one decimal: `318.4 MB`; below 1 kB the exact number."""
    if value is None:
        return MISSING
    if value < 1000:
        return f"{value}{NARROW_SPACE}B"
    for power, unit in enumerate(("kB", "MB", "GB", "TB"), start=1):
        # 999 950 bytes would round to "1000.0 kB".
        if value * 20 < 1000 ** (power + 1) * 20 - 1000**power or unit == "TB":
            return f"{_fixed(value, 1000**power, 1)}{NARROW_SPACE}{unit}"
    raise AssertionError("the last unit takes every size")


def utc_text(unix_ns: int) -> str:
    """A time stamp in UTC, to the second: `2022-02-09 20:11:37`; a dash for 0, an unknown time."""
    if not unix_ns:
        return MISSING
    return datetime.fromtimestamp(unix_ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S")


def step_name(index: int | None, number: int | None) -> str:
    """A step's name: its number, else its index, else a dash (no step)."""
    name = index if number is None else number
    return MISSING if name is None else str(name)


def rounded_parts(parts: Sequence[int], total: int, step: int) -> list[int]:
    """Rounds the parts of a whole to multiples of `step` so that they still add up to the rounded whole.

    Method of the largest remainder: every part is rounded down, then the parts with the largest remainders get one step
    back. `parts` add up to `total`; the result adds up to `total` rounded half up.
    """
    floors = [part // step for part in parts]
    missing = (2 * total + step) // (2 * step) - sum(floors)
    by_loss = sorted(range(len(parts)), key=lambda index: (-(parts[index] % step), index))
    for index in by_loss[: max(missing, 0)]:
        floors[index] += 1
    return [floor * step for floor in floors]


def shares(parts: Sequence[int], whole: int) -> list[str]:
    """The shares of the parts of a whole above 0, as texts that add up to 100 % (`< 0.1 %` counts as 0)."""
    tenths = rounded_parts([1000 * part for part in parts], 1000 * whole, whole)
    return [
        share(tenth / whole / 1000 if tenth else min(part / whole, _MIN_SHARE / 2))
        for part, tenth in zip(parts, tenths, strict=True)
    ]


def cut_note(max_rows: int, rows: int) -> str:
    """`the first 12 of 345`, for the heading of a table that shows at most `max_rows` of its rows; empty if it shows
    all."""
    return f"the first {max_rows} of {count(rows)}" if rows > max_rows else ""


def longest_note(max_rows: int, rows: int) -> str:
    """`the 12 longest`, for the heading of a table that shows at most `max_rows` rows, the longest ones; empty if it
    shows all."""
    return f"the {count(max_rows)} longest" if rows > max_rows else ""


def cut_middle(text: str, max_length: int = 60) -> str:
    """Shortens a long name by its middle: `ThunkExecutor…completion)`."""
    tail = (max_length - 1) // 3
    return text if len(text) <= max_length else f"{text[: max_length - 1 - tail]}…{text[-tail:]}"


def parse_time(text: str) -> int:
    """The exact picoseconds of a decimal number of milliseconds; decimals after the ninth are ignored. Raises
    ValueError if the text is not such a number."""
    match = re.fullmatch(r"([+-]?)(\d*)(?:\.(\d*))?", text.strip())
    if not match or not (match[2] or match[3]):
        raise ValueError(f"not a number of milliseconds: {text!r}")
    fraction = (match[3] or "")[:9].ljust(9, "0")
    ps = int(match[2] or "0") * PS_PER["ms"] + int(fraction)
    return -ps if match[1] == "-" else ps


def _fixed(value: int, scale: int, decimals: int) -> str:
    """`value / scale` with `decimals` decimals, rounded half away from zero, digits grouped."""
    scaled, unit = abs(value) * 10**decimals, 10**decimals
    rounded = (2 * scaled + scale) // (2 * scale)
    sign = MINUS if value < 0 and rounded else ""
    whole = _grouped(rounded // unit)
    return f"{sign}{whole}.{rounded % unit:0{decimals}d}" if decimals else f"{sign}{whole}"


def _grouped(value: int) -> str:
    text = f"{abs(value):,}".replace(",", NARROW_SPACE)
    return MINUS + text if value < 0 else text
