"""The layout of text: widths of terminals, and wrapping of paragraphs and tables."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest
from report_texts import (
    CASE_STUDY,
    column_headings,
    console,
    printed_text,
    section,
    single_spaced,
    text_of,
)
from rich.cells import cell_len
from synthetic.__main__ import LOGDIR

from tb_xla_insights.cli import elements, printing
from tb_xla_insights.cli.layout import NO_BREAK_SPACE, wrap
from tb_xla_insights.cli.main import main
from tb_xla_insights.tables.definition import Column, Definition

SESSIONS = [CASE_STUDY, "torch_xla_early_item", "torch_xla_dynamic_shapes", "torch_xla_dynamo_graph_break"]
Capsys = pytest.CaptureFixture[str]


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("width", [60, 80, 120])
class TestWidths:
    def test_no_line_is_longer(self, name: str, width: int) -> None:
        assert max(map(len, text_of(name, width).splitlines())) <= width

    def test_no_word_is_broken(self, name: str, width: int) -> None:
        """Lines end at spaces, but not between a number and its unit. Paths may also be divided after a slash."""
        unbroken = words(text_of(name)) | words("A wider terminal also shows:")
        for part in words(text_of(name, width)) - unbroken:
            assert any("/" in word and part in word for word in unbroken), part

    def test_columns_that_are_left_out_are_named(self, name: str, width: int) -> None:
        for title in ("Steps", "Gaps", "Executions"):
            section_text = " ".join(section(text_of(name, width), title))
            for heading in re.split(r"  +", column_headings(text_of(name), title)):
                assert all(word in section_text for word in heading.partition(",")[0].split()), (
                    title,
                    heading,
                )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("kind", ["dumb", "unknown", "xterm-256color"])
def test_text_is_as_wide_as_the_terminal(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    for name, value in {"TERM": kind, "COLUMNS": "140", "LINES": "40"}.items():
        monkeypatch.setenv(name, value)
    assert printing.console().width == 140


def words(text: str) -> set[str]:
    return {word.strip(",.:") for word in re.split("[ \n]+", text) if not set(word) <= {"─"}}


def test_wrapped_lines_are_indented_and_numbers_keep_their_unit() -> None:
    assert wrap("1. Info: takes 2\u202f547.256\u202fms", 20, hanging="   ") == [
        "1. Info: takes",
        "   2\u202f547.256\u202fms",
    ]
    assert wrap(f"a b{NO_BREAK_SPACE}c", 4) == ["a", "b c"]
    assert wrap(f"one{NO_BREAK_SPACE}two", 5) == ["one", "two"]
    assert wrap("at /opt/demo/train.py", 12) == ["at /opt/", "demo/", "train.py"]
    assert wrap("", 12) == [""]


def test_empty_text_columns_are_omitted_and_the_others_printed() -> None:
    out = console()
    definition = Definition(
        "", (Column("name", "Name"), Column("why", "Why"), Column("count", "Count", "count"))
    )
    out.print(elements.table(definition, [{"name": "a", "why": None, "count": 0}]))
    assert printed_text(out).split() == ["Name", "Count", "────────────", "a", "0"]


def test_columns_of_zeros_are_left_out_before_text_is_wrapped() -> None:
    for width, row in ((70, "Start, ms Reads Most host time"), (40, "Start, ms Most host time")):
        out = console(width)
        columns = (
            Column("step", "Step"),
            Column("start_ps", "Start", "ms"),
            Column("reads", "Reads", "count", priority=1),
            Column("classes", "Most host time"),
        )
        step = {"step": "a", "start_ps": 10**9, "reads": 0, "classes": "tracing 1 ms, wait 2 ms"}
        out.print(elements.table(Definition("Steps", columns), [step]))
        assert " ".join(printed_text(out).splitlines()[1].split()) == f"Step {row}"


def test_tables_fit_the_width_of_the_terminal() -> None:
    terminal, program_end = pty.openpty()
    fcntl.ioctl(program_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
    command = [sys.executable, "-m", "tb_xla_insights", "report", "--full", str(LOGDIR / SESSIONS[1])]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=program_end, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        os.close(program_end)
        shown = b"".join(iter(lambda: _read(terminal), b"")).decode()
    os.close(terminal)
    assert process.returncode == 0
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines()
    assert 60 < max(map(len, lines)) <= 72
    assert any(line.startswith("A wider terminal also shows:") for line in lines)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other end is closed
        return b""


def test_a_pipe_gets_every_column_and_each_row_in_one_line(capsys: Capsys) -> None:
    assert main(["report", "--full", str(LOGDIR / CASE_STUDY)]) == 0
    text = capsys.readouterr().out.replace("\u202f", " ")
    assert "A wider terminal" not in text
    [detail] = [line for line in text.splitlines() if line.startswith("   Do: Find what is new in the graph")]
    assert detail.endswith("and run every variant once before the loop.")
    classes = "IR tracing 187.066 ms, wait 140.771 ms, transfer to device 24.530 ms"
    assert f"Training_Step 1211 2 074.058 404.203 158.575 2 0 1 0 1 {classes}" in section(text, "Steps")


@pytest.mark.parametrize("width", [100, 42, 30])
def test_wide_characters_take_two_cells(width: int) -> None:
    """No line is wider than the terminal, no name is cut, and numbers are aligned."""
    out, sentence = console(width), "Most of that is in 训练步骤模型训练加速器训练步骤模型训练加速器."
    columns = (Column("name", "Name"), Column("count", "Count", "count"), Column("path", "Path"))
    rows = [
        {"name": "训练步骤", "count": 1, "path": "/home/数据/训练/train.py"},
        {"name": "ab", "count": 22, "path": "模型训练加速器"},
    ]
    out.print(elements.table(Definition("Programs", columns), rows))
    elements.print_paragraph(out, sentence)
    lines = printed_text(out).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert [line.split()[0] for line in lines[3:5]] == [row["name"] for row in rows]
    assert ("/home/数据/训练/train.py" in lines[3]) == (width > 40)
    assert single_spaced(sentence).replace(" ", "") in printed_text(out).replace(" ", "").replace("\n", "")
    first, second = lines[3].index("1"), lines[4].index("22")
    assert cell_len(lines[3][:first]) == cell_len(lines[4][:second]) + 1
