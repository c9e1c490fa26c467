"""Recording from within a script: the logdir, the session with its sidecar files, errors, and text on standard error.
Scripts run in a separate process."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib.util import find_spec
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


RECORDINGS = (
    TRAIN
    + """
import json, os
import numpy as np
from tb_xla_insights import InputError
sessions = {}

with record(f"{logdir}/explained", explain=lambda: "Graph Count: 1\\nGraph Break Count: 0\\nOp Count: 6") as recording:
    train(4)
sessions["explained"] = recording.session

with record(f"{logdir}/described", samples=np.int64(64), description="batch 64") as recording:
    train(4)
sessions["described"] = recording.session

with record(f"{logdir}/python", python=True) as recording:
    train(4)
sessions["python"] = recording.session

for first in (4, 8):
    recording = Recording(f"{logdir}/both")
    recording.start()
    train(first)
    sessions[str(first)] = recording.stop()
    assert recording.stop() == recording.session == sessions[str(first)]

try:
    with record(f"{logdir}/raised") as recording:
        train(4)
        raise ZeroDivisionError("in training")
except ZeroDivisionError:
    sessions["raised"] = recording.session

with record(f"{logdir}/debug", debug=True):
    train(4)

errors = []
open(f"{logdir}/file", "w").close()
try:
    Recording(f"{logdir}/file/below").start()
except InputError as error:
    errors.append(str(error))

jax.profiler.start_trace(f"{logdir}/other")
try:
    record(f"{logdir}/new").start()
except InputError as error:
    errors.append(str(error))
jax.profiler.stop_trace()

recording = Recording(f"{logdir}/gone")
recording.start()
os.rmdir(f"{logdir}/gone")
open(f"{logdir}/gone", "w").close()
try:
    recording.stop()
except InputError as error:
    errors.append(str(error))

print(json.dumps({"sessions": sessions, "errors": errors}))
"""
)
VARIABLES = {
    "XLA_FLAGS": "--xla_cpu_enable_fast_math=false",
    "PJRT_DEVICE": "CPU",
    "LIBTPU_INIT_ARGS": "--xla_tpu_enable_async_collective_fusion=true",
}


@dataclass(frozen=True)
class Recorded:
    """What a script that recorded several times has left: its logdirs, the sessions by name, the messages of the errors
    that it caught, and its lines on standard error."""

    folder: Path
    sessions: dict[str, str]
    errors: list[str]
    stderr: list[str]

    def report(self, name: str) -> Any:
        return xi.load(self.sessions[name]).report()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """One process for all recordings, as importing JAX takes longer than any of them."""
    folder = tmp_path_factory.mktemp("recorded")
    process = run_script(RECORDINGS, folder, **VARIABLES, SECRET="x")
    assert process.returncode == 0, process.stderr
    return Recorded(folder, **json.loads(process.stdout), stderr=process.stderr.splitlines())


@pytest.mark.skipif(find_spec("jax") is None, reason="recording is tested with JAX; install jax")
class TestJax:
    def test_a_session_with_its_sidecar_files(self, recorded: Recorded) -> None:
        session = Path(recorded.sessions["explained"])
        assert session.parent == recorded.folder / "explained/plugins/profile"
        contents = json.loads((session / RECORD_FILE).read_text())
        assert {"jax", "jaxlib"} <= set(contents["versions"])
        assert contents["flags"].items() >= VARIABLES.items()
        assert "SECRET" not in contents["flags"]
        assert int(contents["started_unix_ns"]) < int(contents["stopped_unix_ns"])
        report = recorded.report("explained")
        assert [step["number"] for step in report["steps"]] == [4, 5, 6, 7]
        assert report["recorded"] == contents
        assert report["metrics"]["dynamo"]["graphs"] == 1

    def test_samples_of_a_step_and_a_description(self, recorded: Recorded) -> None:
        report = recorded.report("described")
        assert report["recorded"]["samples_per_step"] == report["throughput"]["samples_per_step"] == 64
        assert report["session"]["description"] == "batch 64"

    @pytest.mark.parametrize("name", ["described", "python"])
    def test_python_calls_are_recorded_on_request(self, recorded: Recorded, name: str) -> None:
        [file] = Path(recorded.sessions[name]).glob("*.xplane.pb")
        content = file.read_bytes()
        assert (b" train" in content and b"$<string>:" in content) == (name == "python")

    @pytest.mark.parametrize("samples", [0, -1, float("nan"), float("inf"), "64"])
    def test_an_invalid_number_of_samples_is_an_error_before_the_trace(
        self, tmp_path: Path, samples: Any
    ) -> None:
        with pytest.raises(InputError, match=r"^record: samples is .*; give the number of samples per step"):
            record(tmp_path, samples=samples).start()
        assert not list(tmp_path.iterdir())

    def test_two_recordings_into_one_logdir_are_two_sessions(self, recorded: Recorded) -> None:
        """The script stops both of them twice."""
        sessions = [path.parent for path in recorded.folder.glob("both/plugins/profile/*/*.xplane.pb")]
        assert sorted(map(str, sessions)) == sorted(recorded.sessions[first] for first in ("4", "8"))
        steps = [[step["number"] for step in recorded.report(first)["steps"]] for first in ("4", "8")]
        assert steps == [[4, 5, 6, 7], [8, 9, 10, 11]]

    def test_exceptions_of_the_training_have_precedence(self, recorded: Recorded) -> None:
        """The script caught the exception of its training, after which the session was written."""
        assert [step["number"] for step in recorded.report("raised")["steps"]] == [4, 5, 6, 7]

    def test_a_profile_that_runs_already(self, recorded: Recorded) -> None:
        assert recorded.errors[1].startswith("record: the profiler does not start (")
        assert not (recorded.folder / "new").exists()

    def test_a_logdir_that_cannot_be_written(self, recorded: Recorded) -> None:
        """Reported before training if it can be detected, else when the profiler writes."""
        for line, path in zip(recorded.errors[::2], ("file/below", "gone"), strict=True):
            assert line.startswith(f"{recorded.folder}/{path}: the profile cannot be written (")

    def test_missing_debug_text_is_a_warning_and_else_there_is_none(self, recorded: Recorded) -> None:
        [warning] = recorded.stderr
        assert "record: no debug text was received; set PT_XLA_DEBUG_LEVEL=2" in warning

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

    # The last test, as the server works until the last one ends.
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
