"""Fuzzing targets whose inputs are sidecar files and documents that users name: logs, reports, records, tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import copy
from functools import cache
from random import Random
from typing import Any

from fuzz import seeds, words
from fuzz.change import damage_bytes
from fuzz.session_targets import printer, valid_session
from fuzz.target import Limits, Target, check_refusal, scratch

from tb_xla_insights.analysis.sidecar_contents import RECORD_FILE
from tb_xla_insights.catalog import load_catalog
from tb_xla_insights.cli.report_text import print_report
from tb_xla_insights.compare.pairs import SessionSteps, read_pairs
from tb_xla_insights.errors import InputError
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.sidecar_files import read_sidecars
from tb_xla_insights.text.json_text import json_bytes
from tb_xla_insights.trace.model import SessionTrace

_ROOT = seeds.ROOT / "tb_xla_insights"
_PAIRS = b"model,a,b,column\nresnet,1.5,2,speed\nbert,3e2,./x,speed\n"
_SPEEDUPS = b"model,one,two\nresnet,1.5,2\nbert,-,1.25\n"
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**64, -(2**70), 0.5, 1e308, "", "a", "\x1b[2J", [], {}, [None], {"a": None}, [[[]]],
)  # fmt: skip
_MAX_DEPTH = 40


def make_text(pick: Random) -> bytes:
    """A log or a report: lines of real ones, some damaged, duplicated or in another order."""
    lines = [line for _ in range(pick.choice((1, 1, 2))) for line in pick.choice(seeds.texts()).split(b"\n")]
    first = pick.randrange(len(lines))
    lines = lines[first : first + pick.choice((5, 40, 400))]
    for _ in range(pick.choice((0, 1, 2, 5))):
        at = pick.randrange(len(lines))
        choice = pick.randrange(6)
        if choice == 0:
            lines[at] = damage_bytes(pick, lines[at])
        elif choice == 1:
            lines.insert(at, lines[pick.randrange(len(lines))])
        elif choice == 2:
            lines[at] = lines[at] * pick.choice((2, 50))
        elif choice == 3:
            pick.shuffle(lines)
        elif choice == 4:
            digits = str(pick.choice(words.NUMBERS)) * pick.choice((1, 1, 300))
            lines[at] = re.sub(rb"\d+", digits.encode(), lines[at])
        else:
            lines[at] = pick.choice(words.NAMES["text"]).encode()
    data = b"\n".join(lines)
    return damage_bytes(pick, data) if pick.random() < 0.2 else data


def check_text(data: bytes) -> Iterator[str]:
    """Checks that a report can be written whatever the sidecar file contains."""
    folder = scratch() / "usual"
    session = _fresh_session()
    for name in ("stderr.txt", "metrics_report_end.txt"):
        (folder / name).write_bytes(data)
    sidecars = read_sidecars(session.traces[0])
    report = session_report(session)
    json.loads(json_bytes(report))
    yield f"metrics {sidecars.metrics is not None}"
    yield f"breaks {sidecars.breaks is not None}"
    for name in ("guards", "compilations", "executions", "advice", "torch_traces", "unread"):
        yield f"{name} {min(len(getattr(sidecars, name)), 3)}"
    yield from (f"findings {row['id']}" for row in report["findings"])
    for name in ("stderr.txt", "metrics_report_end.txt"):
        (folder / name).unlink()


def _fresh_session() -> SessionTrace:
    """A session that has not read its sidecar files: a trace caches their contents."""
    template = _cached_session()
    return SessionTrace(template.name, template.path, [copy(trace) for trace in template.traces])


@cache
def _cached_session() -> SessionTrace:
    return valid_session()


def make_document(pick: Random) -> bytes:
    """A catalogue (first byte `c`), a record (`r`) or a table of pairs (`p`), changed."""
    kind = pick.choice((b"c", b"r", b"p"))
    if kind == b"p":
        data = pick.choice((_PAIRS, _SPEEDUPS))
        return kind + (damage_bytes(pick, data) if pick.random() < 0.8 else data * pick.choice((1, 2, 50)))
    document = _documents()[kind]
    data = json.dumps(_changed(pick, document, 0), default=str).encode()
    return kind + (damage_bytes(pick, data) if pick.random() < 0.2 else data)


@cache
def _documents() -> dict[bytes, Any]:
    table = json.loads((_ROOT / "catalog/host_events.json").read_text("utf-8"))
    table["groups"] = table["groups"][:3]
    return {
        b"c": table,
        b"r": {
            "samples_per_step": 32, "change": "more workers", "framework": "torch", "compilations": 3,
            "compile_ms": 12.5, "compiled_in": [1, 2], "versions": {"torch": "2.9"}, "collectives": [],
            "steps": [{"number": 1}],
        },
    }  # fmt: skip


def _changed(pick: Random, value: Any, depth: int) -> Any:
    """A JSON document with some values replaced by others: of other types, more, fewer, deeper."""
    if depth > _MAX_DEPTH or pick.random() < 0.04:
        replacement = pick.choice(_VALUES)
        for _ in range(pick.choice((0, 0, 0, 3, 30))):
            replacement = [replacement] if pick.random() < 0.5 else {"a": replacement}
        return replacement
    if isinstance(value, dict):
        return {key: _changed(pick, item, depth + 1) for key, item in value.items() if pick.random() < 0.97}
    if isinstance(value, list):
        return [_changed(pick, item, depth + 1) for item in value[: pick.choice((2, 5, 40))]]
    return value


def check_document(data: bytes) -> Iterator[str]:
    """Checks that a catalogue or table is accepted or refused in one line, and no record prevents a report."""
    kind, path = data[:1], scratch() / "named"
    path.write_bytes(data[1:])
    try:
        if kind == b"c":
            catalog = load_catalog(str(path))
            yield from (f"class {catalog.class_index(name)}" for name in ("StepMarker", "a", ""))
        elif kind == b"p":
            table = read_pairs(str(path), _steps)
            json_bytes(table)
            yield f"columns {min(3, len(table['columns']))} rows {min(3, len(table['rows']))}"
        else:
            yield from _check_record(data[1:])
    except InputError as error:
        yield check_refusal(error)


def _steps(path: str) -> SessionSteps:
    raise InputError(f"{path}: no such session")


def _check_record(data: bytes) -> Iterator[str]:
    session = _fresh_session()
    path = scratch() / "usual" / RECORD_FILE
    path.write_bytes(data)
    report = session_report(session)
    path.unlink()
    json.loads(json_bytes(report))
    print_report(printer(), report)
    yield f"recorded {report['recorded'] is not None} {report['throughput'] is not None}"


TARGETS = [
    Target("text", make_text, check_text, Limits(1.0, 1e-4, 64_000_000, 4000), 0.03),
    Target("document", make_document, check_document, Limits(1.0, 1e-4, 64_000_000, 4000), 0.01),
]
