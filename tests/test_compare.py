"""The comparison of two sessions: its figures equal those of their reports, and differences that may be chance are
marked."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from captures import Core, capture, comparison_document, real_trace, session, thread
from launching import US, Tpu, demo
from loops import LAUNCH, STEP, loop
from synthetic import dynamo_issue

from tb_xla_insights.compare.document import comparison_view
from tb_xla_insights.compare.sentences import step_chance_text
from tb_xla_insights.compare.significance import StepSample
from tb_xla_insights.compare.step import default_step_view
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.execution_views import executions
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.trace.model import SessionTrace


def measure(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in document["measures"] if row["name"] == name)


def plain(text: str | None) -> str:
    return (text or "").replace("\u202f", " ")


def steps_of(*lengths: float, start: float = 0, first: int = 5) -> SessionTrace:
    """A session with steps of these lengths in us; each launches once, and the device works for 100 us."""
    tpu = Tpu()
    for number, length in enumerate(lengths):
        tpu.step(start, length, first + number)
        tpu.launch(start + 10, (start + 20, 20), (start + 50, 100), by="marker")
        start += length
    return session(tpu.trace())


def two_cores(by: str) -> SessionTrace:
    """A session in whose steps one program runs on both cores for 100 us, then another one on the first for 40 us."""
    tpu = Tpu()
    for number in range(6):
        start = 1000 * number
        tpu.step(start, 1000, number)
        tpu.launch(start + 10, (start + 20, 20), (start + 50, 100), program="both(7)", by=by, cores=(0, 1))
        tpu.launch(start + 300, (start + 310, 20), (start + 350, 40), program="one(8)", by=by)
    return session(tpu.trace())


class TestSteps:
    def test_a_faster_session(self) -> None:
        document = comparison_document(steps_of(*[1000, 1010] * 6), steps_of(*[800, 808] * 6))
        median = measure(document, "step_median")
        assert (median["a_ps"], median["b_ps"], median["difference_ps"]) == (1000 * US, 800 * US, -200 * US)
        assert (median["ratio"], median["verdict"]) == (0.8, "better")
        assert plain(document["verdict"]["text"]).startswith(
            "B’s steps are 1.25× faster at the median: 0.200 ms less per step."
        )
        assert plain(document["chance"]["text"]) == (
            "12 steps in A and 12 steps in B: chance alone causes such a difference of medians in < 0.1 % of the cases."
        )

    def test_a_slower_session(self) -> None:
        document = comparison_document(steps_of(*[800, 808] * 6), steps_of(*[1000, 1010] * 6))
        assert measure(document, "step_median")["verdict"] == "worse"
        assert "1.25× slower" in document["verdict"]["text"]

    def test_differences_below_three_percent_are_the_same(self) -> None:
        document = comparison_document(steps_of(1000, 1000, 1000), steps_of(1020, 1020, 1020))
        assert document["verdict"]["verdict"] == "same"

    def test_a_single_long_step_hides_no_difference(self) -> None:
        document = comparison_document(
            steps_of(*[1000, 1010] * 6), steps_of(800, 9000, 804, 806, 808, 810, 802)
        )
        assert document["verdict"]["verdict"] == "better"
        assert measure(document, "step_mean")["verdict"] == "chance"

    def test_varying_steps_may_differ_by_chance(self) -> None:
        document = comparison_document(steps_of(1000, 1100, 1300, 1200), steps_of(1050, 1400, 1250, 1150))
        assert plain(document["verdict"]["text"]) == (
            "B’s steps cannot be distinguished from A’s: 1.15 ms against 1.10 ms at the median may be chance."
        )
        assert (document["verdict"]["verdict"], document["chance"]["share"]) == ("chance", 0.2 / 1.1)
        assert document["chance"]["p"] == 48 / 70
        assert plain(document["chance"]["text"]) == (
            "4 steps in A and 4 steps in B: chance alone causes such a difference of medians in 68.6 % of the cases; "
            "differences up to 18.2 % may be chance."
        )

    def test_three_steps_in_each_session_are_too_few(self) -> None:
        document = comparison_document(steps_of(1000, 1001, 1002), steps_of(5000, 5001, 5002))
        assert plain(document["verdict"]["text"]) == (
            "B’s steps take 5.00 ms against 1.00 ms at the median (5.00×); chance cannot be ruled out with so few "
            "steps."
        )
        assert {row["verdict"] for row in document["measures"]} == {"few", "same", None}

    def test_idle_time_of_varying_steps_may_differ_by_chance(self) -> None:
        document = comparison_document(steps_of(*[1000, 3000] * 3), steps_of(*[900, 2700] * 3))
        assert [measure(document, name)["verdict"] for name in ("step_mean", "idle_per_step")] == [
            "chance"
        ] * 2
        faster = comparison_document(steps_of(*[1000, 1100] * 3), steps_of(*[500, 550] * 3))
        assert measure(faster, "idle_per_step")["verdict"] == "better"

    def test_one_step_has_an_unknown_spread(self) -> None:
        document = comparison_document(steps_of(1000), steps_of(*[500] * 12))
        assert document["chance"] == {
            "measure": "step_median",
            "p": None,
            "share": None,
            "text": "1\u202fstep in A and 12\u202fsteps in B: too few to distinguish a difference from chance; "
            "capture at least 4 of each.",
        }

    def test_steps_are_matched_by_number(self) -> None:
        rows = comparison_document(steps_of(100, 200, 300, first=5), steps_of(111, 222, first=6))["steps"]
        assert (rows["paired_by"], rows["only_a"], rows["only_b"]) == ("number", 1, 0)
        assert [(row["a_number"], row["a_ps"] // US, row["b_ps"] // US) for row in rows["rows"]] == [
            (6, 200, 111),
            (7, 300, 222),
        ]

    def test_steps_without_common_numbers_are_matched_in_order(self) -> None:
        rows = comparison_document(steps_of(100, 200, 300), steps_of(111, 222, first=90))["steps"]
        assert (rows["paired_by"], [row["b_number"] for row in rows["rows"]]) == ("order", [90, 91])

    def test_steps_of_several_hosts_with_one_number_are_matched_in_their_order(self) -> None:
        several_hosts = session(*steps_of(100, 200).traces, *steps_of(300, 400).traces)
        rows = comparison_document(several_hosts, several_hosts)["steps"]
        assert (rows["only_a"], rows["only_b"]) == (0, 0)
        assert [(row["a"], row["b"], row["a_number"]) for row in rows["rows"]] == [
            (0, 0, 5), (1, 1, 6), (2, 2, 5), (3, 3, 6),
        ]  # fmt: skip

    def test_a_session_without_gaps_has_no_idle_time_of_any_class(self) -> None:
        tpu = Tpu()
        for number, start in enumerate((0, 1000, 2000), 5):
            tpu.step(start, 1000, number)
            tpu.launch(start + 1, (start + 2, 3), (start, 1000), by="marker")
        gaps = comparison_document(steps_of(1000, 1000), session(tpu.trace()))["gaps"]
        assert gaps["idle"]["b_ps"] == 0
        assert {row["b_ps"] for row in gaps["classes"]} == {0}

    def test_a_session_without_steps(self) -> None:
        stepless = session(capture(thread("python", ("forward", 0, 10)), Core([("dot", 2, 3)])))
        document = comparison_document(stepless, steps_of(1000, 1000))
        assert document["verdict"]["text"].startswith("A has no steps")
        assert (document["chance"]["text"], document["steps"]["paired_by"]) == (None, None)
        assert measure(document, "step_mean")["ratio"] is None
        known_ps = [row["b_ps"] for row in document["classes"]]
        assert sum(known_ps) == measure(document, "step_mean")["b_ps"]
        assert known_ps == sorted(known_ps, reverse=True)
        for row in document["classes"]:
            assert (row["a_ps"], row["difference_ps"], row["ratio"]) == (None, None, None)
        assert default_step_view(SessionView(stepless)) is None


@pytest.fixture(scope="module")
def early_item() -> Any:
    return comparison_document(session(demo("torch_xla_baseline")), session(demo("torch_xla_early_item")))


class TestSums:
    def test_classes_add_up_to_the_mean_step(self, early_item: dict[str, Any]) -> None:
        mean = measure(early_item, "step_mean")
        for key in ("a_ps", "b_ps", "difference_ps"):
            assert sum(row[key] for row in early_item["classes"]) == mean[key]

    def test_classes_add_up_to_a_mean_step_of_half_a_picosecond(self) -> None:
        document = comparison_document(steps_of(200, 200.000001), steps_of(200, 200))
        mean = measure(document, "step_mean")
        assert sum(row["a_ps"] for row in document["classes"]) == mean["a_ps"] == 200 * US + 1

    def test_idle_time_adds_up(self, early_item: dict[str, Any]) -> None:
        gaps = early_item["gaps"]
        for key in ("a_ps", "b_ps"):
            total = sum(row[key] for row in gaps["classes"]) + gaps["small"][key]
            assert abs(total - gaps["idle"][key]) <= len(gaps["classes"])  # picoseconds, from rounding

    def test_programs_have_the_totals_of_the_report(self, early_item: dict[str, Any]) -> None:
        for letter, name in (("a", "torch_xla_baseline"), ("b", "torch_xla_early_item")):
            report = session_report(session(demo(name)))
            rows = [row[letter] for row in early_item["programs"] if row[letter]]
            for key in ("launches", "count", "host_ps", "device_ps", "queue_ps", "overhead_ps"):
                assert sum(row[key] for row in rows) == sum(row[key] for row in report["executions"])

    def test_a_session_does_not_differ_from_itself(self) -> None:
        baseline = session(demo("torch_xla_baseline"))
        document = comparison_document(baseline, baseline)
        assert {row["verdict"] for row in document["measures"]} <= {"same", None}
        assert {row["ratio"] for row in document["measures"]} <= {1.0, None}
        assert {row["match"] for row in document["programs"]} == {"name"}
        assert all(row["host"]["difference_ps"] == 0 for row in document["annotations"])
        assert document["lazy_dynamo"] is None


def test_a_single_compilation_is_reported_but_does_not_decide_the_verdict() -> None:
    """One of six steps in B compiles for 1.8 s; the others are like those of A."""
    document = comparison_document(
        session(demo("torch_xla_baseline")), session(demo("torch_xla_dynamic_shapes"))
    )
    [row] = [class_row for class_row in document["classes"] if class_row["class"] == "compile"]
    assert (row["a_ps"], row["verdict"]) == (0, "chance")
    assert document["verdict"]["verdict"] == "chance"
    assert plain(document["verdict"]["text"]) == (
        "B’s steps cannot be distinguished from A’s: 12.5 ms against 13.2 ms at the median may be chance; "
        "but B compiled in 1 of 6 steps, for 1.79 s."
    )
    assert plain(document["chance"]["text"]).endswith(
        " B compiled in 1 of 6 steps (1.79 s); this counts in the means, but not in the test of medians."
    )


def test_too_few_steps_without_a_compilation_are_named_as_such() -> None:
    """Two of five steps compile; the other three are too few."""
    durations = [1000] * 5
    a: Any = SimpleNamespace(
        steps=durations, sample=StepSample(durations, range(5)), rare_compile_times_ps=[US, US]
    )
    b: Any = SimpleNamespace(**vars(a) | {"rare_compile_times_ps": []})
    assert plain(step_chance_text(a, b, {"p": None})) == (
        "5 steps in A and 5 steps in B: too few to distinguish a difference from chance; capture at least 4 of each "
        "without a compilation. A compiled in 2 of 5 steps (2.00 µs); this counts in the means, but not in the test of "
        "medians."
    )


def test_work_of_cut_steps_belongs_to_no_step() -> None:
    """The same loop, but the capture of B continues after the last step and contains another launch."""
    shorter, longer = loop(), loop()
    longer.on_main("forward", 4 * STEP, 100)
    longer.launch(4 * STEP + LAUNCH, (4 * STEP + LAUNCH + 10, 20), (4 * STEP + LAUNCH + 50, 500))
    document = comparison_document(session(shorter.trace()), session(longer.trace()))
    assert document["b"]["totals"]["executions"]["launches"] == 5
    executions = measure(document, "executions_per_step")
    assert (executions["a"], executions["b"]) == (1, 1)


def test_programs_that_differ_only_in_their_number_are_matched_if_unique() -> None:
    def session_of(*programs: str) -> SessionTrace:
        tpu = Tpu()
        for number, program in enumerate(programs):
            at = number * 100
            tpu.launch(at, (at + 10, 20), (at + 40, 30), program=f"{program}({number})")
        return session(tpu.trace())

    document = comparison_document(
        session_of("train.12", "eval.7", "same"), session_of("train.13", "eval.8", "eval.9", "same")
    )
    matches = {row["program"]: (row["program_b"], row["match"]) for row in document["programs"]}
    assert matches == {
        "train.12": ("train.13", "base"),
        "eval.7": (None, None),
        "eval.8": ("eval.8", None),
        "eval.9": ("eval.9", None),
        "same": ("same", "name"),
    }


@pytest.fixture(scope="module")
def issue() -> Any:
    return comparison_document(
        session(demo("synthetic_dynamo_issue_dynamo")), session(demo("synthetic_dynamo_issue_lazy"))
    )


class TestLazyAgainstDynamo:
    def test_the_times_of_a_step(self, issue: dict[str, Any]) -> None:
        tables, truth = issue["lazy_dynamo"], dynamo_issue.truth("lazy")
        assert (tables["lazy"], tables["dynamo"]) == ("b", "a")
        lazy, dynamo = tables["step"]["b"], tables["step"]["a"]
        assert (lazy["tracing_ps"], lazy["device_ps"], lazy["wall_ps"]) == (
            truth.tracing_ps,
            truth.device_ps,
            truth.step_ps,
        )
        assert (lazy["executions"], dynamo["executions"]) == (1, 5)
        assert dynamo["wall_ps"] == dynamo_issue.truth("dynamo").step_ps == 52_600_000_000
        assert round(tables["speedup"]["wall"], 2) == 0.74

    def test_executions_in_the_order_of_the_device(self, issue: dict[str, Any]) -> None:
        rows = issue["lazy_dynamo"]["executions"]["a"]
        truth = dynamo_issue.truth("dynamo").executions
        keys = ("host_ps", "device_ps", "overhead_ps")
        assert [tuple(row[key] for key in keys) for row in rows] == [
            (times.host_ps, times.device_ps, times.overhead_ps) for times in truth
        ]

    def test_idle_time_between_programs(self, issue: dict[str, Any]) -> None:
        means = {row["mean_ps"] for row in issue["lazy_dynamo"]["between"]["a"]}
        assert means == {ps for _, _, ps in dynamo_issue.truth("dynamo").gaps_ps}

    def test_a_program_on_one_of_two_cores(self) -> None:
        """Its time per step and core is half of a run's; the number of its launches does not depend on its cores."""
        document = comparison_document(two_cores("marker"), two_cores("dynamo"))
        step = document["lazy_dynamo"]["step"]["a"]
        assert (step["executions"], step["device_ps"]) == (2, (100 * 2 + 40) * US // 2)
        per_step = {row["program"]: row["per_step"] for row in document["lazy_dynamo"]["executions"]["a"]}
        assert per_step == {"both": 1, "one": 1}
        view: Any = executions(SessionView(two_cores("marker")))
        overhead_ps = sum(row["overhead_ps"] * row["per_step"] / row["count"] for row in view["executions"])
        assert measure(document, "overhead_per_step")["a_ps"] == round(overhead_ps)

    def test_launches_between_annotations_count_in_the_step_before(self) -> None:
        """The last one is after the last step."""
        lazy, dynamo = Tpu(), Tpu()
        for start in range(0, 9000, 1500):
            for tpu, by in ((lazy, "marker"), (dynamo, "dynamo")):
                tpu.step(start, 1000, start // 1500)
                tpu.launch(start + 10, (start + 20, 20), (start + 50, 200), by=by)
                tpu.launch(start + 1050, (start + 1060, 20), (start + 1100, 40), program="test(9)", by=by)
        document = comparison_document(session(lazy.trace()), session(dynamo.trace()))
        for rows in document["lazy_dynamo"]["executions"].values():
            assert {row["program"]: row["per_step"] for row in rows} == {"train": 1, "test": 5 / 6}
        for step in document["lazy_dynamo"]["step"].values():
            assert step["device_ps"] == round((6 * 200 + 5 * 40) * US / 6)

    def test_short_runs_outside_of_the_steps_do_not_shorten_those_inside(self) -> None:
        """A warm-up, or an evaluation, launches other programs before or after the loop."""
        loop, with_others = Tpu(), Tpu()
        for start in range(2000, 8000, 1000):
            for tpu, by in ((loop, "dynamo"), (with_others, "marker")):
                tpu.step(start, 1000, start // 1000)
                tpu.launch(start + 10, (start + 20, 20), (start + 50, 200), by=by)
        for start in (*range(0, 2000, 100), *range(8000, 10_000, 100)):
            with_others.launch(start, (start + 10, 5), (start + 20, 10), program="warm_up(9)")
        document = comparison_document(session(loop.trace()), session(with_others.trace()))
        steps = document["lazy_dynamo"]["step"]
        assert steps["a"]["device_ps"] == steps["b"]["device_ps"] == 200 * US
        overhead = measure(document, "overhead_per_step")
        assert overhead["a_ps"] == overhead["b_ps"]

    def test_totals_of_real_captures(self, shared_traces: Path) -> None:
        names = ("lazy_train_session", "dynamo_train_session")
        traces = [session(real_trace(shared_traces / "torch_xla" / name)) for name in names]
        document = comparison_document(traces[0], traces[1])
        executions = measure(document, "executions_per_step")
        assert (executions["a"], executions["b"]) == (1, 4)
        assert (document["lazy_dynamo"]["lazy"], document["lazy_dynamo"]["dynamo"]) == ("a", "b")
        report: Any
        for letter, trace in zip("ab", traces, strict=True):
            report, totals = session_report(trace), document[letter]["totals"]
            for key in ("span_ps", "busy_ps", "idle_ps"):
                assert totals["devices"][key] == sum(row[key] for row in report["devices"])
            for key in ("host_ps", "device_ps", "queue_ps", "overhead_ps", "launches", "count"):
                assert totals["executions"][key] == sum(row[key] for row in report["executions"])
            assert totals["steps"]["duration_ps"] == sum(row["duration_ps"] for row in report["steps"])
            assert totals["gaps"]["by_class_ps"] == report["gaps"]["by_class_ps"]
            rows = document["lazy_dynamo"]["executions"][letter]
            assert sum(row["count"] for row in rows) == totals["executions"]["count"]


def test_what_a_predicted_stands_beside_what_b_measured() -> None:
    slow, baseline = (session(demo(f"torch_xla_{name}")) for name in ("slow_input", "baseline"))
    [row] = comparison_document(slow, baseline)["predictions"]
    a, b = (SessionView(side).report for side in (slow, baseline))
    finding = a["findings"][row["number"] - 1]
    assert (row["id"], row["title"]) == ("input_bound", finding["title"])
    assert row["best_ps"] == finding["step_if_fixed_ps"]  # no step has a cost that happened once
    assert row["worst_ps"] == finding["step_if_fixed_at_worst_ps"]
    assert (row["a_ps"], row["b_ps"]) == (a["mistakes"]["usual_step_ps"], b["mistakes"]["usual_step_ps"])
    assert "tracing_bound" in {finding["id"] for finding in a["findings"]}, "B has this one as well"


@pytest.mark.parametrize(
    "names",
    [
        ("torch_xla_dynamic_shapes", "torch_xla_baseline"),  # its compilation happened once
        ("synthetic_case_study_8_tpu_cores", "torch_xla_baseline"),  # another setup
    ],
)
def test_nothing_is_predicted_of_what_happened_once_and_of_another_setup(names: tuple[str, str]) -> None:
    assert comparison_document(*(session(demo(name)) for name in names))["predictions"] == []


def test_the_default_step_is_on_one_axis() -> None:
    step = default_step_view(SessionView(session(demo("synthetic_case_study_8_tpu_cores"))))
    assert step is not None
    end = step["start_ps"] + step["duration_ps"]
    assert [phase["name"] for phase in step["phases"]] == [
        "data_loading",
        "forward",
        "backward",
        "FINISH_UPDATE",
    ]
    at = step["start_ps"]
    for piece in step["host"]:
        assert piece["start_ps"] == at
        at += piece["duration_ps"]
    assert at == end
    [before, own], [gap] = step["runs"], step["gaps"]
    assert (before["is_own"], own["is_own"]) == (False, True)
    assert before["start_ps"] + before["duration_ps"] == gap["start_ps"]
    assert gap["cause"] == "tracing"
    # The step launches its run at its end.
    assert end <= own["start_ps"] == gap["start_ps"] + gap["duration_ps"]
    assert not step["is_cut"]


def test_a_step_says_whether_it_has_more_phases_than_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_xla_insights.compare.step._MAX_ROWS", 2)
    step = default_step_view(SessionView(session(demo("synthetic_case_study_8_tpu_cores"))))
    assert step is not None
    assert (len(step["phases"]), step["is_cut"]) == (2, True)


def test_the_view_is_small() -> None:
    """Under 60 kB compressed, however many programs there are."""
    tpu = Tpu()
    for number in range(600):
        tpu.launch(
            number * 100, (number * 100 + 10, 20), (number * 100 + 40, 30), program=f"p{number}.x({number})"
        )
    view = comparison_view(
        SessionView(session(demo("synthetic_case_study_8_tpu_cores"))), SessionView(session(tpu.trace()))
    )
    assert len(gzip.compress(json.dumps(view, allow_nan=False).encode())) < 60_000
    assert (len(view["programs"]), view["row_counts"]["programs"]) == (200, 600 + 4)  # of B and A
    assert view["step"]["a"]
    assert view["step"]["a"]["number"] == 1208
    assert view["step"]["b"] is None


def test_the_phases_of_steps_inside_another_annotation() -> None:
    def epoch(*phases: str) -> SessionTrace:
        events: list[tuple[Any, ...]] = [("epoch", 0, 2000 * US)]
        for number in range(2):
            start = number * 1000 * US
            events.append(("Training_Step", start, 900 * US, {"_r": 1, "step_num": number}))
            events += [(name, start + (10 + 200 * index) * US, 100 * US) for index, name in enumerate(phases)]
        return session(capture(thread("python", *events)))

    before, after = epoch("data/load", "forward"), epoch("data/load", "backward")
    document = comparison_document(before, after)
    assert [row["path"].removeprefix("epoch/Training_Step/") for row in document["annotations"] if row["phase"]] == [
        "data/load", "forward", "backward",
    ]  # fmt: skip
    step = default_step_view(SessionView(before))
    assert step is not None
    assert [phase["name"] for phase in step["phases"]] == ["data/load", "forward"]


def test_other_devices_are_named_and_only_then() -> None:
    """A host is missing in B, or its steps use fewer cores."""
    one_host = steps_of(*[1000, 1010] * 3)
    two_hosts = session(*one_host.traces, *steps_of(*[1000, 1010] * 3).traces)
    text = comparison_document(two_hosts, one_host)["verdict"]["text"]
    assert text.endswith(
        " The setups differ: A is PyTorch/XLA · PJRT · 2 TPU cores, B PyTorch/XLA · PJRT · 1 TPU core."
    )
    text = comparison_document(two_cores("marker"), one_host)["verdict"]["text"]
    assert "A is PyTorch/XLA · PJRT · 2 TPU cores, B PyTorch/XLA · PJRT · 1 TPU core." in text
    assert "setups" not in comparison_document(two_hosts, two_hosts)["verdict"]["text"]


def test_a_session_compared_with_another_frameworks_names_both(shared_traces: Path) -> None:
    jax, torch_xla = (
        session(real_trace(shared_traces / folder)) for folder in ("pairs/jx_pytree_good", "pairs/tx_gc_good")
    )
    text = comparison_document(jax, torch_xla)["verdict"]["text"]
    assert "The setups differ: A is JAX · PJRT · " in text
    assert ", B PyTorch/XLA · PJRT · " in text
    assert "work without an annotation (new)" not in text
