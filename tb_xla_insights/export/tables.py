"""A session's report as flat tables, in CSV or Parquet files."""

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

Rows = list[dict[str, Any]]


def tables(session: Session) -> dict[str, Rows]:
    """Flat rows by name of the table: parts of the report with all gaps, the chains of gaps, and every annotation.

    Rows of a table have the same keys. A dict of the report becomes columns `<key>.<its key>` (classes that are missing
    there are 0), other nested values JSON text. Tables without rows are there, empty.
    """
    report, annotations = session.report_and_annotations()
    gaps = report["gaps"]
    chains = [
        {"device": gap["device"], "gap_start_ps": gap["start_ps"], "position": position, **link}
        for gap in gaps["items"]
        for position, link in enumerate(gap["chain"])
    ]
    transfers: Mapping[str, Any] = report["transfers"]
    found: dict[str, Sequence[Mapping[str, Any]]] = {
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
        "ops": report["ops"],
        "annotations": report["annotations"],
        "annotation_events": list(annotations),
        "findings": report["findings"],
        "diagnostics": report["diagnostics"],
    }
    return {name: _flat(rows) for name, rows in found.items()}


def _with_duty(row: Mapping[str, Any]) -> dict[str, Any]:
    """A device with its times by each definition of busy as columns, `duty.modules.busy_ps`."""
    duty = {f"duty.{name}.{key}": ps for name, its in row["duty"].items() for key, ps in its.items()}
    return {key: value for key, value in row.items() if key != "duty"} | duty


def _flat(rows: Sequence[Mapping[str, Any]]) -> Rows:
    keys = {key: isinstance(value, dict) and key in _BY_CLASS for row in rows for key, value in row.items()}
    classes = {
        key: [name for name in CLASSES if any(name in row[key] for row in rows)]
        for key, flat in keys.items()
        if flat
    }
    return [
        {column: value for key in keys for column, value in _cells(key, row.get(key), classes.get(key))}
        for row in rows
    ]


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?", re.IGNORECASE)

_BY_CLASS = ("host_ps", "by_class_ps")
"""Dicts by class, which are numbers to reckon with."""


def _cells(key: str, value: Any, classes: Sequence[str] | None) -> Iterator[tuple[str, Any]]:
    if classes is not None:
        yield from ((f"{key}.{name}", (value or {}).get(name, 0)) for name in classes)
    else:
        told = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value
        # Names of files may be no text in any encoding.
        yield key, told.encode(errors="backslashreplace").decode() if isinstance(told, str) else told


def write_csv(session: Session, folder: Path) -> list[str]:
    """One file per table that has rows; those of tables without rows, which another session has left in the folder, are
    taken away. The lines that tell what was done. Raises InputError."""

    def write(path: Path, rows: Rows) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows({key: _no_formula(value) for key, value in row.items()} for row in rows)

    return _put_all(session, folder, "csv", write)


def _no_formula(value: Any) -> Any:
    """A quote before a text that spreadsheets would take for a formula, as OWASP advises against injection; numbers are
    none, also where they are written as text."""
    formula = isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value)
    return f"'{value}" if formula else value


def write_parquet(session: Session, folder: Path) -> list[str]:
    """As `write_csv`; needs pyarrow. Raises InputError, also where that is missing."""
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
        except OverflowError:  # FLOPs of many devices may not fit 64 bits
            table = pa.Table.from_pylist(
                [{key: _fitting(value) for key, value in row.items()} for row in rows]
            )
        pq.write_table(table, path)

    return _put_all(session, folder, "parquet", write)


def _fitting(value: Any) -> Any:
    return float(value) if isinstance(value, int) and abs(value) >= 1 << 63 else value


def _put_all(session: Session, folder: Path, kind: str, write: Callable[[Path, Rows], None]) -> list[str]:
    told = []
    for name, rows in tables(session).items():
        path = folder / f"{name}.{kind}"
        with report_write_errors(path, "give a folder that can be written with -o"):
            if rows:
                folder.mkdir(parents=True, exist_ok=True)
                with replace_atomically(path) as place:
                    write(place, rows)
                told.append(f"{path}: {len(rows)} {'row' if len(rows) == 1 else 'rows'}")
            elif path.is_file():
                path.unlink()
                told.append(f"{path}: taken away, no rows")
    return told
