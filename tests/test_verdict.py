"""The verdict: its statements, and what it leaves open."""

from __future__ import annotations

import pytest
from captures import Core, capture, session, thread
from launching import demo, event
from verdict_reports import MS, finding, report_with, severity_and_text

from tb_xla_insights.report.document import session_report
from tb_xla_insights.trace.model import Trace


def verdict_of(trace: Trace) -> tuple[str, str]:
    return severity_and_text(session_report(session(trace)))


def test_a_device_that_ran_once_has_no_share_of_its_time() -> None:
    """A kernel of 2 us in a capture of 8 ms: the device is busy for all of its span, and for next to nothing of the
    capture."""
    devices = [{"span_ps": 2_000_000, "busy_ps": 2_000_000, "modules": 1, "ops": 1}] * 2
    outside = {
        "share": 0.999,
        "before": {"duration_ps": 5 * MS, "by_class_ps": {"dispatch": 9 * MS}},
        "after": {"duration_ps": 3 * MS, "by_class_ps": {"dispatch": 5 * MS}},
    }
    severity, text = severity_and_text(report_with() | {"devices": devices, "outside_span": outside})
    assert severity == "warning"
    assert text == (
        "99.9 % of the capture is before and after all runs (the host launches). The 2 devices are at work for "
        "2.00 µs each, in too few runs to identify the cause."
    )


def test_a_session_without_hosts_is_not_inside_a_compilation() -> None:
    text = "No device's work could be read: only the host's activity is shown."
    assert severity_and_text(session_report(session())) == ("warning", text)


def test_the_number_of_devices_is_grouped_as_numbers_are() -> None:
    many = report_with() | {"devices": report_with()["devices"] * 4096}
    assert severity_and_text(many)[1].startswith("The 4 096 devices are 50.0 % busy")


def test_runs_without_ops_may_compute_or_wait() -> None:
    """A run that waits for a callback looks like one that computes."""
    device = {"span_ps": 200, "busy_ps": 196, "modules": 9, "ops": 0}
    unseen = "the capture does not record whether runs compute or wait"
    assert severity_and_text(report_with() | {"devices": [device]}) == (
        "info", f"The device is 98.0 % busy with program runs; {unseen}.",
    )  # fmt: skip
    limit, mistake = finding("limit", "the host builds the graph", 0.4), finding("mistake", "a compile", 0.1)
    assert unseen in severity_and_text(report_with(limit) | {"devices": [device]})[1]
    assert unseen not in severity_and_text(report_with(mistake) | {"devices": [device]})[1]


def test_a_capture_inside_one_compilation_says_so_in_the_verdict_alone() -> None:
    parts = [("FusionCompiler::Compile", start, 8) for start in (0, 20, 60, 92)]
    compiler = thread("tf_xla-cpu-codegen/1", *parts, role="compiler")
    inside = capture(compiler, thread("python", role="driving"))
    report = session_report(session(inside))
    assert severity_and_text(report) == (
        "warning",
        "The whole capture is inside one compilation, which began before it and did not finish: no program ran.",
    )
    assert {diagnostic["id"] for diagnostic in report["diagnostics"]} <= {"unknown_framework"}
    idle_host = capture(thread("python", ("forward", 0, 9)), host="b")
    assert verdict_of(inside)[1] != severity_and_text(session_report(session(inside, idle_host)))[1]


def test_mistakes_have_their_total_cost_and_the_limit_follows() -> None:
    first, second = (
        finding("mistake", "a compile in step 3", 0.1),
        finding("mistake", "a read in step 4", 0.05),
    )
    limit = finding("limit", "the host builds the graph", 0.4, cost=60)
    replay = {"step_ps": 20 * MS, "step_if_fixed_ps": 17 * MS, "step_without_limit_ps": 9 * MS}
    assert severity_and_text(report_with(first, second, limit, **replay))[1] == (
        "The device is 50.0 % busy. 2 mistakes cost up to 3.0 of 20.0 ms a step, "
        "first: a compile in step 3; beyond them the host builds the graph (17.0 → 9.0 ms at best)."
    )
    # What happens once has its whole cost, over the two steps of the capture; the rest has a share of the usual step.
    single_mistakes = [second | {"recurs": "once"}, second | {"recurs": "once", "brief": "a read in step 5"}]
    steps = {"steps": [{"host": "a", "duration_ps": 20 * MS}] * 2}
    text = severity_and_text(
        report_with(first, *single_mistakes[:1], **replay, usual_step_ps=18 * MS) | steps
    )[1]
    assert (
        "costs up to 1.0 of 18.0 ms in a usual step: a compile in step 3; a read in step 4 costs up to 4.0 ms once."
        in text
    )
    text = severity_and_text(report_with(first, *single_mistakes, **replay, usual_step_ps=18 * MS) | steps)[1]
    assert "step: a compile in step 3; 2 more cost up to 4.0 ms once." in text
    no_gain = replay | {"step_if_fixed_ps": 20 * MS}
    assert severity_and_text(report_with(limit, **no_gain))[1] == (
        "The device is 50.0 % busy: the host builds the graph (20.0 → 9.0 ms at best)."
    )
    nothing_left = replay | {"step_without_limit_ps": 17 * MS}
    assert "beyond" not in severity_and_text(report_with(first, second, limit, **nothing_left))[1]


