"""Python functions by the names of the Python tracer's events."""

from __future__ import annotations

import pytest

from tb_xla_insights.catalog.frames import Frame, parse_frame


@pytest.mark.parametrize(
    ("name", "frame", "text"),
    [
        ("$train.py:12 augment", Frame("augment", "train.py", 12), "augment at train.py:12"),
        ("$train.py:12 <listcomp>", Frame("<listcomp>", "train.py", 12), "<listcomp> at train.py:12"),
        ("$my train.py:12 step", Frame("step", "my train.py", 12), "step at my train.py:12"),
        ("$time sleep", Frame("sleep", module="time"), "time.sleep"),
        ("$builtins len", Frame("len", module="builtins"), "len"),
        ("$<unknown> acquire", Frame("acquire", module="<unknown>"), "acquire"),
        ("$<built-in method sleep of module object at 0x7f>", Frame("sleep"), "sleep"),
    ],
)
def test_a_frame_is_a_function_and_its_place(name: str, frame: Frame, text: str) -> None:
    assert parse_frame(name) == frame
    assert frame.text == text


@pytest.mark.parametrize("name", ["forward", "train.py:12 augment", "$train.py", ""])
def test_other_names_are_no_frames(name: str) -> None:
    assert parse_frame(name) is None
