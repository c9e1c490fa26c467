"""Rows of the tables of executions, compilations and transfers, for the text output and the HTML report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tb_xla_insights.report.compile_text import compile_state, difference_text
from tb_xla_insights.report.figures import joins_text
from tb_xla_insights.schema.launches import known_runs
from tb_xla_insights.text import units

Row = Mapping[str, Any]

_MAX_STEADY_RATIO = 1.1
"""Device times up to this multiple of their median count as equal."""


def mean_runs(programs: Sequence[Row]) -> list[Row]:
    """The programs with mean times of a run, and the spread of its times, in one unit per column."""
    unit_of = {
        key: units.column_unit([program["spread"][key]["max"] for program in programs])
        for key in ("device_ps", "overhead_ps")
    }
    return [_mean_run(program, unit_of) for program in programs]


def _mean_run(program: Row, unit_of: Mapping[str, str]) -> Row:
    """The spread of device times is empty if they are nearly equal."""
    spread = program["spread"]
    device = spread["device_ps"]
    is_steady = device["max"] <= _MAX_STEADY_RATIO * device["median"]
    return {
        **program,
        **mean_times(program, known := known_runs(program)),
        "device_spread": "" if is_steady else _spread_text(device, unit_of["device_ps"]),
        "overhead_spread": _spread_text(spread["overhead_ps"], unit_of["overhead_ps"]) if known > 1 else "",
        "join": joins_text(program["joins"]),
    }


def mean_times(sums: Row, known: int) -> dict[str, int | None]:
    """The mean times of a run: device time of all runs, queue time and overhead of those `known` whose launch is known,
    and host time as the sum of the three; None if no launch is known. `sums`: over all runs."""
    device = round(sums["device_ps"] / sums["count"])
    if not known:
        return {"host_ps": None, "device_ps": device, "queue_ps": None, "overhead_ps": None}
    queue, overhead = (round(sums[key] / known) for key in ("queue_ps", "overhead_ps"))
    return {
        "host_ps": device + queue + overhead,
        "device_ps": device,
        "queue_ps": queue,
        "overhead_ps": overhead,
    }


def _spread_text(spread: Row, unit: str) -> str:
    """Minimum, median and maximum, with the unit once."""
    times = (units.time_in(spread[key], unit) for key in ("min", "median", "max"))
    return f"{' / '.join(times)}{units.NARROW_SPACE}{unit}"


def compile_row(compilation: Row) -> Row:
    """The compilation with its idle time on all devices, when it happened, and what is new in its graph."""
    return {
        **compilation,
        "step": units.step_name(compilation["step"], compilation["step_number"]),
        "idle_ps": sum(compilation["idle_ps"].values()),
        "state": compile_state(compilation),
        "difference": difference_text(compilation),
    }


def transfer_rows(transfers: Mapping[str, Row]) -> list[Row]:
    """The transfers by direction, which is a class of host time. The size is a text, which says if some sizes are
    unknown."""
    return [
        {
            **row,
            "direction": name,
            "per_step": None if row["per_step"] is None else f"{row['per_step']:.1f}",
            "bytes": _size_text(row),
        }
        for name, row in transfers.items()
    ]


def _size_text(row: Row) -> str:
    size = units.byte_size(row["bytes"])
    known_count = row["known_size_count"]
    return f"{size} ({known_count} known)" if 0 < known_count < row["count"] else size
