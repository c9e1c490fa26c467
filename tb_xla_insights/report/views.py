"""The documents of `data/overview` and `data/counts`, from the same analyses as the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from tb_xla_insights.analysis.engines.device_rows import merge_stalls
from tb_xla_insights.analysis.memo import memoised_on
from tb_xla_insights.analysis.steps.device_work import step_work_intervals
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.report.device_columns import (
    MAX_EXACT_ROWS,
    common_unit_ps,
    device_columns,
    rounded_to_unit,
)
from tb_xla_insights.report.duty import devices_agree
from tb_xla_insights.report.figures import headline_figures
from tb_xla_insights.report.finding_text import finding_groups, gain_of, tag_of
from tb_xla_insights.report.gap_findings import explained_gaps
from tb_xla_insights.report.gap_views import gaps
from tb_xla_insights.report.host_ranks import rank_hosts
from tb_xla_insights.report.input_text import input_sentences
from tb_xla_insights.report.needed_table import needed_table
from tb_xla_insights.report.one_step import one_step
from tb_xla_insights.report.session_view import SessionView

if TYPE_CHECKING:
    from tb_xla_insights.schema.overview_route import FindingGroup, GroupedFinding, Overview, StepColumns
    from tb_xla_insights.schema.route_parts import ViewCounts
    from tb_xla_insights.schema.steps import MeanStep

MAX_STEPS = 1000
"""The most steps in the columns, of the hosts in memory; the full count is sent as well."""

_MAX_STEPS_WITHOUT_HOSTS = 400
"""The same limit while no host is in memory, as the next report will replace these steps."""

MAX_WORK_INTERVALS = 1000
"""The most intervals of device work, of all devices together."""

MAX_OPS = 12
"""The most ops listed by name; one more row has the sums of the others."""

_MAX_NEEDED_ROWS = 12
"""The most rows of the table that the verdict needs."""

_STEP_COLUMNS = (
    "index", "number", "host", "start_ps", "duration_ps", "device_busy_ps", "executions", "compiles", "early_syncs",
    "input_syncs", "from_device",
)  # fmt: skip


def overview(session: SessionView) -> Overview:
    """The document of `data/overview`.

    - `verdict`, `figures` (see `headline_figures`), and `ranks`: the hosts to look at first, of several.
    - `devices`: busy time, and idle time in whole steps (see `device_columns`); `step_idle`: the
      report's, without the rows of devices; `one_step`: the usual step (see `report.one_step`);
      `needed`: the table that the verdict needs (see `needed_table`); `gap_causes`: the
      classes that are causes of gaps.
    - `steps`: of the hosts in memory (if none is, of all hosts) as columns, with the device work of each (`work`, see
      `step_work_intervals`).
    - `findings`, their `groups` with texts (see `_groups`), and the gaps that each explains (see `explained_gaps`).
    - the report's `input_pipeline`, `transfers` and `mistakes`, its `collectives` and the `stalls` of all
      devices (see `_longest`), and `counts`.
    """
    return memoised_on(session, "overview", lambda: _overview(session))


def _overview(session: SessionView) -> Overview:
    report = session.report
    hosts_in_memory = {trace.host for trace in session.hosts.traces}
    steps, idle, step = report["steps"], report["step_idle"], one_step(report)
    table = needed_table(report, step)
    shown_steps = [step for step in steps if not hosts_in_memory or step["host"] in hosts_in_memory]
    shown_steps = shown_steps[: MAX_STEPS if hosts_in_memory else _MAX_STEPS_WITHOUT_HOSTS]
    return {
        "verdict": report["verdict"],
        "figures": headline_figures(report),
        "devices": device_columns(report["devices"], idle["devices"]),
        "devices_agree": devices_agree([device["duty_cycle"] for device in report["devices"]]),
        "step_idle": cast("MeanStep", {name: value for name, value in idle.items() if name != "devices"}),
        "one_step": step,
        "needed": table.document(_MAX_NEEDED_ROWS) if table else None,
        "gap_causes": sorted({name for row in report["gaps"]["patterns"] for name in row["by_cause_ps"]}),
        "steps": {
            "source": steps[0]["source"] if steps else None,
            "count": len(steps),
            "cut_count": sum(host.partial_steps for host in session.results.tables),
            "columns": _step_columns(shown_steps),
            "work": step_work_intervals(
                session.hosts, MAX_WORK_INTERVALS, [step["index"] for step in shown_steps]
            ),
        },
        "ranks": rank_hosts(report) if len(report["hosts"]) > 1 else None,
        "findings": report["findings"],
        "explained_gaps": explained_gaps(gaps(session)["items"], report["findings"]),
        "mistakes": report["mistakes"],
        "groups": _groups(report),
        "input_text": " ".join(input_sentences(report)),
        "input_pipeline": report["input_pipeline"],
        "transfers": report["transfers"],
        "collectives": _longest(report["collectives"]),
        "stalls": _longest(merge_stalls(report["devices"])),
        "counts": counts(session),
    }


def _groups(report: Mapping[str, Any]) -> list[FindingGroup]:
    """The groups of findings, in order: the tag of each and the text above it, and the
    `id` of each finding with the gain of its fix (`share`, `basis`, `change`, see `Gain`) and its `tag`."""
    return [
        {
            "tag": group.tag,
            "title": group.title,
            "note": group.note,
            "gain": group.gain,
            "findings": [
                cast(
                    "GroupedFinding",
                    {"id": finding["id"]}
                    | asdict(gain_of(finding, report))
                    | {"tag": tag_of(finding, group, report)},
                )
                for finding in group.findings
            ],
        }
        for group in finding_groups(report)
    ]


def _longest(rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The first MAX_OPS rows, and a row with the sums of all others, whose `op` is None; `summed_ops` is their
    number."""
    listed_rows, other_rows = [*rows[:MAX_OPS]], rows[MAX_OPS:]
    if not other_rows:
        return listed_rows
    names = [name for name, value in other_rows[0].items() if isinstance(value, int)]
    sums = {name: sum(row[name] for row in other_rows) for name in names}
    return [*listed_rows, {"op": None, "summed_ops": len(other_rows)} | sums]


def counts(session: SessionView) -> ViewCounts:
    """The document of `data/counts`, the numbers beside the names of the views: gaps, programs that ran, compilations
    after the warm-up, lost annotations, asynchronous ops."""
    report = session.report
    return {
        "gaps": report["gaps"]["count"],
        "executions": len(report["programs"]),
        "compiles": sum(not row["warm_up"] for row in report["compiles"]),
        "lost": sum(row["lost"] is not None for row in report["annotations"]),
        "async_ops": len(report["async_ops"]),
        "iterations": sum(row["count"] for row in report["iterations"]["kinds"])
        if report["iterations"]
        else 0,
    }


def _step_columns(steps: Sequence[Mapping[str, Any]]) -> StepColumns:
    """Steps as columns. The times of many steps of several hosts are rounded to the digits that the page shows."""
    rounded = len(steps) > MAX_EXACT_ROWS and len({step["host"] for step in steps}) > 1
    unit = common_unit_ps((step["duration_ps"] for step in steps), rounded, digits=5)

    def column(values: Iterable[Any], is_time: bool) -> list[Any]:
        return [unit * count for count in rounded_to_unit(values, unit)] if is_time else list(values)

    classes = [name for name in CLASSES if any(name in step["host_ps"] for step in steps)]
    host = {name: column((step["host_ps"].get(name, 0) for step in steps), True) for name in classes}
    columns = {name: column((step[name] for step in steps), name.endswith("_ps")) for name in _STEP_COLUMNS}
    return cast("StepColumns", columns | {"host_ps": host})
