"""Condensed tables of many devices, hosts and steps, as text and as a page."""

from __future__ import annotations

import functools
import io
import re
from pathlib import Path
from typing import Any

import pytest
from captures import CATALOG, session
from report_texts import section_text
from rich.console import Console
from synthetic.__main__ import LOGDIR
from test_html import Page, plain

from tb_xla_insights.cli.main import main
from tb_xla_insights.cli.report_text import print_report
from tb_xla_insights.cli.window_condensed import condense_threads, print_many_devices
from tb_xla_insights.cli.window_condensed import split_hosts as split_window_hosts
from tb_xla_insights.files.open import open_source
from tb_xla_insights.html.page import report_html
from tb_xla_insights.report.condensed import (
    CONDENSED_FROM,
    MAX_NAMED_GROUPS,
    MAX_NAMED_HOSTS,
    condensed_device_rows,
    mean_device_row,
    split_devices,
    split_hosts,
    steps_across_hosts,
)
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.host_rows import listed_hosts
from tb_xla_insights.sections.overview import devices
from tb_xla_insights.tables.devices import HOSTS
from tb_xla_insights.trace.build import build_session
from tb_xla_insights.trace.model import SessionTrace, Trace
from tb_xla_insights.trace.read_trace import read_trace

Row = dict[str, Any]
FILES = sorted((Path(LOGDIR) / "synthetic_pod_16_hosts").rglob("*.xplane.pb"))


def pod() -> SessionTrace:
    traces = []
    for file in FILES:
        with open_source(str(file)) as source:
            traces.append(read_trace(source, CATALOG, host=file.name.split(".")[0]))
    return build_session("pod", "run/pod", traces, [])


@functools.cache
def report() -> Any:
    return session_report(pod())


def device(host: int, core: int, busy_ps: int) -> Row:
    busy = {"span_ps": 1000, "busy_ps": busy_ps, "stall_ps": 10}
    return {"name": f"TPU:{core}", "host": f"w-{host}", "duty": {"ops": busy}}


class TestDevices:
    def test_cores_of_a_host_with_equal_duty_cycles_are_one_row(self) -> None:
        devices = [device(host, core, 600 if host == 5 else 990) for host in range(16) for core in range(4)]
        (low,), rest = split_devices(devices, "ops")
        assert (low.names, low.host, low.duty_cycle, low.busy_ps) == (
            ["TPU:0", "TPU:1", "TPU:2", "TPU:3"], "w-5", 0.6, 600,
        )  # fmt: skip
        assert rest is not None
        assert (len(rest.names), rest.duty_cycle) == (60, 0.99)
        assert mean_device_row(devices, "ops")["duty_cycle"] == (60 * 0.99 + 4 * 0.6) / 64

    def test_a_range_has_no_device_of_another_row(self) -> None:
        devices = [device(0, core, 600 if core in (0, 2, 5) else 990) for core in range(8)]
        names = [row["name"] for row in condensed_device_rows(devices, "ops")]
        assert names == ["TPU:0 and 2 others", "5 others", "mean of 8 cores"]

    def test_similar_devices_are_not_named(self) -> None:
        named, rest = split_devices([device(host, 0, 900 + host) for host in range(20)], "ops")
        assert named == []
        assert rest is not None
        assert len(rest.names) == 20

    def test_devices_with_the_lowest_duty_cycles_are_named(self) -> None:
        devices = [device(host, 0, 900) for host in range(20)]
        devices += [device(30 + host, 0, 100 * host) for host in range(MAX_NAMED_GROUPS + 1)]
        named, rest = split_devices(devices, "ops")
        assert [group.host for group in named] == [f"w-{30 + host}" for host in range(MAX_NAMED_GROUPS)]
        assert rest is not None
        assert len(rest.names) == 21

    def test_a_device_without_work_has_the_lowest_duty_cycle(self) -> None:
        idle = device(9, 0, 0)
        idle["duty"]["ops"] = dict.fromkeys(("span_ps", "busy_ps", "stall_ps"), 0)
        named, _ = split_devices([*(device(host, 0, 900) for host in range(20)), idle], "ops")
        assert [(group.host, group.duty_cycle) for group in named] == [("w-9", 0.0)]


