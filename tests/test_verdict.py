"""The verdict: its two sentences, and what it leaves open."""

from __future__ import annotations

from typing import Any

import pytest
from captures import Core, capture, session, thread
from launching import demo, event
from verdict_reports import MS, PLAIN, device, finding, outside_span, replayed, report_with, sentences

from tb_xla_insights.analysis.findings.worth import sort_rows
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.headline import MAX_LENGTH
from tb_xla_insights.report.verdict import verdict

BUILDING = "the host, which builds the graph"


def test_the_verdict_says_what_to_fix_what_sets_the_pace_then_and_what_happened_once() -> None:
    details = (
        "Fix first: a read inside forward in every step; that brings a step from 20.0 to 17.0 ms. "
        f"Then the pace is set by {BUILDING}; without it, a step would go from 17.0 to 8.0 ms. "
        "Once: a compilation in step 35 (4.00 ms)."
    )
    once = replayed(
        "recompilation", "a compilation in step 35", 0.1, recurs="once", waits_for="a compilation"
    )
    limit = replayed("tracing_bound", BUILDING, 0.5, kind="limit", waits_for=BUILDING, cost_ps=60)
    fix = replayed("early_sync", "a read inside forward in every step", 0.15, cost_ps=20)
    report = report_with(fix, limit, once)
    assert sentences(report) == (
        f"The TPU core works 50 % of the time; mostly it waits for {BUILDING}.",
        details,
    )
    result = verdict(report, {})
    assert (result["cause"], result["fix"], result["then"]) == (
        "tracing_bound",
        "early_sync",
        "tracing_bound",
    )
    assert result["text"] == f"{result['headline']} {result['details']}"
    assert result["severity"] == "warning"
    without_fix = sentences(report_with(limit | {"cost_ps": 20}, replayed("x", "a launch", 0.02)))
    assert (
        without_fix[1] == f"The pace is set by {BUILDING}; without it, a step would go from 20.0 to 10.0 ms."
    )


def test_what_some_steps_have_changes_the_mean_step() -> None:
    """10.1 ms may be the mean of steps of 2.7 and of 60 ms."""
    compiled = replayed("recompilation", "a compilation in steps 40 and 41", 0.15, recurs="some_steps")
    assert sentences(report_with(compiled))[1] == (
        "Fix first: a compilation in steps 40 and 41; that brings the mean step from 20.0 to 17.0 ms."
    )


def test_other_single_events_are_counted_whatever_they_are() -> None:
    compiled = replayed("recompilation", "a compilation in step 35", 0.1, recurs="once")
    read, pause = (replayed(id_, "x", 0.04, recurs="once") for id_ in ("early_sync", "host_pause"))
    once = "Once: a compilation in step 35 (4.00 ms) and"
    assert sentences(report_with(compiled, read))[1].endswith(f"{once} 1 other event.")
    assert sentences(report_with(compiled, read, pause))[1].endswith(f"{once} 2 other events.")


def test_what_the_headline_names_is_this_wait_directly_after_it() -> None:
    limit = replayed("tracing_bound", BUILDING, 0.5, kind="limit", waits_for=BUILDING, cost_ps=60)
    assert sentences(report_with(limit)) == (
        f"The TPU core works 50 % of the time; mostly it waits for {BUILDING}.",
        "The pace is set by this wait; without it, a step would go from 20.0 to 10.0 ms.",
    )


def test_the_pace_after_all_fixes_is_not_the_one_after_the_first() -> None:
    """The fix leaves 18 ms; without all mistakes a step takes 17 ms."""
    limit = replayed("tracing_bound", BUILDING, 0.5, kind="limit")
    first, second = replayed("early_sync", "a read", 0.1), replayed("transfer_bound", "a transfer", 0.05)
    assert sentences(report_with(first, second, limit))[1] == (
        "Fix first: a read; that brings a step from 20.0 to 18.0 ms. After all fixes the pace is set by "
        f"{BUILDING}; without it, a step would go from 17.0 to 8.0 ms."
    )


@pytest.mark.parametrize(
    ("work_ms", "stall_ps", "subject"),
    [
        (15, 0, "the device's own work. Next: time in all-reduce"),
        (15, 50, "time in all-reduce"),
        (14, 0, "time in all-reduce"),
        (18, 0, "time in all-reduce"),
    ],
)
def test_beside_a_device_that_computes_for_most_of_the_step_no_limit_sets_the_pace(
    work_ms: int, stall_ps: int, subject: str
) -> None:
    """Without the mistakes the step takes 17 ms. Stalls are half of the device's work, or none of it. If the work took
    longer, the fixes remove some of it."""
    report = report_with(
        replayed("early_sync", "a read inside forward", 0.15),
        replayed("device_waits", "time in all-reduce", 0.3, kind="limit"),
        devices=[device(stall_ps=stall_ps)],
    )
    report["step_idle"]["work_ps"] = work_ms * MS
    assert sentences(report)[1].endswith(
        f"Then the pace is set by {subject}; without it, a step would go from 17.0 to 8.0 ms."
    )


