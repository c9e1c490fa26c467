"""A fuzzing target that uses the Python interface: tables, notebook cells, answers about steps and devices."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from random import Random

from fuzz.session_targets import files_of, make_session
from fuzz.target import Limits, Target, check_refusal, checks_input

import tb_xla_insights as xi
from tb_xla_insights.errors import InputError
from tb_xla_insights.export.tables import tables
from tb_xla_insights.table import Table
from tb_xla_insights.text.json_text import json_bytes

_TABLES = (
    "devices", "steps", "gaps", "executions", "compiles", "transfers", "collectives", "ops", "findings", "annotations",
)  # fmt: skip


def _first_host(data: bytes) -> xi.Session:
    return xi.load(str(files_of(data) / "w-0.xplane.pb"))


@checks_input(_first_host)
def check_python(session: xi.Session, pick: Random) -> Iterator[str]:
    """Checks that the rows of a table have the same columns, and that it can be written as CSV and shown."""
    for name, rows in tables(session).items():
        assert len({tuple(row) for row in rows}) <= 1, name
        if rows:
            writer = csv.DictWriter(io.StringIO(), list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        yield f"{name} {min(len(rows), 2)}"
    assert "<xss>" not in session._repr_html_()
    table: Table = getattr(session, pick.choice(_TABLES))()
    assert "<xss>" not in table._repr_html_()
    step = pick.choice((None, 0, 1, -1, 10**6))
    device = pick.choice((None, "", *(row["id"] for row in session.devices())))
    for answer in (session.propagation, session.device_work):
        try:
            json_bytes(answer(step, device))
        except InputError as error:
            yield check_refusal(error)


TARGETS = [Target("python", make_session, check_python, Limits(1.5, 2e-4, 64_000_000, 4000), 0.04, "Session")]
