"""A server's iterations in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from tb_xla_insights.analysis.iterations.texts import (
    ITS_WORK,
    degree_of,
    main_kind,
    own_work_ps,
    serial_text,
)
from tb_xla_insights.analysis.thresholds import OUTSIDE_SPAN_SHARE
from tb_xla_insights.report.subject import subject_of
from tb_xla_insights.report.verdict_findings import device_time, no_requests_ps
from tb_xla_insights.schema.iterations import Part
from tb_xla_insights.text.english import plural, upper_first
from tb_xla_insights.text.units import brief_time, rounded_share

Row = Mapping[str, Any]


def iterations_headline(report: Row) -> str:
    """`Decoding is serial: the device waits in 5.3 of 8.8 ms of a decode iteration, mostly for scheduling.` Empty
    without iterations on devices."""
    iterations = report["iterations"]
    if not iterations or not iterations["kinds"]:
        return ""
    row, subject = main_kind(iterations["kinds"]), subject_of(report["devices"])
    waits = serial_text(f"{subject.name_without_number} {subject.verb('wait')}", row)
    scheduling = iterations["scheduling"]
    match scheduling and scheduling["kind"]:
        case "sync":
            start = "Decoding is" if row["kind"] in ("decode", "speculative") else "The iterations are"
            return f"{start} serial: {waits}."
        case "ahead":
            return f"{plural(scheduling['ahead_by'], 'iteration')} ahead: {waits}."
        case "drained":
            often = f"{subject.name_without_number} {subject.verb('run')} out of work in "
            share = rounded_share(scheduling["share"])
            waits = serial_text(f"{subject.pronoun} {subject.verb('wait')}", row)
            return upper_first(f"{often}{share} of the iterations: {waits}.")
    return f"Scheduling is not known: {waits}."


def iteration_row(row: Row) -> Row:
    """A row of the table of iterations."""
    wall_ps = {f"{name}_ps": ps for name, ps in row["wall_ps"].items()}
    return {**row, "kind": kind_name(row), **wall_ps}


def kind_name(row: Row) -> str:
    """`with prefill`; `bucket 64`."""
    name: str = row["kind"].replace("_", " ")
    return name if row["bucket"] is None else f"bucket {row['bucket']}"


def part_rows(row: Row) -> list[Row]:
    """What the server's thread does in an iteration of a kind, in the order of its loop, while the device waits and
    while it works."""
    exposed, hidden = row["bubble_by_part_ps"], row["hidden_by_part_ps"]
    return [
        {"part": part, "exposed_ps": exposed.get(part, 0), "hidden_ps": hidden.get(part, 0)}
        for part in get_args(Part)
        if part in exposed or part in hidden
    ]


def kind_note(row: Row, scheduling: Row | None) -> str:
    """`waits 60 %; 1.67 ms of work hidden, mostly launching`, or, of a server that schedules ahead, `waits 21 %; free
    until 3.85 ms of device time`: a device that needs less than the server's own work waits for it."""
    empty_ps = row["bubble_by_part_ps"].get("no_requests", 0)
    waits = (row["bubble_ps"] - empty_ps) / (row["wall_ps"]["mean"] - empty_ps)
    hidden_ps = {part: row["hidden_by_part_ps"].get(part, 0) for part in ITS_WORK if part != "unrecorded"}
    if scheduling and scheduling["kind"] != "sync":
        hides = f"free until {brief_time(own_work_ps(row))} of device time"
    elif all_ps := sum(hidden_ps.values()):
        longest = max(hidden_ps, key=lambda part: hidden_ps[part])
        degree = degree_of(hidden_ps[longest], all_ps)
        hides = f"{brief_time(all_ps)} of work hidden, {degree} {ITS_WORK[longest]}"
    else:
        hides = "no work hidden"
    empty = f"; before, {brief_time(empty_ps)} without a request" if empty_ps else ""
    return f"waits {rounded_share(waits)}; {hides}{empty}"


def ahead_text(report: Row) -> str:
    """`The server schedules 1 iteration ahead.` Empty for all others."""
    scheduling = report["iterations"] and report["iterations"]["scheduling"]
    if not scheduling or scheduling["kind"] != "ahead":
        return ""
    return f"The server schedules {plural(scheduling['ahead_by'], 'iteration')} ahead."


def while_serving(report: Row) -> str:
    """How much the devices work while a server has requests; empty if it always has some."""
    time, idle_ps = device_time(report), no_requests_ps(report)
    if not idle_ps or idle_ps < OUTSIDE_SPAN_SHARE * time.span_ps:
        return ""
    without = rounded_share(idle_ps / time.span_ps)
    serving = rounded_share(time.works_ps / (time.span_ps - idle_ps))
    return f"No request is there for {without} of the time; in the rest, {serving} is work."