def test_an_uncertain_gain_is_told_at_best_with_its_condition() -> None:
    loading = replayed("input_bound", "loading in next_batch", 0.5, gain_at_worst=0.1)
    loading["best_if"] = "loading is fully hidden"
    assert sentences(report_with(loading))[1] == (
        "Fix first: loading in next_batch; that makes a step up to 50 % shorter (20.0 → 10.0 ms), if loading is fully "
        "hidden."
    )
    limit = replayed("tracing_bound", BUILDING, 0.5, gain_at_worst=0.1, kind="limit", cost_ps=1)
    assert sentences(report_with(limit))[1] == (
        f"The pace is set by {BUILDING}; without it, a step would go from 20.0 to 10.0 ms at best."
    )


def test_without_a_replay_a_gain_is_a_share_of_the_devices_time() -> None:
    text = sentences(report_with(finding("transfer_bound", "12 MB sent each step", 0.15)))[1]
    assert text == "Fix first: 12 MB sent each step; that costs 15 % of the devices' time."


@pytest.mark.parametrize("gain", [None, 0.0, 0.02])
def test_a_finding_without_a_significant_gain_is_not_named(gain: float | None) -> None:
    report = report_with(finding("sync_every_step", "a read", gain, cost_ps=0))
    assert sentences(report)[1] == ""
    assert verdict(report, {})["fix"] is None


@pytest.mark.parametrize(
    ("devices", "text"),
    [
        ([device()], "The TPU core works 50 % of the time; mostly it waits for"),
        ([device(kind="gpu")] * 2, "The 2 GPUs work 50 % of the time; mostly they wait for"),
        ([device(kind="cpu")], "The CPU (as XLA device) works 50 % of the time; mostly it waits for"),
        ([device()] * 4096, "The 4 096 TPU cores work 50 % of the time; mostly they wait for"),
        ([device(), device(kind="gpu")], "The 2 devices work 50 % of the time; mostly they wait for"),
        ([device(busy_ps=0, idle_ps=200)], "The TPU core works 0.0 % of the time; mostly it waits for"),
        (
            [device(busy_ps=200, idle_ps=0, stall_ps=198)],
            "The TPU core works 1.0 % of the time; mostly it waits",
        ),
    ],
)
def test_the_headline_calls_devices_what_they_are_and_waiting_no_work(
    devices: list[dict[str, Any]], text: str
) -> None:
    report = report_with(finding("a", "b", 0.4, cost_ps=100 * len(devices)), devices=devices)
    assert sentences(report)[0].startswith(text)


@pytest.mark.parametrize(
    ("cost", "by_class", "reason"),
    [
        (50, {"dispatch": 90}, "mostly it waits for x of a"),
        (30, {"dispatch": 60}, "above all it waits for x of a"),
        (30, {"dispatch": 61}, "mostly it waits for the host, which launches"),
        (20, {"dispatch": 40, "wait": 39}, "above all it waits for the host, which launches"),
        (20, {"dispatch": 24, "wait": 24}, "the rest has many causes"),
    ],
)
def test_the_reason_is_that_of_most_of_the_time_without_work(
    cost: int, by_class: dict[str, int], reason: str
) -> None:
    """A finding says more than a class of host time if it explains at least half of that."""
    report = report_with(finding("a", "b", 0.4, cost_ps=cost))
    report["gaps"]["by_class_ps"] = by_class
    assert sentences(report)[0] == f"The TPU core works 50 % of the time; {reason}."


def test_what_the_capture_does_not_show_is_not_ascribed_to_the_host() -> None:
    report = report_with()
    report["gaps"]["by_class_ps"] = {"unrecorded": 90}
    assert sentences(report)[0].endswith("; mostly it waits for something that the capture does not show.")


