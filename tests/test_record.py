"""Recording from within a script: the logdir, the session with its sidecar files, errors, and text on standard error.
Scripts run in a separate process."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import raising, run_script

import tb_xla_insights as xi
from tb_xla_insights.analysis.sidecar_contents import RECORD_FILE
from tb_xla_insights.errors import InputError
from tb_xla_insights.record import record

TRAIN = """
import sys
import jax, jax.numpy as jnp
from tb_xla_insights.record import Recording, record
work = jax.jit(lambda x: (x @ x).sum())
def train(first):
    for number in range(first, first + 4):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            work(jnp.ones((64, 64))).block_until_ready()
train(0)
logdir = sys.argv[1]
"""


def test_importing_the_module_and_recording_without_a_logdir_import_no_framework() -> None:
    program = """
import sys
before = set(sys.modules)
from tb_xla_insights.record import record
with record(None) as recording:
    pass
assert recording.session is None and record("").stop() is None
print(*(set(sys.modules) - before))
"""
    process = run_script(program)
    assert process.returncode == 0, process.stderr
    imported = process.stdout.split()
    assert not {"torch", "torch_xla", "jax", "numpy", "fsspec", "grpc", "google.protobuf"} & set(imported)
    assert not [name for name in imported if name.startswith("tb_xla_insights.logdir")]


def test_recording_without_a_framework_is_a_one_line_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tb_xla_insights.record.tracers.util.find_spec", lambda _: None)
    for name in ("jax", "torch_xla"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(InputError, match=r"^record: neither torch_xla nor jax is installed; install the one"):
        record(tmp_path).start()
    assert not list(tmp_path.iterdir())


class SilentProfiler:
    """A profiler that records nothing, and does not start if `another_runs`."""

    packages = ()

    def __init__(self, another_runs: bool) -> None:
        self._another_runs = another_runs

    def start(self, logdir: str) -> None:
        assert Path(logdir).is_dir()
        if self._another_runs:
            raise RuntimeError("Profile has already been started. ")

    def stop(self) -> None: ...
    def wait_for_devices(self) -> None: ...
    def metrics(self) -> None: ...


class TestNewLogdir:
    """The recorder creates the logdir to check that it can be written to; if nothing is recorded, it is removed."""

    def start(
        self, logdir: Path, monkeypatch: pytest.MonkeyPatch, another_runs: bool, **options: Any
    ) -> None:
        monkeypatch.setattr(
            "tb_xla_insights.record.recording.tracer", lambda *_: SilentProfiler(another_runs)
        )
        record(logdir, **options).start()

    def test_the_logdir_stays_if_the_profiler_starts(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.start(tmp_path / "runs/new", monkeypatch, False)
        assert (tmp_path / "runs/new").is_dir()

    def test_the_logdir_is_removed_if_another_profile_runs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        message = r"^record: the profiler does not start \(.*\); if another profile runs, end it first$"
        with pytest.raises(InputError, match=message):
            self.start(tmp_path / "runs/new", monkeypatch, True)
        assert not list(tmp_path.iterdir())

    def test_an_existing_logdir_stays(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "runs").mkdir()
        with pytest.raises(InputError):
            self.start(tmp_path / "runs", monkeypatch, True)
        with pytest.raises(InputError):
            self.start(tmp_path / "runs/new", monkeypatch, True)
        assert list(tmp_path.rglob("*")) == [tmp_path / "runs"]

    def test_the_logdir_is_removed_if_the_explanation_fails(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(ZeroDivisionError):
            self.start(tmp_path / "new", monkeypatch, False, explain=lambda: 1 // 0)
        assert not list(tmp_path.iterdir())


class TestOldSessions:
    """A recording into a logdir with a session of an earlier one."""

    @pytest.fixture
    def session(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr("tb_xla_insights.record.recording.tracer", lambda *_: SilentProfiler(False))
        session = tmp_path / "plugins/profile/2026_01_01_00_00_00"
        session.mkdir(parents=True)
        (session / "a.xplane.pb").write_bytes(b"old")
        (session / RECORD_FILE).write_text("old")
        return session

    def test_a_profiler_that_writes_nothing_leaves_an_old_session_unchanged(
        self, tmp_path: Path, session: Path
    ) -> None:
        recording = record(tmp_path)
        recording.start()
        with pytest.raises(InputError, match="the profiler wrote nothing there"):
            recording.stop()
        assert sorted(path.name for path in session.iterdir()) == ["a.xplane.pb", RECORD_FILE]
        assert (session / RECORD_FILE).read_text() == "old"

    @pytest.mark.parametrize("logdir", ["", "plugins/profile"])
    def test_a_profiler_that_adds_a_host_extends_its_session(
        self, tmp_path: Path, session: Path, logdir: str
    ) -> None:
        recording = record(tmp_path / logdir)
        recording.start()
        (session.parent / "2026_01_02_00_00_00").mkdir()
        (session / "b.xplane.pb").write_bytes(b"new")
        assert recording.stop() == str(session)
        assert json.loads((session / RECORD_FILE).read_text())["files"] == []


def test_the_profiler_is_stopped_if_the_devices_work_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would record until the process ends, and no other recording could start."""
    profiler, stops = SilentProfiler(False), []
    monkeypatch.setattr("tb_xla_insights.record.recording.tracer", lambda *_: profiler)
    recording = record(tmp_path)
    recording.start()
    monkeypatch.setattr(profiler, "wait_for_devices", raising(FloatingPointError("out of memory")))
    monkeypatch.setattr(profiler, "stop", lambda: stops.append(True))
    with pytest.raises(FloatingPointError):
        recording.stop()
    assert stops == [True]


