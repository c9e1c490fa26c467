"""Prints the host's work for devices: executions, early executions, compilations, transfers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import common
from tb_xla_insights.units import THIN

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]
_TRIGGERS = {"read": "value read", "step_marker": "step marker"}
_MAX_STEADY_RATIO = 1.1
"""Device times up to this multiple of their median count as equal."""


def print_early(out: Console, rows: Sequence[Document], steps: Sequence[Document]) -> None:
    """Prints the early executions in order of time."""
    if not rows:
        return
    unit = units.column_unit([row[key] for row in rows for key in ("device_ps", "idle_ps")])
    heads = ("Host", "Annotation", "Thread", "How", "Program", "Where", "Why", "Start, ms")
    times = (f"Device, {unit}", f"Idle after, {unit}")
    more = f"; the first {common.ROWS}" if len(rows) > common.ROWS else ""
    title = f"Executions before the step is over ({units.count(len(rows))}{more}; device and idle time: all cores)"
    table = common.table(title, "Step", *heads, *times, left=range(8))
    for row, host in list(zip(rows, common.host_texts(rows), strict=True))[: common.ROWS]:
        step = None if row["step"] is None else steps[row["step"]]["number"]
        table.add_row(
            units.step_name(row["step"], step),
            host,
            *(row[key] or units.MISSING for key in ("annotation", "thread")),
            _TRIGGERS[row["how"]],
            *(row[key] or units.MISSING for key in ("program", "frame", "cause")),
            units.time_in(row["start_ps"], "ms"),
            *common.times(row, unit, "device_ps", "idle_ps"),
        )
    out.print(table)


def print_executions(out: Console, rows: Sequence[Document], launching: Document) -> None:
    """Prints mean times per run and their spread, the fixed cost of an execution, and the host's lead."""
    from tb_xla_insights.report.figures import joins_text

    if not rows:
        return
    means = [{name: row[name] // row["count"] for name in row if name.endswith("_ps")} for row in rows]
    unit = units.column_unit([mean["host_ps"] for mean in means])
    times = [f"{name}, {unit}" for name in ("Host", "Device", "Queue", "Overhead")]
    spreads = [f"{name} min / median / max" for name in ("Overhead", "Device")]
    heads = ("Kind", "Launches", "Runs", *times, *spreads, "Join")
    table = common.table(
        "Executions (means of a run on one core; host = device + queue + overhead)",
        "Program",
        *heads,
        left=(0, 1, 10),
    )
    for row, mean in list(zip(rows, means, strict=True))[: common.ROWS]:
        device = row["spread"]["device_ps"]
        table.add_row(
            row["program"],
            row["kind"],
            units.count(row["launches"]),
            units.count(row["count"]),
            *common.times(mean, unit, "host_ps", "device_ps", "queue_ps", "overhead_ps"),
            _spread(row["spread"]["overhead_ps"]) if row["count"] > 1 else "",
            _spread(device) if device["max"] > _MAX_STEADY_RATIO * device["median"] else "",
            joins_text(row["joins"]),
        )
    out.print(table)
    notes = [*_lead(launching["lead"]), *_fixed(launching["fixed"])]
    if any(set(row["joins"]) != {"exact"} for row in rows):
        notes.append(
            "Join: how a run was matched to its launch, exact (by flow or key), ordered (by order) or none."
        )
    for note in notes:
        common.print_paragraph(out, note)
    if notes:
        out.print()


def _spread(spread: Document) -> str:
    """Minimum, median and maximum, with the unit once if they share it."""
    times = [spread[key] for key in ("min", "median", "max")]
    if len({units.time_unit(ps) for ps in times}) > 1:
        return " / ".join(map(units.time_text, times))
    *first, last = times
    return " / ".join([*(units.time_in(ps, units.time_unit(ps)) for ps in first), units.time_text(last)])


def _lead(lead: Document | None) -> list[str]:
    if lead is None:
        return []
    unit = units.column_unit([lead["min_ps"], lead["max_ps"]])
    median, low, high = (
        f"{units.time_in(lead[key], unit)}{THIN}{unit}" for key in ("median_ps", "min_ps", "max_ps")
    )
    span = f"from {low} to {high} over {units.count(lead['runs'])} runs"
    if lead["median_ps"] >= 0:
        return [
            f"The host runs ahead: a run is enqueued {median} before the device is free for it, in the median ({span})."
        ]
    wait = median.removeprefix(units.MINUS)
    return [
        f"The host does not run ahead: a free device waits {wait} for a run, in the median (lead {span})."
    ]


def _fixed(fixed: Document | None) -> list[str]:
    if fixed is None:
        return []
    runs = f"fitted to {units.count(fixed['n'])} runs"
    if not fixed["fixed_ps"]:
        return [f"The fixed cost of an execution is indistinguishable from zero ({runs})."]
    more = (
        f", and {units.share(fixed['per_device'])} of its device time" if fixed["per_device"] >= 0.001 else ""
    )
    cost = units.time_text(fixed["fixed_ps"])
    return [f"An execution costs a fixed {cost} beyond its device time{more} ({runs})."]


def print_compiles(out: Console, rows: Sequence[Document]) -> None:
    """Prints the compilations in order of time."""
    from tb_xla_insights.report.compile_text import compile_state, difference_text

    if not rows:
        return
    unit = units.column_unit([row["duration_ps"] for row in rows])
    idle = [sum(row["idle_ps"].values()) for row in rows]
    idle_unit = units.column_unit(idle)
    times = ("Start, ms", f"Time, {unit}", f"Idle, {idle_unit}")
    heads = ("Host", "Step", "When", "What is new", "Graph", "Other graphs", "Annotation", "Where", "Why")
    more = f"; the first {common.ROWS}" if len(rows) > common.ROWS else ""
    title = f"Compilations ({units.count(len(rows))}{more}; idle time: all cores)"
    table = common.table(title, "Module", *times, *heads, left=(0, *range(4, 13)))
    for row, host, idle_ps in list(zip(rows, common.host_texts(rows), idle, strict=True))[: common.ROWS]:
        table.add_row(
            row["module"] or units.MISSING,
            units.time_in(row["start_ps"], "ms"),
            *common.times(row, unit, "duration_ps"),
            units.time_in(idle_ps, idle_unit),
            host,
            units.step_name(row["step"], row["step_number"]),
            compile_state(row),
            difference_text(row) or units.MISSING,
            (row["graph_hash"] or units.MISSING)[:8],
            _kin(row["kin"]),
            *(row[key] or units.MISSING for key in ("annotation", "frame", "cause")),
        )
    out.print(table)


def _kin(graphs: Sequence[str]) -> str:
    """Other graphs with the same module name: hashes shortened as in `Graph`, or `module(program id)` of runs."""
    shown = [graph if graph.endswith(")") else graph[:8] for graph in graphs[:3]]
    return ", ".join([*shown, *([f"{len(graphs) - 3} more"] if len(graphs) > 3 else [])]) or units.MISSING


def print_transfers(out: Console, transfers: Mapping[str, Document]) -> None:
    """Prints the transfers by direction."""
    if not any(row["count"] for row in transfers.values()):
        return
    table = common.table(
        "Transfers (time on the host)", "Direction", "Count", "Per step", "Time, ms", "Size", "Size per step"
    )
    for name, row in transfers.items():
        per_step = units.MISSING if row["per_step"] is None else f"{row['per_step']:.1f}"
        size = units.byte_size(row["bytes"])
        table.add_row(
            common.class_text(name),
            units.count(row["count"]),
            per_step,
            *common.times(row, "ms", "duration_ps"),
            f"{size} ({row['sized']} known)" if 0 < row["sized"] < row["count"] else size,
            units.byte_size(row["bytes_per_step"]),
        )
    out.print(table)
