"""Tables have one definition, whose keys are those of the document's rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from tb_xla_insights.export.tables import DEFINITIONS, tables
from tb_xla_insights.tables.annotations import PHASES, UNANNOTATED_OPS, WORK_BY_ANNOTATION
from tb_xla_insights.tables.comparison import ANNOTATION_DIFFERENCES, CLASS_DIFFERENCES, MEASURES
from tb_xla_insights.tables.definition import Column, Definition
from tb_xla_insights.tables.devices import HOSTS
from tb_xla_insights.tables.window import WINDOW_ANNOTATIONS, WINDOW_DEVICES, WINDOW_EVENTS, WINDOW_THREADS

Row = Mapping[str, Any]
MS = 10**9
CASE_STUDY = LOGDIR / "synthetic_case_study_8_tpu_cores"


def missing_keys(definition: Definition, row: Row) -> set[str]:
    return {column.key for column in definition.columns if not column.derived} - set(row)


@pytest.fixture(scope="module")
def session() -> xi.Session:
    return xi.load(str(CASE_STUDY))


def test_rows_of_the_report_have_the_keys(session: xi.Session) -> None:
    report = session.report()
    work, propagation = report["device_work"], report["propagation"]
    rows: list[tuple[Definition, Sequence[Row]]] = [
        (HOSTS, report["hosts"]),
        (WORK_BY_ANNOTATION, work["annotations"]),
        (PHASES, propagation["programs"]),
        (UNANNOTATED_OPS, propagation["unannotated_ops"]),
    ]
    for definition, table in rows:
        assert missing_keys(definition, table[0]) == set(), definition.title


def test_rows_of_windows_and_comparisons_have_the_keys(session: xi.Session) -> None:
    window, comparison = session.window(0, 100 * MS), session.compare(session)
    rows: list[tuple[Definition, Sequence[Row]]] = [
        (WINDOW_THREADS, window["threads"]),
        (WINDOW_DEVICES, window["devices"]),
        (WINDOW_ANNOTATIONS, window["annotations"]),
        (WINDOW_EVENTS, window["top"]),
        (CLASS_DIFFERENCES, comparison["classes"]),
        (ANNOTATION_DIFFERENCES, comparison["device_work"]["annotations"]),
    ]
    for definition, table in rows:
        assert missing_keys(definition, table[0]) == set(), definition.title
    assert missing_keys(MEASURES.without("a", "b"), comparison["measures"][0]) == set()


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
        {"start_ps": 5, "total_ps": 20_000 * MS, "mean_ps": 7, "rest_ps": -3 * 10**6, "wait_ps": 400 * MS},
        {"start_ps": 6, "total_ps": None, "wait_ps": 600 * MS},
    ]
    time_units = TIMES.time_units(rows)
    assert TIMES.heads(time_units) == ["Start, ms", "Total, s", "Mean, s", "Rest, µs", "Wait, s"]
    assert set(TIMES.time_units([]).values()) == {"ms"}
    assert TIMES.time_units(rows[1:])["wait_ps"] == "ms"


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
