"""The merged report of many hosts, compared with sums over their traces and with copies of one host."""

from __future__ import annotations

import dataclasses
import functools
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import brute_merge
import pytest
from captures import CATALOG, capture, session, thread
from launching import demo
from merging import Row, merged, renamed
from test_report_random import any_gpus, any_session

from tb_xla_insights.analysis.launches.executions import TIME_COLUMNS
from tb_xla_insights.columns.merge import MergedTable
from tb_xla_insights.columns.shift import shifted
from tb_xla_insights.columns.weighted import weighted_mean, weighted_median
from tb_xla_insights.files.open import open_source
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.host_document import host_report
from tb_xla_insights.report.host_summary import HostSummary, summarise
from tb_xla_insights.report.merge import ReportMerger
from tb_xla_insights.report.merge.sections import shifted_finding
from tb_xla_insights.report.merge.small_keys import merge_compiles
from tb_xla_insights.schema.launches import Program
from tb_xla_insights.schema.report import HostReport
from tb_xla_insights.text.host_order import natural_key
from tb_xla_insights.trace.model import SessionTrace, Trace
from tb_xla_insights.trace.read_trace import read_trace

SEEDS = range(15)


def summaries_of(merged_session: SessionTrace, **options: Any) -> list[HostSummary]:
    return [
        summarise(trace, merged_session.name, merged_session.path, **options)
        for trace in merged_session.traces
    ]


def random_hosts(seed: int) -> SessionTrace:
    """Two to four hosts with random events, whose captures start 10 us after each other."""
    pick = random.Random(seed)
    make = pick.choice((any_session, any_gpus))
    traces = [renamed(make(pick).traces[0], f"w-{host}") for host in range(pick.choice((2, 3, 4)))]
    for number, trace in enumerate(traces):
        trace.base_unix_ns = 1_700_000_000_000_000_000 + 10_000 * number
    return session(*traces)


@functools.cache
def summaries_of_seed(seed: int) -> list[HostSummary]:
    return summaries_of(random_hosts(seed))


def test_hosts_are_ordered_by_the_numbers_in_their_names() -> None:
    names = ["w-10", "w-2", "a", "w-2-b", "w-1", "10", "9"]
    assert sorted(names, key=natural_key) == ["9", "10", "a", "w-1", "w-2", "w-2-b", "w-10"]


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        ([(0.5, 1), (1.0, 3)], 0.875),
        ([(None, 1), (1.0, 1)], 0.5),
        ([(None, 3)], None),
        ([(1.0, 0)], None),
        ([], None),
    ],
)
def test_means_are_weighted(values: list[tuple[float | None, int]], mean: float | None) -> None:
    assert weighted_mean(values) == mean


