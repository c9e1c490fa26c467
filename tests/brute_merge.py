"""What the report of several hosts says, added up in plain Python: from their runs and gaps, or from each host's own
tables. The traces are in the session's order and on its time base (`on_one_time_base`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from merging import Row

from tb_xla_insights.analysis.compiles.compile_table import compiles_report
from tb_xla_insights.analysis.delays.collectives import collectives_report
from tb_xla_insights.analysis.delays.early_executions import early_executions_report
from tb_xla_insights.analysis.delays.transfers import DIRECTIONS, find_transfers
from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.analysis.idle.in_steps import step_idle_report
from tb_xla_insights.analysis.launches.enqueues import JOINS
from tb_xla_insights.analysis.launches.executions import (
    TIME_COLUMNS,
    executions_report,
    find_run_times,
    launching_report,
    programs_report,
)
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation import propagation_report, scoped_ops
from tb_xla_insights.analysis.propagation.memory import memory_report
from tb_xla_insights.analysis.steps.step_table import steps_report
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import SessionTrace, Trace

Rows = list[Row]
Traces = Sequence[Trace]

STEP_TIMES = ("time_ps", "work_ps", "stall_ps", "idle_ps", "small_ps", "edges_ps")


def of_host(report: Callable[..., Any], trace: Trace, **options: Any) -> Any:
    """The answer of an analysis about one host."""
    return report(trace, **options)


def on_one_time_base(hosts: SessionTrace) -> list[Trace]:
    """Shifts the traces in place, so that their times count from the first event of any host."""
    first_ns = min(trace.base_unix_ns for trace in hosts.traces)
    for trace in hosts.traces:
        trace.shift((trace.base_unix_ns - first_ns) * 1000)
    return hosts.traces


def lower_median(values: Iterable[int]) -> int:
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]


def repeated_median(values: Iterable[tuple[int, int]]) -> int:
    """The median when each value occurs as often as its weight says."""
    return lower_median(value for value, weight in values for _ in range(weight))


def summed_rows(rows: Iterable[Row], *keys: str, order_by: str) -> Rows:
    """A row for each combination of the key columns, with the sums of the other columns, the largest first."""
    groups: dict[str, Row] = {}
    for row in rows:
        total = groups.setdefault(repr([row[key] for key in keys]), {key: row[key] for key in keys})
        for name in row.keys() - set(keys):
            total[name] = total.get(name, 0) + row[name]
    return sorted(groups.values(), key=lambda row: (-row[order_by], *(repr(row[key]) for key in keys)))


def by_class(rows: Iterable[Row]) -> Row:
    """Sums of times by class, without classes that have no time."""
    sums = sum(map(Counter, rows), Counter[str]())
    return {name: sums[name] for name in CLASSES if sums[name]}


def in_session_steps(tables: Iterable[Rows], traces: Traces) -> Rows:
    """The rows of all hosts, whose `step` counts through the steps of all hosts."""
    offset, result = 0, Rows()
    for trace, rows in zip(traces, tables, strict=True):
        result += [row | {"step": None if row["step"] is None else row["step"] + offset} for row in rows]
        offset += len(of_host(steps_report, trace))
    return result


def duration_ps(traces: Traces) -> int:
    return max((int((trace.start_ps + trace.duration_ps).max()) for trace in traces if len(trace)), default=0)


def devices(traces: Traces) -> Rows:
    rows = [row for trace in traces for row in of_host(device_summaries, trace)]
    for row in rows:
        row["duty"]["capture"]["span_ps"] = duration_ps(traces)
    return rows


def steps(traces: Traces) -> Rows:
    rows = (row for trace in traces for row in of_host(steps_report, trace))
    return [row | {"index": index} for index, row in enumerate(rows)]


def check_step_idle(step_idle: Row, traces: Traces) -> None:
    tables = {trace.host: of_host(step_idle_report, trace)["devices"] for trace in traces}
    step_rows = {trace.host: of_host(steps_report, trace) for trace in traces}
    included = [host for host in tables if tables[host] and (step_rows[host] or not any(step_rows.values()))]
    assert step_idle["left_out"] == [
        {"host": host, "reason": "no_steps" if tables[host] else "no_device_work"}
        for host in tables
        if host not in included
    ]
    rows = [row for host in included for row in tables[host]]
    durations = [row["duration_ps"] for host in included or tables for row in step_rows[host]]
    assert step_idle["devices"] == rows
    assert step_idle["cores"] == len(rows)
    assert step_idle["steps"] == len(durations)
    assert step_idle["step_ps"] == (sum(durations) // len(durations) if durations else None)
    assert step_idle["median_ps"] == (lower_median(durations) if durations else None)
    if not rows:
        assert step_idle["all_cores"] is None
        return
    sums = {name: sum(row[name] for row in rows) for name in STEP_TIMES}
    assert step_idle["all_cores"] == sums | {"by_class_ps": by_class(row["by_class_ps"] for row in rows)}
    # A step's time is divided by the devices of its host, and every step has the same weight.
    divisor = {host: len(durations) * len(tables[host]) if durations else len(rows) for host in included}

    def mean(values: Iterable[int]) -> Fraction:
        pairs = zip(rows, values, strict=True)
        return sum((Fraction(value, divisor[row["host"]]) for row, value in pairs), Fraction())

    means = {name: mean(row[name] for row in rows) for name in ("work_ps", "small_ps")}
    class_means = {name: mean(row["by_class_ps"].get(name, 0) for row in rows) for name in CLASSES}
    for name, exact in means.items():
        assert abs(step_idle[name] - exact) < 1, name
    for name, exact in class_means.items():
        assert abs(step_idle["by_class_ps"].get(name, 0) - exact) < 1, name
    assert step_idle["stall_ps"] == mean(row["stall_ps"] for row in rows) // 1
    assert step_idle["idle_ps"] == step_idle["small_ps"] + sum(step_idle["by_class_ps"].values())
    assert step_idle["work_ps"] + step_idle["idle_ps"] == sum(means.values(), sum(class_means.values())) // 1


@dataclass(frozen=True)
class Run:
    """One run on a device. `counts` says whether its launch counts in its row: a launch counts once."""

    host: str
    program: str
    program_id: str
    join: str
    times: dict[str, int]
    counts: bool

    @property
    def is_known(self) -> bool:
        """Whether its launch is known."""
        return self.join != "none"


def runs_of(trace: Trace) -> list[Run]:
    launches, times = find_launches(trace), find_run_times(trace)
    launch, join = launches.runs.launch.tolist(), launches.runs.join.tolist()
    counted: dict[int, int] = {}  # by launch, the first of the runs that are joined least exactly
    for index, of_launch in enumerate(launch):
        if of_launch >= 0 and (of_launch not in counted or join[index] > join[counted[of_launch]]):
            counted[of_launch] = index
    return [
        Run(
            trace.host,
            launches.programs[program].name,
            launches.programs[program].id,
            JOINS[join[index]],
            {name: int(getattr(times, name)[index]) for name in TIME_COLUMNS},
            counted.get(launch[index]) == index,
        )
        for index, program in enumerate(launches.runs.program.tolist())
    ]


def executions(traces: Traces) -> Rows:
    """The report's `executions`."""
    runs = [run for trace in traces for run in runs_of(trace)]
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.program, run.join), []).append(run)
    host_rows: Rows = [{**row} for trace in traces for row in executions_report(trace)]
    rows = [
        {"program": program, "join": join}
        | run_sums(group, [row for row in host_rows if (row["program"], row["join"]) == (program, join)])
        for (program, join), group in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row["device_ps"], row["program"], row["join"]))


