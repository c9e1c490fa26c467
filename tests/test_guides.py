"""The guides' Python and their commands `xla-insights` run as written, or can be parsed if they need JAX or another
machine; their pictures exist."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tb_xla_insights.cli.main import main, parser

ROOT = Path(__file__).parents[1]
GUIDES = {path.stem: path.read_text() for path in sorted((ROOT / "docs/guides").glob("*.md"))}
PICTURES = set(json.loads((ROOT / "docs/pictures/texts.json").read_text()))
RUN_HERE = re.compile(r"demo_logs/|tests/recorded/")
COMMANDS = [
    (guide, line)
    for guide, text in GUIDES.items()
    for line in re.findall(r"^    (xla-insights .*)$", text, re.MULTILINE)
]


def blocks(guide: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDES[guide], re.MULTILINE | re.DOTALL)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the guides' inputs, into which their commands can write."""
    for name in ("demo_logs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    [names] = blocks("event-names", "json")
    (tmp_path / "names.json").write_text(names)
    monkeypatch.chdir(tmp_path)
    return tmp_path


PRINTED: dict[str, str] = {}
"""What a command has printed: several lines filter the same report."""


@pytest.mark.parametrize(("guide", "line"), [command for command in COMMANDS if RUN_HERE.search(command[1])])
@pytest.mark.usefixtures("checkout")
def test_the_commands_of_a_guide_run(guide: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, _, filter_command = line.partition(" | ")
    expected = 1 if command.endswith("# exit code 1") else 0
    if command not in PRINTED:
        assert main(shlex.split(command, comments=True)[1:]) == expected, guide
        PRINTED[command] = capsys.readouterr().out
    if filter_command:
        assert filter_command.startswith("jq ")
        if not shutil.which("jq"):
            pytest.skip("jq is missing: the guides' filters of JSON are not tested")
        answer = subprocess.run(
            shlex.split(filter_command), input=PRINTED[command], capture_output=True, text=True, check=True
        )
        assert answer.stdout.strip() not in ("", "null"), answer.stderr


@pytest.mark.parametrize(
    ("guide", "line"), [command for command in COMMANDS if not RUN_HERE.search(command[1])]
)
def test_the_commands_that_need_another_machine_can_be_parsed(guide: str, line: str) -> None:
    assert parser().parse_args(shlex.split(line)[1:]), guide


@pytest.mark.usefixtures("checkout")
def test_the_python_of_the_guide_to_python_runs() -> None:
    code = "".join(blocks("notebooks-and-python", "python"))
    assert "to_pandas" in code
    exec(code, {})


def test_the_python_of_the_jax_guide_can_be_parsed() -> None:
    code = "".join(blocks("jax", "python"))
    assert "StepTraceAnnotation" in code
    ast.parse(code)


@pytest.mark.parametrize(
    "page", [*sorted((ROOT / "docs/guides").glob("*.md")), ROOT / "README.md"], ids=lambda path: path.stem
)
def test_pictures_exist_for_both_themes_and_are_small(page: Path) -> None:
    sources = re.findall(r'(?:src|srcset)="([^"]+)"', page.read_text())
    names = [Path(re.sub(r"-(light|dark)\.webp$", "", source)).name for source in sources]
    assert set(names) <= PICTURES | {"tour"}
    assert all(names.count(name) == 2 for name in names)
    for source in sources:
        assert (page.parent / source).stat().st_size < (500_000 if "tour-" in source else 150_000), source


def test_every_picture_is_in_a_page() -> None:
    pages = "".join([*GUIDES.values(), (ROOT / "README.md").read_text()])
    assert {name for name in PICTURES if f"pictures/{name}-light.webp" in pages} == PICTURES
