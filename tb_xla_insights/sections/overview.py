"""Sections on the whole session: findings, devices, hosts, steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median_low

from tb_xla_insights.report.condensed import (
    CONDENSED_FROM,
    condensed_device_rows,
    device_row,
    mean_device_row,
    steps_across_hosts,
)
from tb_xla_insights.report.duty import DUTY
from tb_xla_insights.report.figures import steps_of_hosts_text
from tb_xla_insights.report.finding_text import finding_groups, gain_of
from tb_xla_insights.report.host_rows import host_rows
from tb_xla_insights.report.throughput import throughput_text
from tb_xla_insights.sections.blocks import (
    Block,
    Detail,
    FindingList,
    Folded,
    Paragraph,
    Row,
    Section,
    SectionTable,
    StepsChart,
    noted,
)
from tb_xla_insights.tables.devices import DEVICES, HOSTS, STEPS, STEPS_OF_HOSTS
from tb_xla_insights.text import units

_MANY_HOSTS = 12
"""The number of hosts from which a step of all hosts is one row."""


def findings(report: Row, _: Detail) -> Section:
    gains = {finding["id"]: gain_of(finding, report) for finding in report["findings"]}
    block = FindingList(finding_groups(report), gains, len(report["devices"]))
    return Section([block], brief=True)


def devices(report: Row, detail: Detail) -> Section | None:
    """The devices; of many those farthest below the median (see `split_devices`), the others, and all, with times per
    core."""
    rows, duty = report["devices"], detail.duty
    if not rows:
        return None
    if len(rows) >= CONDENSED_FROM:
        condensed = condensed_device_rows(rows, duty)
        # The last row is the mean of all devices, which stands alone if none is named.
        named = "those farthest below the median" if len(condensed) > 1 else ""
        definition = DEVICES.without("modules", "ops")
        definition = noted(definition, f"{units.count(len(rows))} cores", named, "times per core")
        table = SectionTable(definition, condensed, bar="duty_cycle")
    else:
        mean = mean_device_row(rows, duty) if len(rows) > 1 else None
        table = SectionTable(DEVICES, [device_row(row, duty) for row in rows], sums=mean, bar="duty_cycle")
    definitions = (
        f"Duty cycle = busy / span. {DUTY[duty]}. Stall is the part of busy in which an op only waits."
    )
    return Section([table, Paragraph(definitions)], brief=True)


def hosts(report: Row, _: Detail) -> Section | None:
    """The length of the hosts' steps, how often they arrive last at collectives, and their difference from the median
    host."""
    rows = report["hosts"]
    return Section([SectionTable(HOSTS, host_rows(rows))]) if len(rows) > 1 else None


def steps(report: Row, detail: Detail) -> Section | None:
    """The steps as a chart, the longest ones in a table, and the throughput."""
    rows = report["steps"]
    if not rows:
        return None
    durations = [row["duration_ps"] for row in rows]
    mean, median = (units.time_text(ps) for ps in (sum(durations) // len(rows), median_low(durations)))
    steps_of_hosts = Counter(row["host"] for row in rows)
    count = (
        steps_of_hosts_text(steps_of_hosts.values()) if len(steps_of_hosts) > 1 else units.count(len(rows))
    )
    note = f"{count}, mean {mean}, median {median}"
    if len(steps_of_hosts) >= _MANY_HOSTS:
        chart, table = _steps_of_many_hosts(rows, len(steps_of_hosts), note, detail)
    else:
        longest = sorted(rows, key=lambda row: -row["duration_ps"])[: detail.rows]
        definition = STEPS if len(report["session"]["hosts"]) > 1 else STEPS.without("host")
        chart = StepsChart(rows)
        table = SectionTable(
            noted(definition, note, units.longest_note(detail.rows, len(rows))),
            sorted(longest, key=lambda row: row["index"]),
            {"number": lambda row: f"{row['name']} {units.step_name(row['index'], row['number'])}"},
        )
    blocks: list[Block] = [chart, Folded("As a table", [table])]
    if report["throughput"]:
        blocks.append(Paragraph(f"Throughput: {throughput_text(report['throughput'])}."))
    return Section(blocks)


def _steps_of_many_hosts(
    rows: Sequence[Row], hosts: int, note: str, detail: Detail
) -> tuple[StepsChart, SectionTable]:
    """A row per step of all hosts: in a table of the longest steps, rows per host would show a single one."""
    across_hosts = steps_across_hosts(rows)
    chart = StepsChart(
        [step.longest for step in across_hosts], f"for each step number, the longest of {hosts} hosts"
    )
    longest = sorted(across_hosts, key=lambda step: -step.longest["duration_ps"])[: detail.rows]
    shown = [
        {
            **step.longest,
            "number": f"{step.name} {step.number}",
            "hosts": step.hosts,
            "median_ps": step.median_ps,
        }
        for step in sorted(longest, key=lambda step: step.number)
    ]
    cut = units.longest_note(detail.rows, len(across_hosts))
    return chart, SectionTable(noted(STEPS_OF_HOSTS, note, cut), shown)