def programs(traces: Traces) -> Rows:
    """The report's `programs`."""
    runs = [run for trace in traces for run in runs_of(trace)]
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.program, []).append(run)
    host_rows: Rows = [{**row} for trace in traces for row in programs_report(trace)]
    rows = []
    for program, group in groups.items():
        joins = Counter(run.join for run in group)
        row = {"program": program, "joins": {join: joins[join] for join in JOINS if joins[join]}}
        rows.append(row | run_sums(group, [row for row in host_rows if row["program"] == program]))
    return sorted(rows, key=lambda row: (-row["device_ps"], row["program"]))


def run_sums(runs: list[Run], host_rows: Rows) -> Row:
    """The columns that `executions` and `programs` share. `host_rows`: the rows of single hosts about these runs."""
    runs_by_host: dict[str, list[Run]] = {}
    for run in runs:
        runs_by_host.setdefault(run.host, []).append(run)
    known_counts = [sum(run.is_known for run in of_host) for of_host in runs_by_host.values()]
    kinds: Counter[str] = Counter()
    for row, known in zip(host_rows, known_counts, strict=True):
        kinds[row["kind"]] += known
    most = max(kinds.values())
    return {
        "program_ids": sorted({run.program_id for run in runs} - {""}, key=int),
        "kind": min(kind for kind, count in kinds.items() if count == most) if most else "other",
        "launches": sum(run.counts for run in runs),
        "count": len(runs),
        **{name: sum(run.times[name] for run in runs) for name in TIME_COLUMNS},
        "spread": {name: spread(name, [*runs_by_host.values()]) for name in TIME_COLUMNS},
        "causes": [],
    }


