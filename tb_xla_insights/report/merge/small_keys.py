"""Merges the smaller keys of the report, each by a function, from the sections of hosts in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tb_xla_insights.analysis.delays.input_pipeline import with_input_verdict
from tb_xla_insights.analysis.idle.in_steps import step_idle_from_rows
from tb_xla_insights.analysis.idle.outside_span import with_outside_text
from tb_xla_insights.columns.merge import merged_row
from tb_xla_insights.report.merge.sections import HostSection
from tb_xla_insights.report.throughput import throughput
from tb_xla_insights.schema.feeding import InputPipeline, TimeOutsideSpan, Transfers

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import TransfersByDirection
    from tb_xla_insights.schema.launches import Compile, Program
    from tb_xla_insights.schema.steps import LeftOut, Step, StepIdle
    from tb_xla_insights.schema.texts import Throughput

Sections = Sequence[HostSection]


def merge_step_idle(sections: Sections) -> StepIdle:
    """The report's `step_idle`. Only hosts with device work count; if any host has steps, only those with steps."""
    has_steps = any(section.steps for section in sections)

    def is_counted(section: HostSection) -> bool:
        return bool(section.rows["step_idle"]["devices"] and (section.steps or not has_steps))

    counted_sections = [section for section in sections if is_counted(section)]
    left_out: list[LeftOut] = [
        {
            "host": section.host,
            "reason": "no_steps" if section.rows["step_idle"]["devices"] else "no_device_work",
        }
        for section in sections
        if not is_counted(section)
    ]
    durations = [
        ps for section in counted_sections or sections for ps in section.rows["steps"].durations_ps().tolist()
    ]
    return step_idle_from_rows(
        [row for section in counted_sections for row in section.rows["step_idle"]["devices"]],
        durations,
        left_out,
    )


def steps_of_working_hosts(sections: Sections) -> int:
    """The number of steps of hosts whose devices recorded work."""
    return sum(section.steps for section in sections if section.rows["step_idle"]["devices"])


def merge_transfers(sections: Sections) -> TransfersByDirection:
    """The report's `transfers`: sums, and means over the steps of all hosts."""
    steps = sum(section.steps for section in sections)

    def merge_direction(direction: str) -> Transfers:
        sums = merged_row(Transfers, [section.rows["transfers"][direction] for section in sections])
        known = sums["bytes_in_steps"]
        return {
            **sums,
            "per_step": sums["in_steps"] / steps if steps else None,
            "bytes_per_step": None if known is None else round(known / steps),
        }

    return {"to_device": merge_direction("to_device"), "from_device": merge_direction("from_device")}


def merge_input_pipelines(sections: Sections) -> InputPipeline:
    """The report's `input_pipeline`: sums, and the verdict on all devices."""
    row = merged_row(InputPipeline, [section.rows["input_pipeline"] for section in sections])
    return with_input_verdict(row, sum(section.span_ps for section in sections))


def merge_outside_span(sections: Sections, framework: str) -> TimeOutsideSpan | None:
    """The report's `outside_span`: each host before its own first run and after its own last run, in its own capture.
    Durations are means over the hosts whose devices recorded work, times by class are sums over them."""
    rows = [row for section in sections if (row := section.rows["outside_span"])]
    devices = sum(len(section.rows["devices"]) for section in sections)
    return with_outside_text(merged_row(TimeOutsideSpan, rows), devices, framework) if rows else None


def merge_throughput(sections: Sections, steps: Sequence[Step]) -> Throughput | None:
    """The report's `throughput`. The number of samples per step, of all hosts together, is that of the first host that
    records it."""
    recorded = next((row for section in sections if (row := section.rows["throughput"])), None)
    return throughput(steps, None, recorded["samples_per_step"]) if recorded else None


def merge_compiles(rows: Sequence[Compile], programs: Sequence[Program]) -> list[Compile]:
    """The report's `compiles` in order of time, from the rows of all hosts. `graphs_of_same_name` includes graphs of
    all hosts; those that ran but were not compiled in the capture come from `programs`."""
    ids_by_program = {row["program"]: row["program_ids"] for row in programs}
    by_module: dict[str, list[Compile]] = {}
    for row in rows:
        if row["module"]:
            by_module.setdefault(row["module"], []).append(row)
    graphs_by_module: dict[str, set[str]] = {}
    for module, same_module in by_module.items():
        compiled_ids = {row["program_id"] for row in same_module}
        graphs_by_module[module] = {
            *(graph for row in same_module if (graph := row["graph"])),
            *(f"{module}({id_})" for id_ in ids_by_program.get(module, []) if id_ not in compiled_ids),
        }
    result: list[Compile] = [
        {
            **row,
            "graphs_of_same_name": sorted(graphs_by_module.get(row["module"] or "", set()) - {row["graph"]}),
        }
        for row in rows
    ]
    return sorted(result, key=lambda row: row["start_ps"])
