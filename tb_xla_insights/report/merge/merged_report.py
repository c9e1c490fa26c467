"""Merges the summaries of a session's hosts into its report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

from tb_xla_insights.analysis.engines.report import in_order
from tb_xla_insights.analysis.findings import Findings
from tb_xla_insights.analysis.propagation.merged import MergedAnnotations
from tb_xla_insights.columns.merge import MergedTable, merged_row
from tb_xla_insights.columns.shift import shifted
from tb_xla_insights.device_work import WorkMerger
from tb_xla_insights.device_work.bottlenecks import with_bottlenecks
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.pod.comparison import HostComparison, compare_hosts
from tb_xla_insights.pod.host_steps import HostInput
from tb_xla_insights.report.host_document import SCHEMA_VERSION
from tb_xla_insights.report.host_summary import HostSummary
from tb_xla_insights.report.merge import small_keys
from tb_xla_insights.report.merge.diagnostics import (
    MergedDiagnostics,
    apart_hosts_diagnostic,
    differing_hosts_diagnostic,
)
from tb_xla_insights.report.merge.findings import merge_findings
from tb_xla_insights.report.merge.plain_keys import merge_devices, merge_environments, merge_heads
from tb_xla_insights.report.merge.sections import HOST_KEYS, HostSection, shifted_finding
from tb_xla_insights.report.merge.sidecars import MergedSidecars
from tb_xla_insights.report.merge.stragglers import with_host_comparison
from tb_xla_insights.report.merge.tables import (
    HostKey,
    MergedGaps,
    Row,
)
from tb_xla_insights.report.step_rows import StepRows
from tb_xla_insights.report.verdict import verdict
from tb_xla_insights.schema.annotations import Propagation
from tb_xla_insights.schema.engines import SliceTransfer
from tb_xla_insights.schema.feeding import Collective
from tb_xla_insights.schema.gaps import Gap
from tb_xla_insights.schema.iterations import Iterations
from tb_xla_insights.schema.launches import Execution, Launching, Program
from tb_xla_insights.schema.memory import ProgramMemory
from tb_xla_insights.text.host_order import natural_key
from tb_xla_insights.trace.build import clock_unknown
from tb_xla_insights.trace.clock import host_shifts, session_start
from tb_xla_insights.trace.row_ids import EventId

if TYPE_CHECKING:
    from tb_xla_insights.report.host_tables import HostTables
    from tb_xla_insights.schema.launches import Compile
    from tb_xla_insights.schema.report import HostReport, Report
    from tb_xla_insights.schema.session import Diagnostic as DiagnosticRow


@dataclass(frozen=True)
class _Host:
    """The retained data of a host; `number` counts hosts in order of arrival. Times count from the host's own time
    0."""

    key: HostKey
    number: int
    name: str
    base_unix_ns: int
    rows: Row
    findings: Findings
    comparison_input: HostInput
    tables: HostTables | None
    first_event_ps: int


class ReportMerger:
    """Builds one session's report from summaries of hosts, which are added one by one in any order.

    The report of a session with a single host is that of the host. Of several hosts the merger retains what the report
    has rows for: steps, devices and findings of each host, tables by their keys, and the longest gaps (`all_gaps`: all
    of them). (docs/definitions.md, "Sessions of several hosts")
    """

    def __init__(self, name: str, path: str, all_gaps: bool = False) -> None:
        self._name, self._path = name, path
        self._session_diagnostics: list[Diagnostic] = []
        self._hosts: list[_Host] = []
        self._comparison: HostComparison | None = None
        self._single_host: HostSummary | None = None
        self._gaps = MergedGaps(all_gaps)
        self._executions, self._programs = MergedTable(Execution), MergedTable(Program)
        self._launching = MergedTable(Launching)
        self._collectives, self._propagation = MergedTable(Collective), MergedTable(Propagation)
        self._memory, self._slice_transfers = MergedTable(ProgramMemory), MergedTable(SliceTransfer)
        self._annotations, self._work = MergedAnnotations(), WorkMerger()
        self._sidecars, self._diagnostics = MergedSidecars(), MergedDiagnostics()

    def add(self, summary: HostSummary) -> None:
        """Adds a host."""
        document, number = summary.document, len(self._hosts)
        self._comparison = None
        (host_file,) = document["session"]["hosts"]
        key = natural_key(summary.host), host_file["file"], number
        rows: Row = {name: value for name, value in document.items() if name in HOST_KEYS}
        rows["steps"] = StepRows.from_rows(document["steps"])
        rows["main_program"] = next((row["program"] for row in document["programs"]), None)
        self._single_host = None if self._hosts else summary
        comparison_input = HostInput(summary.host, _keys_for_comparison(document), summary.collectives)
        self._hosts.append(
            _Host(
                key,
                number,
                summary.host,
                summary.base_unix_ns,
                rows,
                summary.findings,
                comparison_input,
                summary.tables,
                summary.first_event_ps,
            )
        )
        self._gaps.add(key, number, document["gaps"], len(document["step_idle"]["devices"]))
        self._executions.add(key, document["executions"])
        self._programs.add(key, document["programs"])
        self._launching.add(key, [document["launching"]])
        self._collectives.add(key, document["collectives"])
        self._memory.add(key, document["memory"])
        self._slice_transfers.add(key, document["slice_transfers"])
        self._annotations.add(key, document["annotations"])
        self._propagation.add(key, [document["propagation"]])
        self._work.add(key, document["ops"], document["device_work"])
        self._sidecars.add(key, document["metrics"], document["recorded"])
        self._diagnostics.add(key, summary.host, summary.diagnostics)

    def add_diagnostic(self, diagnostic: Diagnostic) -> None:
        """Adds a diagnostic of the session, such as the reason why a host is not in the report."""
        self._session_diagnostics.append(diagnostic)
        self._session_diagnostics.sort(key=_skipped_hosts_first)

    @property
    def host_count(self) -> int:
        """The number of hosts added."""
        return len(self._hosts)

    @property
    def comparison(self) -> HostComparison | None:
        """The comparison of the hosts by their arrivals at shared collectives, cached until a host is added; None
        without any host."""
        if self._hosts and self._comparison is None:
            self._comparison = compare_hosts([host.comparison_input for host in self._in_order()])
        return self._comparison

    @property
    def tables(self) -> list[HostTables]:
        """The tables for views of each host, in the session's order. Raises ValueError for summaries without them."""
        tables = [host.tables for host in self._in_order() if host.tables is not None]
        if len(tables) < len(self._hosts):
            raise ValueError("not all hosts were summarised with tables")
        return tables

    def document(self) -> Report:
        """The report's document."""
        merged, findings = self._without_comparison(self._in_order())
        document, findings = with_host_comparison(merged, findings, self.comparison)
        document = with_bottlenecks(document)
        short_waits = {finding.id: finding.waits_for.short for finding in findings.found}
        return {**document, "verdict": verdict(document, short_waits)}

    def _in_order(self) -> list[_Host]:
        """The hosts in the session's order."""
        return sorted(self._hosts, key=lambda host: host.key)

    def _without_comparison(self, hosts: list[_Host]) -> tuple[HostReport, Findings]:
        """The report and the findings without the results that need the comparison of hosts."""
        diagnostics = [diagnostic.as_json() for diagnostic in self._session_diagnostics]
        if len(hosts) > 1:
            return self._merge(hosts, diagnostics)
        host = self._single_host
        assert host is not None, "a session has a host"
        document = host.document
        return {**document, "diagnostics": [*diagnostics, *document["diagnostics"]]}, host.findings

    def _merge(self, hosts: list[_Host], diagnostics: list[DiagnosticRow]) -> tuple[HostReport, Findings]:
        shifts, start_unix_ns, unknown_clocks = _time_base(hosts)
        steps_before = accumulate((len(host.rows["steps"]) for host in hosts[:-1]), initial=0)
        offsets = [*zip(shifts, steps_before, strict=True)]
        sections = _sections(hosts, offsets)
        # By the number of arrival, by which gaps refer to hosts.
        offsets_of_host = {host.number: pair for host, pair in zip(hosts, offsets, strict=True)}
        spans = [
            (host.name, host.first_event_ps + shift, section.rows["session"]["duration_ps"] + shift)
            for host, section, shift in zip(hosts, sections, shifts, strict=True)
            if section.rows["session"]["hosts"][0]["events"]
        ]
        apart = None if unknown_clocks else apart_hosts_diagnostic(spans)
        steps = StepRows.concatenated([section.rows["steps"] for section in sections])
        items = [shifted(Gap, item, *offsets_of_host[number]) for number, item in self._gaps.items]
        environment = merge_environments([section.rows for section in sections])
        duration = max((end_ps for _, _, end_ps in spans), default=0)
        programs = self._programs.rows(order_by="device_ps")
        differing, annotations = differing_hosts_diagnostic(sections), self._annotations.rows()
        document: HostReport = {
            "schema": SCHEMA_VERSION,
            "session": merge_heads(
                [section.rows["session"] for section in sections], start_unix_ns, duration
            ),
            "environment": environment,
            "diagnostics": _unique(
                [
                    *diagnostics,
                    *unknown_clocks,
                    *(row for row in (apart, differing) if row),
                    *self._diagnostics.rows(),
                ]
            ),
            "devices": merge_devices([section.rows["devices"] for section in sections], duration),
            "steps": steps,
            "gaps": self._gaps.document(items, small_keys.steps_of_working_hosts(sections)),
            "step_idle": small_keys.merge_step_idle(sections),
            "executions": self._executions.rows(order_by="device_ps"),
            "programs": programs,
            "launching": cast("Launching", self._launching.row()),
            "early_executions": [row for section in sections for row in section.rows["early_executions"]],
            "compiles": small_keys.merge_compiles(
                [row for section in sections for row in section.rows["compiles"]], programs
            ),
            "transfers": small_keys.merge_transfers(sections),
            "input_pipeline": small_keys.merge_input_pipelines(sections),
            "collectives": self._collectives.rows(order_by="duration_ps"),
            "engines": [row for section in sections for row in section.rows["engines"]],
            "async_ops": in_order(row for section in sections for row in section.rows["async_ops"]),
            "slice_transfers": self._slice_transfers.rows(order_by="wait_ps"),
            "iterations": _merge_iterations(sections),
            "outside_span": small_keys.merge_outside_span(sections, environment["framework"]),
            "annotations": annotations,
            "propagation": cast("Propagation", self._propagation.row()),
            **self._work.document(annotations),
            "memory": self._memory.rows(order_by="peak_bytes"),
            "metrics": self._sidecars.metrics,
            "recorded": self._sidecars.recorded,
            "throughput": small_keys.merge_throughput(sections, steps),
        }
        return document, merge_findings(sections)


