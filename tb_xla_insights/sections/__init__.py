"""What a report shows: its sections in their order, with their tables, texts and charts, for the terminal, the page and
notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tb_xla_insights.sections import (
    device_time,
    host_work,
    idle_time,
    loading,
    memory,
    overview,
    recorded,
    serving,
)
from tb_xla_insights.sections.blocks import Detail, Row, Section

SECTIONS: tuple[Callable[[Row, Detail], Section | None], ...] = (
    overview.findings,
    overview.devices,
    overview.hosts,
    idle_time.idle,
    loading.loading,
    serving.iterations,
    overview.steps,
    idle_time.patterns,
    idle_time.gaps,
    idle_time.chains,
    host_work.early_executions,
    host_work.executions,
    host_work.compiles,
    host_work.transfers,
    device_time.collectives,
    device_time.stalls,
    device_time.async_ops,
    device_time.slice_transfers,
    device_time.annotation_tree,
    device_time.phases,
    device_time.unannotated_ops,
    device_time.shared_ops,
    device_time.work_of_annotations,
    device_time.work_of_ops,
    memory.memory_at_the_peak,
    recorded.torch_trace,
    recorded.text_files,
    recorded.hosts_and_diagnostics,
)
"""Each makes a section of a report with a medium's detail; None if the report has nothing for it."""


def report_sections(report: Row, detail: Detail) -> Iterator[Section]:
    """The sections that a report has."""
    return filter(None, (section(report, detail) for section in SECTIONS))
