"""The report as one screen."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from report_texts import CASE_STUDY, console, printed_text, report
from rich.console import Console
from synthetic.__main__ import LOGDIR

from tb_xla_insights.cli.main import main
from tb_xla_insights.cli.screen import MAX_LINES, MAX_WIDTH, print_screen
from tb_xla_insights.report.finding_text import finding_groups

SESSIONS = (
    CASE_STUDY,
    "synthetic_pod_16_hosts",
    "synthetic_transformer_2_tpu_cores",
    "synthetic_dynamo_issue_lazy",
    "torch_xla_dynamic_shapes",
    "torch_xla_slow_input",
)


def screen(document: Any, width: int = MAX_WIDTH) -> str:
    out = console(width)
    print_screen(out, document)
    return printed_text(out).replace("\u202f", " ")


def table(text: str) -> list[list[str]]:
    """The cells of the last block but its last line."""
    lines = text.split("\n\n")[-1].splitlines()
    return [re.split(r"\s{2,}", line) for line in lines[:-1]]


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("width", [60, 80, 200])
def test_it_is_one_screen(name: str, width: int) -> None:
    lines = screen(report(name), width).splitlines()
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= min(width, MAX_WIDTH)
    assert "All tables: --full" in lines[-1]


def test_the_case_study() -> None:
    blocks = screen(report(CASE_STUDY)).split("\n\n")
    assert blocks[0].splitlines()[:3] == [
        "The 8 TPU cores work 60 % of the time; above all they wait for the host, which",
        "builds the graph.",
        "Fix first: 324.5 MB sent each step; that brings a step from 242.7 to 221.4 ms.",
    ]
    assert " · 8 TPU v3 cores · synthetic ·\n  10 steps · 3.14 s" in blocks[1]
    assert blocks[2].splitlines() == [
        "One step, ms per core                          █ works   ░ idle   · once, + 48.1",
        "  now             242.7 ████████████████████████████░░░░░░░░░░░░········",
        "  fixed           221.4 █████████████████████████████████████ −8.8 %",
        "  without 3       218.4 ████████████████████████████████████ −10.0 %",
        "  devices' own    169.2 ████████████████████████████ −30.3 %",
        "  computing 148.0 + all-reduce 21.2 + IR tracing 27.4 + transfer to device 19.7",
        "  + dispatch 11.4 + step marker 9.8 + program load 3.1 + 3 more 2.1 = 242.7",
    ]
    assert blocks[3].splitlines()[:5] == [
        "What to do (shares of a step of 242.7 ms)",
        " 1 FIX FIRST    −8.8 %  The device waits for data to be sent",
        "     Do: Send what the next step needs while the device works (MpDeviceLoader);",
        "     send less: create constants on the device, keep there what does not change,",
        "     and use small types (bfloat16, integer labels).",
    ]
    assert table(screen(report(CASE_STUDY))) == [
        ["Idle by cause, ms", "each step", "once", "sum", "share"],
        ["IR tracing", "27.41", "14.70", "42.11", "34.6 %"],
        ["compile", "–", "31.84", "31.84", "26.2 %"],
        ["transfer to device", "19.76", "1.58", "21.34", "17.5 %"],
        ["6 more", "26.38", "–", "26.38", "21.7 %"],
        ["all", "73.55", "48.12", "121.67", "100.0 %"],
    ]


@pytest.mark.parametrize("name", SESSIONS)
def test_findings_have_the_numbers_and_tags_of_the_overview(name: str) -> None:
    document = report(name)
    tags = [group.tag for group in finding_groups(document) for _ in group.findings]
    shown = re.findall(r"^ ?(\d+) (FIX FIRST|fix|pace|note|once)\b", screen(document), re.MULTILINE)
    assert [int(number) for number, _ in shown] == [*range(1, len(shown) + 1)]
    first = next(
        (n for n, row in enumerate(document["findings"]) if row["id"] == document["verdict"]["fix"]), -1
    )
    expected = ["FIX FIRST" if n == first else tag for n, tag in enumerate(tags)]
    assert [tag for _, tag in shown] == expected[: len(shown)]


def test_findings_that_do_not_fit_are_counted() -> None:
    document = report(CASE_STUDY)
    rows = [row | {"id": f"{row['id']} {n}"} for n in range(4) for row in document["findings"]]
    text = screen(document | {"findings": rows})
    assert len(text.splitlines()) <= MAX_LINES
    assert re.search(r"^   \d+ more findings: --full$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "heads"),
    [
        ("synthetic_pod_16_hosts", ["Hosts", "others wait, ms", "last in", "busy", "differs most"]),
        ("torch_xla_slow_input", ["Idle by cause, ms", "each step", "share"]),
    ],
)
def test_the_table_that_a_verdict_needs(name: str, heads: list[str]) -> None:
    assert table(screen(report(name)))[0] == heads


def test_a_busy_device_has_its_work_or_its_waits() -> None:
    document = report("synthetic_transformer_2_tpu_cores")
    heads, first, *_ = table(screen(document))
    assert (heads[:2], first[1]) == (["Work by annotation", "of step"], "74.0 %")
    verdict = document["verdict"] | {"cause": "device_waits"}
    heads, *rows = table(screen(document | {"verdict": verdict}))
    assert heads == ["Waits and exchanges per step and core", "time, ms", "share"]
    assert rows[-1] == ["all", "4.91", "100.0 %"]


def test_without_devices_it_tells_what_the_host_does() -> None:
    document = report(CASE_STUDY)
    step_idle = document["step_idle"] | {"work_ps": None, "idle_ps": None, "all_cores": None, "devices": []}
    no_device = {
        "devices": [],
        "step_idle": step_idle,
        "findings": [],
        "gaps": document["gaps"] | {"items": []},
    }
    text = screen(document | no_device)
    assert "One step" not in text
    assert "No findings." in text
    assert table(text)[0] == ["The host, per step", "time, ms", "share"]


def test_warnings_precede_what_they_limit() -> None:
    document = report(CASE_STUDY)
    rows = [
        {"id": f"d{n}", "severity": "warning", "message": f"File {n} is cut.", "host": "vm"} for n in range(4)
    ]
    text = screen(document | {"diagnostics": rows})
    assert (
        "\n\nWarning (vm): File 0 is cut.\nWarning (vm): File 1 is cut.\n2 more warnings: --full\n\n" in text
    )
    assert "is cut off by the capture's edges" not in screen(document)


def test_bars_in_ascii() -> None:
    printed = io.BytesIO()
    stream = io.TextIOWrapper(printed, "ascii", errors="replace")
    print_screen(
        Console(file=stream, width=80, highlight=False, markup=False, emoji=False), report(CASE_STUDY)
    )
    stream.flush()
    lines = printed.getvalue().decode().splitlines()
    assert "  now             242.7 ############################............++++++++" in lines


def test_all_tables_are_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(LOGDIR / CASE_STUDY)
    assert main(["report", path]) == 0
    short = capsys.readouterr().out
    assert main(["report", path, "--full"]) == 0
    full = capsys.readouterr().out
    assert "Recurring gaps" in full
    assert "Recurring gaps" not in short
    assert len(short.splitlines()) <= MAX_LINES < len(full.splitlines())
