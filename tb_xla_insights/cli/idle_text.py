"""Prints the devices' idle time: the host's activity during it, waiting for data, and the gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import elements
from tb_xla_insights.english import plural
from tb_xla_insights.tables.devices import GAP_PATTERNS, GAPS, IDLE

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]
_LOADERS = {
    "mp_device_loader": "MpDeviceLoader",
    "tf_data": "tf.data",
    "infeed": "infeed",
}
_INPUT_VERDICTS = {
    "bound": "Devices wait for data",
    "partly_hidden": "Devices wait for data at times",
    "hidden": "Loading does not hold devices up",
}
_MIN_WORK_SHARE = 0.05
"""A smaller share of a gap is due to clocks and launching, not to work."""


def print_idle(
    out: Console, step_idle: Document, outside: Document | None, hosts: Sequence[Document]
) -> None:
    """Prints how the mean step divides into work and idle time, the host's activity during the idle time, and its
    activity before the first and after the last run if that is long."""
    _print_step_idle(out, step_idle, hosts)
    if outside is not None and outside["text"]:
        elements.print_paragraph(out, outside["text"])
        out.print()


def _print_step_idle(out: Console, step_idle: Document, hosts: Sequence[Document]) -> None:
    from tb_xla_insights.report.figures import (
        SHORT_GAPS,
        basis_text,
        idle_rows,
        idle_table,
        left_out_note,
        step_texts,
        steps_in_mean,
        steps_of_hosts_text,
    )

    if step_idle["idle_ps"] is not None:
        step, work, idle = step_texts(step_idle, 3)
        steps = steps_in_mean(step_idle, hosts)
        step_count = (
            steps_of_hosts_text(steps) if len(steps) > 1 else plural(step_idle["steps"], "whole step")
        )
        scope = f"{step_count}, mean {step}" if step_idle["steps"] else "First to last run"
        waits = f" ({units.time_text(step_idle['stall_ps'])} of it waits)" if step_idle["stall_ps"] else ""
        elements.print_paragraph(out, f"{scope}: a core works for {work}{waits} and is idle for {idle}.")
    if note := left_out_note(step_idle):
        elements.print_paragraph(out, note)
    if not idle_rows(step_idle):
        out.print()
        return
    rows, sums = idle_table(step_idle)
    cells = {"class": lambda row: elements.class_text(row["class"]) if row["class"] else SHORT_GAPS}
    out.print(
        elements.table(
            IDLE, rows, cells, sums={**sums, "class": "all"}, title=f"{IDLE.title} ({basis_text(step_idle)})"
        )
    )


def print_input(out: Console, pipeline: Document, hosts: int) -> None:
    """Prints whether devices wait for data, what loads it, and how much of the loading is hidden; nothing if no loading
    is recorded."""
    if pipeline["verdict"] == "unknown":
        return
    out.print("Input", style="bold")
    share = units.share(pipeline["share"])
    idle = f"{units.time_text(pipeline['idle_ps'])} of idle time on all cores ({share} of their spans)"
    infeed = (
        f"; {units.time_text(pipeline['infeed_ps'])} of it in infeed ops" if pipeline["infeed_ps"] else ""
    )
    head = _INPUT_VERDICTS[pipeline["verdict"]]
    if pipeline["late_hosts"]:
        head = f"Loading on {_names_text(pipeline['late_hosts'])} holds up the other hosts, whose devices look busy"
    elements.print_paragraph(
        out, f"{head}: {idle if pipeline['idle_ps'] else 'no idle time'} is spent waiting for data{infeed}."
    )
    driving = "the driving thread" if hosts == 1 else "driving threads"
    elements.print_paragraph(out, f"{_loader_text(pipeline, driving)}.")
    for activity, key in (("Loading", "load"), ("Sending to devices", "send")):
        if pipeline[f"{key}_hidden"] is not None:
            time, hidden = units.time_text(pipeline[f"{key}_ps"]), units.share(pipeline[f"{key}_hidden"])
            elements.print_paragraph(
                out, f"{activity} takes {time}; during {hidden} of that some device works."
            )
    out.print()


def _names_text(hosts: Sequence[str]) -> str:
    return hosts[0] if len(hosts) == 1 else f"{hosts[0]} and {len(hosts) - 1} more"


def _loader_text(pipeline: Document, driving: str) -> str:
    """What loads the data, and the time that batches take on the driving threads. Only that time if no loader is
    recorded: the driving thread may load, or wait for a thread that does."""
    wait = units.time_text(pipeline["wait_ps"])
    time = (
        f"{wait}, {units.time_text(pipeline['wait_ps'] // pipeline['batches'])} each"
        if pipeline["batches"]
        else wait
    )
    batches = plural(pipeline["batches"], "batch", "batches")
    if pipeline["kind"] == "driving_thread":
        activity = f"Loading {batches}" if pipeline["batches"] else "Loading"
        return f"{activity}, or waiting for a loader, takes {driving} {time}"
    threads = plural(pipeline["loader_threads"], "loader thread") if pipeline["loader_threads"] else ""
    name = _LOADERS.get(pipeline["kind"], "")
    source = f"{name} ({threads})" if name and threads else name or threads
    return f"Data comes from {source}" + (f"; {batches} took {driving} {time}" if pipeline["batches"] else "")


def print_gaps(out: Console, document: Document) -> None:
    """Prints the gaps by the programs around them, and the longest gaps."""
    _print_patterns(out, document["gaps"])
    _print_longest_gaps(out, document)


def _print_patterns(out: Console, gaps: Document) -> None:
    from tb_xla_insights.report.gap_text import cause_text, patterns_with_kind

    if rows := patterns_with_kind(gaps):
        title = f"{GAP_PATTERNS.title} ({GAP_PATTERNS.note}{units.cut_note(elements.MAX_ROWS, len(rows))})"
        definition = GAP_PATTERNS.without("by_class_ps")
        out.print(elements.table(definition, rows[: elements.MAX_ROWS], {"cause": cause_text}, title=title))


def _print_longest_gaps(out: Console, document: Document) -> None:
    from tb_xla_insights.report.gap_text import cause_text

    gaps = document["gaps"]
    if not gaps["items"]:
        return
    devices = {device["id"]: device for device in document["devices"]}
    cores = Counter(device["host"] for device in document["devices"])

    def device_text(gap: Document) -> str:
        return str(gap["device"] if len(cores) > 1 else devices[gap["device"]]["name"])

    def whole_host_text(gap: Document) -> str:
        return _whole_host_text(gap) if cores[devices[gap["device"]]["host"]] > 1 else ""

    longest_note = f"; the {elements.MAX_ROWS} longest" if gaps["count"] > elements.MAX_ROWS else ""
    table = elements.table(
        GAPS.without("before", "after"),
        gaps["items"][: elements.MAX_ROWS],
        {
            "device": device_text,
            "step": elements.step_text,
            "all_cores_idle_ps": whole_host_text,
            "cause": cause_text,
        },
        title=f"{GAPS.title} ({units.count(gaps['count'])} on all cores{longest_note})",
    )
    out.print(table)


def _whole_host_text(gap: Document) -> str:
    """Whether the host's other cores were idle during the gap as well."""
    share = gap["all_cores_idle_ps"] / gap["duration_ps"]
    return "yes" if share > 1 - _MIN_WORK_SHARE else "no" if share < _MIN_WORK_SHARE else "in part"
