"""Fuzzing targets whose inputs are whole sessions: their reports, texts, pages and exports."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from captures import CATALOG
from fuzz import seeds
from fuzz.capture_targets import changed_capture, make_grown
from fuzz.change import change_message, damage_bytes
from fuzz.target import Limits, Target, checks_input, scratch
from fuzz.tree import Node, NotAMessageError, encode, message, parse, root, text
from rich.console import Console
from sums import check_sums

from tb_xla_insights.analysis.sidecar_contents import RECORD_FILE
from tb_xla_insights.analysis.window.window_document import window
from tb_xla_insights.cli.compare_text import print_comparison
from tb_xla_insights.cli.report_text import print_report
from tb_xla_insights.cli.screen import print_screen
from tb_xla_insights.compare.document import comparison_view
from tb_xla_insights.errors import InputError
from tb_xla_insights.export.chrome import write_chrome
from tb_xla_insights.files.open import open_source
from tb_xla_insights.html.page import report_html
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.text.json_text import json_bytes
from tb_xla_insights.trace.build import build_session
from tb_xla_insights.trace.model import SessionTrace, Trace
from tb_xla_insights.trace.read_trace import read_trace

_SIDECARS = {
    2: "stderr.txt",
    3: "metrics_report.txt",
    4: "dynamo_explain.txt",
    5: RECORD_FILE,
    6: "description.txt",
}
"""Names of the sidecar files, by field number."""
_WIDTH = 110


def make_session(pick: Random) -> bytes:
    """The capture of one host, in some cases of several, and in some cases sidecar files."""
    spaces = [changed_capture(pick)] if pick.random() < 0.8 else _several_hosts(pick)
    hosts = [message(1, "XSpace", space.fields or ()) for space in spaces]
    files = [_file(pick, field) for field in _SIDECARS if pick.random() < 0.08]
    data = encode(root("Session", [*hosts, *files]))
    return damage_bytes(pick, data) if pick.random() < 0.03 else data


def _several_hosts(pick: Random) -> list[Node]:
    """Hosts that train together, some of them changed; or similar or unrelated hosts."""
    fields = seeds.fields(real=True)
    if pick.random() < 0.5:
        return [
            host if pick.random() < 0.4 else change_message(pick, host, fields)
            for host in pick.choice(seeds.pods())
        ]
    first = changed_capture(pick)
    more_hosts = pick.choice((1, 1, 2))
    return [
        first,
        *(
            change_message(pick, first if pick.random() < 0.7 else pick.choice(seeds.cut_captures()), fields)
            for _ in range(more_hosts)
        ),
    ]


def _file(pick: Random, field: int) -> Node:
    content = pick.choice(seeds.texts())
    return text(field, "text", damage_bytes(pick, content) if pick.random() < 0.7 else content)


def make_grown_session(pick: Random) -> bytes:
    return encode(root("Session", [text(1, "XSpace", make_grown(pick))]))


def session_of(data: bytes) -> SessionTrace:
    """The session; its files stay on disk for later answers. Raises InputError for an unreadable host."""
    folder = files_of(data)
    return build_session("session", str(folder), [_trace(file) for file in sorted(folder.glob("*.pb"))], [])


def files_of(data: bytes) -> Path:
    """Writes the session's files and returns their folder. Raises InputError if there is no capture."""
    try:
        fields = parse("Files", data).fields or ()
    except NotAMessageError as error:
        raise InputError("no session") from error
    folder = scratch() / "run/plugins/profile/2026_01_01_00_00_00"
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    captures = [field.value for field in fields if field.number == 1 and isinstance(field.value, bytes)]
    for number, capture in enumerate(captures):
        (folder / f"w-{number}.xplane.pb").write_bytes(capture)
    for field in fields:
        if field.number in _SIDECARS and isinstance(field.value, bytes):
            (folder / _SIDECARS[field.number]).write_bytes(field.value)
    if not captures:
        raise InputError("no host")
    return folder


def _trace(path: Path) -> Trace:
    with open_source(str(path)) as source:
        return read_trace(source, CATALOG, host=path.name.split(".")[0])


@checks_input(session_of)
def check_report(session: SessionTrace, _: Random) -> Iterator[str]:
    """Checks that a report's sums add up and that it can be written as JSON."""
    report = session_report(session, all_gaps=True)
    check_sums(report)
    json.loads(json_bytes(report))
    yield from features_of(report)


def features_of(report: Any) -> Iterator[str]:
    """The features of a report: the number of rows of each table (up to 3), the findings, diagnostics, and classes of
    gaps."""
    for name, value in report.items():
        if isinstance(value, list):
            yield f"{name} {min(len(value), 3)}"
        elif isinstance(value, dict):
            yield from (f"{name}.{key}" for key, item in value.items() if item)
    for key in ("findings", "diagnostics"):
        yield from (f"{key} {row['id']} {row['severity']}" for row in report[key])
    yield from (f"gap {gap['kind']} {gap['cause']}" for gap in report["gaps"]["items"])
    yield from (f"{row['join']} {row['kind']}" for row in report["executions"] if "join" in row)


@checks_input(session_of)
def check_faces(session: SessionTrace, pick: Random) -> Iterator[str]:
    """Checks that text, page, export and a comparison with a valid session can be written."""
    report = session_report(session)
    out = printer()
    print_report(out, report)
    print_screen(out, report)
    page = report_html(report)
    assert "<xss>" not in page
    exported = io.BytesIO()
    write_chrome(session, exported)
    json.loads(exported.getvalue())
    length = max(1, session.duration_ps)
    start = pick.randrange(-5, length)
    answer = window(session, start, start + pick.randint(1, length))
    assert not session.duration_ps or sum(answer["by_class_ps"].values()) == answer["duration_ps"]
    json_bytes(answer)
    baseline = valid_session()
    first, second = (session, baseline) if pick.random() < 0.5 else (baseline, session)
    comparison = comparison_view(SessionView(first), SessionView(second))
    json_bytes(comparison)
    print_comparison(out, comparison)
    yield from features_of(report)


def printer() -> Console:
    """A console whose output is discarded."""
    return Console(file=io.StringIO(), width=_WIDTH, highlight=False, markup=False, emoji=False)


def valid_session() -> SessionTrace:
    """A valid session."""
    folder = scratch() / "usual"
    folder.mkdir(exist_ok=True)
    path = folder / "vm.xplane.pb"
    path.write_bytes(encode(seeds.generated_captures()[1]))
    return build_session("usual", str(folder), [_trace(path)], [])


TARGETS = [
    Target("report", make_session, check_report, Limits(1.0, 1e-4, 64_000_000, 4000), 0.5, "Session"),
    Target(
        "grown report", make_grown_session, check_report, Limits(1.0, 1e-4, 64_000_000, 4000), 0.04, "Session"
    ),
    Target("faces", make_session, check_faces, Limits(1.5, 2e-4, 64_000_000, 4000), 0.04, "Session"),
]
