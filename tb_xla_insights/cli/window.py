"""`xla-insights window PATH --start-ms A --end-ms B`: the activity of classes, threads and devices in a window."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import common, printing
from tb_xla_insights.cli.window_condensed import (
    condense_threads,
    is_many,
    print_many_devices,
    print_other_hosts,
    split_hosts,
)
from tb_xla_insights.errors import NoDeviceError
from tb_xla_insights.report.condensed import CONDENSED_FROM

if TYPE_CHECKING:
    from rich.console import Console

    from tb_xla_insights.schema.window import NameTime, Window, WindowAnnotation, WindowDevice


_MAX_NAMES = 3
"""Events of a thread and ops of an annotation that are named; `--json` has more."""

_MAX_TIME_PS = 10**18
"""Eleven days. Differences of such times fit 64 bits."""


def add_to(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    common.add_path(parser)
    for name, position in (("start", "first"), ("end", "last")):
        parser.add_argument(
            f"--{name}-ms",
            required=True,
            type=_milliseconds,
            metavar="MS",
            help=f"{position} instant, in milliseconds from the session's start",
        )
    parser.add_argument("--device", metavar="ID", help="only this device")
    parser.add_argument(
        "--all", action="store_true", help="a row or table for each host and device, however many"
    )
    parser.set_defaults(run=run, parser=parser)


def run(options: Any) -> int:
    if options.end_ms <= options.start_ms:
        options.parser.error("--end-ms must be greater than --start-ms")
    session = common.read(options)
    try:
        with common.reading(session):
            answer = session.window(options.start_ms, options.end_ms, options.device)
    except NoDeviceError as error:
        options.parser.error(str(error))
    common.warn(session)
    if options.json:
        printing.print_json(answer)
    else:
        _print(printing.console(), answer, condensed=is_many(answer) and not options.all)
    return 0


def _milliseconds(text: str) -> int:
    try:
        ps = units.parse_time(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if abs(ps) > _MAX_TIME_PS:
        raise argparse.ArgumentTypeError(f"{text}: no session lasts that long; give a time within it")
    return ps


def _print(out: Console, answer: Window, condensed: bool) -> None:
    duration = answer["duration_ps"]
    start, end = (units.time_in(answer[key], "ms") for key in ("start_ps", "end_ps"))
    out.print(f"Window  {start} – {end}{units.THIN}ms, {units.time_text(duration)} long\n")
    unit = units.column_unit([duration])
    named, others = split_hosts(answer) if condensed else (answer["hosts"], [])
    for host in named:
        classes = common.table(f"What {host['host']} did", "Class", f"Time, {unit}", "Share")
        parts = sorted(((ps, name) for name, ps in host["by_class_ps"].items() if ps), reverse=True)
        shown = units.rounded_parts([ps for ps, _ in parts], duration, units.PS_PER[unit] // 1000)
        for (ps, name), rounded in zip(parts, shown, strict=True):
            classes.add_row(common.class_text(name), units.time_in(rounded, unit), units.share(ps / duration))
        out.print(classes)
    print_other_hosts(out, others, duration, unit, len(named))
    _print_threads(out, condense_threads(answer["threads"], named) if condensed else answer["threads"], unit)
    if len(answer["devices"]) >= CONDENSED_FROM and condensed:
        print_many_devices(out, answer["devices"], duration, unit)
    else:
        _print_devices(out, answer["devices"], unit)
    _print_ops(out, answer["annotations"], answer["devices"])
    _print_top(out, answer["top"], unit)


def _print_threads(out: Console, threads: Sequence[Mapping[str, Any]], unit: str) -> None:
    heads = ("Role", "Host", f"Busy, {unit}", "Events", "By class", "Most own time in")
    table = common.table("Threads", "Thread", *heads, left=(0, 1, 2, 5, 6))
    for thread, host in zip(threads, common.host_texts(threads), strict=True):
        classes = [common.class_times(thread["by_class_ps"], 3)] if thread["by_class_ps"] else []
        if thread["no_class_ps"]:
            classes.append(f"none {units.time_text(thread['no_class_ps'])}")
        names = [
            f"{units.cut_middle(row['name'])} {units.time_text(row['self_ps'])}"
            for row in thread["top"][:_MAX_NAMES]
        ]
        busy, events = units.time_in(thread["busy_ps"], unit), units.count(thread["events"])
        table.add_row(
            thread["name"], thread["role"], host, busy, events, ", ".join(classes), ", ".join(names)
        )
    out.print(table)


def _print_devices(out: Console, devices: list[WindowDevice], unit: str) -> None:
    if not devices:
        return
    times = [f"{name}, {unit}" for name in ("Busy", "Idle", "Stall")]
    table = common.table("Devices", "Device", "Host", *times, "Modules", "Ops", left=(0, 1))
    for device in devices:
        table.add_row(
            device["name"],
            device["host"],
            *common.times(device, unit, "busy_ps", "idle_ps", "stall_ps"),
            units.count(device["modules"]),
            units.count(device["ops"]),
        )
    out.print(table)


def _print_ops(out: Console, annotations: list[WindowAnnotation], devices: list[WindowDevice]) -> None:
    """Prints the ops of the window's devices by annotation; times and shares add up to those of all ops."""
    from tb_xla_insights.report.work_tables import fit_rows

    if not any(row["count"] for row in annotations):
        return
    rows = [
        {"path": row["path"], "self_ps": row["inside_ps"], "count": _count_inside(row["path"], annotations)}
        | {"own": {"self_ps": row["self_ps"], "count": row["count"], "names": _op_names(row)}}
        for row in annotations
    ]
    lines = [
        (row["name"], row["count"], row["self_ps"], row.get("names", ""))
        for row in fit_rows(rows, common.ROWS)
    ]
    if len(lines) > common.ROWS:
        lines, rest = lines[: common.ROWS - 1], lines[common.ROWS - 1 :]
        count, time = sum(line[1] for line in rest), sum(line[2] for line in rest)
        lines.append((f"{units.count(len(rest))} others", count, time, ""))
    times = [ps for _, _, ps, _ in lines]
    unit = units.column_unit(times)
    heads = ("Count", f"Self time, {unit}", "Share", "Most time in")
    table = common.table("Device ops by annotation", "Annotation", *heads, left=(0, 4))
    shares = units.shares(times, sum(times)) if any(times) else [units.MISSING] * len(times)
    rounded = units.rounded_parts(times, sum(times), units.PS_PER[unit] // 1000)
    for (name, number, _, names), ps, share in zip(lines, rounded, shares, strict=True):
        table.add_row(name, units.count(number), units.time_in(ps, unit), share, names)
    # An op of several annotations counts in each.
    ops = units.count(sum(device["ops"] for device in devices))
    table.add_row("all ops", ops, units.time_in(sum(times), unit), units.share(1.0), "")
    out.print(table)


def _count_inside(path: str | None, annotations: Sequence[Mapping[str, Any]]) -> int:
    return sum(
        row["count"]
        for row in annotations
        if row["path"] == path or (path and (row["path"] or "").startswith(f"{path}/"))
    )


def _op_names(row: Mapping[str, Any]) -> str:
    names = [
        f"{units.cut_middle(op['op'])} {units.time_text(op['self_ps'])}" for op in row["top_ops"][:_MAX_NAMES]
    ]
    more = len(row["top_ops"][_MAX_NAMES:]) + row["more_ops"]["names"]
    return ", ".join([*names, f"{units.count(more)} more"] if more else names)


def _print_top(out: Console, top: list[NameTime], unit: str) -> None:
    heads = ("Event", "Class", "Count", f"Total, {unit}", f"Self, {unit}")
    table = common.table("Longest by self time", *heads, left=(0, 1))
    for event in top:
        table.add_row(
            units.cut_middle(event["name"]),
            common.class_text(event["class"]) if event["class"] else units.MISSING,
            units.count(event["count"]),
            *common.times(event, unit, "total_ps", "self_ps"),
        )
    out.print(table)
