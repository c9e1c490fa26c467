"""The verdict about hosts that hold up the others."""

from __future__ import annotations

from typing import Any

from verdict_reports import MS, finding, report_with, severity_and_text

STRAGGLER = finding("mistake", "w-5 comes late (next_batch, input)", 0.4, cost=90) | {
    "id": "straggler",
    "title": "w-5 holds up the others",
    "step_ps": 50 * MS,
    "step_if_fixed_ps": 30 * MS,
    "evidence": {
        "usual_step_ps": 50 * MS,
        "hosts": ["w-5"],
        "cause": "input",
        "cause_ps": 40 * MS,
        "median_cause_ps": 2 * MS,
        "annotation": "step/next_batch",
        "annotation_name": "next_batch",
        "core": None,
    },
}
CAUSE = "next_batch (input) takes 38.0 ms longer there."
OPENING = f"w-5 holds up the others, which costs up to 20.0 of 50.0 ms a step: {CAUSE}"
DUTY = "The device is 50.0 % busy, which includes waiting for it"


def mistake_on(*hosts: str) -> dict[str, Any]:
    """A mistake of one host or of some, in a report of several hosts."""
    evidence = {"host": hosts[0], "hosts": len(hosts), "host_names": [*hosts]}
    return finding("mistake", f"a compile on {hosts[0]}", 0.1) | {"evidence": evidence}


def test_stragglers_come_first() -> None:
    """Before the duty cycle, which includes the wait for the late host, if no other mistake gains more."""
    assert severity_and_text(report_with(STRAGGLER))[1] == f"{OPENING} {DUTY}."
    for mistakes in ([STRAGGLER, mistake_on("w-1")], [STRAGGLER, mistake_on("w-5", "w-1")]):
        assert severity_and_text(report_with(*mistakes))[1].startswith(
            f"{OPENING} {DUTY}. Further mistakes: a compile on w-"
        )
    assert severity_and_text(report_with(STRAGGLER, mistake_on("w-5")))[1] == f"{OPENING} {DUTY}."


def test_a_straggler_that_is_not_the_worst_mistake_comes_in_order() -> None:
    """For example if all hosts wait for data, and one of them longer."""
    data = finding("mistake", "the device waits for data", 0.5)
    replay = {"step_ps": 50 * MS, "step_if_fixed_ps": 10 * MS, "step_without_limit_ps": 10 * MS}
    stragglers: dict[str, Any] = STRAGGLER | {"evidence": STRAGGLER["evidence"] | {"hosts": ["w-5", "w-7"]}}
    for straggler, late in ((STRAGGLER, "w-5"), (stragglers, "others")):
        assert severity_and_text(report_with(data, straggler, **replay))[1] == (
            f"The device is 50.0 % busy, which includes waiting for {late}. 2 mistakes cost up to 40.0 of 50.0 ms a "
            "step, first: the device waits for data."
        )


def test_a_straggler_that_occurs_once_has_its_whole_cost() -> None:
    """Not the mean over all steps, but what 12 steps of a host lose together; the captures begin at different steps, so
    that more are compared. A compilation that made it late is no warm-up."""
    evidence: dict[str, Any] = STRAGGLER["evidence"]
    title = "w-5 held up the others in step 7"
    single_straggler = STRAGGLER | {
        "recurs": "once",
        "title": title,
        "evidence": evidence | {"steps_compared": 20, "repeated_findings": ["recompilation"]},
    }
    document = report_with(single_straggler) | {
        "steps": [{"host": host} for host in ("w-4", "w-5") for _ in range(12)],
        "gaps": report_with(single_straggler)["gaps"] | {"by_class_ps": {"compile": 50}},
    }
    assert severity_and_text(document)[1] == f"{title}, which cost up to 240.0 ms: {CAUSE} {DUTY}."


def test_the_cause_of_lateness_in_some_steps_has_their_number() -> None:
    """The cost is a mean over all steps, and may be less than the cause's time in a late step."""
    evidence: dict[str, Any] = STRAGGLER["evidence"] | {"steps": [2, 5, 8, 11], "steps_compared": 12}
    straggler = STRAGGLER | {"recurs": "some_steps", "evidence": evidence}
    opening = OPENING.removesuffix(".")
    assert severity_and_text(report_with(straggler))[1] == f"{opening} in 4 of 12 steps. {DUTY}."


def test_a_straggler_comes_before_time_outside_of_the_span() -> None:
    outside = {
        "share": 0.6,
        "before": {"duration_ps": 99, "by_class_ps": {"compile": 90}},
        "after": {"duration_ps": 1, "by_class_ps": {}},
    }
    assert severity_and_text(report_with(STRAGGLER) | {"outside_span": outside})[1].startswith(OPENING)


def test_the_common_cause_of_late_hosts_has_the_numbers_of_the_worst() -> None:
    evidence: dict[str, Any] = STRAGGLER["evidence"]
    straggler = STRAGGLER | {
        "title": "w-5 and w-7 hold up the others",
        "evidence": evidence | {"hosts": ["w-5", "w-7"]},
    }
    text = severity_and_text(report_with(straggler))[1]
    assert severity_and_text(report_with(straggler, mistake_on("w-5", "w-7")))[1] == text
    assert "Further mistakes" in severity_and_text(report_with(straggler, mistake_on("w-5", "w-1")))[1]
    assert "takes 38.0 ms longer on w-5. " in text
    assert "which includes waiting for them" in text
    without_cause = STRAGGLER | {"evidence": evidence | {"cause": None}}
    assert (
        "holds up the others, which costs up to 20.0 of 50.0 ms a step. The"
        in severity_and_text(report_with(without_cause))[1]
    )
    small_gain = STRAGGLER | {"gain": 0.02}
    assert "holds up" not in severity_and_text(report_with(small_gain))[1]
