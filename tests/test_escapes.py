"""Names from captures, paths and sidecar files cannot control a terminal or hide text in the output."""

from __future__ import annotations

import ast
import json
import os
import pty
import random
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from helpers import MS
from synthetic.writer import Space

import tb_xla_insights as xi
from tb_xla_insights.cli.main import main
from tb_xla_insights.cli.printing import console
from tb_xla_insights.errors import InputError
from tb_xla_insights.html.page import report_html
from tb_xla_insights.text.escapes import escape_json, escape_text

PACKAGE = Path(__file__).parents[1] / "tb_xla_insights"
Capsys = pytest.CaptureFixture[str]

HIDDEN = [chr(code) for code in range(0x2100) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp")]
HIDDEN += ["\ufeff", "\ufff9", "\U000e0041", "\U0001d173"]
ESCAPE_SEQUENCES = [
    "\x1b]0;title\x07",
    "\x1b]8;;http://x\x1b\\link",
    "\x1b[2J",
    "\x9b31m",
    "\x1bP+q\x1b\\",
    "\rover",
    "a\nb",
]


def invisible_characters(text: str) -> set[str]:
    """The characters of a text that a terminal interprets or does not show, except line ends."""
    return {
        character
        for character in text
        if unicodedata.category(character)[0] in "C" or character in "\u2028\u2029"
    } - {"\n"}


class TestEscapeText:
    def test_printable_text_is_unchanged(self) -> None:
        for text in ("", "forward/µ – 3\u202fms", "日本語 עברית", r"C:\new\x1b", "a\u00a0b", "👩 ü"):
            assert escape_text(text) == text

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("\x1b[1mx\x07", r"\x1b[1mx\x07"),
            ("a\nb\r\tc\x7f\x9b", r"a\nb\r\tc\x7f\x9b"),
            ("\u202egp\u2066j\u2029\u200b\ufeff\xad", r"\u202egp\u2066j\u2029\u200b\ufeff\xad"),
            ("x\udc80\ud800\U000e0041", r"x\udc80\ud800\U000e0041"),
        ],
    )
    def test_control_and_invisible_characters_are_escaped(self, text: str, shown: str) -> None:
        assert escape_text(text) == shown == escape_text(shown)
        assert str(InputError(text)) == shown

    def test_no_character_is_left_out(self) -> None:
        characters = "".join(map(chr, [*range(0x11000), *range(0xE0000, 0xE0200), sys.maxunicode]))
        assert not invisible_characters(escape_text(characters))
        assert escape_text(characters).encode()

    def test_escaped_json_has_the_same_values(self) -> None:
        names = [*HIDDEN, *ESCAPE_SEQUENCES, "\udc80", "ü 3\u202fms"]
        text = json.dumps(names, ensure_ascii=False, indent=2)
        assert json.loads(escape_json(text)) == names
        assert not invisible_characters(escape_json(text))


def test_only_the_printing_module_writes_to_the_terminal() -> None:
    """In the command line, only the module `printing` writes to a stream."""
    writing_modules = set()
    for path in (PACKAGE / "cli").glob("*.py"):
        calls = [
            ast.unparse(node.func)
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call)
        ]
        if any(re.fullmatch(r"print|.*(stdout|stderr)(\.buffer)?\.write", call) for call in calls):
            writing_modules.add(path.name)
    assert writing_modules == {"printing.py"}


def test_a_console_escapes_control_characters_except_line_ends(capsys: Capsys) -> None:
    console().print("a\x1bb\u202e\nc", style="bold")
    assert capsys.readouterr().out == "a\\x1bb\\u202e\nc\n"


def hostile_session(folder: Path, names: Iterator[str]) -> Path:
    """A session with these names: its own, and those of its host, threads, annotations, programs, ops and stats, and in
    its sidecar files."""

    def name(suffix: str = "") -> str:
        return f"{next(names)}{suffix}"

    space = Space(hostnames=[name()])
    space.errors.append(name())
    host = space.plane("/host:CPU")
    device = space.plane("/device:TPU:0", stats={"device_type_string": name()})
    modules, ops = device.line("XLA Modules"), device.line("XLA Ops")
    for thread in range(2):
        line = host.line(name())
        for step in range(3):
            at = step * 10 * MS
            line.event("Training_Step", at, 9 * MS, _r=1, step_num=step + 2)
            line.event(name(), at + MS, 3 * MS, _r=1)
            line.event(name(), at + 5 * MS, 3 * MS)
            if thread == 0:
                program = name("(1)")
                modules.event(program, at + 4 * MS, 5 * MS, run_id=step)
                metadata = device.event_metadata(
                    name(), stats={"hlo_category": name(), "tf_op": f"{name()}/{name()}"}
                )
                ops.event(metadata, at + 4 * MS, 5 * MS, hlo_module=program, source=name())
    session = folder / os.fsdecode(
        f"s{name()}\udc80".encode("utf-8", "surrogateescape").replace(b"/", b"").replace(b"\0", b"")
    )
    path = session / os.fsdecode(
        f"h{name()}".encode().replace(b"/", b"").replace(b"\0", b"") + b"\xff.xplane.pb"
    )
    session.mkdir(parents=True)
    space.write(path)
    (session / "description.txt").write_text(name())
    counters = f"Counter: aten::{name()}\n  Value: 3\nCounter: x\n  Value: {name()}\n"
    (session / "metrics_report.txt").write_text(
        f"Metric: ExecuteTime\n  TotalSamples: 9\n  Accumulator: 1s\n{counters}"
    )
    (session / "explain.txt").write_text(
        f"Graph Count: 2\nGraph Break Count: 1\nOp Count: 3\nBreak Reasons:\n  Break Reason 1:\n    Reason: {name()}\n"
    )
    (session / "xla_insights_record.json").write_text(
        json.dumps({"versions": {name(): name()}, "flags": {"XLA_X": name()}})
    )
    return session


