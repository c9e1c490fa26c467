"""Annotations whose names differ only in numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import Event, capture, real_trace, session, thread

from tb_xla_insights.analysis.host.templates import annotation_names
from tb_xla_insights.report.document import session_report
from tb_xla_insights.trace.model import Trace


def named(*names: str) -> Trace:
    """One step annotation per name, around an annotation with that name."""
    events: list[Event] = []
    for number, name in enumerate(names):
        events += [("step", 100 * number, 90, {"_r": 1, "step_num": number}), (name, 100 * number + 10, 50)]
    return capture(thread("python", *events))


def names_of(trace: Trace) -> set[str]:
    return set(annotation_names(trace).values())


def test_names_that_differ_in_numbers_are_one_template() -> None:
    trace = named(*(f"execute_model: {n} reqs, {n + 5.5} toks (0xff{n:02})" for n in range(12)))
    assert names_of(trace) == {"step", "execute_model: {} reqs, {} toks ({})"}
    row = next(row for row in session_report(session(trace))["annotations"] if "reqs" in row["path"])
    assert (row["path"], row["count"]) == ("step/execute_model: {} reqs, {} toks ({})", 12)


def test_few_names_with_numbers_stay_apart() -> None:
    assert names_of(named(*(f"phase {n}" for n in range(10)))) == {"step", *(f"phase {n}" for n in range(10))}


def test_names_that_each_recur_stay_apart() -> None:
    """Like the layers of a model, each of which is in every step."""
    layers = [f"layer_{n}" for n in range(12)]
    events: list[Event] = []
    for step in range(3):
        events.append(("step", 1000 * step, 990, {"_r": 1, "step_num": step}))
        events += [(layer, 1000 * step + 10 + 50 * n, 40) for n, layer in enumerate(layers)]
    assert names_of(capture(thread("python", *events))) == {"step", *layers}


@pytest.mark.parametrize(
    "name",
    [
        "async",
        "four_gets",
        "prefill_stall",
        "queue_empty",
        "sched_async",
        "sched_sync",
        "sglang_overlap",
        "sync",
    ],
)
def test_servers_have_few_annotations(name: str, shared_traces: Path) -> None:
    """One of them has 123 names with numbers."""
    report = session_report(session(real_trace(shared_traces / "serving" / name)))
    recorded = [row["path"] for row in report["annotations"] if row["count"]]
    assert 0 < len(recorded) <= 10