def test_the_sentence_covers_all_devices() -> None:
    replay = {"step_ps": 20 * MS, "step_if_fixed_ps": 20 * MS, "step_without_limit_ps": 9 * MS}
    waits = report_with(finding("limit", "the device waits while the host launches", 0.4, cost=60), **replay)
    stalled = report_with(finding("limit", "the device is busy waiting in copy-done", 0.4, cost=60), **replay)
    two_devices = {"devices": [waits["devices"][0] | {"stall_ps": 80}] * 2}
    idle_device = {"devices": [waits["devices"][0] | {"busy_ps": 0}]}
    ending = " (20.0 → 9.0 ms at best)."
    assert (
        severity_and_text(waits)[1] == f"The device is 50.0 % busy: it waits while the host launches{ending}"
    )
    assert (
        severity_and_text(waits | idle_device)[1]
        == f"The device is 0.0 % busy: it waits while the host launches{ending}"
    )
    assert (
        severity_and_text(waits | two_devices)[1]
        == f"The 2 devices are 50.0 % busy: they wait while the host launches{ending}"
    )
    assert (
        severity_and_text(stalled | two_devices)[1]
        == f"The 2 devices are 50.0 % busy, 80.0 % of that waiting in copy-done{ending}"
    )


def test_idle_time_inside_runs_is_not_that_of_a_queue() -> None:
    report = report_with()
    gaps = {"by_class_ps": {"dispatch": 90}, "by_kind_ps": {"starved": 0, "queued": 90, "unknown": 0}}
    inside = [{"inside_run": True, "total_ps": 60}, {"inside_run": False, "total_ps": 30}]
    assert "most of the idle time work is queued" in severity_and_text(report | {"gaps": gaps})[1]
    text = severity_and_text(report | {"gaps": gaps | {"patterns": inside}})[1]
    assert "; most of the idle time is inside program runs, between their ops" in text
    late = {"inside_run": False, "total_ps": 90, "queued_ps": 60, "after": "jit_slice"}
    text = severity_and_text(report | {"gaps": gaps | {"patterns": [late]}})[1]
    assert "; during most of the idle time jit_slice is queued already" in text


def test_a_program_before_which_the_host_waits_is_not_queued() -> None:
    """Gaps whose cause is `wait` may be starved."""
    gaps = {"by_class_ps": {"wait": 90}, "by_kind_ps": {"starved": 35, "queued": 55, "unknown": 0}}
    patterns = [
        {"inside_run": False, "total_ps": time_ps, "by_cause_ps": {"wait": time_ps}, "queued_ps": queued_ps}
        | {"after": after}
        for after, time_ps, queued_ps in (("jit_step", 60, 25), ("jit_slice", 30, 30))
    ]
    text = severity_and_text(report_with() | {"gaps": gaps | {"patterns": patterns}})[1]
    assert "; during most of the idle time work is queued already" in text


@pytest.mark.parametrize(
    ("share", "comes_first"),
    [(0.09, None), (0.3, False), (0.6, True)],
)
def test_time_outside_of_the_span_is_included_from_a_tenth_on_and_first_if_it_is_most(
    share: float, comes_first: bool | None
) -> None:
    report, verdict = report_with(), severity_and_text(report_with())[1]
    report["outside_span"] = {
        "share": share,
        "before": {"duration_ps": 99, "by_class_ps": {"compile": 90, "python": 9}},
        "after": {"duration_ps": 1, "by_class_ps": {"wait": 1}},
    }
    sentence = f"{share:.1%} of the capture is before the first run (the host compiles).".replace("%", " %")
    texts = {None: [verdict], False: [verdict, sentence], True: [sentence, verdict]}[comes_first]
    assert severity_and_text(report)[1] == " ".join(texts)


def test_a_leading_limit_opens_the_verdict() -> None:
    limit, mistake = finding("limit", "the host builds the graph", 0.6), finding("mistake", "a read", 0.05)
    replay = {"step_ps": 20 * MS, "step_if_fixed_ps": 19 * MS, "step_without_limit_ps": 7 * MS}
    assert severity_and_text(report_with(limit, mistake, **replay))[1] == (
        "The device is 50.0 % busy: the host builds the graph (19.0 → 7.0 ms at best). "
        "Beyond that a mistake costs up to 1.0 of 20.0 ms a step: a read."
    )
    # A mistake whose gain is not above noise (3 %) is left out.
    assert (
        "mistake"
        not in severity_and_text(report_with(limit, finding("mistake", "a read", 0.02), **replay))[1]
    )


