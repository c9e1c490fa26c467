"""The Python interface has the report's parts as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi


@pytest.mark.parametrize("name", ["steps", "gaps", "executions", "compiles", "collectives", "findings"])
def test_a_table_has_the_rows_of_the_report(name: str) -> None:
    session = xi.load(str(Path(LOGDIR) / "synthetic_case_study_8_tpu_cores"))
    report: Any = session.report(all_gaps=True)
    rows = report[name]["items"] if name == "gaps" else report[name]
    table = getattr(session, name)()
    assert list(table) == rows
    assert len(table.to_pandas()) == len(rows) > 0


def test_transfers_are_a_table_too() -> None:
    session = xi.load(str(Path(LOGDIR) / "synthetic_case_study_8_tpu_cores"))
    rows = {row["direction"]: row for row in session.transfers()}
    report: Any = session.report()["transfers"]
    assert rows == {name: {"direction": name, **row} for name, row in report.items()}
    assert len(session.transfers().to_pandas()) == 2


def test_a_session_is_compared_with_another_one() -> None:
    runs = (str(Path(LOGDIR) / f"synthetic_dynamo_issue_{mode}") for mode in ("lazy", "dynamo"))
    lazy, dynamo = map(xi.load, runs)
    document = lazy.compare(dynamo)
    assert (document["a"]["kind"], document["b"]["kind"]) == ("lazy", "dynamo")
    assert document["measures"][0]["b_ps"] == dynamo.steps()[0]["duration_ps"]
