"""Merged findings and diagnostics of many hosts, with the texts of one of them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from build import trace_of
from captures import capture, thread
from helpers import small_space
from merging import NO_COLLECTIVES, Row, merged

from tb_xla_insights.analysis.findings import Finding, Findings, ShownWindow
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.report.host_document import host_report
from tb_xla_insights.report.host_summary import HostSummary, summarise
from tb_xla_insights.report.merge import ReportMerger
from tb_xla_insights.schema.findings import Mistakes
from tb_xla_insights.text.english import Sentence, sentences


def with_findings(
    host: str, *gains: tuple[str, float], steps: int = 4, device_bound: bool = False
) -> HostSummary:
    """A host with steps of 100 ps whose findings have the given gains."""
    document: Any
    document, _, _ = host_report(capture(thread("python")), "session", "run/session")
    document["session"]["hosts"] = [{"name": host, "file": f"{host}.pb", "bytes": 1, "events": 1}]
    step = {
        "host": host,
        "start_ps": 0,
        "duration_ps": 100,
        "name": "train",
        "source": "annotation",
        "number": None,
    }
    document["steps"] = [step | {"index": index, "host_ps": {}} for index in range(steps)]
    device = {
        "kind": "tpu",
        "span_ps": 400,
        "busy_ps": 200,
        "idle_ps": 200,
        "stall_ps": 0,
        "modules": 9,
        "ops": 1,
    }
    device |= {"duty": {"capture": {}}}
    document["devices"] = [device]
    mean = 100 if steps else None
    found = [
        Finding(
            id_, f"{id_} of {host}", id_, sentences(f"evidence of {host}"), "Change it.", 10, {}, [ShownWindow(1, 2)],
            "every_step", gain=gain, gain_at_worst=0.0, step_if_fixed_ps=round(100 * (1 - gain)),
            step_if_fixed_at_worst_ps=100, where="in_step",
        )
        for id_, gain in gains
    ]  # fmt: skip
    if device_bound:
        found.append(Finding("device_bound", "t", "b", sentences("d"), "a", 0, {}))
    fixed = round(100 * (1 - sum(gain for id_, gain in gains if id_ != "tracing_bound")))
    mistakes: Mistakes = {
        "count": len(gains), "step_ps": mean, "usual_step_ps": mean, "step_if_fixed_ps": fixed,
        "step_without_limit_ps": fixed - 10, "gain": 1 - fixed / 100,
    }  # fmt: skip
    collectives = dataclasses.replace(
        NO_COLLECTIVES, step_numbers=np.full(steps, -1), step_work_ps=np.zeros((steps, 0), np.int64)
    )
    return HostSummary(host, 1_700_000_000_000_000_000, document, Findings(found, mistakes), [], collectives)


def findings_by_id(*summaries: HostSummary) -> dict[str, Row]:
    return {row["id"]: row for row in merged(summaries)["findings"]}


class TestFindings:
    def test_a_finding_of_most_hosts_has_the_texts_of_the_median_host(self) -> None:
        finding = findings_by_id(
            *(with_findings(f"w-{n}", ("early_sync", gain)) for n, gain in enumerate((0.1, 0.5, 0.3)))
        )["early_sync"]
        assert finding["title"] == "early_sync of w-2"
        assert finding["detail"] == "Evidence of w-2 (w-2, the median of 3 hosts)."
        assert finding["gain"] == pytest.approx(0.3)
        assert finding["step_if_fixed_ps"] == 70
        assert finding["cost_ps"] == 30
        assert finding["severity"] == ("critical" if finding["gain"] >= 0.3 else "warning")

    def test_a_finding_of_few_hosts_has_the_texts_of_the_worst_host(self) -> None:
        hosts = [with_findings(f"w-{n}") for n in range(6)]
        hosts += [with_findings("w-6", ("early_sync", 0.4)), with_findings("w-7", ("early_sync", 0.2))]
        finding = findings_by_id(*hosts)["early_sync"]
        assert finding["detail"] == "Evidence of w-6 (w-6, the worst of 2 hosts that have it, of 8)."
        assert finding["brief"] == "early_sync on 2 of 8 hosts"
        assert finding["gain"] == pytest.approx(0.6 / 8)
        assert finding["step_if_fixed_ps"] == round((6 * 100 + 60 + 80) / 8)
        assert finding["severity"] == "info"
        assert finding["evidence"] == {
            "hosts": 2, "of_hosts": 8, "host": "w-6", "host_names": ["w-6", "w-7"],
        }  # fmt: skip

    def test_one_host_alone_is_named(self) -> None:
        finding = findings_by_id(with_findings("w-0"), with_findings("w-1", ("early_sync", 0.4)))[
            "early_sync"
        ]
        assert finding["detail"] == "On w-1 alone, of 2 hosts: evidence of w-1."
        assert finding["brief"] == "early_sync on w-1"

    def test_hosts_with_the_same_name_are_distinct(self) -> None:
        finding = findings_by_id(
            with_findings("w", ("early_sync", 0.4)),
            with_findings("w", ("early_sync", 0.2)),
            with_findings("w"),
        )["early_sync"]
        assert finding["gain"] == pytest.approx(0.2)
        assert finding["evidence"]["hosts"] == 2

    def test_hosts_are_weighted_by_the_time_of_their_steps(self) -> None:
        many, few = with_findings("a", ("early_sync", 0.4), steps=9), with_findings("b", steps=1)
        finding = findings_by_id(many, few)["early_sync"]
        assert finding["gain"] == pytest.approx(0.36)
        assert finding["step_if_fixed_ps"] == 64

    def test_a_gain_is_a_share_of_the_mean_step(self) -> None:
        slow, fast = with_findings("a", ("early_sync", 0.5)), with_findings("b")
        for step in fast.document["steps"]:
            step["duration_ps"] = 20
        fast.findings.mistakes.update({"step_ps": 20, "usual_step_ps": 20, "step_if_fixed_ps": 20})
        finding = findings_by_id(slow, fast)["early_sync"]
        assert (finding["step_ps"], finding["step_if_fixed_ps"]) == (60, 35)
        assert finding["gain"] == pytest.approx((60 - 35) / 60)

    def test_windows_are_on_the_sessions_time_base(self) -> None:
        first = with_findings("b", ("early_sync", 0.4))
        later = dataclasses.replace(first, base_unix_ns=first.base_unix_ns + 3)
        (window,) = findings_by_id(with_findings("a"), later)["early_sync"]["windows"]
        assert window == {"start_ps": 3001, "end_ps": 3002, "device": None}

    def test_removing_a_limit_of_few_hosts_shortens_only_their_steps(self) -> None:
        hosts = [with_findings("a", ("tracing_bound", 0.2)), with_findings("b")]
        assert merged(hosts)["mistakes"]["step_without_limit_ps"] == 95

    def test_an_irrelevant_limit_of_one_host_is_removed(self) -> None:
        first = with_findings("a", ("tracing_bound", 0.0))
        [limit] = first.findings.found
        findings = dataclasses.replace(first.findings, found=[dataclasses.replace(limit, cost_ps=30)])
        hosts = [
            dataclasses.replace(first, findings=findings),
            *(with_findings(f"w-{n}") for n in range(9)),
        ]
        assert "tracing_bound" in findings_by_id(*hosts[:2])
        assert "tracing_bound" not in findings_by_id(*hosts)

    def test_the_devices_are_the_bottleneck_if_they_are_on_nearly_all_hosts_and_no_host_has_a_mistake(
        self,
    ) -> None:
        bound = [with_findings(f"w-{n}", device_bound=True) for n in range(10)]
        assert "device_bound" in findings_by_id(*bound)
        assert "device_bound" in findings_by_id(*bound[1:], with_findings("w-0"))
        assert "device_bound" not in findings_by_id(*bound, with_findings("w-10"), with_findings("w-11"))
        assert "device_bound" not in findings_by_id(*bound, with_findings("w-10", ("early_sync", 0.2)))


def merged_diagnostics(*diagnostics: tuple[str, str], variant: str | None = None) -> list[Row]:
    """The merged diagnostics of hosts with one diagnostic each, given as (host, message)."""
    summaries = (
        dataclasses.replace(
            with_findings(host),
            diagnostics=[Diagnostic("partial_steps", "info", message, variant=variant)],
        )
        for host, message in diagnostics
    )
    rows: list[Row] = merged(summaries)["diagnostics"]
    return rows


class TestDiagnostics:
    def test_a_diagnostic_of_one_host_names_it(self) -> None:
        assert merged_diagnostics(("a", "1 step is cut."), ("b", "It is whole."))[0] == {
            "id": "partial_steps", "severity": "info", "message": "1 step is cut.", "host": "a",
        }  # fmt: skip

    def test_equal_diagnostics_of_many_hosts_are_merged(self) -> None:
        rows = merged_diagnostics(*((f"w-{n}", "2 steps are cut.") for n in range(5)), ("w-5", "Other."))
        assert rows[0]["message"] == "2 steps are cut. (on 5 of 6 hosts)"
        assert rows[0]["hosts"] == 5
        assert "host" not in rows[0]
        rows = merged_diagnostics(("a", "2 steps are cut."), ("b", "2 steps are cut."))
        assert [row["message"] for row in rows] == ["2 steps are cut. (on both hosts)"]

    def test_diagnostics_of_one_variant_are_merged(self) -> None:
        rows = merged_diagnostics(("w-10", "7 steps are cut."), ("w-9", "12 steps are cut."), variant="")
        assert [row["message"] for row in rows] == [
            "12 steps are cut. (on both hosts; the numbers are those of w-9)"
        ]

    def test_hosts_that_could_not_be_read_come_first(self) -> None:
        merger = ReportMerger("session", "run/session")
        merger.add(with_findings("a"))
        merger.add_diagnostic(Diagnostic("skipped_host", "warning", "b.pb: cut", "b"))
        assert merger.document()["diagnostics"][0]["id"] == "skipped_host"

    def test_hosts_that_run_something_else_are_reported(self) -> None:
        hosts = [with_findings(f"w-{n}") for n in range(4)]
        hosts[2].document["steps"] = [step | {"name": "eval"} for step in hosts[2].document["steps"]]
        (row,) = (
            diagnostic for diagnostic in merged(hosts)["diagnostics"] if diagnostic["id"] == "hosts_differ"
        )
        assert row["message"].startswith(
            "1 host of 4 runs different work than the others (w-2: 4 steps eval; the others: 4 steps train)"
        )

    @pytest.mark.parametrize("program", ["SyncTensorsGraph.1", "evaluate.1"])
    def test_a_host_without_step_annotations_does_the_same_work(self, program: str) -> None:
        """Its steps come from the step markers. With another program, it does other work."""
        without_steps = small_space(steps=4)
        (thread,) = without_steps.planes[0].lines
        thread.events = [event for event in thread.events if "_r" not in event.stats]
        without_steps.planes[1].event_metadata("SyncTensorsGraph.1").name = program
        summaries = [
            summarise(trace_of(space.to_bytes(), host), "session", "run/session")
            for host, space in {"a": small_space(), "b": small_space(), "c": without_steps}.items()
        ]
        for hosts, count in ((summaries, 3), (summaries[1:], 2)):
            (row,) = (row for row in merged(hosts)["diagnostics"] if row["id"] == "hosts_differ")
            if program == "evaluate.1":
                assert "different work" in row["message"]
                continue
            assert row["severity"] == "info"
            assert row["message"].startswith(
                f"1 host of {count} has steps from another source than the others (c: step markers; the others: "
                "annotations), "
            )

    @pytest.mark.parametrize(
        ("program", "steps", "first", "hosts_text"),
        [
            (
                "evaluate.1",
                4,
                "1 host of 4 runs different work than the others (d: ",
                "the 3 that run the same work",
            ),
            ("SyncTensorsGraph.1", 8, "1 host of 4 has another number of steps (d 8; the others 4)", "4"),
        ],
    )
    def test_sources_of_steps_are_named_after_hosts_that_differ(
        self, program: str, steps: int, first: str, hosts_text: str
    ) -> None:
        spaces = {"a": small_space(steps=4), "b": small_space(steps=4), "c": small_space(steps=4)}
        spaces["d"] = small_space(steps=steps)
        (thread,) = spaces["c"].planes[0].lines
        thread.events = [event for event in thread.events if "_r" not in event.stats]
        spaces["d"].planes[1].event_metadata("SyncTensorsGraph.1").name = program
        hosts = [
            summarise(trace_of(space.to_bytes(), host), "session", "run/session")
            for host, space in spaces.items()
        ]
        (row,) = (row for row in merged(hosts)["diagnostics"] if row["id"] == "hosts_differ")
        assert row["message"].startswith(first)
        assert row["message"].endswith(
            f" 1 host of {hosts_text} has steps from another source than the others (c: step markers; the others: "
            "annotations), which may begin and end at other instants: means over all steps mix them. Annotate the "
            "steps on all hosts."
        )

    def test_a_host_without_device_work_is_not_said_to_run_something_else(self) -> None:
        without_device = small_space()
        without_device.planes = [plane for plane in without_device.planes if "device" not in plane.name]
        spaces = {"a": small_space(), "b": small_space(), "c": without_device}
        hosts = [
            summarise(trace_of(space.to_bytes(), host), "session", "run/session")
            for host, space in spaces.items()
        ]
        assert not any(row["id"] == "hosts_differ" for row in merged(hosts)["diagnostics"])

    @pytest.mark.parametrize(
        ("count", "hosts_text"),
        [(2, "Both hosts run different work"), (5, "Each of 5 hosts runs different work")],
    )
    def test_hosts_that_all_run_something_else_have_no_majority(self, count: int, hosts_text: str) -> None:
        hosts = [with_findings(f"w-{n}") for n in range(count)]
        for host, name in zip(hosts, "abcde", strict=False):
            host.document["steps"] = [step | {"name": name} for step in host.document["steps"]]
        (row,) = (
            diagnostic for diagnostic in merged(hosts)["diagnostics"] if diagnostic["id"] == "hosts_differ"
        )
        assert row["message"].startswith(hosts_text)
        assert "the others" not in row["message"]

    @pytest.mark.parametrize(("steps", "differs"), [(4, False), (6, False), (7, True), (1, True), (0, False)])
    def test_numbers_of_steps_may_differ_by_those_that_edges_cut(self, steps: int, differs: bool) -> None:
        hosts = [with_findings("a"), with_findings("b"), with_findings("c", steps=steps)]
        assert any(row["id"] == "hosts_differ" for row in merged(hosts)["diagnostics"]) == differs


def test_a_sentence_begins_with_a_capital_letter_unless_it_is_a_names() -> None:
    assert str(Sentence("the device idles")) == "The device idles."
    assert (
        str(Sentence("torch.compile runs 3 graphs", begins_with_name=True)) == "torch.compile runs 3 graphs."
    )
    assert str(Sentence("the device idles", lead="on w-3")) == "On w-3: the device idles."