def spread(name: str, runs_by_host: list[list[Run]]) -> Row:
    """The range of a time over the runs; of all times but the device's, over those whose launch is known, if any is.
    The median is the median of the hosts' medians, each as often as the host has such runs."""
    known = [[run for run in runs if run.is_known] for runs in runs_by_host]
    counted = runs_by_host if name == "device_ps" or not any(known) else known
    times = [[run.times[name] for run in runs] for runs in counted if runs]
    return {
        "min": min(map(min, times)),
        "median": repeated_median((lower_median(of_host), len(of_host)) for of_host in times),
        "max": max(map(max, times)),
    }


def launching(traces: Traces) -> Row:
    """The report's `launching`."""
    rows: list[Any] = [launching_report(trace) for trace in traces]
    fixed, leads = ([row[name] for row in rows if row[name]] for name in ("fixed", "lead"))
    result: Row = {"fixed": None, "lead": None}
    if fixed:
        median = repeated_median((row["fixed_ps"], row["runs"]) for row in fixed)
        host = next(row for row in fixed if row["fixed_ps"] == median)
        result["fixed"] = host | {"runs": sum(row["runs"] for row in fixed)}
    if leads:
        result["lead"] = {
            "median_ps": repeated_median((row["median_ps"], row["runs"]) for row in leads),
            "mean_ps": sum(row["mean_ps"] * row["runs"] for row in leads)
            // sum(row["runs"] for row in leads),
            "min_ps": min(row["min_ps"] for row in leads),
            "max_ps": max(row["max_ps"] for row in leads),
            "runs": sum(row["runs"] for row in leads),
        }
    return result


def early_executions(traces: Traces) -> Rows:
    rows = in_session_steps((of_host(early_executions_report, trace) for trace in traces), traces)
    return [row | {"cause": None, "frame": None} for row in rows]


def compiles(traces: Traces) -> Rows:
    """The report's `compiles`. Other graphs of the same name: those compiled on any host, and those that only ran."""
    tables = [
        [row | {"event": f"{host}.{row['event'].split('.')[1]}"} for row in of_host(compiles_report, trace)]
        for host, trace in enumerate(traces)
    ]
    rows = in_session_steps(tables, traces)
    ran = {program for trace in traces for program in find_launches(trace).programs if program.id}
    for row in rows:
        of_module = [other for other in rows if other["module"] == row["module"] is not None]
        graphs = {other["graph"] for other in of_module} | {
            f"{program.name}({program.id})"
            for program in ran
            if of_module
            and program.name == row["module"]
            and program.id not in {other["program_id"] for other in of_module}
        }
        row["graphs_of_same_name"] = sorted(graphs - {row["graph"], None})
    return sorted(rows, key=lambda row: row["start_ps"])


