"""Steps as columns equal the rows that they were built from."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tb_xla_insights.report.step_rows import _CHUNK_ROWS, StepRows
from tb_xla_insights.text.json_text import json_bytes

COUNT = _CHUNK_ROWS + 3


def row(index: int) -> dict[str, Any]:
    host_ps = {"tracing": 7, "wait": 5 + index} if index % 2 else {}
    number = None if index == 1 else index
    times = {"start_ps": 10 * index, "duration_ps": 9, "host_ps": host_ps, "device_work_ps": None}
    return {"index": index, "name": f"step {index}", "number": number, **times, "large": 1 << 70}


ROWS = [row(index) for index in range(COUNT)]


def test_rows_are_equal_after_conversion_to_columns_and_back() -> None:
    rows = StepRows.from_rows(ROWS)
    assert [*rows] == ROWS == rows
    assert len(rows) == COUNT
    assert (rows[0], rows[-1], rows[-3:]) == (ROWS[0], ROWS[-1], ROWS[-3:])
    assert [*rows[0]] == [*ROWS[0]]
    assert rows.durations_ps().tolist() == [9] * COUNT
    with pytest.raises(IndexError):
        rows[COUNT]


def test_rows_of_hosts_follow_each_other() -> None:
    rows_of_host = StepRows.from_rows(ROWS)
    rows = StepRows.concatenated(
        [rows_of_host, StepRows.from_rows([]), rows_of_host.shifted(steps=COUNT, by_ps=7)]
    )
    later = [step | {"index": step["index"] + COUNT, "start_ps": step["start_ps"] + 7} for step in ROWS]
    assert rows == [*ROWS, *later]
    assert (rows[COUNT - 1], rows[COUNT]) == (ROWS[-1], later[0])
    assert not StepRows.from_rows([])


@pytest.mark.parametrize("indented", [False, True])
@pytest.mark.parametrize("number", [0, 1 << 70])
def test_json_is_that_of_rows(indented: bool, number: int) -> None:
    """Also beside a number that orjson refuses."""
    rows = [{key: value for key, value in step.items() if key != "large"} for step in ROWS[:5]]
    text = json_bytes({"steps": StepRows.from_rows(rows), "number": number}, indented=indented)
    assert text == json_bytes({"steps": rows, "number": number}, indented=indented)
    assert json.loads(text)["steps"] == rows
    assert json_bytes([StepRows.from_rows([])], indented=indented) == json_bytes([[]], indented=indented)


def test_other_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="object is not JSON"):
        json_bytes({"a": object()})
