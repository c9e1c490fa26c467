"""Progress of the commands on a terminal: one line, which names what is being read or done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers import write_session

from tb_xla_insights.cli import reading
from tb_xla_insights.cli.main import main
from tb_xla_insights.cli.reading import _progress_line
from tb_xla_insights.logdir.read_hosts import Reading


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


def test_the_progress_line_names_the_host_being_read() -> None:
    host = Reading("vm", 4000)
    assert _progress_line([host], 1) == "Preparing"
    assert _progress_line([host], 3) == "Preparing"
    host.state = "reading"
    assert _progress_line([host], 3) == "Waiting for the first bytes of vm"
    host.bytes_read = 1000
    assert plain(_progress_line([host], 0.5)) == "Reading vm · 1.0 kB of 4.0 kB"
    assert plain(_progress_line([host], 2)).endswith(" · about 6 s left")


def test_the_progress_line_of_several_hosts_counts_those_that_failed() -> None:
    first, failed = Reading("a", 4000, 4000, "ready"), Reading("b", 4000, 1000, "reading")
    assert plain(_progress_line([first, failed], 2)) == "1 of 2 hosts read · about 2 s left"
    failed.fail("truncated")
    assert _progress_line([first, failed], 2) == "Preparing"


def test_commands_show_one_line_of_progress_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while an answer needs several sessions, and as long as it takes."""
    shown: list[str] = []
    notes = 0

    @contextmanager
    def show(line_after: Callable[[float], str]) -> Iterator[None]:
        nonlocal notes
        notes += 1
        assert notes == 1
        shown.append(line_after(1))
        yield
        shown.append(line_after(1))
        notes -= 1

    monkeypatch.setattr(reading, "progress_note", show)
    pods, [single] = [tmp_path / name for name in "ab"], write_session(tmp_path / "single", "vm").iterdir()
    for pod in pods:
        write_session(pod, "a", "b")
    assert main(["compare", *map(str, pods)]) == 0
    assert "0 of 4 hosts read" in shown
    shown.clear()
    assert main(["report", str(single)]) == 0
    assert shown[-1] == "Preparing"
    output = tmp_path / "trace.json"
    assert main(["export", str(single), "--format", "chrome", "-o", str(output)]) == 0
    assert shown[-1] == f"Writing {output}"
    assert main(["export", str(pods[0]), "--format", "csv", "-o", str(tmp_path)]) == 0
    assert shown[-1] == f"Writing {tmp_path}"
