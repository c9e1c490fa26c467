"""Text on standard error while a session is recorded. Scripts run in a separate process."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import run_script

from tb_xla_insights.record.stderr import CapturedStderr


def test_output_of_python_of_native_code_and_of_child_processes_is_captured_and_forwarded() -> None:
    program = """
import os, subprocess, sys
from tb_xla_insights.record.stderr import CapturedStderr
text = CapturedStderr()
print("before", file=sys.stderr)
text.start()
print("python", file=sys.stderr)
os.write(2, b"native\\n")
subprocess.run(["sh", "-c", "echo child >&2"], check=True)
captured = text.stop()
print("after", file=sys.stderr)
print(repr(captured))
"""
    process = run_script(program)
    assert process.stdout.strip() == repr("python\nnative\nchild\n")
    assert process.stderr.split() == ["before", "python", "native", "child", "after"]


def test_a_child_process_that_keeps_writing_does_not_block_the_stop() -> None:
    program = """
import subprocess, sys
from tb_xla_insights.record.stderr import CapturedStderr
text = CapturedStderr()
text.start()
child = subprocess.Popen(["sh", "-c", "read line; echo $line >&2"], stdin=subprocess.PIPE)
print(repr(text.stop()))
child.communicate(b"later\\n")
assert child.returncode == 0
"""
    assert run_script(program).stdout.strip() == "''"


def test_stderr_without_a_reader_does_not_block_the_program() -> None:
    program = """
import os, signal
from tb_xla_insights.record.stderr import CapturedStderr
signal.alarm(30)  # ends the program if it blocks
read_end, write_end = os.pipe()
os.dup2(write_end, 2)
os.close(write_end)
os.close(read_end)
text = CapturedStderr()
text.start()
for _ in range(5):
    os.write(2, b"x" * 65_536)
print(len(text.stop()))
"""
    assert run_script(program).stdout.strip() == str(5 * 65_536)


def test_the_debug_file_of_pytorch_xla(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "debug"
    file.write_text("old\n")
    monkeypatch.setenv("PT_XLA_DEBUG_FILE", str(file))
    text = CapturedStderr()
    text.start()
    with file.open("a") as opened:
        opened.write("new\n")
    assert text.stop() == "new\n"
