"""When devices are idle, as text: what the host does meanwhile, whether they wait for data, and the gaps themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import common

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]
_LOADERS = {
    "mp_device_loader": "MpDeviceLoader",
    "tf_data": "tf.data",
    "infeed": "infeed",
}
_INPUT = {
    "bound": "Devices wait for data",
    "partly_hidden": "Devices wait for data at times",
    "hidden": "Loading does not hold devices up",
}
_ALMOST = 0.05
"""Less than this share of a gap is clocks and launching, not work."""


def print_idle(out: Console, told: Document, outside: Document | None, hosts: Sequence[Document]) -> None:
    """How the mean step divides on the devices, what the host does while they are idle in it, and what it does before
    the first and after the last run, where that is much."""
    _step_idle(out, told, [row["steps"] for row in hosts if row["steps"]])
    if outside is not None and outside["text"]:
        common.say(out, outside["text"])
        out.print()


def _step_idle(out: Console, told: Document, steps: Sequence[int]) -> None:
    from tb_xla_insights.analysis.findings.base import plural
    from tb_xla_insights.report.figures import idle_rows, left_out_note, step_texts, steps_of_hosts_text

    where = "per step and core" if told["steps"] else "per core, first to last run"
    idle = told["idle_ps"]
    if idle is not None:
        step, worked, rest = step_texts(told, 3)
        whole = steps_of_hosts_text(steps) if len(steps) > 1 else plural(told["steps"], "whole step")
        over = f"{whole}, mean {step}" if told["steps"] else "First to last run"
        waits = f" ({units.time_text(told['stall_ps'])} of it waits)" if told["stall_ps"] else ""
        common.say(out, f"{over}: a core works for {worked}{waits} and is idle for {rest} of it.")
    if note := left_out_note(told):
        common.say(out, note)
    rows = idle_rows(told)
    if not rows:
        out.print()
        return
    every = told["all_cores"]["idle_ps"]
    unit, total_unit = units.column_unit([idle]), units.column_unit([every])
    heads = f"Idle, {unit}", "Share", f"All cores, {total_unit}"
    table = common.table(f"Idle time by cause ({where})", "What the host does", *heads)
    shown, summed = (
        units.rounded_parts(parts, total, units.PS_PER[one] // 1000)
        for parts, total, one in (
            ([row[1] for row in rows], idle, unit),
            ([row[2] for row in rows], every, total_unit),
        )
    )
    for (name, ps, _), mean, total in zip(rows, shown, summed, strict=True):
        label = common.class_text(name) if name else "in gaps under 10 µs"
        table.add_row(
            label, units.time_in(mean, unit), units.share(ps / idle), units.time_in(total, total_unit)
        )
    table.add_row("all", units.time_in(idle, unit), units.share(1.0), units.time_in(every, total_unit))
    out.print(table)


def print_input(out: Console, its: Document, hosts: int) -> None:
    """Whether devices wait for data, who loads it, and what of that is hidden; nothing where no loading is recorded."""
    if its["verdict"] == "unknown":
        return
    out.print("Input", style="bold")
    idle = f"{units.time_text(its['idle_ps'])} of idle time on all cores ({units.share(its['share'])} of their spans)"
    infeed = f"; {units.time_text(its['infeed_ps'])} of it in infeed ops" if its["infeed_ps"] else ""
    head = _INPUT[its["verdict"]]
    if its["late_hosts"]:
        head = f"Loading on {_some(its['late_hosts'])} holds up the other hosts, whose devices look busy"
    common.say(out, f"{head}: {idle if its['idle_ps'] else 'no idle time'} is for want of data{infeed}.")
    driving = "the driving thread" if hosts == 1 else "driving threads"
    common.say(out, f"{_source(its, driving)}.")
    for what, key in (("Loading", "load"), ("Sending to devices", "send")):
        if its[f"{key}_hidden"] is not None:
            time, hidden = units.time_text(its[f"{key}_ps"]), units.share(its[f"{key}_hidden"])
            common.say(out, f"{what} takes {time}; during {hidden} of that some device works.")
    out.print()


def _some(hosts: Sequence[str]) -> str:
    return hosts[0] if len(hosts) == 1 else f"{hosts[0]} and {len(hosts) - 1} more"


def _source(its: Document, driving: str) -> str:
    """Who loads, and what of the driving threads' time batches take. That alone, where nothing of a loader is recorded:
    the driving thread may load, or wait for a thread that does."""
    from tb_xla_insights.analysis.findings.base import plural

    wait = units.time_text(its["wait_ps"])
    time = f"{wait}, {units.time_text(its['wait_ps'] // its['batches'])} each" if its["batches"] else wait
    batches = plural(its["batches"], "batch", "batches")
    if its["kind"] == "driving_thread":
        what = f"Loading {batches}" if its["batches"] else "Loading"
        return f"{what}, or waiting for a loader, takes {driving} {time}"
    threads = plural(its["loader_threads"], "loader thread") if its["loader_threads"] else ""
    name = _LOADERS.get(its["kind"], "")
    source = f"{name} ({threads})" if name and threads else name or threads
    return f"Data comes from {source}" + (f"; {batches} took {driving} {time}" if its["batches"] else "")


def print_gaps(out: Console, document: Document) -> None:
    """The gaps by the programs around them, and the longest ones."""
    _patterns(out, document["gaps"]["patterns"])
    _gaps(out, document)


def _patterns(out: Console, patterns: Sequence[Document]) -> None:
    if not patterns:
        return
    unit = units.column_unit([pattern["total_ps"] for pattern in patterns])
    heads = ("After", "Count", f"Total, {unit}", f"Mean, {unit}", "Cause")
    table = common.table("Gaps between programs (all cores)", "Before", *heads, left=(0, 1, 5))
    for pattern in patterns[: common.ROWS]:
        table.add_row(
            *(pattern[name] or units.MISSING for name in ("before", "after")),
            units.count(pattern["count"]),
            *common.times(pattern, unit, "total_ps", "mean_ps"),
            common.class_text(pattern["cause"]),
        )
    out.print(table)


def _gaps(out: Console, document: Document) -> None:
    gaps = document["gaps"]
    if not gaps["items"]:
        return
    devices = {device["id"]: device for device in document["devices"]}
    cores = Counter(device["host"] for device in document["devices"])
    unit = units.column_unit([gap["duration_ps"] for gap in gaps["items"]])
    heads = ("Start, ms", f"Time, {unit}", "Step", "Cores", "Kind", "Cause", "What the host did")
    table = common.table(
        f"Gaps ({units.count(gaps['count'])} on all cores, the longest)",
        "Device",
        *heads,
        left=(0, 3, 4, 5, 6, 7),
    )
    for gap in gaps["items"][: common.ROWS]:
        table.add_row(
            gap["device"] if len(cores) > 1 else devices[gap["device"]]["name"],
            units.time_in(gap["start_ps"], "ms"),
            *common.times(gap, unit, "duration_ps"),
            units.step_name(gap["step"], gap["step_number"]),
            _cores(gap) if cores[devices[gap["device"]]["host"]] > 1 else "",
            gap["kind"],
            common.class_text(gap["cause"]),
            common.class_times(gap["by_class_ps"], 3),
        )
    out.print(table)


def _cores(gap: Document) -> str:
    """Whether the host's other cores were idle in the gap, too."""
    share = gap["together_ps"] / gap["duration_ps"]
    return "all idle" if share > 1 - _ALMOST else "others work" if share < _ALMOST else "in part"
