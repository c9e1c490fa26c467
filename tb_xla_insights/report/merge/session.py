"""The report of a session, from the summaries of its hosts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from tb_xla_insights.device_work import WorkMerger
from tb_xla_insights.device_work.bottlenecks import with_bottlenecks
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.host_order import natural_key
from tb_xla_insights.pod.comparison import HostComparison, compare_hosts
from tb_xla_insights.pod.host_steps import HostInput
from tb_xla_insights.report.host_document import SCHEMA_VERSION, host_report
from tb_xla_insights.report.merge import answers
from tb_xla_insights.report.merge.diagnostics import MergedDiagnostics, differing_hosts_diagnostic
from tb_xla_insights.report.merge.findings import merge_findings
from tb_xla_insights.report.merge.parts import HOST_KEYS, HostPart, shifted
from tb_xla_insights.report.merge.sidecars import MergedSidecars
from tb_xla_insights.report.merge.stragglers import with_host_comparison
from tb_xla_insights.report.merge.tables import (
    HostKey,
    MergedAnnotations,
    MergedGaps,
    MergedPrograms,
    MergedPropagation,
    Row,
    SummedRows,
)
from tb_xla_insights.report.step_rows import StepRows
from tb_xla_insights.report.summary import HostSummary
from tb_xla_insights.report.verdict import verdict
from tb_xla_insights.trace.build import clock_unknown
from tb_xla_insights.trace.clock import earliest, is_near
from tb_xla_insights.trace.model import SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import Collective
    from tb_xla_insights.schema.gaps import Gap
    from tb_xla_insights.schema.launches import Compile, EarlyExecution, Execution, Program
    from tb_xla_insights.schema.report import HostReport, Report
    from tb_xla_insights.schema.session import Diagnostic as DiagnosticRow

    InStep = TypeVar("InStep", Gap, Compile, EarlyExecution)
    """Rows with a `step`."""


@dataclass(frozen=True)
class _Host:
    """What is kept of a host; `number` counts hosts as they come. Times count from the host's own zero."""

    key: HostKey
    number: int
    name: str
    base_unix_ns: int
    rows: Row
    told: HostInput


class ReportMerger:
    """One session's report, from summaries that come one by one, in any order: hosts are told in theirs.

    Of one host the report is its own. Of several it holds what the report has a row for: steps, devices and findings
    of each, tables by their keys, the longest gaps. (docs/definitions.md, "Sessions of several hosts")
    """

    def __init__(self, name: str, path: str, all_gaps: bool = False) -> None:
        self._name, self._path = name, path
        self._skipped: list[Diagnostic] = []
        self._hosts: list[_Host] = []
        self._comparison: HostComparison | None = None
        self._only: HostSummary | None = None
        self._gaps = MergedGaps(all_gaps)
        self._executions: MergedPrograms[Execution] = MergedPrograms("program", "join")
        self._programs: MergedPrograms[Program] = MergedPrograms("program")
        self._collectives: SummedRows[Collective] = SummedRows("op", "kind")
        self._annotations, self._propagation, self._work = (
            MergedAnnotations(),
            MergedPropagation(),
            WorkMerger(),
        )
        self._texts, self._diagnostics = MergedSidecars(), MergedDiagnostics()

    def add(self, summary: HostSummary) -> None:
        """Takes a host in."""
        document, number = summary.document, len(self._hosts)
        self._comparison = None
        (head,) = document["session"]["hosts"]
        key = natural_key(summary.host), head["file"], number
        rows: Row = {name: it for name, it in document.items() if name in HOST_KEYS}
        rows["steps"] = StepRows.from_rows(document["steps"])
        rows["main_program"] = next((row["program"] for row in document["programs"]), None)
        self._only = None if self._hosts else summary
        told = HostInput(summary.host, _for_arrivals(document), summary.collectives)
        self._hosts.append(_Host(key, number, summary.host, summary.base_unix_ns, rows, told))
        self._gaps.add(key, number, document["gaps"], len(document["step_idle"]["devices"]))
        self._executions.add(key, document["executions"])
        self._programs.add(key, document["programs"])
        self._collectives.add(document["collectives"])
        self._annotations.add(key, document["annotations"])
        self._propagation.add(document["propagation"])
        self._work.add(key, document["ops"], document["device_work"])
        self._texts.add(key, document["metrics"], document["recorded"])
        self._diagnostics.add(key, summary.host, document["diagnostics"])

    def skip(self, diagnostic: Diagnostic) -> None:
        """Says why a host is not in the report, or what else there is to know of the session."""
        self._skipped.append(diagnostic)
        self._skipped.sort(key=_skipped_first)

    @property
    def comparison(self) -> HostComparison | None:
        """How its hosts came to what all did together, found out once for as many as there are; None without any."""
        if self._hosts and self._comparison is None:
            self._comparison = compare_hosts([host.told for host in self._in_order()])
        return self._comparison

    def document(self) -> Report:
        """The report's document."""
        document = with_bottlenecks(with_host_comparison(self._of_each(self._in_order()), self.comparison))
        return {**document, "verdict": verdict(document)}

    def _in_order(self) -> list[_Host]:
        """The hosts in the session's order."""
        return sorted(self._hosts, key=lambda host: host.key)

    def _of_each(self, hosts: list[_Host]) -> HostReport:
        """What hosts tell alone."""
        told = [it.as_json() for it in self._skipped]
        if len(hosts) > 1:
            return self._together(hosts, told)
        own = self._only.document if self._only else host_report(SessionTrace(self._name, self._path, []))
        return {**own, "diagnostics": [*told, *own["diagnostics"]]}

    def _together(self, hosts: list[_Host], told: list[DiagnosticRow]) -> HostReport:
        shifts, first, unknown = _time_base(hosts)
        parts = _placed(hosts, shifts)
        places = {
            host.number: place for host, *place in zip(hosts, shifts, _offsets(parts), strict=True)
        }  # by the numbers under which gaps are kept
        ends = (
            part.rows["session"]["duration_ps"] + shift if part.rows["session"]["hosts"][0]["events"] else 0
            for part, shift in zip(parts, shifts, strict=True)
        )
        steps = StepRows.joined([part.rows["steps"] for part in parts])
        items: list[Gap] = []
        for number, item in self._gaps.items:
            shift, offset = places[number]
            items.append(_in_step(shifted(item, shift), offset))
        environment = answers.merge_environments(parts)
        duration, programs = max(ends), self._programs.rows()
        unlike, annotations = differing_hosts_diagnostic(parts), self._annotations.rows()
        return {
            "schema": SCHEMA_VERSION,
            "session": {
                "name": self._name,
                "path": self._path,
                "description": next(filter(None, (it.rows["session"]["description"] for it in parts)), None),
                "start_unix_ns": str(first),
                "duration_ps": duration,
                "hosts": [row for part in parts for row in part.rows["session"]["hosts"]],
            },
            "environment": environment,
            "diagnostics": _once([*told, *unknown, *([unlike] if unlike else []), *self._diagnostics.rows()]),
            "devices": answers.merge_devices(parts, duration),
            "steps": steps,
            "gaps": self._gaps.document(items, answers.steps_of_working_hosts(parts)),
            "step_idle": answers.merge_step_idle(parts),
            "executions": self._executions.rows(),
            "programs": programs,
            "launching": answers.merge_launching(parts),
            "early_executions": [row for part in parts for row in part.rows["early_executions"]],
            "compiles": answers.merge_compiles(
                [row for part in parts for row in part.rows["compiles"]], programs
            ),
            "transfers": answers.merge_transfers(parts),
            "input_pipeline": answers.merge_input_pipelines(parts),
            "collectives": self._collectives.rows(most="duration_ps"),
            "outside": answers.merge_outside(parts, environment["framework"]),
            "annotations": annotations,
            "propagation": self._propagation.document(),
            **self._work.document(annotations),
            "metrics": self._texts.metrics,
            "recorded": self._texts.recorded,
            "throughput": answers.merge_throughput(parts, steps),
            **merge_findings(parts),
        }


