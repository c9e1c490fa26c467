"""Answers about a capture that is doubled along one axis are about twice as long; none grows quadratically."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from build import MemorySource
from report_texts import console

from benchmarks.growth.answers import answers, session_at, session_of
from benchmarks.growth.captures import AXES
from tb_xla_insights.analysis.window.window_document import window as session_window
from tb_xla_insights.cli.window import print_window
from tb_xla_insights.report.document import session_report

QUADRATIC_ONCE = (
    "nested_annotations",
    "nested_steps",
    "slashes_around",
    "long_scope",
    "hlo_calls",
    "hlo_shared",
    "hlo_deep_scope",
)
"""Axes along which answers once grew quadratically."""

RECORDED = (
    "demo_logs/torch_xla_early_item",
    "demo_logs/torch_xla_dynamic_shapes",
    "demo_logs/torch_xla_dynamo_graph_break",
    "jax0.6.2/slow_loader_bare-traced",
    "jax0.4.38/read_and_work",
)
"""Captures of programs with different mistakes."""


def answer_bytes(axis: str, n: int) -> int:
    """Bytes of the report and the views of a capture of the given size along an axis."""
    session = session_of(MemorySource(AXES[axis](n).to_bytes()))
    return sum(len(answer) for _, answer in answers(session, details=False))


def test_no_request_is_refused(tmp_path: Path) -> None:
    """The time of its answer would not be measured."""
    session = session_at(AXES["demo_logs/torch_xla_early_item"](3).write(tmp_path / "vm.xplane.pb"))
    assert [name for name, answer in answers(session) if answer.startswith(b"InputError")] == []


@pytest.mark.parametrize("axis", QUADRATIC_ONCE)
def test_answers_grow_no_faster_than_files(axis: str) -> None:
    assert answer_bytes(axis, 300) < 2.2 * answer_bytes(axis, 150)


def calls_of(function: Callable[[], object]) -> int:
    """How many functions a function calls, those of extension modules included, in all threads."""
    calls = itertools.count()

    def count_call(_frame: FrameType, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            next(calls)

    threading.setprofile(count_call)
    sys.setprofile(count_call)
    try:
        function()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return next(calls)


def calls_of_report(axis: str, n: int) -> int:
    session = session_of(MemorySource(AXES[axis](n).to_bytes()))
    return calls_of(lambda: session_report(session, all_gaps=True))


@pytest.mark.parametrize("axis", RECORDED)
def test_calls_grow_no_faster_than_captures(axis: str) -> None:
    """A search of all steps or reads for each of them would multiply the calls by four."""
    calls_of_report(axis, 1)  # imports modules
    assert calls_of_report(axis, 40) < 2.2 * calls_of_report(axis, 20)


def test_calls_grow_no_faster_than_the_annotations_of_a_window() -> None:
    answer = session_window(session_of(MemorySource(AXES["long_scope"](1).to_bytes())), 0, 10**9)
    [*_, annotation] = answer["annotations"]

    def calls_of_text(n: int) -> int:
        annotations = [annotation | {"path": f"outer/inner_{index}"} for index in range(n)]
        return calls_of(
            lambda: print_window(console(), {**answer, "annotations": annotations}, condensed=False)
        )

    calls_of_text(1)  # imports modules
    assert calls_of_text(800) < 2.2 * calls_of_text(400)
