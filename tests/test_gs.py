"""A logdir in a bucket of Google Cloud Storage: gcsfs reads it from an emulator on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import free_port

DEMO = Path(__file__).parents[1] / "demo_logs" / "torch_xla_baseline"


@pytest.fixture(scope="module")
def access() -> Iterator[dict[str, str]]:
    """The environment of a user with access to a bucket `profiles`, which has the demo as `logs/run`."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    environment = os.environ | {
        "STORAGE_EMULATOR_HOST": address,
        "FSSPEC_GS_TOKEN": "anon",
        # Otherwise gcsfs asks for a minute which kind of bucket it is, with a request that the emulator does not know.
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
    }
    command = [sys.executable, "-m", "gcp_storage_emulator", "start", "-M", "-H", "127.0.0.1"]
    command += ["--port", str(port), "--default-bucket", "profiles"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert server.stdout is not None
    drain = threading.Thread(target=server.stdout.read, daemon=True)
    try:
        if not any("services started" in line for line in server.stdout):
            pytest.fail("the emulator did not start")
        drain.start()  # as a full pipe would block the emulator
        upload = "import gcsfs, sys; files = gcsfs.GCSFileSystem(token='anon'); \
files.put(sys.argv[1], 'profiles/logs/run', recursive=True)"
        subprocess.run([sys.executable, "-c", upload, str(DEMO)], env=environment, check=True)
        yield environment
    finally:
        server.kill()
        server.wait()
        if drain.ident is not None:
            drain.join()
        server.stdout.close()


def run(access: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tb_xla_insights", *arguments]
    return subprocess.run(command, env=access, capture_output=True, text=True, check=False)


def test_a_report_of_a_bucket_has_the_figures_of_the_files_on_a_disk(access: dict[str, str]) -> None:
    remote_run, local_run = (
        run(access, "report", "gs://profiles/logs", "--json"),
        run(access, "report", str(DEMO), "--json"),
    )
    assert (remote_run.returncode, remote_run.stderr) == (0, "")
    remote, local = json.loads(remote_run.stdout), json.loads(local_run.stdout)
    assert remote["session"]["path"].startswith("gs://profiles/logs/run/")
    for key in ("devices", "steps", "gaps", "executions", "propagation"):
        assert remote[key] == local[key]


def test_sessions_of_a_bucket(access: dict[str, str]) -> None:
    process = run(access, "sessions", "gs://profiles/logs", "--json")
    [session] = json.loads(process.stdout)["sessions"]
    [capture] = DEMO.rglob("*.xplane.pb")
    assert [(host["name"], host["bytes"]) for host in session["hosts"]] == [
        ("demo-host", capture.stat().st_size)
    ]


@pytest.mark.parametrize(
    "path", ["gs://profiles/nothing", "gs://profiles/logs/x.xplane.pb", "gs://other/logs"]
)
def test_a_missing_object_is_a_one_line_error(access: dict[str, str], path: str) -> None:
    process = run(access, "report", path)
    assert (process.returncode, process.stdout) == (3, "")
    assert process.stderr == f"xla-insights: {path}: no such file or directory; check the path\n"
