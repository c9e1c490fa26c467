"""Ids of rows: parsing is the inverse of formatting."""

import pytest

from tb_xla_insights.trace.row_ids import EventId, RowId, host_of_id, thread_row


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("h0.steps", RowId(0, "steps")),
        ("h12.t3", RowId(12, thread_row(3))),
        ("h1.d0.ops", RowId(1, "ops", 0)),
    ],
)
def test_an_id_names_host_device_and_row(text: str, row: RowId) -> None:
    assert str(row) == text
    assert RowId.parse(text) == row
    assert host_of_id(text) == row.host


@pytest.mark.parametrize("text", ["", "h0", "h0.", "0.12", "hx.steps", "h0.d1.ops.more"])
def test_other_texts_are_not_row_ids(text: str) -> None:
    with pytest.raises(ValueError, match="is not the id of a row"):
        RowId.parse(text)


def test_ids_of_events_begin_with_the_host() -> None:
    assert host_of_id("12.345") == 12
    assert host_of_id("steps") is None


def test_ids_of_events() -> None:
    assert EventId.parse("12.345") == EventId(12, 345)
    assert str(EventId(12, 345)) == "12.345"
    assert [EventId.parse(text) for text in ("12", "h1.2", "1.2.3", "1.-1", "")] == [None] * 5
