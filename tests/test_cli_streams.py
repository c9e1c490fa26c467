"""The command line with closed pipes, full disks and encodings other than UTF-8."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import write_session
from synthetic.__main__ import LOGDIR


@pytest.mark.parametrize(
    ("arguments", "demo", "code", "message"),
    [
        (["sessions", "--json"], "synthetic_transformer_2_tpu_cores", 0, ""),
        (["report"], "synthetic_transformer_2_tpu_cores", 0, ""),
        (["report", "--json"], "synthetic_transformer_2_tpu_cores", 0, ""),
        (["report", "--fail-on", "info"], "synthetic_case_study_8_tpu_cores", 1,
         "finding (info): The device waits for data to be sent\n"),
        (["compare", "--fail-on", "worse", str(LOGDIR / "torch_xla_baseline")], "torch_xla_slow_input", 1,
         "B is worse than A: "),
    ],
)  # fmt: skip
def test_a_closed_pipe_is_not_an_error(arguments: list[str], demo: str, code: int, message: str) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "tb_xla_insights", *arguments, str(LOGDIR / demo)]
    root = Path(__file__).parents[1]
    try:
        process = subprocess.run(
            command, stdout=write_end, stderr=subprocess.PIPE, text=True, cwd=root, check=False
        )
    finally:
        os.close(write_end)
    assert (process.returncode, process.stderr[: len(message)]) == (code, message)
    assert bool(message) or not process.stderr


@pytest.mark.parametrize(
    ("redirection", "code", "message"),
    [(">/dev/full", 3, r"xla-insights: .*No space left.*\n"), (">&-", 0, "")],
)
def test_a_full_or_closed_stdout_has_no_traceback(
    redirection: str, code: int, message: str, logdir: Path
) -> None:
    if redirection == ">/dev/full" and not Path("/dev/full").is_char_device():
        pytest.skip("this system has no /dev/full")
    command = [sys.executable, "-m", "tb_xla_insights", "sessions", "--json", str(logdir)]
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh", *command]
    root = Path(__file__).parents[1]
    process = subprocess.run(shell, stderr=subprocess.PIPE, text=True, cwd=root, check=False)
    assert process.returncode == code
    assert re.fullmatch(message, process.stderr)


def test_a_closed_stderr(logdir: Path) -> None:
    command = [sys.executable, "-m", "tb_xla_insights", "report", "--json", str(logdir)]
    shell = ["sh", "-c", 'exec "$@" 2>&-', "sh", *command]
    process = subprocess.run(shell, stdout=subprocess.PIPE, text=True, check=False)
    assert process.returncode == 0
    assert json.loads(process.stdout)["schema"]


def test_json_is_valid_if_stdout_cannot_encode_a_name(tmp_path: Path) -> None:
    path = write_session(tmp_path / "µ \U0001f600", "vm")
    command = [sys.executable, "-m", "tb_xla_insights", "report", "--json", str(path)]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    process = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=False)
    assert json.loads(process.stdout)["session"]["name"] == "µ \U0001f600"