def output_of_commands(session: Path, names: Iterator[str], capsys: Capsys, tmp_path: Path) -> str:
    """The stdout and stderr of every command about a session, and of commands that fail on these names."""
    path, out = str(session), str(tmp_path / f"out{next(names)}".replace("\0", ""))
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(
        "model,a,b\n" + "".join(f'"{next(names)}",{n},2\n'.replace("\0", "") for n in range(1, 9)), newline=""
    )
    (tmp_path / "bad.json").write_text(json.dumps({"groups": [{"class": next(names)}]}))
    commands = [
        ["sessions", path],
        ["report", path],
        ["report", path, "--html", f"{out}/page.html"],
        ["report", f"{path}{next(names)}".replace("\0", "")],
        ["report", path, "--session", next(names)],
        ["report", path, "--catalog", str(tmp_path / "bad.json")],
        ["report", path, "--duty", next(names)],
        ["window", path, "--start-ms", "0", "--end-ms", "25"],
        ["window", path, "--start-ms", "0", "--end-ms", "25", "--device", next(names)],
        ["window", path, "--start-ms", next(names), "--end-ms", "25"],
        ["compare", path, path],
        ["compare", "--pairs", str(pairs)],
        ["export", path, "--format", "chrome", "-o", f"{out}.json"],
        ["export", path, "--format", "csv", "-o", f"{out}.csv"],
        ["capture", next(names), "logdir"],
        [next(names)],
    ]
    output = ""
    for command in commands:
        with suppress(SystemExit):  # wrong usage
            main(command)
        captured = capsys.readouterr()
        output += captured.out + captured.err
    return output


@pytest.mark.usefixtures("packed_page")
@pytest.mark.parametrize("seed", range(4))
def test_no_command_prints_invisible_characters(seed: int, tmp_path: Path, capsys: Capsys) -> None:
    pick = random.Random(seed)

    def names() -> Iterator[str]:
        while True:
            yield f"n{pick.choice(HIDDEN)}{pick.choice(ESCAPE_SEQUENCES)}{pick.choice(HIDDEN)}x"

    output = output_of_commands(hostile_session(tmp_path / "logdir", names()), names(), capsys, tmp_path)
    assert not invisible_characters(output)
    assert all(shown in output for shown in (r"\x1b]0;title\x07", r"\udcff", r"\u20"))


def test_pages_and_notebook_cells_have_no_invisible_characters(tmp_path: Path) -> None:
    """A direction mark in a name does not reverse text in a browser either."""
    session = xi.load(
        str(hostile_session(tmp_path, iter(lambda: "n\u202e\u2066\x9b\u200b\x1b]0;t\x07", None)))
    )
    pages = [
        report_html(session.report()),
        session._repr_html_(),
        session.annotations()._repr_html_(),
        repr(session),
    ]
    for text in pages:
        assert not invisible_characters(text)
        assert r"\u202e" in text
    assert pages[0].count("<main>") == 1


def test_json_on_a_terminal_has_no_invisible_characters(tmp_path: Path) -> None:
    session = hostile_session(tmp_path, iter(lambda: "n\u202e\x9b\x7f\x1b]0;t\x07", None))
    terminal, program_end = pty.openpty()
    command = [sys.executable, "-m", "tb_xla_insights", "sessions", "--json", str(session)]
    with subprocess.Popen(command, stdout=program_end, stderr=program_end) as process:
        os.close(program_end)
        output = b""
        try:
            while chunk := os.read(terminal, 1 << 16):
                output += chunk
        except OSError:  # on Linux, the other end is closed
            pass
        assert process.wait() == 0
    os.close(terminal)
    text = output.decode().replace("\r\n", "\n")
    assert not invisible_characters(text)
    [host] = json.loads(text)["sessions"][0]["hosts"]
    assert host["name"] == r"hn" + "\u202e\x9b\x7f\x1b]0;t\x07" + r"\udcff"
