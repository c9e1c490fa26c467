"""The one table that the verdict needs, for the terminal's screen and for Overview. (docs/command-line.md)"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.engines.device_rows import merge_stalls
from tb_xla_insights.analysis.engines.op_texts import short_op_name
from tb_xla_insights.analysis.findings.finding import NO_FAULT
from tb_xla_insights.analysis.iterations.texts import main_kind
from tb_xla_insights.catalog.classes import label
from tb_xla_insights.report.finding_text import DEVICE_FINDINGS
from tb_xla_insights.report.host_rows import host_rows
from tb_xla_insights.report.iterations_text import kind_name, part_rows
from tb_xla_insights.report.one_step import OF_WORK
from tb_xla_insights.report.work_tables import work_by_annotation, work_by_op
from tb_xla_insights.text import units

if TYPE_CHECKING:
    from tb_xla_insights.schema.overview_route import NeededRows, NeededTableKind, OneStep

Row = Mapping[str, Any]

_MIN_SHARE = 0.001
"""The smallest share of a row of its own, unless it is the only one so small."""


@dataclass(frozen=True)
class NeededTable:
    """`kind`: what it is about. `heads`: the first is the title. `rows` makes at most a number of rows. `last`: the row
    with the sums, if any. `texts`: the indices of columns that are aligned to the left."""

    kind: NeededTableKind
    heads: Sequence[str]
    rows: Callable[[int], list[Sequence[str]]]
    last: Sequence[str] = ()
    texts: Collection[int] = (0,)

    def document(self, max_rows: int) -> NeededRows:
        """The cells of at most `max_rows` rows, the sums included, without empty columns."""
        rows = [self.heads, *self.rows(max_rows - bool(self.last)), *([self.last] if self.last else [])]
        shown = [
            n for n, cells in enumerate(zip(*rows, strict=True)) if not {*cells[1:]} <= {"", units.MISSING}
        ]
        heads, *cells = ([row[n] for n in shown] for row in rows)
        return {
            "kind": self.kind,
            "heads": heads,
            "rows": cells[:-1] if self.last else cells,
            "last": cells[-1] if self.last else [],
            "texts": [n for n, column in enumerate(shown) if column in self.texts],
        }


def needed_table(report: Row, step: OneStep | None) -> NeededTable | None:
    """Hosts if one holds up the others; what devices wait for, or their work, if they are the bottleneck; else idle
    time by cause, of a server in an iteration, or what the host does if no device worked. None if there is nothing to
    show."""
    verdict = report["verdict"]
    ids = {verdict["cause"], verdict["fix"], verdict["then"]}
    if step is None:
        return _host_table(report)
    if "straggler" in ids and len(report["hosts"]) > 1:
        return _hosts_table(report)
    waits = sum(part["ps"] for part in step["parts"] if part["kind"] in ("collective", "wait", "late"))
    idle = sum(
        part["ps"] + part["once_ps"] for part in step["parts"] if part["kind"] in ("idle", "short_gaps")
    )
    if verdict["cause"] in DEVICE_FINDINGS or (waits > idle and verdict["cause"] not in NO_FAULT):
        return _waits_table(report, step)
    if verdict["cause"] in NO_FAULT or not idle:
        return _work_table(report, step)
    if report["iterations"] and report["iterations"]["kinds"]:
        return _iteration_table(main_kind(report["iterations"]["kinds"]))
    return _idle_table(step)


def _idle_table(step: OneStep) -> NeededTable:
    """Idle time by cause: in each step, once, and both."""
    parts = [part for part in step["parts"] if part["kind"] in ("idle", "short_gaps")]
    rows = [(part["label"], part["ps"], part["once_ps"]) for part in parts]
    rows.sort(key=lambda row: -row[1] - row[2])
    is_once = any(once for _, _, once in rows)
    unit, decimals = _precision(sum(each + once for _, each, once in rows))
    total_ps = sum(each + once for _, each, once in rows)

    def texts(chosen: Sequence[tuple[str, int, int]]) -> list[Sequence[str]]:
        precision_ps = units.PS_PER[unit] // 10**decimals
        names, *times = zip(*chosen, strict=True)
        columns = [units.rounded_parts(column, sum(column), precision_ps) for column in times]
        shares = units.shares([each + once for _, each, once in chosen], total_ps)
        return [
            _idle_cells(name, each, once, share)
            for name, each, once, share in zip(names, *columns, shares, strict=True)
        ]

    def time(ps: int) -> str:
        return units.MISSING if is_once and not ps else units.time_in(ps, unit, decimals)

    def _idle_cells(name: str, each: int, once: int, share: str) -> Sequence[str]:
        times = (each, once, each + once) if is_once else (each,)
        return name, *map(time, times), share

    heads = ("each step", "once", "sum") if is_once else (f"each {step['per']}",)
    last = texts([("all", sum(row[1] for row in rows), sum(row[2] for row in rows))])[0]
    return NeededTable(
        "idle",
        (f"Idle by cause, {unit}", *heads, "share"),
        lambda n: texts(_limited(rows, n, total_ps)),
        last,
    )


def _iteration_table(kind: Row) -> NeededTable:
    """What a server does in an iteration, while the device waits and while it works."""
    unit, decimals = _precision(kind["wall_ps"]["mean"])
    parts = sorted(part_rows(kind), key=lambda row: -row["exposed_ps"])
    precision_ps = units.PS_PER[unit] // 10**decimals
    columns = [
        units.rounded_parts([row[key] for row in parts], kind[total], precision_ps)
        for key, total in (("exposed_ps", "bubble_ps"), ("hidden_ps", "device_ps"))
    ]

    def cells(name: str, *times: int) -> Sequence[str]:
        return name, *(units.time_in(ps, unit, decimals) if ps else units.MISSING for ps in times)

    rows = [
        cells(row["part"].replace("_", " "), *times)
        for row, *times in zip(parts, *columns, strict=True)
        if any(times)
    ]
    return NeededTable(
        "iteration",
        (
            f"The server, iteration of kind {kind_name(kind)}, {unit}",
            "while the device waits",
            "while it works",
        ),
        lambda n: rows[:n],
        cells("all", kind["bubble_ps"], kind["device_ps"]),
    )


def _precision(largest_ps: int) -> tuple[str, int]:
    unit = units.time_unit(largest_ps)
    return unit, 2 if largest_ps >= units.PS_PER[unit] else 3


def _limited(rows: Sequence[tuple[Any, ...]], limit: int, total_ps: int) -> Sequence[tuple[Any, ...]]:
    """The first rows, at most `limit`; the last one has the sums of those that do not fit or have hardly any time."""
    large = sum(sum(row[1:]) >= _MIN_SHARE * total_ps for row in rows)
    limit = min(limit, large + 1)
    if len(rows) <= limit:
        return rows
    others = rows[limit - 1 :]
    sums = (sum(values) for values in [*zip(*others, strict=True)][1:])
    return [*rows[: limit - 1], (f"{len(others)} more", *sums)]


def _waits_table(report: Row, step: OneStep) -> NeededTable:
    """The ops that devices wait for or exchange data in, by their time in the step."""
    stalls = merge_stalls(report["devices"])
    waiting_ops = {row["op"] for row in stalls}
    groups = {
        "wait": [(row["op"], row["duration_ps"]) for row in stalls],
        "collective": [
            (row["op"], row["exposed_in_steps_ps"] if report["steps"] else row["exposed_ps"])
            for row in report["collectives"]
            if row["op"] not in waiting_ops
        ],
    }
    times = Counter[str]()
    for kind, ops in groups.items():
        of_step_ps = sum(part["ps"] for part in step["parts"] if part["kind"] == kind)
        whole_ps = sum(ps for _, ps in ops)
        for op, ps in ops if whole_ps else ():
            times[short_op_name(op)] += of_step_ps * ps // whole_ps
    times.update({part["label"]: part["ps"] for part in step["parts"] if part["kind"] == "late"})
    return _times_table("waits", f"Waits and exchanges per {step['per']} and core", times.most_common())


def _host_table(report: Row) -> NeededTable | None:
    """What the host does in the mean step."""
    by_class = Counter[str]()
    for step in report["steps"]:
        by_class.update(step["host_ps"])
    rows = [(label(name), ps // len(report["steps"])) for name, ps in by_class.most_common()]
    return _times_table("host", "The host, per step", rows) if rows else None


def _times_table(kind: NeededTableKind, title: str, rows: Sequence[tuple[str, int]]) -> NeededTable:
    total_ps = sum(ps for _, ps in rows)
    unit, decimals = _precision(total_ps)

    def texts(chosen: Sequence[tuple[str, int]]) -> list[Sequence[str]]:
        times = [ps for _, ps in chosen]
        precision_ps = units.PS_PER[unit] // 10**decimals
        rounded = units.rounded_parts(times, total_ps, precision_ps)
        shares = units.shares(times, total_ps) if total_ps else [units.MISSING] * len(times)
        return [
            (name, units.time_in(ps, unit, decimals), share)
            for (name, _), ps, share in zip(chosen, rounded, shares, strict=True)
        ]

    (last,) = texts([("all", total_ps)])
    return NeededTable(
        kind, (title, f"time, {unit}", "share"), lambda n: texts(_limited(rows, n, total_ps)), last
    )


def _work_table(report: Row, step: OneStep) -> NeededTable | None:
    """The devices' work by annotation, by op where none has an annotation, with shares of the step as findings have
    them."""
    work = report["device_work"]
    whole_ps = work["total"]["self_ps"]
    if not whole_ps:
        return None
    ops_ps = sum(part["ps"] for part in step["parts"] if part["kind"] in OF_WORK)
    has_annotations = any(row["path"] for row in work["annotations"])

    def rows(limit: int) -> list[Sequence[str]]:
        table = work_by_annotation(work, limit) if has_annotations else work_by_op(report["ops"], work, limit)
        return [
            (
                row["name"],
                units.share(row["self_ps"] / whole_ps * ops_ps / step["now_ps"]),
                units.share(row["flops_share"]),
                units.share(row["bytes_share"]),
                row["bound_by"],
            )
            for row in table.rows
        ]

    title = "Work by annotation" if has_annotations else "Work by op"
    return NeededTable(
        "work",
        (title, f"of {step['per']}", "FLOP/s, of peak", "HBM, of peak", "bound by"),
        rows,
        texts=(0, 4),
    )


def _hosts_table(report: Row) -> NeededTable:
    """The hosts that the others wait for longest."""
    hosts = host_rows(sorted(report["hosts"], key=lambda row: -(row["others_wait_ps"] or 0)))
    unit, decimals = _precision(max(row["others_wait_ps"] or 0 for row in hosts))

    def time(ps: int | None) -> str:
        return units.MISSING if ps is None else units.time_in(ps, unit, decimals)

    def rows(limit: int) -> list[Sequence[str]]:
        named = hosts if len(hosts) <= limit else hosts[: limit - 1]
        texts: list[Sequence[str]] = [
            (
                row["name"],
                time(row["others_wait_ps"]),
                units.share(row["last_share"]),
                units.share(row["duty_cycle"]),
                row["difference"],
            )
            for row in named
        ]
        if len(named) < len(hosts):
            rest = hosts[limit - 1 :]
            waits_ps = sum(row["others_wait_ps"] or 0 for row in rest)
            texts.append((f"{len(report['hosts']) - len(named)} more", time(waits_ps), "", "", ""))
        return texts

    return NeededTable(
        "hosts", ("Hosts", f"others wait, {unit}", "last in", "busy", "differs most"), rows, texts=(0, 4)
    )