def transfers(traces: Traces) -> Row:
    """The report's `transfers`."""
    step_count = len(steps(traces))
    result: Row = {}
    for direction, name in enumerate(DIRECTIONS):
        rows: Rows = []
        for trace in traces:
            found = find_transfers(trace)
            rows += [
                {"ps": int(trace.duration_ps[row]), "bytes": size, "in_step": step >= 0}
                for row, of_direction, size, step in zip(
                    found.row.tolist(),
                    found.direction.tolist(),
                    found.bytes.tolist(),
                    found.step.tolist(),
                    strict=True,
                )
                if of_direction == direction
            ]
        sizes = [row["bytes"] for row in rows if row["bytes"] >= 0]
        sizes_in_steps = [row["bytes"] for row in rows if row["bytes"] >= 0 and row["in_step"]]
        in_steps = sum(row["in_step"] for row in rows)
        result[name] = {
            "count": len(rows),
            "duration_ps": sum(row["ps"] for row in rows),
            "bytes": sum(sizes) if sizes else None,
            "known_size_count": len(sizes),
            "in_steps": in_steps,
            "bytes_in_steps": sum(sizes_in_steps) if sizes_in_steps else None,
            "per_step": in_steps / step_count if step_count else None,
            "bytes_per_step": round(sum(sizes_in_steps) / step_count) if sizes_in_steps else None,
        }
    return result


def collectives(traces: Traces) -> Rows:
    rows = (row for trace in traces for row in of_host(collectives_report, trace))
    return summed_rows(rows, "op", "kind", order_by="duration_ps")


def memory(traces: Traces) -> Rows:
    rows: dict[str, Row] = {}
    capacities: dict[str, int] = {}
    for trace in traces:
        for row in of_host(memory_report, trace):
            name = row["program"]
            rows[name] = max(rows.get(name, row), row, key=lambda each: each["peak_bytes"])
            if row["capacity_bytes"] is not None:
                capacities.setdefault(name, row["capacity_bytes"])
    merged = [{**row, "capacity_bytes": capacities.get(name)} for name, row in rows.items()]
    return sorted(merged, key=lambda row: (-row["peak_bytes"], row["program"]))


def gaps(traces: Traces) -> Row:
    """The report's `gaps`, with all items."""
    hosts = [of_host(gaps_report, trace, all_gaps=True) for trace in traces]
    items = in_session_steps((host["items"] for host in hosts), traces)
    return {
        "count": len(items),
        "total_ps": sum(row["idle_ps"] for row in devices(traces)),
        "listed_ps": sum(gap["duration_ps"] for gap in items),
        "by_class_ps": by_class(gap["by_class_ps"] for gap in items),
        "by_kind_ps": {
            kind: sum(gap["duration_ps"] for gap in items if gap["kind"] == kind)
            for kind in ("starved", "queued", "unknown")
        },
        "items": sorted(items, key=lambda gap: -gap["duration_ps"]),
        "patterns": patterns(traces, hosts),
    }


def patterns(traces: Traces, hosts: Rows) -> Rows:
    """The gaps between two programs, or inside the runs of one. Their time in whole steps is that of each host's
    table, per step and core of its host."""
    names = ("before", "after", "inside_run")
    cores = [len(of_host(step_idle_report, trace)["devices"]) for trace in traces]
    step_count = sum(len(of_host(steps_report, trace)) for trace, n in zip(traces, cores, strict=True) if n)
    groups: dict[Any, Rows] = {}
    for gap in (gap for host in hosts for gap in host["items"]):
        groups.setdefault(tuple(gap[name] for name in names), []).append(gap)
    rows: Rows = []
    for key, items in groups.items():
        in_steps = [
            (row["in_steps_ps"], n)
            for host, n in zip(hosts, cores, strict=True)
            for row in host["patterns"]
            if tuple(row[name] for name in names) == key
        ]
        per_core = sum((Fraction(ps, max(1, n)) for ps, n in in_steps), Fraction())
        by_cause = by_class({gap["cause"]: gap["duration_ps"]} for gap in items)
        total_ps = sum(gap["duration_ps"] for gap in items)
        rows.append(
            dict(zip(names, key, strict=True))
            | {
                "count": len(items),
                "total_ps": total_ps,
                "mean_ps": total_ps // len(items),
                "in_steps_ps": sum(ps for ps, _ in in_steps),
                "per_step_ps": per_core // step_count if step_count else None,
                "min_ps": min(gap["duration_ps"] for gap in items),
                "max_ps": max(gap["duration_ps"] for gap in items),
                "cause": next(name for name, ps in by_cause.items() if ps == max(by_cause.values())),
                "by_cause_ps": by_cause,
                "queued_ps": sum(gap["duration_ps"] for gap in items if gap["kind"] == "queued"),
                "by_class_ps": by_class(gap["by_class_ps"] for gap in items),
            }
        )
    return sorted(rows, key=lambda row: (-row["total_ps"], *(str(row[name]) for name in names)))