def test_a_weighted_median_counts_values_by_their_weight() -> None:
    for seed in SEEDS:
        pick = random.Random(seed)
        values = [(pick.randint(0, 9), pick.randint(0, 4)) for _ in range(5)] + [(3, 1)]
        repeated = sorted(value for value, weight in values for _ in range(weight))
        assert weighted_median(values) == repeated[(len(repeated) - 1) // 2]


@pytest.mark.parametrize("seed", SEEDS)
def test_one_host_has_its_own_report(seed: int) -> None:
    single_host = session(random_hosts(seed).traces[0])
    report: Any = session_report(single_host)
    assert report == merged(summaries_of(single_host))
    expected: Any
    expected, findings, _ = host_report(single_host.traces[0], single_host.name, single_host.path)
    assert report.keys() - expected.keys() == {"findings", "mistakes", "hosts", "verdict"}
    if not any(row["id"] == "straggler" for row in report["findings"]):
        expected |= findings.as_json()
    assert {name: report[name] for name in expected} == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_all_instants_of_a_report_shift_with_its_trace(seed: int) -> None:
    """Every instant in a host's document is declared as one."""
    later = 30_000_000
    (first,) = summaries_of(session(random_hosts(seed).traces[0]), all_gaps=True)
    trace = random_hosts(seed).traces[0]
    trace.shift(later)
    (second,) = summaries_of(session(trace), all_gaps=True)
    expected: Any = shifted(HostReport, first.document, later)
    expected["session"] |= {
        name: second.document["session"][name] for name in ("start_unix_ns", "duration_ps")
    }
    for device, later_device in zip(expected["devices"], second.document["devices"], strict=True):
        device["duty"]["capture"] = later_device["duty"]["capture"]  # of the session, whose duration differs
    assert second.document == expected
    assert second.findings.found == [shifted_finding(finding, later) for finding in first.findings.found]
    assert (first.base_unix_ns - second.base_unix_ns) * 1000 == later


@pytest.mark.parametrize("seed", SEEDS)
def test_hosts_may_be_added_in_any_order_and_in_groups(seed: int) -> None:
    """A report of the first hosts, made before the others arrive, changes nothing."""
    summaries, pick = summaries_of_seed(seed), random.Random(seed)
    expected = merged(summaries)
    merger, in_group = ReportMerger("session", "run/session"), []
    for summary in pick.sample(summaries, len(summaries)):
        merger.add(summary)
        in_group.append(summary)
        if pick.random() < 0.5:
            assert merger.document() == merged(in_group)
    assert merger.document() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_are_those_over_all_hosts(seed: int) -> None:
    check_sums(summaries_of_seed(seed), random_hosts(seed))


def test_sums_are_those_over_hosts_with_real_runs() -> None:
    """What random hosts lack: early executions, and steps and programs that hosts share."""

    def hosts() -> SessionTrace:
        names = ("torch_xla_early_item", "torch_xla_early_item", "torch_xla_dynamo_graph_break")
        traces = [renamed(demo(name), f"w-{number}") for number, name in enumerate(names)]
        for number, trace in enumerate(traces):
            trace.base_unix_ns += 10_000 * number
        return session(*traces)

    summaries = summaries_of(hosts())
    assert any(summary.document["early_executions"] for summary in summaries)
    check_sums(summaries, hosts())


def test_sums_are_those_over_hosts_with_sizes_of_transfers() -> None:
    """Random transfers have no size. Here one host records it for each, one for some, one for none."""

    def transfers(number: int, *sizes: int | None) -> Trace:
        events = (
            ("TransferToDevice", 10 * index, 5, {} if size is None else {"total_size": size})
            for index, size in enumerate(sizes)
        )
        return capture(thread("python", ("Training_Step", 0, 18, {"_r": 1}), *events), host=f"w-{number}")

    def hosts() -> SessionTrace:
        return session(transfers(0, 3, 7), transfers(1, None, 11, None), transfers(2, None))

    summaries = summaries_of(hosts())
    assert merged(summaries)["transfers"]["to_device"]["bytes"] == 21
    check_sums(summaries, hosts())


def check_sums(summaries: Sequence[HostSummary], hosts: SessionTrace) -> None:
    """Checks the report that is merged from summaries, in the order of the hosts, which are shifted in place."""
    report = merged(summaries)
    traces = brute_merge.on_one_time_base(hosts)
    assert merged(summaries_of(session(*traces))) == report
    assert report["session"]["duration_ps"] == brute_merge.duration_ps(traces)
    assert report["session"]["start_unix_ns"] == str(min(trace.base_unix_ns for trace in traces))
    assert [host["name"] for host in report["session"]["hosts"]] == [trace.host for trace in traces]
    gaps = [gap for summary in summaries for gap in summary.document["gaps"]["items"]]
    gaps.sort(key=lambda gap: -gap["duration_ps"])
    items = report["gaps"]["items"]
    assert [gap["by_finding_ps"] for gap in items] == [gap["by_finding_ps"] for gap in gaps]
    report["gaps"] |= {"items": [gap | {"by_finding_ps": {}} for gap in items]}
    for key, brute_force in brute_merge.KEYS.items():
        assert report[key] == brute_force(traces), key
    brute_merge.check_step_idle(report["step_idle"], traces)


@pytest.mark.parametrize("seed", SEEDS)
def test_two_copies_double_the_sums_and_keep_the_means(seed: int) -> None:
    trace = random_hosts(seed).traces[0]
    single: Any = session_report(session(trace))
    two: Any = session_report(session(renamed(trace, "w-0"), renamed(trace, "w-1")))
    for name in ("count", "total_ps", "listed_ps"):
        assert two["gaps"][name] == 2 * single["gaps"][name]
    assert two["gaps"]["by_class_ps"] == {name: 2 * ps for name, ps in single["gaps"]["by_class_ps"].items()}
    assert len(two["steps"]) == 2 * len(single["steps"])
    for name in ("step_ps", "median_ps", "work_ps", "stall_ps", "idle_ps", "by_class_ps", "small_ps"):
        assert two["step_idle"][name] == single["step_idle"][name], name
    for row, counterpart in zip(two["gaps"]["patterns"], single["gaps"]["patterns"], strict=True):
        assert row["per_step_ps"] == counterpart["per_step_ps"]
    for name in two["transfers"]:
        assert two["transfers"][name]["per_step"] == single["transfers"][name]["per_step"]
    for name in ("kind", "share", "load_hidden", "send_hidden", "verdict"):
        assert two["input_pipeline"][name] == single["input_pipeline"][name], name
    if single["outside_span"]:
        assert two["outside_span"]["share"] == single["outside_span"]["share"]
    assert {row["id"]: row["cost_ps"] for row in two["findings"]} == {
        row["id"]: 2 * row["cost_ps"] for row in single["findings"]
    }
    for row in two["findings"]:
        counterpart = next(finding for finding in single["findings"] if finding["id"] == row["id"])
        for name in (
            "title",
            "brief",
            "advice",
            "severity",
            "recurs",
            "gain",
            "gain_at_worst",
            "kind",
            "step_ps",
        ):
            assert row[name] == counterpart[name], name
        assert row["step_if_fixed_ps"] == counterpart["step_if_fixed_ps"]
        assert row["evidence"]["hosts"] == row["evidence"]["of_hosts"] == 2
    assert two["mistakes"] == single["mistakes"]


@pytest.mark.parametrize(
    ("runs", "kind"),
    [
        ([("other", {"none": 5}), ("lazy", {"exact": 3})], "lazy"),
        ([("dynamo", {"none": 5, "exact": 1}), ("lazy", {"exact": 1, "ordered": 1})], "lazy"),
        ([("other", {"exact": 5}), ("lazy", {"exact": 3})], "other"),
        ([("other", {"none": 5}), ("other", {"none": 3})], "other"),
    ],
)
def test_the_kind_of_a_program_is_that_of_most_runs_with_a_known_launch(
    runs: list[tuple[str, dict[str, int]]], kind: str
) -> None:
    sums: Row = dict.fromkeys(TIME_COLUMNS, 0)
    spread = {column: {"min": 0, "median": 0, "max": 0} for column in TIME_COLUMNS}
    table = MergedTable(Program)
    for host, (kind_on_host, joins) in enumerate(runs):
        row: Any = {"program": "p", "program_ids": [], "kind": kind_on_host, "joins": joins, "spread": spread}
        table.add(host, [row | sums | {"launches": 0, "count": sum(joins.values()), "causes": []}])
    assert [row["kind"] for row in table.rows("device_ps")] == [kind]


def test_ranges_of_overhead_are_those_of_runs_whose_launch_is_known() -> None:
    """One host recorded no launches: only its device times count."""
    table = MergedTable(Program)
    for host, (join, times) in enumerate({"none": (0, 9), "exact": (5, 7)}.items()):
        spreads = (
            (column, dict.fromkeys(("min", "median", "max"), times[column == "device_ps"]))
            for column in TIME_COLUMNS
        )
        row: Any = dict.fromkeys((*TIME_COLUMNS, "launches", "count"), 3)
        row |= {"program": "p", "program_ids": [], "kind": "lazy", "joins": {join: 3}, "causes": []}
        table.add(host, [row | {"spread": dict(spreads)}])
    [merged_row] = table.rows("device_ps")
    assert merged_row["spread"]["overhead_ps"] == {"min": 5, "median": 5, "max": 5}
    assert merged_row["spread"]["device_ps"] == {"min": 7, "median": 7, "max": 9}


def test_no_more_gaps_are_held_than_listed() -> None:
    trace = next(
        candidate
        for candidate in map(random_hosts, SEEDS)
        if merged(summaries_of(candidate))["gaps"]["items"]
    ).traces[0]
    summary = summarise(trace, "session", "run")
    gap = summary.document["gaps"]["items"][0]
    summary.document["gaps"]["items"] = [gap | {"duration_ps": 2000 - number} for number in range(1000)]
    merger, complete = ReportMerger("session", "run"), ReportMerger("session", "run", all_gaps=True)
    for number in range(3):
        merger.add(dataclasses.replace(summary, host=f"w-{number}"))
        complete.add(dataclasses.replace(summary, host=f"w-{number}"))
        assert len(merger._gaps.items) == 1000
    assert [row["duration_ps"] for row in merger.document()["gaps"]["items"]] == [
        2000 - number // 3 for number in range(1000)
    ]
    assert len(complete.document()["gaps"]["items"]) == 3000


def test_compilations_of_one_module_are_merged_in_time_proportional_to_their_number() -> None:
    class CountedRow(dict[str, Any]):
        reads = 0

        def __getitem__(self, key: str) -> Any:
            CountedRow.reads += 1
            return super().__getitem__(key)

    def reads(count: int) -> int:
        CountedRow.reads = 0
        rows: list[Any] = [
            CountedRow(module="train", graph=str(n % 2), program_id=str(n % 2), start_ps=n)
            for n in range(count)
        ]
        programs: list[Any] = [{"program": "train", "program_ids": ["1", "2"]}]
        assert merge_compiles(rows, programs)[-1]["graphs_of_same_name"] == ["0", "train(2)"]
        return CountedRow.reads

    assert reads(200) == 2 * reads(100)


def test_the_comparison_is_cached_until_a_host_is_added() -> None:
    (summary,) = summaries_of(session(random_hosts(0).traces[0]))
    merger = ReportMerger("session", "run")
    assert merger.comparison is None
    merger.add(dataclasses.replace(summary, host="w-1"))
    first = merger.comparison
    merger.document()
    assert merger.comparison is first
    merger.add(dataclasses.replace(summary, host="w-0"))
    comparison = merger.comparison
    assert comparison is not None
    assert [host.name for host in comparison.hosts] == ["w-0", "w-1"]


def test_a_summary_can_be_pickled() -> None:
    (summary,) = summaries_of(session(random_hosts(0).traces[0]))
    received = pickle.loads(pickle.dumps(summary))
    assert received.document == summary.document
    assert merged([received]) == merged([summary])


@pytest.mark.parametrize("name", ["torch_xla_early_item", "torch_xla_dynamo_graph_break"])
def test_all_instants_of_a_real_report_shift(name: str) -> None:
    (first,) = (dict[str, Any](summary.document) for summary in summaries_of(session(demo(name))))
    trace = demo(name)
    trace.shift(7_000_000)
    (second,) = (dict[str, Any](summary.document) for summary in summaries_of(session(trace)))
    expected = shifted(HostReport, first, 7_000_000)
    for key in first.keys() - {"session", "devices", "step_idle"}:
        assert expected[key] == second[key], key


def test_real_hosts(shared_traces: Path) -> None:
    """The hosts of a real session, with all that only real captures have."""
    folder = shared_traces / "torch_xla" / "multihost_server_debug"
    (path,) = {capture_file.parent for capture_file in folder.rglob("*.xplane.pb")}

    def hosts() -> SessionTrace:
        return session(*(host_trace(file) for file in sorted(path.glob("*.xplane.pb"))))

    summaries = summaries_of(hosts())
    assert len(summaries) > 1
    check_sums(summaries, hosts())


def host_trace(file: Path) -> Trace:
    with open_source(str(file)) as source:
        return read_trace(source, CATALOG, host=file.name.removesuffix(".xplane.pb"))
