"""`xla-insights window PATH --start-ms A --end-ms B`: the activity of classes, threads and devices in a window."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.cli import arguments, elements, printing, reading
from tb_xla_insights.cli.window_condensed import (
    condense_threads,
    needs_condensing,
    print_devices,
    print_many_devices,
    print_other_hosts,
    split_hosts,
    with_outside,
)
from tb_xla_insights.errors import NoDeviceError
from tb_xla_insights.report.condensed import CONDENSED_FROM
from tb_xla_insights.tables.window import (
    WINDOW_ANNOTATIONS,
    WINDOW_CLASSES,
    WINDOW_EVENTS,
    WINDOW_THREADS,
)
from tb_xla_insights.text import units

if TYPE_CHECKING:
    from rich.console import Console

    from tb_xla_insights.schema.window import NameTime, Window, WindowAnnotation, WindowDevice


_MAX_NAMES = 3
"""The most events of a thread, and ops of an annotation, that are named; `--json` has more."""

_MAX_TIME_PS = 10**18
"""Eleven days. Differences of such times fit 64 bits."""


def add_to(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    arguments.add_session(parser)
    arguments.add_json(parser)
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
        "--all", action="store_true", help="a row or table for each host and device, however many there are"
    )
    parser.set_defaults(run=run, parser=parser)


def run(options: Any) -> int:
    if options.end_ms <= options.start_ms:
        options.parser.error("--end-ms must be greater than --start-ms")
    session = reading.read_session(options)
    try:
        with reading.show_progress(session):
            answer = session.window(options.start_ms, options.end_ms, options.device)
    except NoDeviceError as error:
        options.parser.error(str(error))
    reading.print_warnings(session)
    if options.json:
        printing.print_json(answer)
    else:
        print_window(printing.console(), answer, condensed=needs_condensing(answer) and not options.all)
    return 0


def _milliseconds(text: str) -> int:
    try:
        ps = units.parse_time(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if abs(ps) > _MAX_TIME_PS:
        raise argparse.ArgumentTypeError(f"{text}: no session lasts that long; give a time within it")
    return ps


def print_window(out: Console, answer: Window, condensed: bool) -> None:
    """Prints a window; of many hosts and devices, if `condensed`, the outliers by name and the others together."""
    duration = answer["duration_ps"]
    range_text = units.range_text(answer["start_ps"], answer["end_ps"])
    out.print(f"Window  {range_text}, {units.time_text(duration)} long\n")
    unit = units.column_unit([duration])
    named_hosts, other_hosts = split_hosts(answer) if condensed else (answer["hosts"], [])
    for host in named_hosts:
        parts = sorted(((ps, name) for name, ps in host["by_class_ps"].items() if ps), reverse=True)
        rounded_times = units.rounded_parts([ps for ps, _ in parts], duration, units.PS_PER[unit] // 1000)
        rows = [
            {"class": name, "ps": rounded, "share": ps / duration}
            for (ps, name), rounded in zip(parts, rounded_times, strict=True)
        ]
        title = f"What {host['host']} did"
        out.print(elements.table(WINDOW_CLASSES, rows, title=title, time_units={"ps": unit}))
    print_other_hosts(out, other_hosts, duration, unit, len(named_hosts))
    _print_threads(
        out,
        condense_threads(answer["threads"], named_hosts) if condensed else answer["threads"],
        len(answer["hosts"]),
        unit,
    )
    if len(answer["devices"]) >= CONDENSED_FROM and condensed:
        print_many_devices(out, answer["devices"], duration, unit)
    else:
        print_devices(out, with_outside(answer["devices"], duration), unit)
    _print_ops(out, answer["annotations"], answer["devices"])
    _print_events(out, answer["top"], unit)


def _print_threads(out: Console, threads: Sequence[Mapping[str, Any]], host_count: int, unit: str) -> None:
    if not threads:
        return
    definition = elements.without_single_host(WINDOW_THREADS, host_count)
    cells = {"by_class_ps": _class_times, "top": _event_times}
    out.print(elements.table(definition, threads, cells, time_units={"busy_ps": unit}))


def _class_times(thread: Mapping[str, Any]) -> str:
    classes = [elements.class_times(thread["by_class_ps"], 3)] if thread["by_class_ps"] else []
    if thread["no_class_ps"]:
        classes.append(f"none {units.time_text(thread['no_class_ps'])}")
    return ", ".join(classes)


def _event_times(thread: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{units.cut_middle(row['name'])} {units.time_text(row['self_ps'])}"
        for row in thread["top"][:_MAX_NAMES]
    )


def _print_ops(out: Console, annotations: list[WindowAnnotation], devices: list[WindowDevice]) -> None:
    """Prints the ops of the window's devices by annotation; times and shares add up to those of all ops."""
    from tb_xla_insights.report.work_tables import fit_rows

    if not any(row["count"] for row in annotations):
        return
    counts = _counts_inside(annotations)
    tree = [
        {
            "path": row["path"],
            "self_ps": row["inside_ps"],
            "count": counts[row["path"]],
            "own": {"self_ps": row["self_ps"], "count": row["count"], "top_ops": _op_names(row)},
        }
        for row in annotations
    ]
    rows = fit_rows(tree, elements.MAX_ROWS)
    if len(rows) > elements.MAX_ROWS:
        rows, unlisted_rows = rows[: elements.MAX_ROWS - 1], rows[elements.MAX_ROWS - 1 :]
        unlisted_sums = {key: sum(row[key] for row in unlisted_rows) for key in ("count", "self_ps")}
        rows.append({"name": f"{units.count(len(unlisted_rows))} others", **unlisted_sums})
    times = [row["self_ps"] for row in rows]
    total_ps = sum(times)
    time_units = {"self_ps": units.column_unit(times)}
    shares = units.shares(times, total_ps) if any(times) else [None] * len(times)
    rounded = units.rounded_parts(times, total_ps, units.PS_PER[time_units["self_ps"]] // 1000)
    table_rows = [
        {**row, "path": row["name"], "self_ps": ps, "share": share}
        for row, ps, share in zip(rows, rounded, shares, strict=True)
    ]
    # An op of several annotations counts in each.
    ops = sum(device["ops"] for device in devices)
    sums = {"path": "all ops", "count": ops, "self_ps": total_ps, "share": 1.0 if total_ps else None}
    out.print(elements.table(WINDOW_ANNOTATIONS, table_rows, sums=sums, time_units=time_units))


def _counts_inside(annotations: Sequence[Mapping[str, Any]]) -> Counter[str | None]:
    """The number of ops of each annotation, those of the annotations inside it included, by path."""
    counts: Counter[str | None] = Counter()
    for row in annotations:
        path = row["path"]
        counts[path] += row["count"]
        while path := (path or "").rpartition("/")[0]:
            counts[path] += row["count"]
    return counts


def _op_names(row: Mapping[str, Any]) -> str:
    names = [
        f"{units.cut_middle(op['op'])} {units.time_text(op['self_ps'])}" for op in row["top_ops"][:_MAX_NAMES]
    ]
    more = len(row["top_ops"][_MAX_NAMES:]) + row["more_ops"]["names"]
    return ", ".join([*names, f"{units.count(more)} more"] if more else names)


def _print_events(out: Console, top: list[NameTime], unit: str) -> None:
    if not top:
        return
    cells = {"name": lambda event: units.cut_middle(event["name"])}
    time_units = dict.fromkeys(("total_ps", "self_ps"), unit)
    out.print(elements.table(WINDOW_EVENTS, top, cells, time_units=time_units))