def propagation(traces: Traces) -> Row:
    """The report's `propagation`."""
    hosts = [of_host(propagation_report, trace)["propagation"] for trace in traces]
    ops = [of_host(scoped_ops, trace) for trace in traces]
    by_program: dict[tuple[str, str], Rows] = {}
    for row in (row for host in hosts for row in host["programs"]):
        by_program.setdefault((row["program"], row["program_id"]), []).append(row)
    program_rows = [
        {
            "program": program,
            "program_id": program_id,
            "executions": sum(row["executions"] for row in rows),
            "device_ps": sum(row["device_ps"] for row in rows),
            "runs": repeated_median((row["runs"], row["executions"]) for row in rows),
            "phases": repeated_median((row["phases"], row["executions"]) for row in rows),
            "inversion_share": mean_share([(row["inversion_share"], row["device_ps"]) for row in rows]),
        }
        for (program, program_id), rows in by_program.items()
    ]
    program_rows.sort(key=lambda row: (-row["device_ps"], row["program"], row["program_id"]))
    main = program_rows[0] if program_rows else {"runs": 0, "phases": 0, "inversion_share": 0.0}

    def table(name: str, *keys: str) -> Rows:
        return summed_rows((row for host in ops for row in host[name]), *keys, order_by="device_ps")

    return {
        **{
            name: sum(host[name] for host in hosts)
            for name in ("device_ps", "direct_ps", "recovered_ps", "bare_ps", "none_ps")
        },
        **{name: main[name] for name in ("runs", "phases", "inversion_share")},
        "programs": program_rows,
        "unannotated_ops": table("unannotated_ops", "op", "source", "state"),
        "shared_ops": table("shared_ops", "op", "name", "source", "parts", "unscoped_share"),
        "lines": table("lines", "source", "path"),
    }


def mean_share(shares: list[tuple[float, int]]) -> float:
    """The mean of shares, weighted; 0 without any weight."""
    weight = sum(weight for _, weight in shares)
    return float(sum(Fraction(share) * weight for share, weight in shares) / weight) if weight else 0.0


def annotation_rows(traces: Traces) -> Rows:
    """The report's `annotations`: below each path the paths inside it, in the order of the first host that has them."""
    by_path: dict[str, Rows] = {}
    for row in (row for trace in traces for row in of_host(propagation_report, trace)["annotations"]):
        by_path.setdefault(row["path"], []).append(row)
    children: dict[str | None, list[str]] = {}
    for path in by_path:
        around = (outer for outer in by_path if path.startswith(f"{outer}/"))
        children.setdefault(max(around, key=len, default=None), []).append(path)

    def below(path: str | None) -> list[str]:
        return [found for child in children.get(path, []) for found in (child, *below(child))]

    return [annotation(by_path[path]) for path in below(None)]


def annotation(rows: Rows) -> Row:
    device_ps = sum(row["device_ps"] for row in rows)
    reasons = [row["lost"] for row in rows if row["lost"]]
    return {
        "path": rows[0]["path"],
        "kind": rows[0]["kind"],
        "thread": next((row["thread"] for row in rows if row["thread"]), None),
        **{name: sum(row[name] for row in rows) for name in ("count", "host_ps")},
        "device_ps": device_ps,
        **{name: sum(row[name] for row in rows) for name in ("device_ops", "executions")},
        "programs": sorted({program for row in rows for program in row["programs"]}),
        "lost": reasons[0] if reasons and not device_ps else None,
    }


KEYS: dict[str, Callable[[Traces], Any]] = {
    "devices": devices,
    "steps": steps,
    "gaps": gaps,
    "executions": executions,
    "programs": programs,
    "launching": launching,
    "early_executions": early_executions,
    "compiles": compiles,
    "transfers": transfers,
    "collectives": collectives,
    "annotations": annotation_rows,
    "memory": memory,
    "propagation": propagation,
}
"""The keys of the report that are expected as they are. Of `step_idle`, means are rounded (`check_step_idle`)."""