class TestHosts:
    def test_few_hosts_are_all_named(self) -> None:
        hosts: list[Row] = [{"name": f"w-{n}", "others_wait_ps": n} for n in range(CONDENSED_FROM - 1)]
        assert split_hosts(hosts) == (hosts, [])

    def test_hosts_that_others_wait_for_are_named(self) -> None:
        hosts: list[Row] = [{"name": f"w-{n}", "others_wait_ps": 1} for n in range(CONDENSED_FROM)]
        hosts[3]["others_wait_ps"], hosts[5]["others_wait_ps"] = 500, 900
        named, rest = split_hosts(hosts)
        assert [row["name"] for row in named] == ["w-5", "w-3"]
        assert len(rest) == CONDENSED_FROM - 2

    def test_the_number_of_named_hosts_is_limited(self) -> None:
        hosts: list[Row] = [{"name": f"w-{n}", "others_wait_ps": 1} for n in range(40)]
        assert len(split_hosts(hosts)[0]) == MAX_NAMED_HOSTS

    def test_without_waiting_no_host_is_named(self) -> None:
        hosts: list[Row] = [{"name": f"w-{n}", "others_wait_ps": None} for n in range(CONDENSED_FROM)]
        assert split_hosts(hosts) == ([], hosts)

    def test_many_hosts_that_are_not_compared_are_one_row_without_waiting(self) -> None:
        host = {"steps": 3, "step_ps": 5, "others_wait_ps": None, "last_share": None, "difference": None}
        (row,) = listed_hosts([host | {"name": f"w-{n}"} for n in range(CONDENSED_FROM)])
        assert (row["name"], row["steps"], row["others_wait_ps"]) == (f"{CONDENSED_FROM} hosts", 3, None)

    def test_hosts_without_steps_do_not_lower_the_median(self) -> None:
        times = [None] * (CONDENSED_FROM - 3) + [5, 6, 7]
        rows = [{"name": "w", "steps": step and 3, "step_ps": step, "others_wait_ps": None} for step in times]
        (row,) = listed_hosts([row | {"steps": row["steps"] or 0} for row in rows])
        assert (row["steps"], row["step_ps"]) == (3, 6)


def test_steps_of_all_hosts_are_grouped_by_number() -> None:
    steps = [
        {"name": f"train#{number}", "number": number, "host": host, "index": index, "duration_ps": time}
        for index, (host, number, time) in enumerate(
            (("a", 1, 5), ("a", 2, 6), ("b", 1, 9), ("b", 2, 7), ("c", 2, 8))
        )
    ]
    first, second = steps_across_hosts(steps)
    assert (first.name, first.number, first.hosts, first.median_ps, first.longest["host"]) == (
        "train",
        1,
        2,
        5,
        "b",
    )
    assert (second.number, second.hosts, second.median_ps, second.longest["host"]) == (2, 3, 7, "c")


def test_steps_without_numbers_are_grouped_by_index() -> None:
    steps = [
        {"name": "m", "number": None, "host": host, "index": index, "duration_ps": 1}
        for index, host in enumerate("aabb")
    ]
    assert [(row.number, row.hosts) for row in steps_across_hosts(steps)] == [(0, 2), (1, 2)]


def test_repeated_numbers_are_several_steps_and_all_are_in_order() -> None:
    steps = [
        {"name": "m", "number": number, "host": host, "index": index, "duration_ps": 1}
        for index, (host, number) in enumerate((("a", 2), ("a", 3), ("a", 2), ("b", 1), ("b", 2), ("b", 2)))
    ]
    rows = [(row.number, row.hosts) for row in steps_across_hosts(steps)]
    assert rows == [(1, 1), (2, 2), (3, 1), (2, 2)]


def text_of(document: Row) -> str:
    out = Console(file=io.StringIO(), width=100_000, highlight=False, markup=False, emoji=False)
    print_report(out, document)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue().replace("\u202f", " ")


