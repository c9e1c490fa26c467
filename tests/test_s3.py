"""A logdir in a bucket: a real S3 endpoint, over HTTP on loopback, and the command that a user would type."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import serving

from tb_xla_insights.cli.main import main

DEMO = Path(__file__).parents[1] / "demo_logs" / "torch_xla_baseline"
ANNOTATION = "import sys, tb_xla_insights as xi; from tb_xla_insights.trace.details import event_stats; \
trace = xi.load(sys.argv[1]).trace.traces[0]; \
print({stat.name: stat.value for stat in event_stats(trace, int(trace.annotations[0]))})"


@pytest.fixture(scope="module")
def access() -> Iterator[dict[str, str]]:
    """The environment of a user with access to a bucket `profiles`, which has the demo as `logs/run`."""
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with serving(command) as address:
        given = {
            "AWS_ENDPOINT_URL": address,
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_MAX_ATTEMPTS": "1",
        }
        upload = "import s3fs, sys; files = s3fs.S3FileSystem(); files.mkdir('profiles'); \
files.put(sys.argv[1], 'profiles/logs/run', recursive=True)"
        subprocess.run([sys.executable, "-c", upload, str(DEMO)], env=os.environ | given, check=True)
        yield os.environ | given


def run(access: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tb_xla_insights.cli.main", *arguments]
    return subprocess.run(command, env=access, capture_output=True, text=True, check=False)


def test_sessions_of_a_bucket(access: dict[str, str]) -> None:
    done = run(access, "sessions", "s3://profiles/logs", "--json")
    (session,) = json.loads(done.stdout)["sessions"]
    assert session["name"].startswith("run/")
    assert [host["name"] for host in session["hosts"]] == ["demo-host"]


def test_a_report_is_that_of_the_same_files_on_a_disk(
    access: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    def without_places(document: dict[str, Any]) -> dict[str, Any]:
        del document["session"]["path"], document["session"]["name"]
        for host in document["session"]["hosts"]:
            del host["file"]
        return document

    done = run(access, "report", "s3://profiles/logs", "--json")
    assert main(["report", str(DEMO), "--json"]) == 0
    here = capsys.readouterr().out
    there = json.loads(done.stdout)
    assert there["session"]["path"].startswith("s3://profiles/logs/run/")
    assert there["metrics"] is not None, "the metrics report beside the capture"
    assert json.dumps(without_places(there)).replace("s3://profiles/logs/run", "") == json.dumps(
        without_places(json.loads(here))
    ).replace(str(DEMO), "")


def test_stats_of_one_event_are_read_where_they_lie(access: dict[str, str]) -> None:
    command = [sys.executable, "-c", ANNOTATION, "s3://profiles/logs"]
    done = subprocess.run(command, env=access, capture_output=True, text=True, check=True)
    assert "step_num" in done.stdout


@pytest.mark.parametrize(
    ("path", "more", "told"),
    [
        ("s3://profiles/nothing", {}, "s3://profiles/nothing: "),
        ("s3://other", {}, "s3://other: "),
        ("s3://profiles/logs/x.xplane.pb", {}, "s3://profiles/logs/x.xplane.pb: no such file"),
        ("s3://profiles/logs", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "s3://profiles/logs: cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line(
    access: dict[str, str], path: str, more: dict[str, str], told: str
) -> None:
    done = run(access | more, "report", path)
    assert done.returncode == 3
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"xla-insights: {told}")
