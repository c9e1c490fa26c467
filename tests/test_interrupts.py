"""A signal ends a command at once, with one line and an exit code for the signal, and leaves no files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from webstore import WebStore, web_store

[CAPTURE] = (Path(__file__).parents[1] / "demo_logs" / "torch_xla_baseline").rglob("*.xplane.pb")
SESSION = "/logs/run/plugins/profile/2026_01_02_00_00_00"
HOSTS = [f"{SESSION}/{name}.xplane.pb" for name in ("a", "b", "c", "d")]


@pytest.fixture
def store() -> Iterator[WebStore]:
    with web_store() as store:
        store.files = dict.fromkeys(HOSTS, CAPTURE.read_bytes())
        yield store


class Stall:
    """Keeps callers waiting until `released` is set."""

    def __init__(self) -> None:
        self.is_called, self.released = threading.Event(), threading.Event()

    def __call__(self, *_: object) -> bool:
        self.is_called.set()
        return self.released.wait()


def interrupt(
    command: Sequence[str],
    stall: Stall,
    env: Mapping[str, str],
    number: signal.Signals = signal.SIGINT,
    times: int = 1,
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that receives a signal while it waits. Like a terminal, sends the
    signal to all processes of the command. All have ended on return, as the pipes are closed."""
    before = signal.signal(number, signal.default_int_handler)  # the test runner may ignore it
    try:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
            start_new_session=True,
        )
    finally:
        signal.signal(number, before)
    try:
        assert stall.is_called.wait(60)
        for _ in range(times):
            os.killpg(process.pid, number)
        out, errors = process.communicate(timeout=60)
    finally:
        stall.released.set()
        process.kill()
    return process.returncode, out, errors


@pytest.mark.parametrize("stalled", [HOSTS[0], SESSION + "/"])
def test_a_command_whose_store_stalls(store: WebStore, stalled: str) -> None:
    store.faults[stalled] = stall = Stall()
    command = [sys.executable, "-m", "tb_xla_insights", "report", f"{store.address}/logs"]
    assert interrupt(command, stall, os.environ) == (130, "", "xla-insights: stopped\n")


@pytest.mark.parametrize(("number", "times"), [(signal.SIGINT, 1), (signal.SIGTERM, 2)])
def test_no_partial_file_stays(number: signal.Signals, times: int, store: WebStore, tmp_path: Path) -> None:
    """The signal arrives twice if the parent process forwards it. All hosts but the last are read, so the file has been
    begun; it is removed with the temporary files."""
    store.faults[HOSTS[3]] = stall = Stall()
    out, temporary = tmp_path / "out", tmp_path / "kept"
    out.mkdir()
    temporary.mkdir()
    (out / "t.json").write_text("old")
    command = [sys.executable, "-m", "tb_xla_insights", "export", f"{store.address}/logs"]
    command += ["--format", "chrome", "-o", str(out / "t.json")]
    outcome = interrupt(command, stall, os.environ | {"TMPDIR": str(temporary)}, number, times)
    assert outcome == (128 + number, "", "xla-insights: stopped\n")
    assert [path.name for path in [*out.iterdir(), *temporary.iterdir()]] == ["t.json"]
    assert (out / "t.json").read_text() == "old"


@pytest.mark.parametrize(
    ("module", "number"),
    [
        ("signals", signal.SIGINT),
        *(("main", number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_a_signal_while_modules_are_imported(module: str, number: signal.Signals) -> None:
    program = (
        "import os, signal, sys\n"
        f"signal.signal({number:d}, signal.default_int_handler)\n"  # the test runner may ignore it
        "class Waiting:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == 'tb_xla_insights.cli.{module}':\n"
        f"            os.kill(os.getpid(), {number:d})\n"
        "sys.meta_path.insert(0, Waiting())\n"
        "from tb_xla_insights.cli.start import command\n"
        "command()"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (
        128 + number,
        "",
        "xla-insights: stopped\n",
    )


def test_only_light_modules_are_imported_before_signals_are_handled() -> None:
    """A signal during these imports would cause a traceback, so they are few."""
    program = (
        "import __future__, sys, os; before = set(sys.modules)\n"
        "import tb_xla_insights.cli.start\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.split() == [f"tb_xla_insights{suffix}" for suffix in ("", ".cli", ".cli.start")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_ignored_signal_stays_ignored(number: signal.Signals) -> None:
    """`nohup` and `&` start processes that ignore signals."""
    program = (
        "import os, signal\n"
        f"signal.signal({number:d}, signal.SIG_IGN)\n"
        "from tb_xla_insights.cli import main\n"
        f"main.main = lambda: os.kill(os.getpid(), {number:d}) or 0\n"
        "main.command()"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.parametrize("stalled", [HOSTS[1], "/started"])
def test_a_signal_while_processes_read_hosts(store: WebStore, tmp_path: Path, stalled: str) -> None:
    store.faults[stalled] = stall = Stall()
    (tmp_path / "sitecustomize.py").write_text(  # a worker process requests a file while it starts
        "import sys, urllib.request\n"
        "if sys.orig_argv[1] == '-m' and 'loky' in sys.orig_argv[2]:\n"
        f"    urllib.request.urlopen('{store.address}/started')\n"
    )
    store.files["/started"] = b""
    program = (
        "import importlib\n"
        "from tb_xla_insights.cli.main import command\n"
        "importlib.import_module('tb_xla_insights.tasks.run')._MAX_IN_PROCESS_BYTES = -1\n"
        "command()"
    )
    variables = {"LOKY_MAX_CPU_COUNT": "2", "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-c", program, "report", f"{store.address}/logs"]
    assert interrupt(command, stall, os.environ | variables) == (130, "", "xla-insights: stopped\n")


def test_a_signal_while_a_thread_is_inside_numpy(store: WebStore) -> None:
    """At Python's exit the thread would end inside NumPy's C++ code, which aborts the process."""
    store.faults[HOSTS[0]] = stall = Stall()
    program = (
        "from threading import Thread\n"
        "import numpy as np\n"
        "from tb_xla_insights.cli.main import command\n"
        "values = np.arange(200_000)\n"
        "Thread(target=lambda: [np.unique(values) for _ in iter(int, 1)], daemon=True).start()\n"
        "command()"
    )
    command = [sys.executable, "-c", program, "report", f"{store.address}/logs"]
    assert interrupt(command, stall, os.environ) == (130, "", "xla-insights: stopped\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_finalizer(number: signal.Signals) -> None:
    """Python ignores an exception there. The imports of modules have such callbacks, too."""
    program = (
        "import os, signal, threading\n"
        f"signal.signal({number:d}, signal.default_int_handler)\n"  # the test runner may ignore it
        "from tb_xla_insights.cli import main\n"
        "class Signalling:\n"
        "    def __del__(self):\n"
        f"        os.kill(os.getpid(), {number:d})\n"
        "def run():\n"
        "    Signalling()\n"
        "    return int(threading.Event().wait(60))\n"
        "main.main = run\n"
        "main.command()"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (128 + number, "xla-insights: stopped\n")