def _for_arrivals(document: HostReport) -> Row:
    """What of a host's document the comparison of hosts looks at."""
    annotations = [{"path": row["path"], "host_ps": row["host_ps"]} for row in document["annotations"]]
    return {
        "steps": document["steps"],
        "devices": document["devices"],
        "compiles": document["compiles"],
        "collectives": document["collectives"],
        "diagnostics": document["diagnostics"],
        "gaps": {"by_class_ps": document["gaps"]["by_class_ps"]},
        "annotations": annotations,
    }


def _time_base(hosts: list[_Host]) -> tuple[list[int], int, list[DiagnosticRow]]:
    """How much later the zero of each host is than the session's, which is the earliest event of any; that in epoch
    nanoseconds (0 where no host tells its own); and which hosts cannot be placed, as `trace.build.join_hosts` says."""
    known = [host.base_unix_ns for host in hosts if host.base_unix_ns]
    first = earliest(known) if known else 0
    shifts: list[int] = []
    unknown: list[DiagnosticRow] = []
    for host in hosts:
        near = bool(host.base_unix_ns) and is_near(host.base_unix_ns, first)
        shifts.append((host.base_unix_ns - first) * 1000 if near else 0)
        if not near:
            unknown.append(clock_unknown(host.name, host.base_unix_ns).as_json())
    return shifts, first, unknown


def _placed(hosts: list[_Host], shifts: list[int]) -> list[HostPart]:
    """The hosts' rows on the session's time base, with steps and hosts counted as in the session."""
    parts = [
        HostPart(number, host.name, shifted(host.rows, shift))
        for number, (host, shift) in enumerate(zip(hosts, shifts, strict=True))
    ]
    placed = []
    for number, (part, offset) in enumerate(zip(parts, _offsets(parts), strict=True)):
        rows = dict(part.rows)
        rows["steps"] = rows["steps"].shifted(steps=offset)
        rows["early_executions"] = [_in_step(row, offset) for row in rows["early_executions"]]
        rows["compiles"] = [
            _in_step(row, offset) | {"event": f"{number}.{row['event'].rpartition('.')[2]}"}
            for row in rows["compiles"]
        ]
        placed.append(replace(part, rows=rows))
    return placed


def _offsets(parts: list[HostPart]) -> list[int]:
    """How many steps the hosts before each have."""
    found = [0]
    for part in parts[:-1]:
        found.append(found[-1] + part.steps)
    return found


def _in_step(row: InStep, offset: int) -> InStep:
    return row if row["step"] is None else {**row, "step": row["step"] + offset}


def _skipped_first(diagnostic: Diagnostic) -> tuple[Any, ...]:
    """Hosts that were left out by their names, in whichever order they were met; then the rest as it came."""
    left_out = diagnostic.id == "skipped_host"
    return not left_out, *natural_key(diagnostic.host if left_out and diagnostic.host else "")


def _once(rows: list[DiagnosticRow]) -> list[DiagnosticRow]:
    """Each row once: what the reader said of a host's clock is said again here."""
    return [row for place, row in enumerate(rows) if row not in rows[:place]]