def _merge_iterations(sections: list[HostSection]) -> Iterations | None:
    """The report's `iterations`; None if no host serves."""
    rows = [row for section in sections if (row := section.rows["iterations"])]
    return merged_row(Iterations, rows) if rows else None


def _keys_for_comparison(document: HostReport) -> Row:
    """The keys of a host's document that the comparison of hosts needs."""
    return {
        "steps": document["steps"],
        "devices": document["devices"],
        "compiles": document["compiles"],
        "collectives": document["collectives"],
        "diagnostics": document["diagnostics"],
        "gaps": {"by_class_ps": document["gaps"]["by_class_ps"]},
    }


def _time_base(hosts: list[_Host]) -> tuple[list[int], int, list[DiagnosticRow]]:
    """The shift in ps from each host's times to the session's; the session's time 0 in epoch nanoseconds: the earliest
    time 0 of any host (0 if no host records one); and diagnostics about hosts whose time is unknown, whose shift is 0,
    as in `trace.build.build_session`."""
    bases = [host.base_unix_ns for host in hosts]
    shifts = host_shifts(bases)
    unknown_clocks = [
        clock_unknown(host.name, host.base_unix_ns).as_json()
        for host, shift in zip(hosts, shifts, strict=True)
        if shift is None
    ]
    return [shift or 0 for shift in shifts], session_start(bases), unknown_clocks