def test_the_cost_of_mistakes_is_never_given_as_zero() -> None:
    replay = {"step_ps": MS, "step_if_fixed_ps": MS * 97 // 100}
    text = severity_and_text(report_with(finding("mistake", "a", 0.03), **replay))[1]
    assert "A mistake costs up to 0.03 of 1.00 ms a step: a;" in text


@pytest.mark.parametrize(
    ("step_if_fixed_ms", "text"),
    [
        (17, ". A mistake costs up to 3.0 of 20.0 ms a step: a; "),
        (18, ". Mistakes cost up to 3.0 of 20.0 ms a step, first: a; "),
    ],
)
def test_the_gain_of_smaller_mistakes_is_not_ascribed_to_the_relevant_one(
    step_if_fixed_ms: int, text: str
) -> None:
    """The replay takes all of them away, those that gain less than 3 % as well."""
    mistake = finding("mistake", "a", 0.1) | {"step_if_fixed_ps": step_if_fixed_ms * MS}
    assert text in severity_and_text(report_with(mistake, step_ps=20 * MS, step_if_fixed_ps=17 * MS))[1]


@pytest.mark.parametrize(
    ("letters", "causes"),
    [
        (10, "{0}; beyond them the host builds the graph (17.0 → 9.0 ms at best)"),
        (80, "{0}; beyond them the host builds the graph (17.0 → 9.0 ms at best)"),
        (130, "{0}"),
        (300, "{0}"),
    ],
)
def test_the_first_mistake_is_named_and_the_limit_if_it_fits(letters: int, causes: str) -> None:
    """The mistake is named even if the text becomes too long."""
    names = [letter * letters for letter in "abc"]
    findings = [finding("mistake", name, 0.1) for name in names]
    limit = finding("limit", "the host builds the graph", 0.4, cost=60)
    replay = {"step_ps": 20 * MS, "step_if_fixed_ps": 17 * MS, "step_without_limit_ps": 9 * MS}
    text = severity_and_text(report_with(*findings, limit, **replay))[1]
    sentence = "The device is 50.0 % busy. 3 mistakes cost up to 3.0 of 20.0 ms a step, first: "
    assert text == f"{sentence}{causes.format(*names)}."


def test_the_sentence_on_time_outside_shortens_the_rest() -> None:
    """The sentence is complete, and the limit is left out."""
    findings = [
        finding("mistake", "a compile in step 3", 0.1),
        finding("limit", "the host builds the graph" * 2, 0.4),
    ]
    report = report_with(*findings, step_ps=20 * MS, step_if_fixed_ps=17 * MS, step_without_limit_ps=9 * MS)
    report["gaps"]["by_class_ps"] = {}
    assert "beyond that" in severity_and_text(report)[1]
    edge = {"duration_ps": 50, "by_class_ps": {"compile": 50}}
    report["outside_span"] = {"share": 0.3, "before": edge, "after": edge}
    assert severity_and_text(report)[1] == (
        "The device is 50.0 % busy. A mistake costs up to 3.0 of 20.0 ms a step: a compile in step 3. "
        "30.0 % of the capture is before and after all runs (the host compiles)."
    )


@pytest.mark.parametrize(("letters", "is_named"), [(60, True), (120, False)])
def test_the_main_activity_is_left_out_if_it_does_not_fit(letters: int, is_named: bool) -> None:
    report = report_with(finding("mistake", "a" * letters, 0.1), step_ps=20 * MS, step_if_fixed_ps=17 * MS)
    text = severity_and_text(report)[1]
    assert ("; during most of the idle time the host waits." in text) == is_named
    assert len(text) <= 230


def test_idle_time_in_first_compilations_is_warm_up() -> None:
    report = report_with(
        finding("limit", "the host launches", 0.2), step_ps=20 * MS, step_if_fixed_ps=20 * MS
    )
    report["mistakes"]["step_without_limit_ps"] = 16 * MS
    report["gaps"]["by_class_ps"] = {"compile": 90, "wait": 10}
    assert severity_and_text(report)[1] == (
        "The device is 50.0 % busy: during most of the idle time the host compiles for the first time (capture later "
        "to see typical steps); beyond that the host launches (20.0 → 16.0 ms at best)."
    )
    report["findings"].append(finding("mistake", "a compile", 0.0) | {"id": "recompilation"})
    assert "for the first time" not in severity_and_text(report)[1]
    report["findings"] = []
    severity, text = severity_and_text(report)
    assert severity == "warning"
    assert text == (
        "The device is 50.0 % busy: during most of the idle time the host compiles for the first time (capture later "
        "to see typical steps)."
    )


def test_a_mistake_without_a_gain_is_not_named() -> None:
    for gain in (None, 0.0, 0.02):
        assert severity_and_text(report_with(finding("mistake", "a read", gain))) == (
            "info",
            "The device is 50.0 % busy; during most of the idle time the host waits, and nothing stands out.",
        )


def test_idle_time_with_queued_work_is_not_ascribed_to_the_host() -> None:
    report = report_with(
        finding("limit", "the host launches", 0.2, 30), step_ps=20 * MS, step_if_fixed_ps=20 * MS
    )
    report["gaps"]["by_kind_ps"] = {"starved": 40, "queued": 60, "unknown": 0}
    assert "; during most of the idle time work is queued already." in severity_and_text(report)[1]


@pytest.mark.parametrize(
    ("cost", "by_class", "supplement"),
    [
        (60, {"wait": 90}, ""),
        (30, {"wait": 90, "dispatch": 10}, "; during most of the idle time the host waits"),
        (30, {"wait": 40, "dispatch": 40}, ""),
    ],
)
def test_causes_of_less_than_half_of_the_idle_time_are_supplemented(
    cost: int, by_class: dict[str, int], supplement: str
) -> None:
    report = report_with(
        finding("limit", "the host launches", 0.2, cost), step_ps=20 * MS, step_if_fixed_ps=20 * MS
    )
    report["mistakes"]["step_without_limit_ps"] = 16 * MS
    report["gaps"]["by_class_ps"] = by_class
    text = f"The device is 50.0 % busy: the host launches (20.0 → 16.0 ms at best){supplement}."
    assert severity_and_text(report)[1] == text


def test_work_for_less_than_half_of_the_step_is_reported() -> None:
    """The device works for 17.8 of 39 ms, and its span is that one run."""
    severity, text = verdict_of(demo("synthetic_dynamo_issue_lazy"))
    assert severity == "warning"
    assert text == (
        "The device is 100.0 % busy from first to last run, yet at work for 45.7 % of the steps' time; "
        "during most of the idle time the host builds the graph."
    )


@pytest.mark.parametrize(
    ("framework", "host", "text"),
    [
        (
            "tensorflow",
            {"input": 12 * MS, "dispatch": 4 * MS},
            "the host waits for data for 12.0 of 16.0 ms a step",
        ),
        (
            "tensorflow",
            {"dispatch": 9 * MS},
            "the host launches and runs operations for 9.0 of 16.0 ms a step",
        ),
        ("jax", {"dispatch": 9 * MS}, "the host launches for 9.0 of 16.0 ms a step"),
        ("jax", {"tracing": 9 * MS}, "the host traces and lowers for 9.0 of 16.0 ms a step"),
        ("jax", {"input": 5 * MS, "wait": 5 * MS}, "only the host's activity is shown"),
    ],
)
def test_without_a_device_the_verdict_names_the_hosts_main_activity(
    framework: str, host: dict[str, int], text: str
) -> None:
    steps = [{"duration_ps": 16 * MS, "host_ps": host}] * 3
    document = {"environment": {"framework": framework}, "session": {"hosts": ["vm"]}, "compiles": []}
    report = report_with() | document | {"devices": [], "steps": steps}
    assert severity_and_text(report) == ("warning", f"No device's work could be read: {text}.")


def test_of_a_device_alone_it_is_not_known_whether_the_host_keeps_up() -> None:
    assert verdict_of(capture(Core([event("fusion.1", 0, 0.001)]))) == (
        "warning",
        "The device is 100.0 % busy; whether the host keeps up is not known, as the launches are not recorded.",
    )


def test_idle_time_has_no_known_cause_if_clocks_disagree() -> None:
    report = report_with() | {
        "diagnostics": [{"id": "clocks_disagree"}],
        "session": {"hosts": [{"name": "vm"}]},
    }
    reason = "the clocks of host and device disagree"
    assert severity_and_text(report) == (
        "warning",
        f"The device is 50.0 % busy; why it idles is not known, as {reason}.",
    )
    report["findings"] = [finding("mistake", "a compile", 0.15)]
    sentence = "A mistake costs 15.0 % of the devices' spans: a compile"
    assert severity_and_text(report) == (
        "warning",
        f"The device is 50.0 % busy. {sentence}; other causes are not known, as {reason}.",
    )


def test_the_activity_of_an_unrecorded_host_is_unknown() -> None:
    """Causes other than the one found are left open."""
    ops = [event("all-reduce.1", 0, 100), event("fusion.1", 600, 100)]
    text = verdict_of(capture(Core(ops, [event("train(7)", 0, 700)])))[1]
    assert text == (
        "The device is 28.6 % busy: nothing hides the time in all-reduce (14.3 % of the devices' spans); other "
        "causes are not known, as the launches are not recorded."
    )
