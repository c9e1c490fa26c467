"""A logdir in a bucket of Google Cloud Storage: gcsfs reads it from an emulator on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import free_port

from tb_xla_insights.cli.main import main

DEMO = Path(__file__).parents[1] / "demo_logs" / "torch_xla_baseline"


pytestmark = pytest.mark.usefixtures("access")


@pytest.fixture(scope="module")
def access() -> Iterator[None]:
    """A user with access to a bucket `profiles`, which has the demo as `logs/run`."""
    port = free_port()
    command = [sys.executable, "-m", "gcp_storage_emulator", "start", "-M", "-H", "127.0.0.1"]
    command += ["--port", str(port), "--default-bucket", "profiles"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert server.stdout is not None
    drain = threading.Thread(target=server.stdout.read, daemon=True)
    try:
        if not any("services started" in line for line in server.stdout):
            pytest.fail("the emulator did not start")
        drain.start()  # as a full pipe would block the emulator
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
            patch.setenv("FSSPEC_GS_TOKEN", "anon")
            # Otherwise gcsfs asks for a minute which kind of bucket it is, with a request that the emulator does not
            # know.
            patch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
            import gcsfs

            files = gcsfs.GCSFileSystem(token="anon")
            files.put(str(DEMO), "profiles/logs/run", recursive=True)
            yield
            gcsfs.GCSFileSystem.clear_instance_cache()
    finally:
        server.kill()
        server.wait()
        if drain.ident is not None:
            drain.join()
        server.stdout.close()


def test_a_report_of_a_bucket_has_the_figures_of_the_files_on_a_disk(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["report", "gs://profiles/logs", "--json"]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    assert main(["report", str(DEMO), "--json"]) == 0
    remote, local = json.loads(output.out), json.loads(capsys.readouterr().out)
    assert remote["session"]["path"].startswith("gs://profiles/logs/run/")
    for key in ("devices", "steps", "gaps", "executions", "propagation"):
        assert remote[key] == local[key]


def test_sessions_of_a_bucket(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "gs://profiles/logs", "--json"]) == 0
    [session] = json.loads(capsys.readouterr().out)["sessions"]
    [capture] = DEMO.rglob("*.xplane.pb")
    assert [(host["name"], host["bytes"]) for host in session["hosts"]] == [
        ("demo-host", capture.stat().st_size)
    ]


@pytest.mark.parametrize(
    "path", ["gs://profiles/nothing", "gs://profiles/logs/x.xplane.pb", "gs://other/logs"]
)
def test_a_missing_object_is_a_one_line_error(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", path]) == 3
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == f"xla-insights: {path}: no such file or directory; check the path\n"
