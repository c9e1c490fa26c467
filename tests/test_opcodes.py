"""The opcode in the name of a device op, and what the name says about the op."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.analysis.opcodes import is_element_wise, opcode


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add", "add"),
        ("%copy-done.3 = f32[8] copy-done(%copy-start.3)", "copy-done"),
        ("fusion.12.remat2", "fusion"),
        ("all-reduce-start.clone.1", "all-reduce-start"),
        ("region_0.7-body.2", "region_0.7-body"),
        ("void kernel<float>(int)", "void"),
        ("3.add", ""),
        ("cutlass::Kernel", ""),
        ("add%2", ""),
    ],
)
def test_an_opcode_is_an_instructions_name_without_its_suffixes(name: str, expected: str) -> None:
    assert opcode(name) == expected


@given(st.from_regex(r"[aZ_][aZ_.1-]*", fullmatch=True))
def test_suffixes_begin_at_the_first_dot_after_the_last_hyphen(name: str) -> None:
    stem, hyphen, ending = name.rpartition("-")
    assert opcode(f"%{name}") == opcode(name) == stem + hyphen + ending.partition(".")[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("%add.5 = f32[8] add(a, b)", True),
        ("loop_add_tanh_fusion", True),
        ("loop_add_tanh_fusion_1", True),  # the kernel of `loop_add_tanh_fusion.1`
        ("wrapped_exponential-minus-one.2", True),
        ("input_reduce_fusion_1", False),
        ("add_dot_fusion", False),
        ("fusion.3", False),
        ("", False),
    ],
)
def test_a_name_shows_whether_an_op_is_element_wise(name: str, expected: bool) -> None:
    assert is_element_wise(name) is expected