def _sections(hosts: list[_Host], offsets: list[tuple[int, int]]) -> list[HostSection]:
    """The hosts' rows on the session's time base, with the session's step indices and the hosts' numbers in it.
    `offsets`: of each host, the shift of its times and the number of steps of all hosts before it."""
    from tb_xla_insights.schema.report import HostReport  # takes 5 ms, for sessions of several hosts only

    sections = []
    for number, (host, (by_ps, steps)) in enumerate(zip(hosts, offsets, strict=True)):
        rows = shifted(HostReport, host.rows, by_ps, steps)
        compiles = [_on_host(row, number) for row in rows["compiles"]]
        found = [shifted_finding(finding, by_ps) for finding in host.findings.found]
        findings = replace(host.findings, found=found)
        sections.append(HostSection(number, host.name, {**rows, "compiles": compiles}, findings))
    return sections


def _on_host(row: Compile, number: int) -> Compile:
    """A row of a host's `compiles` with the id of its event in the session, in which the host has this number."""
    event = EventId.parse(row["event"])
    assert event is not None
    return {**row, "event": str(event._replace(host=number))}


def _skipped_hosts_first(diagnostic: Diagnostic) -> tuple[Any, ...]:
    """Sort key: skipped hosts by their names, whatever the order of arrival, then all else in order of arrival."""
    is_skipped = diagnostic.id == "skipped_host"
    return not is_skipped, *natural_key(diagnostic.host if is_skipped and diagnostic.host else "")


def _unique(rows: list[DiagnosticRow]) -> list[DiagnosticRow]:
    """The rows without repetitions: a host's clock may be reported by its reader and again by the merge."""
    return [row for index, row in enumerate(rows) if row not in rows[:index]]