def test_a_finding_explains_at_most_what_its_fix_saves() -> None:
    """After a read inside a step, the device may wait for a graph that is built then with or without the read."""
    report = report_with(replayed("early_sync", "a read", 0.1, cost_ps=60, waits_for="a read"))
    steps_ps = 2 * 20 * MS
    report["devices"] = [device(span_ps=steps_ps, busy_ps=steps_ps // 2, idle_ps=steps_ps // 2)]
    report["gaps"]["by_class_ps"] = {"tracing": steps_ps // 3}
    for gain, reason in ((0.1, BUILDING), (0.2, "a read")):
        report["findings"][0] |= {"gain": gain, "gain_at_worst": gain, "cost_ps": steps_ps // 2}
        assert f"it waits for {reason}." in sentences(report)[0]


def test_of_the_time_in_collectives_only_stalls_are_waits() -> None:
    """A synchronous all-reduce is work of the device."""
    limit = finding("device_waits", "all-reduce", 0.4, kind="limit", cost_ps=90, waits_for="all-reduce")
    for stall_ps, reason in ((0, "as the host does"), (100, "for all-reduce")):
        report = report_with(limit, devices=[device(stall_ps=stall_ps)])
        assert sentences(report)[0].endswith(f"it waits {reason}.")


def test_idle_time_with_queued_work_is_not_ascribed_to_the_host() -> None:
    report = report_with()
    report["gaps"]["by_kind_ps"] = {"starved": 40, "queued": 60, "unknown": 0}
    assert sentences(report)[0].endswith(
        "; mostly it idles between programs, though the next is launched already."
    )
    report["gaps"]["patterns"] = [{"inside_run": True, "total_ps": 60}, {"inside_run": False, "total_ps": 30}]
    assert sentences(report)[0].endswith("; mostly it idles inside programs, between their ops.")


def test_a_long_headline_loses_the_number_of_devices_then_details_of_the_cause() -> None:
    cause = finding("recompilation", "b", 0.4, cost_ps=200, waits_for="a compilation in step 35")
    report = report_with(cause, devices=[device()] * 2)
    assert sentences(report)[0] == (
        "The TPU cores work 50 % of the time; mostly they wait for a compilation in step 35."
    )
    for waits_for, short in (
        ("compilations in steps 35 and 40", "compilations"),
        (f"the host, which {'x' * 90}", "the host"),
        ("the script, in execute: 8 reqs, 11 toks", "the script"),
    ):
        report["findings"][0]["waits_for"] = waits_for
        text, _ = sentences(report, short)
        assert text == f"The 2 TPU cores work 50 % of the time; mostly they wait for {short}."
    report["findings"][0]["waits_for"] = "x" * MAX_LENGTH
    assert sentences(report, "x" * MAX_LENGTH)[0] == "The 2 TPU cores work 50 % of the time."


def test_waiting_for_late_hosts_is_no_work() -> None:
    late = finding("straggler", "the late arrival of w-5", 0.4, cost_ps=120, waits_for="w-5")
    report = report_with(late, devices=[device(busy_ps=196, idle_ps=4)])
    assert sentences(report)[0] == "The TPU core works 38 % of the time; mostly it waits for w-5."
    # The waits of asynchronous collectives are stalls already.
    report["devices"] = [device(busy_ps=196, idle_ps=4, stall_ps=130)]
    assert sentences(report)[0].startswith("The TPU core works 33 % of the time")


def test_a_device_that_ran_once_has_no_share_of_its_time() -> None:
    """A kernel of 2 us in a capture of 8 ms: the device is busy for all of its span, and for next to nothing of the
    capture."""
    devices = [device(kind="gpu", span_ps=2_000_000, busy_ps=2_000_000, idle_ps=0, modules=1, ops=1)] * 2
    report = report_with(devices=devices, steps=[])
    assert sentences(report)[0] == "The 2 GPUs work for 2.00 µs each, too briefly to tell more."
    report["outside_span"] = outside_span(
        0.999,
        {"duration_ps": 5 * MS, "by_class_ps": {"dispatch": 9 * MS}},
        {"duration_ps": 3 * MS, "by_class_ps": {"dispatch": 5 * MS}},
    )
    assert sentences(report)[0] == (
        "Over 99 % of the capture is before the first and after the last run: the host launches."
    )


@pytest.mark.parametrize(("share", "is_told"), [(0.09, False), (0.3, True), (0.6, True)])
def test_time_outside_of_the_span_is_told_from_a_tenth_on(share: float, is_told: bool) -> None:
    report = report_with()
    report["outside_span"] = outside_span(
        share,
        {"duration_ps": 99 * MS, "by_class_ps": {"compile": 90, "python": 9}},
        {"duration_ps": 1 * MS, "by_class_ps": {"wait": 1}},
    )
    where = f"{share:.0%} of the capture is before the first run".replace("%", " %")
    sentence = f"{where}: the host compiles."
    # If it is most of the capture, the headline says so, as the share of the time in which devices work says little.
    headline, detail, *_ = *sentences(report), ""
    assert headline.endswith(f"of the time while it runs; {where}.") == (share > 0.5)
    assert (detail in (sentence, "Before the first run the host compiles.")) == is_told
    # Without steps, it is what the capture is about, unless nobody knows what the host did.
    report["steps"] = []
    assert (sentences(report)[0] == sentence) == (share > 0.5)
    report["outside_span"]["before"]["by_class_ps"] = {"unrecorded": 99}
    assert sentences(report)[0].startswith("The TPU core works")


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        (99, 1, "before the first run"),
        (1, 99, "after the last run"),
        (50, 50, "before the first and after the last run"),
    ],
)
def test_the_edge_of_the_capture_is_named(before: int, after: int, where: str) -> None:
    outside = outside_span(
        0.3, *({"duration_ps": ms * MS, "by_class_ps": {"wait": ms}} for ms in (before, after))
    )
    assert f" is {where}: the host waits." in sentences(report_with(outside_span=outside))[1]


def test_the_event_that_lasts_for_most_of_the_time_outside_is_named() -> None:
    get = {"name": "$queue.py:154 get", "class": "wait", "duration_ps": 60 * MS}
    short = {"name": "$train.py:3 step", "class": "python", "duration_ps": 5 * MS}
    edges = (
        {"duration_ps": 90 * MS, "by_class_ps": {"wait": 90}, "longest": get},
        {"duration_ps": 5 * MS, "by_class_ps": {"wait": 5}, "longest": short},
    )
    assert sentences(report_with(outside_span=outside_span(0.5, *edges)))[1].endswith(
        "50 % of the capture is before the first run: the host waits, in get at queue.py:154."
    )


def test_the_profilers_own_time_is_told_where_it_is_long() -> None:
    edges = (
        {"duration_ps": 99 * MS, "by_class_ps": {"wait": 99}},
        {"duration_ps": 1 * MS, "by_class_ps": {}},
    )
    outside = outside_span(0.5, *edges, profiler_start_ps=30 * MS, profiler_stop_ps=100 * MS)
    assert sentences(report_with(outside_span=outside))[1].endswith(
        "the host waits. The profiler's own start and stop (130 ms) do not count."
    )


def test_the_building_of_a_first_step_is_not_told() -> None:
    edge = {"duration_ps": 14 * MS, "by_class_ps": {"tracing": 14}}
    report = report_with(outside_span=outside_span(0.3, edge, edge))
    assert "of the capture" not in sentences(report)[1]


@pytest.mark.parametrize(
    ("diagnostics", "text"),
    [
        (
            [("device_record_ends", "warning")],
            "after the last recorded run, as the device's record ends early.",
        ),
        ([("device_record_ends", "info")], "after the last run: the host waits."),
        ([("device_record_begins", "warning")], "after the last run: the host waits."),
    ],
)
def test_a_record_that_ends_early_explains_the_time_after_it(
    diagnostics: list[tuple[str, str]], text: str
) -> None:
    edges = ({"duration_ps": ms * MS, "by_class_ps": {"wait": ms}} for ms in (1, 99))
    report = report_with(outside_span=outside_span(0.3, *edges))
    report["diagnostics"] = [{"id": id_, "severity": severity} for id_, severity in diagnostics]
    assert sentences(report)[1].endswith(f"30 % of the capture is {text}")


def test_runs_without_ops_may_compute_or_wait() -> None:
    """A run that waits for a callback looks like one that computes."""
    report = report_with(devices=[device(busy_ps=196, idle_ps=4, ops=0)])
    assert sentences(report) == (
        "The TPU core runs programs 98 % of the time, and nothing stands out.",
        "The capture does not record whether programs compute or wait.",
    )


def test_idle_time_in_first_compilations_is_warm_up() -> None:
    report = report_with()
    report["gaps"]["by_class_ps"] = {"compile": 90, "wait": 10}
    later = "During most of the idle time the host compiles for the first time: capture later."
    assert sentences(report)[1] == later
    report["findings"].append(finding("recompilation", "a compilation", 0.0))
    assert later not in sentences(report)[1]
    late = finding(
        "straggler", "the late arrival of w-5", 0.0, evidence={"repeated_findings": ["recompilation"]}
    )
    assert later not in sentences(report | {"findings": [late]})[1]


@pytest.mark.parametrize(
    ("diagnostics", "executions", "reason"),
    [
        ([{"id": "clocks_disagree"}], [{"join": "exact"}], "the clocks of host and device disagree"),
        ([], [{"join": "none"}], "the launches are not recorded"),
    ],
)
def test_a_capture_that_cannot_tell_says_so(
    diagnostics: list[dict[str, str]], executions: list[dict[str, str]], reason: str
) -> None:
    report = report_with(diagnostics=diagnostics, executions=executions)
    assert sentences(report)[0] == (
        f"The TPU core works 50 % of the time; what it waits for is not known, as {reason}."
    )
    report["findings"] = [finding("recompilation", "a compilation", 0.15, cost_ps=60)]
    assert sentences(report) == (
        "The TPU core works 50 % of the time; mostly it waits for x of recompilation.",
        f"Fix first: a compilation; that costs 15 % of the devices' time. More is not known, as {reason}.",
    )


def test_the_activity_of_an_unrecorded_host_is_unknown() -> None:
    ops = [event("all-reduce.1", 0, 100), event("fusion.1", 600, 100)]
    runs = [event("train(7)", 0, 100), event("train(7)", 600, 100)]
    report = session_report(session(capture(Core(ops, runs))))
    headline, details = sentences(report)
    assert headline.endswith("what it waits for is not known, as the launches are not recorded.")
    assert details.startswith(
        "The pace is set by time in all-reduce without computing; that is 14 % of the devices' time."
    )


def test_a_device_that_is_busy_in_short_runs_works_for_a_share_of_the_steps() -> None:
    report = report_with(devices=[device(busy_ps=200, idle_ps=0)])
    report["step_idle"] = {"work_ps": 2, "step_ps": 20, "idle_ps": 18, "by_class_ps": {"input": 15}}
    assert sentences(report)[0] == (
        "The TPU core works 10 % of the steps' time; mostly it waits for the host, which waits for data."
    )


def test_a_capture_inside_one_compilation_says_so() -> None:
    parts = [("FusionCompiler::Compile", start, 8) for start in (0, 20, 60, 92)]
    compiler = thread("tf_xla-cpu-codegen/1", *parts, role="compiler")
    inside = capture(compiler, thread("python", role="driving"))
    report = session_report(session(inside))
    assert sentences(report) == ("The whole capture is inside one compilation: no program ran.", "")
    assert {diagnostic["id"] for diagnostic in report["diagnostics"]} <= {"unknown_framework"}
    idle_host = capture(thread("python", ("forward", 0, 9)), host="b")
    assert sentences(session_report(session(inside, idle_host))) != sentences(report)


@pytest.mark.parametrize(
    ("framework", "host", "text"),
    [
        (
            "jax",
            {"input": 12 * MS, "wait": 4 * MS},
            "shows no device's work; the host waits for data for 12.0 of 16.0 ms",
        ),
        (
            "jax",
            {"dispatch": 12 * MS},
            "shows no device's work; the host launches for 12.0 of 16.0 ms a step.",
        ),
        (
            "tensorflow",
            {"dispatch": 12 * MS},
            "; the host launches and runs operations for 12.0 of 16.0 ms a step.",
        ),
        ("jax", {"input": 5 * MS, "wait": 5 * MS}, "shows no device's work, only what the host does."),
    ],
)
def test_without_a_device_the_headline_names_the_hosts_main_activity(
    framework: str, host: dict[str, int], text: str
) -> None:
    steps = [{"duration_ps": 16 * MS, "host_ps": host}] * 3
    report = report_with(environment={"framework": framework}, devices=[], steps=steps)
    report["input_pipeline"] = {"kind": "tf_data"}
    headline, details = sentences(report)
    assert text in headline
    assert details.startswith("There are no findings") == ("only what" not in text)
    assert ("tf.data.AUTOTUNE" in details) == ("waits for data" in headline)
    assert verdict(report, {})["severity"] == "warning"
    assert (
        sentences(session_report(session(capture(thread("python")))))[0]
        == "The capture shows no device's work, only what the host does."
    )


def test_the_named_findings_are_the_first_of_the_order() -> None:
    report = session_report(session(demo("torch_xla_dynamic_shapes")))
    assert report["findings"] == sort_rows(report["findings"])
    named = report["verdict"]
    fixes = [row["id"] for row in report["findings"] if row["kind"] == "mistake" and row["recurs"] != "once"]
    assert named["fix"] in (None, *fixes[:1])
    assert named["text"].translate(PLAIN).startswith("The ")


@pytest.mark.parametrize(
    ("name", "is_told"), [("synthetic_dynamo_issue_lazy", True), ("torch_xla_baseline", False)]
)
def test_one_step_does_not_show_what_a_fix_would_gain(name: str, is_told: bool) -> None:
    details = session_report(session(demo(name)))["verdict"]["details"]
    assert details.startswith("Capture several steps: one does not show") == is_told
