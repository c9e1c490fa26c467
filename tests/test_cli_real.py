"""Reports and windows of real captures: their keys, numbers and sums."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tb_xla_insights as xi
from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.cli.main import main
from tb_xla_insights.logdir.sessions import Root, find_sessions

DEVICE_KEYS = {
    *("id", "name", "kind", "host", "span_ps", "busy_ps", "idle_ps", "stall_ps", "duty_cycle", "modules", "ops")
}  # fmt: skip


def has_only_exact_integers(document: Any) -> bool:
    """Whether every integer is exact in a double, as larger ones are decimal strings."""
    if isinstance(document, dict):
        return all(has_only_exact_integers(value) for value in document.values())
    if isinstance(document, list):
        return all(map(has_only_exact_integers, document))
    return not isinstance(document, int) or abs(document) < 2**53


@pytest.fixture(scope="module")
def sessions(shared_traces: Path) -> list[xi.Session]:
    session_files = find_sessions([Root(str(shared_traces))])
    assert len(session_files) > 15
    return [xi.load(session.path) for session in session_files]


def test_every_report_has_its_keys_and_sums(sessions: list[xi.Session]) -> None:
    for session in sessions:
        report = session.report()
        assert json.loads(json.dumps(report)) == report
        assert has_only_exact_integers(report)
        assert report["environment"]["framework"] in (
            "torch_xla",
            "torch_tpu",
            "jax",
            "tensorflow",
            "unknown",
        )
        assert report["session"]["start_unix_ns"].isdigit()
        missing = {"no_device_plane", "device_without_work"} & {
            diagnostic["id"] for diagnostic in report["diagnostics"]
        }
        assert report["devices"] or missing, session.name
        for device in report["devices"]:
            assert set(device) >= DEVICE_KEYS
            assert device["busy_ps"] + device["idle_ps"] == device["span_ps"]
            assert 0 <= device["stall_ps"] <= device["busy_ps"]
            assert 0 <= device["duty_cycle"] <= 1


def test_classes_add_up_in_every_window(sessions: list[xi.Session]) -> None:
    for session in sessions:
        for start, end in [(0, session.duration_ps), (session.duration_ps // 3, session.duration_ps // 2)]:
            window = session.window(start, end)
            assert has_only_exact_integers(window)
            for host in window["hosts"]:
                assert set(host["by_class_ps"]) <= set(CLASSES)
                assert sum(host["by_class_ps"].values()) == end - start, (session.name, host["host"])
            for device in window["devices"]:
                assert device["busy_ps"] + device["idle_ps"] <= end - start


def test_every_session_is_printed_as_text(
    sessions: list[xi.Session], capsys: pytest.CaptureFixture[str]
) -> None:
    for session in sessions:
        assert main(["report", session.trace.path]) == 0
        assert session.name in capsys.readouterr().out
