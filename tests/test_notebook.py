"""Output in notebooks: sessions and tables in short, the report in a frame, and the example notebook."""

from __future__ import annotations

import json
import sys
import types
from html import unescape
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from synthetic.__main__ import LOGDIR
from test_html import Page

import tb_xla_insights as xi
from tb_xla_insights.html.cells import table_cell
from tb_xla_insights.html.page import report_html
from tb_xla_insights.text import units
from tb_xla_insights.text.english import plural

NOTEBOOK = Path(__file__).parents[1] / "examples/notebook.ipynb"
TABLES = (
    "devices", "steps", "gaps", "executions", "compiles", "transfers", "collectives", "ops", "findings",
    "annotations",
)  # fmt: skip


@pytest.fixture(scope="module")
def session() -> xi.Session:
    return xi.load(str(LOGDIR / "synthetic_case_study_8_tpu_cores"))


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The outputs displayed in a notebook."""
    displayed: list[str] = []
    module = types.ModuleType("IPython.display")
    vars(module).update(HTML=str, display=displayed.append)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return displayed


def parsed_html(value: Any) -> Page:
    markup = value._repr_html_()
    assert type(markup) is str
    return Page(markup)


def test_a_session_shows_verdict_findings_and_devices(session: xi.Session) -> None:
    report, parsed = session.report(), parsed_html(session)
    text = parsed.text()
    for sentences in ("headline", "details"):
        assert report["verdict"][sentences].replace("\u202f", " ") in text
    assert str(report["session"]["description"]) in text
    assert "synthetic" in [content for tag, content in parsed.texts if tag == "span"]
    assert all(finding["title"] in text for finding in report["findings"])
    rows = [row for table in parsed.rows.values() for row in table]
    assert [row[0] for row in rows[1:-1]] == [device["name"] for device in report["devices"]]
    assert rows[-1][0] == "mean of 8 cores"
    assert repr(session) == f"Session({session.name!r}, 1 host)"


@pytest.mark.parametrize("name", TABLES)
def test_every_table_shows_its_first_rows(session: xi.Session, name: str) -> None:
    table: xi.Table = getattr(session, name)()
    parsed = parsed_html(table)
    [[head, *rows]] = parsed.rows.values()
    assert len(rows) == min(20, len(table))
    assert [value for tag, key, value in parsed.attributes if (tag, key) == ("span", "title")][
        : len(head)
    ] == table.columns
    assert (f"The first 20 of {units.count(len(table))} rows." in parsed.text()) == (len(table) > 20)
    assert repr(table) == f"Table({plural(len(table), 'row')}: {', '.join(table.columns)})"


def test_cells_are_in_the_units_of_the_page() -> None:
    row = {
        "start_ps": 72_143_000_000, "stall_ps": 0, "host_ps": {"wait": 1_000_000, "tracing": 2_000_000},
        "count": 11520, "step_number": 1206, "duty_cycle": 0.605, "rate": 0.25, "per_step": 1 / 3, "cut": None,
        "bytes_per_step": 324540000, "b": 12345.6, "c": 9_999.4, "d": 9_999.6,
        "ids": ["a", "b"], "chain": [{}, {}], "seen": True, "text": "x" * 60,
    }  # fmt: skip
    [[head, cells]] = parsed_html(xi.Table([row])).rows.values()
    assert head[:4] == ["start, ms", "stall, ms", "host", "count"]
    assert [cell.replace("\u202f", " ") for cell in cells] == [
        "72.143", "0.000", "IR tracing 2.000 µs, wait 1.000 µs", "11 520", "1206", "60.5 %", "0.25", "0.3333", "–",
        "324 540 000", "12 346", "9999", "10 000", "a, b", "2 rows", "yes", "x" * 47 + "…",
    ]  # fmt: skip


def test_names_are_escaped_as_text() -> None:
    name = '<script>alert("1")</script>&amp;'
    parsed = parsed_html(xi.Table([{name: name, "b": [name], "c_ps": {name: 1}}]))
    assert "script" not in {tag for tag, _, _ in parsed.attributes} | {tag for tag, _ in parsed.texts}
    assert parsed.text().count("alert") == 4


def test_an_empty_table_is_labelled() -> None:
    assert "No rows." in parsed_html(xi.Table([])).text()


def test_show_opens_the_report_in_an_iframe(session: xi.Session, shown: list[str]) -> None:
    session.show(height=321)
    [frame] = shown
    frames = {key: value for tag, key, value in Page(frame).attributes if tag == "iframe"}
    assert frames["srcdoc"] == str(report_html(session.document()))
    assert (frames["sandbox"], frames["height"]) == ("", "321")
    assert not frame.startswith("<iframe")  # IPython would warn
    assert unescape(frame) != frame


def test_show_without_ipython_names_the_package_to_install(
    session: xi.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(ImportError, match="pip install notebook"):
        session.show()


class TestTheExample:
    def test_the_example_notebook_has_no_outputs(self) -> None:
        cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)

    def test_the_example_notebook_runs(self) -> None:
        notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
        resources = {"metadata": {"path": str(NOTEBOOK.parent)}}
        nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
        outputs = [
            output.get("data", {}).get("text/html") or output.get("text", "")
            for cell in notebook.cells
            if cell.cell_type == "code"
            for output in cell.outputs
        ]
        assert "The 8 TPU cores work" in outputs[0]
        assert "72.143" in outputs[2]
        assert "<iframe" in outputs[-1]


def test_names_of_devices_are_shown_unchanged() -> None:
    cell = table_cell([{"idle_ps": {"my_host/TPU:0": 3_000_000_000}, "by_class_ps": {"from_device": 10**9}}])
    assert "my_host/TPU:0 3.00" in cell
    assert "transfer from device 1.00" in cell
