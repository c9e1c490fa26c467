"""The answers about a capture with twice as much of one thing are about twice as long; nothing grows quadratically."""

from __future__ import annotations

import pytest
from build import MemorySource

from benchmarks.growth.answers import answers, session_of
from benchmarks.growth.captures import AXES

DEEP = (
    "nested_annotations",
    "nested_steps",
    "slashes_around",
    "long_scope",
    "hlo_calls",
    "hlo_shared",
    "hlo_deep_scope",
)
"""Of what grew by the square once."""


def answer_bytes(axis: str, n: int) -> int:
    """Bytes of the report and the views of a capture of the given size along an axis."""
    session = session_of(MemorySource(AXES[axis](n).to_bytes()))
    return sum(len(answer) for _, answer in answers(session, details=False))


@pytest.mark.parametrize("axis", DEEP)
def test_answers_grow_no_faster_than_files(axis: str) -> None:
    assert answer_bytes(axis, 300) < 2.2 * answer_bytes(axis, 150)