class TestPod:
    """Sixteen hosts of four cores; one host loads slowly."""

    def test_the_late_host_is_the_first_mistake(self) -> None:
        first, *_ = report()["findings"]
        assert first["id"] == "straggler"
        assert first["kind"] == "mistake"
        assert "w-5" in first["title"]
        assert report()["mistakes"]["step_if_fixed_ps"] == first["step_if_fixed_ps"]
        verdict = report()["verdict"]
        assert verdict["headline"].endswith("; mostly they wait for t1v-n-7f-w-5.")
        assert (verdict["cause"], verdict["fix"]) == ("straggler", "straggler")

    def test_the_cause_of_lateness_is_not_a_separate_finding(self) -> None:
        """The other hosts' devices look busy while they wait, so the idle time in the late host's loading is 1 % of the
        devices' spans."""
        first, *rest = report()["findings"]
        repeated = first["evidence"]["repeated_findings"]
        assert set(repeated) == {"input_bound", "tracing_bound", "dispatch_overhead"}
        assert [row["id"] for row in rest] == ["device_waits"]
        assert report()["mistakes"]["count"] == 1
        pipeline = report()["input_pipeline"]
        assert (pipeline["verdict"], pipeline["late_hosts"]) == ("bound", ["t1v-n-7f-w-5"])
        assert pipeline["share"] < 0.03

    def test_waiting_for_the_late_host_is_not_a_cost_of_the_collectives(self) -> None:
        exposed = sum(row["exposed_ps"] for row in report()["collectives"])
        (limit,) = (row for row in report()["findings"] if row["id"] == "device_waits")
        assert limit["cost_ps"] < exposed / 4
        assert limit["detail"].endswith(" of that is waiting for others.")

    def test_idle_time_per_step_and_core_is_the_mean_over_hosts(self) -> None:
        merged = report()["step_idle"]
        rows: list[Any] = [session_report(session(trace))["step_idle"] for trace in pod().traces]
        assert len({row["steps"] for row in rows}) == 1
        for name in ("work_ps", "idle_ps"):
            assert merged[name] == pytest.approx(sum(row[name] for row in rows) / len(rows), abs=len(rows))

    def test_text_names_the_devices_with_low_duty_cycles(self) -> None:
        text = text_of(report())
        assert re.search(r"TPU:0 to TPU:3 +t1v-n-7f-w-5 +60\.7 %", text)
        assert "60 others" in text
        assert text.count("TPU:3") < 10

    def test_text_lists_all_of_a_few_hosts(self) -> None:
        text = text_of(report())
        table = text[text.index("Hosts side by side") :].split("\n\n")[0]
        assert table.count("t1v-n-7f-w-") == 16
        assert "input, 38.0 ms a step longer" in table
        assert "Others wait, ms" in table

    def test_the_page_has_the_same_table(self) -> None:
        text = text_of(report())
        _, heads, _, *lines = text[text.index("Hosts side by side") :].split("\n\n")[0].splitlines()
        page = Page(report_html(report()))
        shown = [[plain(cell) for cell in row if cell] for row in page.rows["Hosts side by side"]]
        assert shown == [re.split(r"\s{3,}", line.strip()) for line in (heads, *lines)]

    def test_the_sentence_about_a_gap_names_its_host(self) -> None:
        assert "Nothing was queued: t1v-n-7f-w-" in report_html(report())

    def test_hosts_that_are_not_compared_have_milliseconds_as_units(self) -> None:
        rows = [row | {"others_wait_ps": None} for row in report()["hosts"]]
        assert HOSTS.time_units(rows)["others_wait_ps"] == "ms"

    def test_loading_that_holds_up_other_hosts_is_not_called_hidden(self) -> None:
        """The other hosts' devices are not idle: they wait in collectives."""
        assert "Loading on t1v-n-7f-w-5 holds up the other hosts, whose devices look busy: " in text_of(
            report()
        )

    def test_a_window_names_the_late_host_and_sums_up_the_others(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = ["window", str(FILES[0].parent), "--start-ms", "100", "--end-ms", "200"]
        assert main(arguments) == 0
        text = capsys.readouterr().out.replace("\u202f", " ")
        assert len(text.encode()) < 10_000
        assert "What t1v-n-7f-w-5 did" in text
        assert "What 15 other hosts did, by class" in text
        assert re.search(r"TPU:0 to TPU:3 +t1v-n-7f-w-5 +61\.", text)
        assert re.search(r"60 others, median +99\.", text)
        assert main([*arguments, "--all"]) == 0
        assert capsys.readouterr().out.count("TPU:3") == 16

    def test_text_of_many_hosts_is_condensed(self) -> None:
        document: Any = session_report(build_session("pod", "run/pod", traces_of_hosts(CONDENSED_FROM), []))
        assert len(document["hosts"]) == CONDENSED_FROM
        text = text_of(document)
        steps = document["hosts"][0]["steps"]
        assert f"\n{steps} steps of {CONDENSED_FROM} hosts, mean " in text
        for title in ("Hosts side by side", "Steps (", "Hosts ("):
            table = text[text.index(title) :].split("\n\n")[0]
            assert table.count("\n") < CONDENSED_FROM, title
        page = report_html(document)
        assert f"for each step number, the longest of {CONDENSED_FROM} hosts" in page


@pytest.mark.parametrize("low", [0, 1])
def test_the_title_speaks_of_low_duty_cycles_only_if_devices_are_named(low: int) -> None:
    rows = [device(host, 0, 400 if host < low else 900) for host in range(20)]
    text = section_text(devices, {"devices": rows})
    assert ("below the median" in text) == ("19 others" in text) == (low > 0)
    assert "Devices (20 cores" in text
    assert "mean of 20 cores" in text


class TestWindowDevices:
    """The table of a window's devices: 0 to 19 of host `w-0`, busy for 900 of 1000 ps unless stated otherwise."""

    def print(self, busy_ps: dict[int, int]) -> str:
        devices = [
            {
                "id": f"w-0/TPU:{core}",
                "name": f"TPU:{core}",
                "host": "w-0",
                "busy_ps": busy_ps.get(core, 900),
                "idle_ps": 1000 - busy_ps.get(core, 900),
                "stall_ps": 0,
                "modules": 1,
                "ops": 1,
                "top_ops": [],
            }
            for core in range(20)
        ]
        out = Console(file=io.StringIO(), width=200)
        print_many_devices(out, devices, 1000, "ns")
        assert isinstance(out.file, io.StringIO)
        return out.file.getvalue()

    def test_one_device_that_differs_from_all_others_of_its_host_is_named(self) -> None:
        text = self.print({19: 100})
        assert re.search(r"TPU:19 +w-0 +0\.100", text)
        assert re.search(r"19 others, median +0\.900", text)

    def test_time_beyond_the_spans_of_devices_has_a_column(self) -> None:
        assert "Before or after" not in self.print({})
        out = Console(file=io.StringIO(), width=200)
        row = {
            "host": "w-0",
            "busy_ps": 600,
            "idle_ps": 100,
            "stall_ps": 0,
            "modules": 1,
            "ops": 1,
            "top_ops": [],
        }
        devices = [{**row, "id": f"w-0/TPU:{core}", "name": f"TPU:{core}"} for core in range(20)]
        print_many_devices(out, devices, 1000, "ns")
        assert isinstance(out.file, io.StringIO)
        assert re.search(r"20 devices, median +0\.600 +0\.100 +0\.300 +0\.000", out.file.getvalue())

    def test_devices_that_are_not_neighbours_are_no_range(self) -> None:
        assert re.search(r"TPU:3 and 1 other +w-0 +0\.100", self.print({3: 100, 9: 100}))
        assert re.search(r"TPU:3 and 2 others +w-0 +0\.100", self.print({3: 100, 9: 100, 10: 100}))
        assert re.search(r"TPU:3 to TPU:5 +w-0 +0\.100", self.print({3: 100, 4: 100, 5: 100}))

    def test_one_other_device(self) -> None:
        text = self.print(dict.fromkeys(range(9), 100) | {9: 500})
        assert re.search(r"1 other, median +0\.500", text)
        assert "is busy for the least time" not in text


def test_each_of_a_few_hosts_has_a_table() -> None:
    answer: Row = {"hosts": [{"host": "w-0", "by_class_ps": {"wait": 1000}}], "duration_ps": 1000}
    assert split_window_hosts(answer) == (answer["hosts"], [])


def test_threads_of_one_other_host_are_all_listed() -> None:
    threads = [{"name": "pool", "role": "other", "host": "w-1", "busy_ps": busy} for busy in (1, 2, 3)]
    assert condense_threads(threads, [{"host": "w-0"}]) == threads


def traces_of_hosts(count: int) -> list[Trace]:
    """Traces of `count` hosts, all from the first host's capture."""
    traces = []
    for number in range(count):
        with open_source(str(FILES[0])) as source:
            traces.append(read_trace(source, CATALOG, host=f"w-{number}"))
    return traces