def test_a_bucket_that_refuses_access_is_a_one_line_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_xla_insights.record.recording.tracer", lambda *_: SilentProfiler(False))
    monkeypatch.setattr(
        "fsspec.implementations.memory.MemoryFileSystem.find", raising(PermissionError("Forbidden"))
    )
    with pytest.raises(InputError, match=r"^memory://refused/plugins/profile: access refused \(Forbidden\)"):
        record("memory://refused").start()


class TestJax:
    @pytest.fixture(autouse=True)
    def _jax(self) -> None:
        pytest.importorskip("jax", reason="recording is tested with JAX; install jax")

    def test_a_session_with_its_sidecar_files(self, tmp_path: Path) -> None:
        program = (
            TRAIN
            + """
with record(logdir, explain=lambda: "Graph Count: 1\\nGraph Break Count: 0\\nOp Count: 6") as recording:
    train(4)
print(recording.session)
"""
        )
        variables = {
            "XLA_FLAGS": "--xla_cpu_enable_fast_math=false",
            "PJRT_DEVICE": "CPU",
            "LIBTPU_INIT_ARGS": "--xla_tpu_enable_async_collective_fusion=true",
            "SECRET": "x",
        }
        process = run_script(program, tmp_path, **variables)
        assert process.returncode == 0, process.stderr
        session = Path(process.stdout.strip())
        assert session.parent == tmp_path / "plugins/profile"
        recorded = json.loads((session / RECORD_FILE).read_text())
        assert {"jax", "jaxlib"} <= set(recorded["versions"])
        del variables["SECRET"]
        assert recorded["flags"].items() >= variables.items()
        assert "SECRET" not in recorded["flags"]
        assert int(recorded["started_unix_ns"]) < int(recorded["stopped_unix_ns"])
        report: Any = xi.load(str(tmp_path)).report()
        assert [step["number"] for step in report["steps"]] == [4, 5, 6, 7]
        assert report["recorded"] == recorded
        assert report["metrics"]["dynamo"]["graphs"] == 1

    def test_samples_of_a_step_and_a_description(self, tmp_path: Path) -> None:
        program = (
            TRAIN
            + """
import numpy as np
with record(logdir, samples=np.int64(64), description="batch 64"):
    train(4)
"""
        )
        process = run_script(program, tmp_path)
        assert process.returncode == 0, process.stderr
        report: Any = xi.load(str(tmp_path)).report()
        assert report["recorded"]["samples_per_step"] == report["throughput"]["samples_per_step"] == 64
        assert report["session"]["description"] == "batch 64"

    def test_python_calls_are_recorded_on_request(self, tmp_path: Path) -> None:
        program = (
            TRAIN
            + """
for python in (False, True):
    with record(f"{logdir}/{python}", python=python):
        train(4)
"""
        )
        process = run_script(program, tmp_path)
        assert (process.returncode, process.stderr) == (0, "")
        for python in (False, True):
            [file] = tmp_path.glob(f"{python}/plugins/profile/*/*.xplane.pb")
            assert (b" train" in file.read_bytes() and b"$<string>:" in file.read_bytes()) == python

    @pytest.mark.parametrize("samples", [0, -1, float("nan"), float("inf"), "64"])
    def test_an_invalid_number_of_samples_is_an_error_before_the_trace(
        self, tmp_path: Path, samples: Any
    ) -> None:
        with pytest.raises(InputError, match=r"^record: samples is .*; give the number of samples per step"):
            record(tmp_path, samples=samples).start()
        assert not list(tmp_path.iterdir())

    def test_two_recordings_into_one_logdir_are_two_sessions_and_may_be_stopped_twice(
        self, tmp_path: Path
    ) -> None:
        program = (
            TRAIN
            + """
for first in (4, 8):
    recording = Recording(logdir)
    recording.start()
    train(first)
    print(recording.stop(), recording.stop() == recording.session)
"""
        )
        process = run_script(program, tmp_path)
        assert process.returncode == 0, process.stderr
        assert [line.split()[1] for line in process.stdout.splitlines()] == ["True", "True"]
        sessions = sorted(path.parent for path in tmp_path.glob("plugins/profile/*/*.xplane.pb"))
        steps = [[step["number"] for step in xi.load(str(session)).report()["steps"]] for session in sessions]
        assert steps == [[4, 5, 6, 7], [8, 9, 10, 11]]

    def test_exceptions_of_the_training_have_precedence(self, tmp_path: Path) -> None:
        program = (
            TRAIN
            + """
with record(logdir):
    train(4)
    raise ZeroDivisionError("in training")
"""
        )
        process = run_script(program, tmp_path)
        assert process.stderr.strip().endswith("ZeroDivisionError: in training")
        assert len(list(tmp_path.glob("plugins/profile/*/*.xplane.pb"))) == 1

    def test_a_profile_that_runs_already(self, tmp_path: Path) -> None:
        program = (
            TRAIN
            + """
jax.profiler.start_trace(logdir + "/other")
record(logdir + "/new").start()
"""
        )
        process = run_script(program, tmp_path)
        assert "InputError: record: the profiler does not start" in process.stderr.splitlines()[-1]
        assert not (tmp_path / "new").exists()

    def test_with_a_profiler_server(self, tmp_path: Path, profiler_server: str) -> None:
        program = f"""
import sys, threading
from tb_xla_insights.record import record
with record(sys.argv[1], server="{profiler_server}") as recording:
    threading.Event().wait(float(sys.argv[2]))
print(recording.session)
assert "jax" not in sys.modules
"""
        for seconds in (0.5, 5.0, 30.0):  # until a busy machine has recorded a step
            process = run_script(program, tmp_path, seconds)
            if process.returncode == 0 and xi.load(process.stdout.strip()).report()["steps"]:
                break
        assert process.returncode == 0, process.stderr
        session = Path(process.stdout.strip())
        assert len(list(session.glob("*.xplane.pb"))) == 1
        assert (session / RECORD_FILE).is_file()
        assert xi.load(str(session)).report()["steps"]

    def test_a_logdir_that_cannot_be_written(self, tmp_path: Path) -> None:
        """Reported before training if it can be detected, else when the profiler writes."""
        program = (
            TRAIN
            + """
import os
from tb_xla_insights import InputError
open(f"{logdir}/file", "w").close()
try:
    Recording(f"{logdir}/file/below").start()
except InputError as error:
    print(error)
recording = Recording(f"{logdir}/gone")
recording.start()
os.rmdir(f"{logdir}/gone")
open(f"{logdir}/gone", "w").close()
try:
    recording.stop()
except InputError as error:
    print(error)
"""
        )
        process = run_script(program, tmp_path)
        assert process.returncode == 0, process.stderr
        for line, path in zip(process.stdout.splitlines(), ("file/below", "gone"), strict=True):
            assert line.startswith(f"{tmp_path}/{path}: the profile cannot be written (")

    def test_a_missing_server(self, tmp_path: Path) -> None:
        program = """
import sys
from tb_xla_insights.record import record
with record(sys.argv[1], server="localhost:1"):
    print("never")
"""
        process = run_script(program, tmp_path)
        assert "InputError: localhost:1: nothing listens there" in process.stderr.splitlines()[-1]
        assert process.stdout == ""

    def test_missing_debug_text_is_a_warning(self, tmp_path: Path) -> None:
        program = (
            TRAIN
            + """
with record(logdir, debug=True):
    train(4)
"""
        )
        process = run_script(program, tmp_path)
        assert "record: no debug text was received; set PT_XLA_DEBUG_LEVEL=2" in process.stderr
