"""Documents as JSON: Python's parser returns the written document."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.text.json_text import json_bytes

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
DOCUMENTS = st.recursive(
    SCALARS, lambda children: st.lists(children) | st.dictionaries(st.text(), children), max_leaves=20
)


@given(DOCUMENTS, st.booleans())
def test_written_json_is_read_back_equal(document: Any, indented: bool) -> None:
    assert json.loads(json_bytes(document, indented=indented)) == document


def test_line_breaks_are_optional() -> None:
    assert json_bytes({"a": [1, "\N{MICRO SIGN}s"]}) == '{"a":[1,"µs"]}'.encode()
    assert json_bytes({"a": 1}, indented=True) == b'{\n  "a": 1\n}'


@pytest.mark.parametrize(
    ("value", "text"),
    [(2**70, str(2**70)), ("a\udc80b", r'"a\udc80b"'), ({"n": [-(2**64)]}, f'{{"n":[{-(2**64)}]}}')],
)
def test_documents_that_orjson_refuses_are_written(value: Any, text: str) -> None:
    assert json_bytes(value).decode() == text
