"""Answers about a capture that is doubled along one axis are about twice as long; none grows quadratically."""

from __future__ import annotations

import pytest
from build import MemorySource

from benchmarks.growth.answers import answers, session_of
from benchmarks.growth.captures import AXES

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


def answer_bytes(axis: str, n: int) -> int:
    """Bytes of the report and the views of a capture of the given size along an axis."""
    session = session_of(MemorySource(AXES[axis](n).to_bytes()))
    return sum(len(answer) for _, answer in answers(session, parts=False))


@pytest.mark.parametrize("axis", QUADRATIC_ONCE)
def test_answers_grow_no_faster_than_files(axis: str) -> None:
    assert answer_bytes(axis, 300) < 2.2 * answer_bytes(axis, 150)
