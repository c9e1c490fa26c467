"""The verdict: its statements, and what it leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from captures import Core, capture, session, thread
from launching import demo, event

from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.verdict import verdict
from tb_xla_insights.trace.model import Trace


def verdict_texts(trace: Trace) -> tuple[str, str]:
    return _severity_and_text(session_report(session(trace)))


def _severity_and_text(report: Mapping[str, Any]) -> tuple[str, str]:
    result = verdict(report)
    return result["severity"], result["text"].replace("\u202f", " ")


NOTHING_REPLAYED = dict.fromkeys(("step_ps", "step_if_fixed_ps", "step_without_limit_ps"))
MS = 10**9


def finding(kind: str, brief: str, gain: float | None, cost: int = 30) -> dict[str, Any]:
    row = {"id": "x", "kind": kind, "brief": brief, "gain": gain, "cost_ps": cost, "severity": "warning"}
    return row | {"step_ps": None, "step_if_fixed_ps": None}


def of(*findings: dict[str, Any], **mistakes: int) -> dict[str, Any]:
    """The report of a device that is half busy, in which the host waits in the idle time."""
    return {
        "devices": [{"span_ps": 200, "busy_ps": 100, "modules": 9, "ops": 99}],
        "diagnostics": [],
        "executions": [{"join": "exact"}],
        "steps": [],
        "gaps": {"by_class_ps": {"wait": 90}, "by_kind_ps": {"starved": 90, "queued": 0, "unknown": 0}},
        "findings": [*findings],
        "mistakes": NOTHING_REPLAYED | mistakes,
        "environment": {"framework": "torch_xla"},
        "outside_span": None,
        "step_idle": {"work_ps": None, "step_ps": None},
    }


def test_a_device_that_ran_once_has_no_share_of_its_time() -> None:
    """A kernel of 2 us in a call of 7.6 ms is busy for all of its span, and the device for next to nothing."""
    once = [{"span_ps": 2_000_000, "busy_ps": 2_000_000, "modules": 1, "ops": 1}] * 2
    outside = {
        "share": 0.999,
        "before": {"duration_ps": 5 * MS, "by_class_ps": {"dispatch": 9 * MS}},
        "after": {"duration_ps": 3 * MS, "by_class_ps": {"dispatch": 5 * MS}},
    }
    severity, text = _severity_and_text(of() | {"devices": once, "outside_span": outside})
    assert severity == "warning"
    assert text == (
        "99.9 % of the capture is before and after all runs (the host launches). The 2 devices are at work for "
        "2.00 µs each, in too few runs to identify the cause."
    )


def test_the_number_of_devices_is_grouped_as_numbers_are() -> None:
    many = of() | {"devices": of()["devices"] * 4096}
    assert _severity_and_text(many)[1].startswith("The 4 096 devices are 50.0 % busy")


def test_runs_without_ops_may_compute_or_wait() -> None:
    """A run that waits for a callback looks like one that computes."""
    device = {"span_ps": 200, "busy_ps": 196, "modules": 9, "ops": 0}
    unseen = "the capture does not record whether runs compute or wait"
    assert _severity_and_text(of() | {"devices": [device]}) == (
        "info", f"The device is 98.0 % busy with program runs; {unseen}.",
    )  # fmt: skip
    limit, mistake = finding("limit", "the host builds the graph", 0.4), finding("mistake", "a compile", 0.1)
    assert unseen in _severity_and_text(of(limit) | {"devices": [device]})[1]
    assert unseen not in _severity_and_text(of(mistake) | {"devices": [device]})[1]


def test_a_capture_inside_one_compilation_has_no_diagnostics() -> None:
    parts = [("FusionCompiler::Compile", start, 8) for start in (0, 20, 60, 92)]
    compiler = thread("tf_xla-cpu-codegen/1", *parts, role="compiler")
    inside = capture(compiler, thread("python", role="driving"))
    report = session_report(session(inside))
    assert _severity_and_text(report) == (
        "warning",
        "The whole capture is inside one compilation, which began before it and did not finish: no program ran.",
    )
    assert {diagnostic["id"] for diagnostic in report["diagnostics"]} <= {"unknown_framework"}
    idle_host = capture(thread("python", ("forward", 0, 9)), host="b")
    assert verdict_texts(inside)[1] != _severity_and_text(session_report(session(inside, idle_host)))[1]


def test_mistakes_have_their_total_cost_and_the_limit_follows() -> None:
    first, second = (
        finding("mistake", "a compile in step 3", 0.1),
        finding("mistake", "a cut in step 4", 0.05),
    )
    limit = finding("limit", "the host builds the graph", 0.4, cost=60)
    together = {"step_ps": 20 * MS, "step_if_fixed_ps": 17 * MS, "step_without_limit_ps": 9 * MS}
    assert _severity_and_text(of(first, second, limit, **together))[1] == (
        "The device is 50.0 % busy. 2 mistakes cost up to 3.0 of 20.0 ms a step, "
        "first: a compile in step 3; beyond them the host builds the graph (17.0 → 9.0 ms at best)."
    )
    # What happens once has its whole cost, over the two steps of the capture; the rest has a share of the usual step.
    once = [second | {"recurs": "once"}, second | {"recurs": "once", "brief": "a cut in step 5"}]
    steps = {"steps": [{"host": "a", "duration_ps": 20 * MS}] * 2}
    text = _severity_and_text(of(first, *once[:1], **together, usual_step_ps=18 * MS) | steps)[1]
    assert (
        "costs up to 1.0 of 18.0 ms in a usual step: a compile in step 3; a cut in step 4 costs up to 4.0 ms once."
        in text
    )
    text = _severity_and_text(of(first, *once, **together, usual_step_ps=18 * MS) | steps)[1]
    assert "step: a compile in step 3; 2 more cost up to 4.0 ms once." in text
    alone = together | {"step_if_fixed_ps": 20 * MS}
    assert _severity_and_text(of(limit, **alone))[1] == (
        "The device is 50.0 % busy: the host builds the graph (20.0 → 9.0 ms at best)."
    )
    nothing_left = together | {"step_without_limit_ps": 17 * MS}
    assert "beyond" not in _severity_and_text(of(first, second, limit, **nothing_left))[1]


def test_the_sentence_covers_all_devices() -> None:
    together = {"step_ps": 20 * MS, "step_if_fixed_ps": 20 * MS, "step_without_limit_ps": 9 * MS}
    waits = of(finding("limit", "the device waits while the host launches", 0.4, cost=60), **together)
    stalled = of(finding("limit", "the device is busy waiting in copy-done", 0.4, cost=60), **together)
    twice = {"devices": [waits["devices"][0] | {"stall_ps": 80}] * 2}
    never = {"devices": [waits["devices"][0] | {"busy_ps": 0}]}
    ending = " (20.0 → 9.0 ms at best)."
    assert (
        _severity_and_text(waits)[1] == f"The device is 50.0 % busy: it waits while the host launches{ending}"
    )
    assert (
        _severity_and_text(waits | never)[1]
        == f"The device is 0.0 % busy: it waits while the host launches{ending}"
    )
    assert (
        _severity_and_text(waits | twice)[1]
        == f"The 2 devices are 50.0 % busy: they wait while the host launches{ending}"
    )
    assert (
        _severity_and_text(stalled | twice)[1]
        == f"The 2 devices are 50.0 % busy, 80.0 % of that waiting in copy-done{ending}"
    )


def test_idle_time_inside_runs_is_not_that_of_a_queue() -> None:
    report = of()
    gaps = {"by_class_ps": {"dispatch": 90}, "by_kind_ps": {"starved": 0, "queued": 90, "unknown": 0}}
    inside = [{"inside_run": True, "total_ps": 60}, {"inside_run": False, "total_ps": 30}]
    assert "most of the idle time work is queued" in _severity_and_text(report | {"gaps": gaps})[1]
    text = _severity_and_text(report | {"gaps": gaps | {"patterns": inside}})[1]
    assert "; most of the idle time is inside program runs, between their ops" in text
    late = {"inside_run": False, "total_ps": 90, "by_cause_ps": {"wait": 60}, "after": "jit_slice"}
    text = _severity_and_text(report | {"gaps": gaps | {"patterns": [late]}})[1]
    assert "; during most of the idle time jit_slice is queued already" in text


@pytest.mark.parametrize(
    ("part", "first"),
    [(0.09, None), (0.3, False), (0.6, True)],
)
def test_time_outside_of_the_span_is_included_and_first_if_it_is_most(
    part: float, first: bool | None
) -> None:
    report, usual = of(), _severity_and_text(of())[1]
    report["outside_span"] = {
        "share": part,
        "before": {"duration_ps": 99, "by_class_ps": {"compile": 90, "python": 9}},
        "after": {"duration_ps": 1, "by_class_ps": {"wait": 1}},
    }
    sentence = f"{part:.1%} of the capture is before the first run (the host compiles).".replace("%", " %")
    texts = {None: [usual], False: [usual, sentence], True: [sentence, usual]}[first]
    assert _severity_and_text(report)[1] == " ".join(texts)


def test_a_leading_limit_opens_the_verdict() -> None:
    limit, mistake = finding("limit", "the host builds the graph", 0.6), finding("mistake", "a cut", 0.05)
    together = {"step_ps": 20 * MS, "step_if_fixed_ps": 19 * MS, "step_without_limit_ps": 7 * MS}
    assert _severity_and_text(of(limit, mistake, **together))[1] == (
        "The device is 50.0 % busy: the host builds the graph (19.0 → 7.0 ms at best). "
        "Beyond that a mistake costs up to 1.0 of 20.0 ms a step: a cut."
    )
    # A mistake that cannot be distinguished from chance is no reason.
    assert "mistake" not in _severity_and_text(of(limit, finding("mistake", "a cut", 0.02), **together))[1]


def test_the_cost_of_mistakes_is_never_given_as_zero() -> None:
    together = {"step_ps": MS, "step_if_fixed_ps": MS * 97 // 100}
    text = _severity_and_text(of(finding("mistake", "a", 0.03), **together))[1]
    assert "A mistake costs up to 0.03 of 1.00 ms a step: a;" in text


@pytest.mark.parametrize(
    ("alone", "text"),
    [
        (17, ". A mistake costs up to 3.0 of 20.0 ms a step: a; "),
        (18, ". Mistakes cost up to 3.0 of 20.0 ms a step, first: a; "),
    ],
)
def test_the_gain_of_smaller_mistakes_is_not_ascribed_to_the_relevant_one(alone: int, text: str) -> None:
    """The replay takes all of them away, those that gain less than 3 % as well."""
    mistake = finding("mistake", "a", 0.1) | {"step_if_fixed_ps": alone * MS}
    assert text in _severity_and_text(of(mistake, step_ps=20 * MS, step_if_fixed_ps=17 * MS))[1]


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
    together = {"step_ps": 20 * MS, "step_if_fixed_ps": 17 * MS, "step_without_limit_ps": 9 * MS}
    text = _severity_and_text(of(*findings, limit, **together))[1]
    sentence = "The device is 50.0 % busy. 3 mistakes cost up to 3.0 of 20.0 ms a step, first: "
    assert text == f"{sentence}{causes.format(*names)}."


def test_the_sentence_on_time_outside_shortens_the_rest() -> None:
    """The sentence is complete, and the limit is left out."""
    findings = [
        finding("mistake", "a compile in step 3", 0.1),
        finding("limit", "the host builds the graph" * 2, 0.4),
    ]
    report = of(*findings, step_ps=20 * MS, step_if_fixed_ps=17 * MS, step_without_limit_ps=9 * MS)
    report["gaps"]["by_class_ps"] = {}
    assert "beyond that" in _severity_and_text(report)[1]
    edge = {"duration_ps": 50, "by_class_ps": {"compile": 50}}
    report["outside_span"] = {"share": 0.3, "before": edge, "after": edge}
    assert _severity_and_text(report)[1] == (
        "The device is 50.0 % busy. A mistake costs up to 3.0 of 20.0 ms a step: a compile in step 3. "
        "30.0 % of the capture is before and after all runs (the host compiles)."
    )


@pytest.mark.parametrize(("letters", "is_named"), [(60, True), (120, False)])
def test_the_main_activity_is_left_out_if_it_does_not_fit(letters: int, is_named: bool) -> None:
    report = of(finding("mistake", "a" * letters, 0.1), step_ps=20 * MS, step_if_fixed_ps=17 * MS)
    text = _severity_and_text(report)[1]
    assert ("; during most of the idle time the host waits." in text) == is_named
    assert len(text) <= 230


def test_idle_time_in_first_compilations_is_warm_up() -> None:
    report = of(finding("limit", "the host launches", 0.2), step_ps=20 * MS, step_if_fixed_ps=20 * MS)
    report["mistakes"]["step_without_limit_ps"] = 16 * MS
    report["gaps"]["by_class_ps"] = {"compile": 90, "wait": 10}
    assert _severity_and_text(report)[1] == (
        "The device is 50.0 % busy: during most of the idle time the host compiles for the first time (capture later "
        "to see usual steps); beyond that the host launches (20.0 → 16.0 ms at best)."
    )
    report["findings"].append(finding("mistake", "a compile", 0.0) | {"id": "recompilation"})
    assert "for the first time" not in _severity_and_text(report)[1]


def test_a_mistake_without_a_gain_is_not_named() -> None:
    for gain in (None, 0.0, 0.02):
        assert _severity_and_text(of(finding("mistake", "a read", gain))) == (
            "info",
            "The device is 50.0 % busy; during most of the idle time the host waits, and nothing stands out.",
        )


def test_idle_time_with_queued_work_is_not_ascribed_to_the_host() -> None:
    report = of(finding("limit", "the host launches", 0.2, 30), step_ps=20 * MS, step_if_fixed_ps=20 * MS)
    report["gaps"]["by_kind_ps"] = {"starved": 40, "queued": 60, "unknown": 0}
    assert "; during most of the idle time work is queued already." in _severity_and_text(report)[1]


@pytest.mark.parametrize(
    ("cost", "by_class", "more"),
    [
        (60, {"wait": 90}, ""),
        (30, {"wait": 90, "dispatch": 10}, "; during most of the idle time the host waits"),
        (30, {"wait": 40, "dispatch": 40}, ""),
    ],
)
def test_causes_of_less_than_half_of_the_idle_time_are_supplemented(
    cost: int, by_class: dict[str, int], more: str
) -> None:
    report = of(finding("limit", "the host launches", 0.2, cost), step_ps=20 * MS, step_if_fixed_ps=20 * MS)
    report["mistakes"]["step_without_limit_ps"] = 16 * MS
    report["gaps"]["by_class_ps"] = by_class
    text = f"The device is 50.0 % busy: the host launches (20.0 → 16.0 ms at best){more}."
    assert _severity_and_text(report)[1] == text


def test_work_for_less_than_half_of_the_step_is_reported() -> None:
    """The device works for 17.8 of 39 ms, and its span is that one run."""
    severity, text = verdict_texts(demo("synthetic_dynamo_issue_lazy"))
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
    alone = of() | document | {"devices": [], "steps": steps}
    assert _severity_and_text(alone) == ("warning", f"No device's work could be read: {text}.")


def test_a_capture_of_a_device_alone_has_no_sentence_about_the_host() -> None:
    assert verdict_texts(capture(Core([event("fusion.1", 0, 0.001)]))) == (
        "warning",
        "The device is 100.0 % busy; whether the host keeps up is not known, as the launches are not recorded.",
    )


def test_idle_time_has_no_known_cause_if_clocks_disagree() -> None:
    session = {"hosts": [{"name": "vm"}]}
    report = of() | {"diagnostics": [{"id": "clocks_disagree"}], "session": session}
    off = "the clocks of host and device disagree"
    rest = "other causes are not known"
    assert _severity_and_text(report) == (
        "warning",
        f"The device is 50.0 % busy; why is not known, as {off}.",
    )
    report["findings"] = [finding("mistake", "a compile", 0.15)]
    sentence = "A mistake costs 15.0 % of the devices' time: a compile"
    assert _severity_and_text(report) == (
        "warning",
        f"The device is 50.0 % busy. {sentence}; {rest}, as {off}.",
    )


def test_the_activity_of_an_unread_host_is_unknown() -> None:
    """Causes other than the one found are left open."""
    ops = [event("all-reduce.1", 0, 100), event("fusion.1", 600, 100)]
    text = verdict_texts(capture(Core(ops, [event("train(7)", 0, 700)])))[1]
    assert text == (
        "The device is 28.6 % busy: nothing hides the time in all-reduce (14.3 % of the devices' time); other "
        "causes are not known, as the launches are not recorded."
    )


LATE = finding("mistake", "w-5 comes late (next_batch, input)", 0.4, cost=90) | {
    "id": "straggler",
    "title": "w-5 holds up the others",
    "step_ps": 50 * MS,
    "step_if_fixed_ps": 30 * MS,
    "evidence": {
        "hosts": ["w-5"],
        "cause": "input",
        "cause_ps": 40 * MS,
        "median_cause_ps": 2 * MS,
        "annotation": "step/next_batch",
        "core": None,
    },
}
WHY = "next_batch (input) takes 38.0 ms longer there."
HEAD = f"w-5 holds up the others, which costs up to 20.0 of 50.0 ms a step: {WHY}"
BUSY = "The device is 50.0 % busy, which includes waiting for it"


def on(host: str, hosts: int) -> dict[str, Any]:
    """A mistake of one host or of some, in a report of several hosts."""
    return finding("mistake", f"a compile on {host}", 0.1) | {"evidence": {"host": host, "hosts": hosts}}


def test_stragglers_come_first() -> None:
    """Before the duty cycle, which includes the wait for the late host, if no other mistake gains more."""
    assert _severity_and_text(of(LATE))[1] == f"{HEAD} {BUSY}."
    for mistakes in ([LATE, on("w-1", 1)], [LATE, on("w-5", 2)]):
        assert _severity_and_text(of(*mistakes))[1].startswith(
            f"{HEAD} {BUSY}. Further mistakes: a compile on w-"
        )
    assert _severity_and_text(of(LATE, on("w-5", 1)))[1] == f"{HEAD} {BUSY}."


def test_a_straggler_that_is_not_the_worst_mistake_comes_in_order() -> None:
    """As where all hosts wait for data, and one of them longer."""
    data = finding("mistake", "the device waits for data", 0.5)
    together = {"step_ps": 50 * MS, "step_if_fixed_ps": 10 * MS, "step_without_limit_ps": 10 * MS}
    several: dict[str, Any] = LATE | {"evidence": LATE["evidence"] | {"hosts": ["w-5", "w-7"]}}
    for straggler, whom in ((LATE, "w-5"), (several, "others")):
        assert _severity_and_text(of(data, straggler, **together))[1] == (
            f"The device is 50.0 % busy, which includes waiting for {whom}. 2 mistakes cost up to 40.0 of 50.0 ms a "
            "step, first: the device waits for data."
        )


def test_a_straggler_that_occurs_once_has_its_whole_cost() -> None:
    """A mean over all steps says little of one step; and a compilation that made it late is no warm-up."""
    evidence: dict[str, Any] = LATE["evidence"]
    title = "w-5 held up the others in step 7"
    once = LATE | {
        "recurs": "once",
        "title": title,
        "evidence": evidence | {"steps_compared": 12, "repeated_findings": ["recompilation"]},
    }
    document = of(once) | {"gaps": of(once)["gaps"] | {"by_class_ps": {"compile": 50}}}
    assert _severity_and_text(document)[1] == f"{title}, which cost up to 240.0 ms: {WHY} {BUSY}."


def test_a_straggler_comes_before_time_outside_of_the_span() -> None:
    outside = {
        "share": 0.6,
        "before": {"duration_ps": 99, "by_class_ps": {"compile": 90}},
        "after": {"duration_ps": 1, "by_class_ps": {}},
    }
    assert _severity_and_text(of(LATE) | {"outside_span": outside})[1].startswith(HEAD)


def test_the_common_cause_of_late_hosts_has_the_numbers_of_the_worst() -> None:
    evidence: dict[str, Any] = LATE["evidence"]
    straggler = LATE | {
        "title": "w-5 and w-7 hold up the others",
        "evidence": evidence | {"hosts": ["w-5", "w-7"]},
    }
    text = _severity_and_text(of(straggler))[1]
    assert "takes 38.0 ms longer on w-5. " in text
    assert "which includes waiting for them" in text
    unknown = LATE | {"evidence": evidence | {"cause": None}}
    assert (
        "holds up the others, which costs up to 20.0 of 50.0 ms a step. The"
        in _severity_and_text(of(unknown))[1]
    )
    little = LATE | {"gain": 0.02}
    assert "holds up" not in _severity_and_text(of(little))[1]
