"""The Python interface has the report's parts as tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi


@pytest.mark.parametrize("name", ["steps", "gaps", "executions", "compiles", "collectives", "findings"])
def test_a_table_has_the_rows_of_the_report(name: str) -> None:
    session = xi.load(str(Path(LOGDIR) / "synthetic_case_study_8_tpu_cores"))
    report = session.report(all_gaps=True)
    rows = report[name]["items"] if name == "gaps" else report[name]
    table = getattr(session, name)()
    assert list(table) == rows
    assert len(table.to_pandas()) == len(rows) > 0
