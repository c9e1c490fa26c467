"""Messages about runtime events that the catalogue does not know."""

from __future__ import annotations

import pytest
from captures import Event, capture, thread

from tb_xla_insights.analysis.completeness.diagnostics import diagnose
from tb_xla_insights.analysis.completeness.unknown_names import describe_unknown_names

NARROW = "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([("NewClient::Execute", 10, 30), ("NewBuffer::Fill", 20, 5)],
         "30.0 % of the capture in events of unknown names: NewClient::Execute (25.0 %), NewBuffer::Fill (5.0 %)."),
        ([("NewClient::Execute", 10, 3)],
         "3.0 % of the capture in events of unknown names: NewClient::Execute (3.0 %)."),
        ([("NewClient::Execute", 10, 2)], None),
        ([("forward", 10, 60), ("$train.py:3 f", 12, 50)], None),
        ([("Encoder::step", 10, 60, {"_r": 1})], None),
        ([("PjRtComputationClient::Compile", 10, 30)], None),
    ],
)  # fmt: skip
def test_unknown_events_are_reported_from_three_percent_on(events: list[Event], expected: str | None) -> None:
    """Nested time counts once."""
    trace = capture(thread("python", ("StepMarker", 0, 5), *events, ("StepMarker", 95, 5), role="driving"))
    diagnostic = describe_unknown_names(trace)
    assert (diagnostic is None) == (expected is None)
    assert (expected or "").replace(" %", NARROW + "%") in (diagnostic.message if diagnostic else "")


def test_unknown_framework() -> None:
    ids_by_event = {
        name: {diagnostic.id for diagnostic in diagnose(capture(thread("python", (name, 0, 9))))}
        for name in ("NewClient::Execute", "StepMarker", "PjitFunction(f)")
    }
    assert {name for name, diagnostics in ids_by_event.items() if "unknown_framework" in diagnostics} == {
        "NewClient::Execute"
    }
