"""Writes a session's report as flat tables, in CSV or Parquet files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.errors import InputError
from tb_xla_insights.files.replace import replace_atomically, report_write_errors
from tb_xla_insights.session import Session
from tb_xla_insights.tables.annotations import ANNOTATIONS, WORK_BY_OP
from tb_xla_insights.tables.definition import Definition
from tb_xla_insights.tables.devices import COLLECTIVES, DEVICES, GAP_CHAIN, GAP_PATTERNS, GAPS, STEPS
from tb_xla_insights.tables.engines import ASYNC_OPS, SLICE_TRANSFERS
from tb_xla_insights.tables.launches import COMPILES, EARLY_EXECUTIONS, EXECUTIONS, TRANSFERS
from tb_xla_insights.tables.memory import MEMORY

Rows = list[dict[str, Any]]

DEFINITIONS = {
    "devices": DEVICES,
    "steps": STEPS,
    "executions": EXECUTIONS,
    "early_executions": EARLY_EXECUTIONS,
    "compiles": COMPILES,
    "gaps": GAPS,
    "gap_chains": GAP_CHAIN,
    "gap_patterns": GAP_PATTERNS,
    "transfers": TRANSFERS,
    "collectives": COLLECTIVES,
    "async_ops": ASYNC_OPS,
    "slice_transfers": SLICE_TRANSFERS,
    "ops": WORK_BY_OP,
    "annotations": ANNOTATIONS,
    "memory": MEMORY,
}
"""The definitions of exported tables, whose columns come first."""


def tables(session: Session) -> dict[str, Rows]:
    """Flat rows by table name: the parts of the report with all gaps, the chains of gaps, and all annotation events.

    All rows of a table have the same keys. Times by class become columns `<key>.<class>` (missing classes are 0), the
    dicts in `duty` columns `duty.<definition>.<key>`; other nested values become JSON text. Tables without rows are
    included.
    """
    report, annotations = session.report_and_annotations()
    gaps = report["gaps"]
    chains = [
        {"device": gap["device"], "gap_start_ps": gap["start_ps"], "position": position, **link}
        for gap in gaps["items"]
        for position, link in enumerate(gap["chain"])
    ]
    transfers: Mapping[str, Any] = report["transfers"]
    nested: dict[str, Sequence[Mapping[str, Any]]] = {
        "devices": [_with_duty(row) for row in report["devices"]],
        "steps": report["steps"],
        "executions": report["executions"],
        "early_executions": report["early_executions"],
        "compiles": report["compiles"],
        "gaps": [{key: value for key, value in gap.items() if key != "chain"} for gap in gaps["items"]],
        "gap_chains": chains,
        "gap_patterns": gaps["patterns"],
        "transfers": [{"direction": name, **row} for name, row in transfers.items()],
        "collectives": report["collectives"],
        "async_ops": report["async_ops"],
        "slice_transfers": report["slice_transfers"],
        "ops": report["ops"],
        "annotations": report["annotations"],
        "memory": report["memory"],
        "annotation_events": list(annotations),
        "findings": report["findings"],
        "diagnostics": report["diagnostics"],
    }
    return {name: _flatten(rows, DEFINITIONS.get(name)) for name, rows in nested.items()}


def _with_duty(row: Mapping[str, Any]) -> dict[str, Any]:
    """The device row with its times by each definition of busy as columns, such as `duty.modules.busy_ps`."""
    duty = {f"duty.{name}.{key}": ps for name, times in row["duty"].items() for key, ps in times.items()}
    return {key: value for key, value in row.items() if key != "duty"} | duty


def _flatten(rows: Sequence[Mapping[str, Any]], definition: Definition | None) -> Rows:
    """The columns of the definition in their order, then all other keys."""
    units = {column.key: column.unit for column in definition.columns} if definition else {}
    present = dict.fromkeys(key for row in rows for key in row)
    keys = dict.fromkeys([*(key for key in units if key in present), *present])
    classes = {
        key: [name for name in CLASSES if any(name in row[key] for row in rows)]
        for key in keys
        if units.get(key) == "by class"
    }
    return [
        {column: value for key in keys for column, value in _cells(key, row.get(key), classes.get(key))}
        for row in rows
    ]


_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?", re.IGNORECASE)


def _cells(key: str, value: Any, classes: Sequence[str] | None) -> Iterator[tuple[str, Any]]:
    if classes is not None:
        yield from ((f"{key}.{name}", (value or {}).get(name, 0)) for name in classes)
    else:
        cell = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value
        # File names may contain bytes that are not valid text.
        yield key, cell.encode(errors="backslashreplace").decode() if isinstance(cell, str) else cell


def write_csv(session: Session, folder: Path) -> list[str]:
    """Writes a file per table with rows, and removes the files of empty tables, which an export of another session may
    have left in the folder. Returns a line per file. Raises InputError."""

    def write(path: Path, rows: Rows) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows({key: _escape_formula(value) for key, value in row.items()} for row in rows)

    return _write_tables(session, folder, "csv", write)


def _escape_formula(value: Any) -> Any:
    """The value, with a quote before texts that spreadsheets would evaluate as a formula (OWASP, CSV injection).
    Numbers written as text stay as they are."""
    is_formula = isinstance(value, str) and value.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_formula else value


def write_parquet(session: Session, folder: Path) -> list[str]:
    """As `write_csv`, but Parquet files. Raises InputError, also if pyarrow is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise InputError(
            f'{folder}: Parquet needs pyarrow; pip install "tb-xla-insights[parquet]", or use --format csv'
        ) from error

    def write(path: Path, rows: Rows) -> None:
        try:
            table = pa.Table.from_pylist(rows)
        except OverflowError:  # FLOPs of many devices may exceed 64 bits
            # A column of floats takes no integers above 2^53, so that all of its values become floats.
            large = {key for row in rows for key, value in row.items() if _exceeds_int64(value)}
            table = pa.Table.from_pylist(
                [row | {key: float(row[key]) for key in large if row[key] is not None} for row in rows]
            )
        pq.write_table(table, path)

    return _write_tables(session, folder, "parquet", write)


def _exceeds_int64(value: Any) -> bool:
    return isinstance(value, int) and abs(value) >= 1 << 63


def _write_tables(
    session: Session, folder: Path, suffix: str, write: Callable[[Path, Rows], None]
) -> list[str]:
    lines = []
    for name, rows in tables(session).items():
        path = folder / f"{name}.{suffix}"
        with report_write_errors(path, "give a folder that can be written with -o"):
            if rows:
                folder.mkdir(parents=True, exist_ok=True)
                with replace_atomically(path) as temporary_path:
                    write(temporary_path, rows)
                lines.append(f"{path}: {len(rows)} {'row' if len(rows) == 1 else 'rows'}")
            elif path.is_file():
                path.unlink()
                lines.append(f"{path}: removed, no rows")
    return lines
