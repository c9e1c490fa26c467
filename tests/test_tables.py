"""Tables have one definition, from the headings that their row types declare."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated, Any

import pytest
from synthetic.__main__ import LOGDIR
from typing_extensions import TypedDict

import tb_xla_insights as xi
from tb_xla_insights import tables as package
from tb_xla_insights.columns.head import Head
from tb_xla_insights.export.tables import DEFINITIONS, tables
from tb_xla_insights.tables.definition import Column, Definition, table

Row = Mapping[str, Any]
MS = 10**9
CASE_STUDY = LOGDIR / "synthetic_case_study_8_tpu_cores"


@pytest.fixture(scope="module")
def session() -> xi.Session:
    return xi.load(str(CASE_STUDY))


def test_no_table_has_two_columns_of_one_key() -> None:
    modules = [import_module(info.name) for info in iter_modules(package.__path__, f"{package.__name__}.")]
    definitions = {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Definition)
    }
    keys = {name: [column.key for column in table.columns] for name, table in definitions.items()}
    assert keys["GAPS"][:2] == ["device", "start_ps"]
    assert {name for name, names in keys.items() if len({*names}) < len(names)} == set()


def test_the_page_takes_the_headings_of_shared_tables_from_their_definitions() -> None:
    page = Path(__file__).parents[1] / "frontend"
    generated = (page / "lib/table-definitions.js").read_text("utf-8")
    heads = {
        name: set(re.findall(r"head: '([^']+)'", columns))
        for name, columns in re.findall(r"^  (\w+): \{\n(.*?)^  \},", generated, re.M | re.S)
    }
    own_heads = re.compile(r"(?:Column\(|Columns\(|head:)\s*['\"`]([^'\"`]+)")
    repeated = [
        f"{script.relative_to(page)}: {head}, of {name}"
        for script in page.glob("*/*.js")
        if script.name != "table-definitions.js"
        for text in [script.read_text("utf-8")]
        for name in sorted(set(re.findall(r"TABLES\.(\w+)", text)))
        for head in own_heads.findall(text)
        if head in heads[name]
    ]
    assert heads["gaps"]
    assert repeated == []


def test_files_begin_with_the_columns_of_the_definition(session: xi.Session) -> None:
    tables_by_name = tables(session)
    for name, definition in DEFINITIONS.items():
        if not tables_by_name[name]:
            continue
        heads = list(dict.fromkeys(head.partition(".")[0] for head in tables_by_name[name][0]))
        keys = [column.key for column in definition.columns if not column.derived]
        assert heads[: len(keys)] == keys, name


class Run(TypedDict):
    name: Annotated[str, Head("Run", "code")]
    count: int
    share: Annotated[float, Head("Share", priority=1)]
    idle_ps: Annotated[int | None, Head("Idle", unit_basis="sum")]


def test_a_table_has_the_declared_columns_and_after_them_those_that_views_compute() -> None:
    columns = table("Runs", Run, Column("host", "Host"), derived={"name": [Column("range", "Range")]}).columns
    assert columns == (
        Column("host", "Host"),
        Column("name", "Run", "code"),
        Column("range", "Range", derived=True),
        Column("share", "Share", "share", priority=1),
        Column("idle_ps", "Idle", "time", unit_basis="sum"),
    )
    with pytest.raises(ValueError, match="count"):
        table("Runs", Run, derived={"count": [Column("range", "Range")]})


TIMES = Definition(
    "Times",
    (
        Column("start_ps", "Start", "ms"),
        Column("total_ps", "Total", "time"),
        Column("mean_ps", "Mean", "time"),
        Column("rest_ps", "Rest", "time", unit_basis="column"),
        Column("wait_ps", "Wait", "time", unit_basis="sum"),
    ),
)


def test_the_unit_of_times_fits_the_largest_one_of_the_table_or_column_or_their_sum() -> None:
    rows: list[Row] = [
        {"start_ps": 5, "total_ps": 20_000 * MS, "mean_ps": 0, "rest_ps": -3 * 10**6, "wait_ps": 400 * MS},
        {"start_ps": 6, "total_ps": None, "wait_ps": 600 * MS},
    ]
    time_units = TIMES.time_units(rows)
    assert TIMES.heads(time_units) == ["Start, ms", "Total, s", "Mean, s", "Rest, µs", "Wait, s"]
    assert set(TIMES.time_units([]).values()) == {"ms"}
    assert TIMES.time_units(rows[1:])["wait_ps"] == "ms"


def test_times_lose_no_digits_in_seconds() -> None:
    """`0.026 s` has fewer digits than the others; a time that is rounded to milliseconds loses none."""
    for mean_ps, unit in ((26 * MS + 1, "ms"), (26 * MS, "s"), (126 * MS + 1, "s")):
        time_units = TIMES.time_units([{"total_ps": 20_000 * MS, "mean_ps": mean_ps, "rest_ps": 7}])
        assert (time_units["total_ps"], time_units["mean_ps"]) == (unit, unit)


@pytest.mark.parametrize(
    ("column", "row", "text"),
    [
        (Column("a", "A", "time"), {"a": 1_500 * MS}, "1\u202f500.000"),
        (Column("a", "A", "change"), {"a": MS}, "+1.000"),
        (Column("a", "A", "change"), {"a": -MS}, "−1.000"),
        (Column("a", "A", "share"), {"a": 0.5}, "50.0\u202f%"),
        (Column("a", "A", "count"), {"a": 1_000}, "1\u202f000"),
        (Column("a", "A", "bytes"), {"a": 1_000}, "1.0\u202fkB"),
        (Column("a", "A", "class"), {"a": "sync_prepare"}, "step marker"),
        (Column("a", "A", "count"), {"a": None}, "–"),
        (Column("a", "A", "count"), {}, ""),
        (Column("a", "A", "count"), {"a": "4 known"}, "4 known"),
    ],
)
def test_the_text_of_a_cell(column: Column, row: Row, text: str) -> None:
    assert column.text(row, "ms") == text


def test_columns_are_left_out_by_key_and_an_unknown_key_is_an_error() -> None:
    assert [column.key for column in TIMES.without("mean_ps", "rest_ps", "wait_ps").columns] == [
        "start_ps",
        "total_ps",
    ]
    with pytest.raises(KeyError, match="stop_ps"):
        TIMES.without("stop_ps")
    with pytest.raises(KeyError, match="stop_ps"):
        TIMES["stop_ps"]
