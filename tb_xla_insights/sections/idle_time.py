"""Sections on the devices' idle time: its causes, recurring gaps, the longest gaps and why they ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tb_xla_insights.catalog.classes import SHORT_GAPS
from tb_xla_insights.report.figures import (
    basis_text,
    idle_rows,
    idle_table,
    left_out_note,
    step_texts,
    steps_in_mean,
    steps_of_hosts_text,
)
from tb_xla_insights.report.gap_findings import findings_of_gap, why_gap
from tb_xla_insights.report.gap_text import cause_text, gap_sentence, patterns_with_kind
from tb_xla_insights.sections.blocks import (
    Block,
    ClassBar,
    Detail,
    Folded,
    Paragraph,
    Row,
    Section,
    SectionTable,
    noted,
)
from tb_xla_insights.tables.devices import GAP_CHAIN, GAP_PATTERNS, GAPS, IDLE
from tb_xla_insights.text import units
from tb_xla_insights.text.english import plural

_MAX_UNFOLDED_GAPS = 48


def idle(report: Row, _: Detail) -> Section | None:
    """How the mean step divides into work and idle time, the host's activity during the idle time, and its activity
    before the first and after the last run if that is long."""
    step_idle, outside = report["step_idle"], report["outside_span"]
    blocks: list[Block] = []
    if step_idle["idle_ps"] is not None:
        blocks.append(Paragraph(_mean_step_text(step_idle, report["hosts"])))
    if note := left_out_note(step_idle):
        blocks.append(Paragraph(note))
    if idle_rows(step_idle):
        rows, sums = idle_table(step_idle)
        named_rows = [{**row, "class": row["class"] or SHORT_GAPS} for row in rows]
        definition = noted(IDLE, basis_text(step_idle))
        blocks += (
            ClassBar(step_idle["by_class_ps"]),
            SectionTable(definition, named_rows, sums={**sums, "class": "all"}),
        )
    if outside is not None and outside["text"]:
        blocks.append(Paragraph(outside["text"]))
    return Section(blocks, narrow=True) if blocks else None


def _mean_step_text(step_idle: Row, hosts: Sequence[Row]) -> str:
    step, work, idle = step_texts(step_idle, 3)
    steps = steps_in_mean(step_idle, hosts)
    step_count = steps_of_hosts_text(steps) if len(steps) > 1 else plural(step_idle["steps"], "whole step")
    scope = f"{step_count}, mean {step}" if step_idle["steps"] else "First to last run"
    waits = f" ({units.time_text(step_idle['stall_ps'])} of it waits)" if step_idle["stall_ps"] else ""
    return f"{scope}: a core works for {work}{waits} and is idle for {idle}."


def patterns(report: Row, detail: Detail) -> Section | None:
    """The gaps by the programs around them."""
    rows = patterns_with_kind(report["gaps"])
    if not rows:
        return None
    definition = GAP_PATTERNS.without("by_class_ps")
    definition = noted(definition, definition.note, units.cut_note(detail.rows, len(rows)))
    return Section([SectionTable(definition, rows[: detail.rows], {"cause": cause_text})])


def gaps(report: Row, detail: Detail) -> Section | None:
    """The longest gaps. Without much space, a gap that all cores of a host share is one row."""
    items, count = report["gaps"]["items"], report["gaps"]["count"]
    if not items:
        return None
    devices = {device["id"]: device for device in report["devices"]}
    cores = Counter(device["host"] for device in report["devices"])
    if not detail.wide:
        items = _shared_as_one(items, {id_: device["host"] for id_, device in devices.items()}, cores)
    rows = items[: detail.gaps]

    def device_text(gap: Row) -> str:
        if "cores" in gap:
            host = devices[gap["device"]]["host"]
            return f"{f'{host}, ' if len(cores) > 1 else ''}all {gap['cores']} cores"
        return str(gap["device"] if len(cores) > 1 else devices[gap["device"]]["name"])

    definition = noted(
        GAPS.without(*(["before"] if detail.wide else ["before", "after"])),
        f"{units.count(count)} on all cores",
        units.longest_note(len(rows), len(items) if len(items) < len(report["gaps"]["items"]) else count),
        "one row where all cores of a host idle" if any("cores" in row for row in rows) else "",
    )
    cells = {
        "device": device_text,
        "step": lambda gap: units.step_name(gap["step"], gap["step_number"]),
        "cause": cause_text,
    }
    blocks: list[Block] = [SectionTable(definition, rows[:_MAX_UNFOLDED_GAPS], cells)]
    if more := rows[_MAX_UNFOLDED_GAPS:]:
        blocks.append(Folded(f"{units.count(len(more))} more", [SectionTable(definition, more, cells)]))
    return Section(blocks)


def _shared_as_one(items: Sequence[Row], hosts: Mapping[str, str], cores: Mapping[str, int]) -> list[Row]:
    """The gaps, those that all cores of a host have between the same two programs in one step as one: the longest, with
    the number of `cores`. `hosts`: by device."""
    groups: dict[tuple[str, int | None, str | None, str | None], dict[str, list[Row]]] = {}
    for gap in sorted(items, key=lambda gap: gap["start_ps"]):
        host = hosts[gap["device"]]
        key = host, gap["step"], gap["before"], gap["after"]
        groups.setdefault(key, {}).setdefault(gap["device"], []).append(gap)
    result: list[Row] = []
    for (host, *_), by_device in groups.items():
        if 1 < len(by_device) == cores[host] and len({len(gaps) for gaps in by_device.values()}) == 1:
            for shared in zip(*by_device.values(), strict=True):
                longest = max(shared, key=lambda gap: gap["duration_ps"])
                result.append({**longest, "cores": len(by_device)})
        else:
            result += (gap for gaps in by_device.values() for gap in gaps)
    return sorted(result, key=lambda gap: -gap["duration_ps"])


def chains(report: Row, detail: Detail) -> Section | None:
    """The chains of events that ended the longest gaps."""
    if not detail.chains:
        return None
    hosts = {device["id"]: device["host"] for device in report["devices"]}
    blocks = [
        _chain(gap, hosts[gap["device"]], report)
        for gap in _on_one_core(report["gaps"]["items"], hosts)[: detail.chains]
    ]
    return Section(blocks, "Why the longest gaps ended") if blocks else None


def _on_one_core(gaps: Sequence[Row], hosts: Row) -> list[Row]:
    """The gaps of each host and step between the same two programs on the core that has the first of them, because the
    other cores have the same gaps. `hosts`: by device."""
    first_devices: dict[tuple[str, int | None, str | None, str | None], str] = {}
    result = []
    for gap in gaps:
        key = hosts[gap["device"]], gap["step"], gap["before"], gap["after"]
        if first_devices.setdefault(key, gap["device"]) == gap["device"]:
            result.append(gap)
    return result


def _chain(gap: Row, host: str, report: Row) -> Folded:
    several_hosts = len(report["session"]["hosts"]) > 1
    causes = gap_sentence(gap, report["environment"]["framework"], host if several_hosts else None)
    reason = why_gap(gap, findings_of_gap(gap, host, report), report)
    duration = gap["duration_ps"]
    start = f"{units.time_in(gap['start_ps'], 'ms')}{units.NARROW_SPACE}ms"
    table = SectionTable(GAP_CHAIN, gap["chain"], sums={"name": "Sum", "duration_ps": duration})
    return Folded(
        f"{units.time_text(duration)} on {gap['device']} at {start}", [Paragraph(f"{reason}{causes}"), table]
    )
