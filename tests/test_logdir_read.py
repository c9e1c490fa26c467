"""Reading a session: every host separately, and stopping on request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers import raising, write_session

from tb_xla_insights.catalog import load_catalog
from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.missing_hosts import missing_hosts
from tb_xla_insights.logdir.read_hosts import initial_readings, read_session
from tb_xla_insights.logdir.sessions import SessionFiles, resolve


@pytest.fixture
def session(tmp_path: Path) -> SessionFiles:
    return resolve(str(write_session(tmp_path / "s", "a", "b", "c", "d", "e")))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ("w-0", "w-1", "w-3"),
            "w-2 has no file here, though the hosts are numbered up to 3: whether it holds up the ",
        ),
        (
            [f"h{n:02}.x" for n in range(12) if n not in (3, 5, 7, 8)],
            "h03.x, h05.x, h07.x and 1 more have no file here, ",
        ),
        (("w-1", "w-2"), ""),  # numbers may begin with 1
        (("w-0", "w-127"), ""),  # more would be missing than present
        (("job-1", "job-1763931600000000"), ""),  # a time stamp: too many numbers to list
        (
            ("localhost_9012", "localhost_9014", "localhost_9015"),
            "",
        ),  # ports: numbers of hosts begin with 0 or 1
        (("a-0", "b-1", "a-2"), ""),  # the names differ in more than the number
        (("main", "w-1", "w-3"), ""),  # a name without a number
        ((), ""),
    ],
)
def test_a_missing_host_number_is_reported(names: Sequence[str], message: str) -> None:
    missing = missing_hosts(names)
    assert [diagnostic.message.startswith(message) for diagnostic in missing] == [True] * bool(message)


def test_every_host_is_read_in_order_and_reports_its_progress(session: SessionFiles) -> None:
    readings = initial_readings(session)
    trace = read_session(session, load_catalog(), readings)
    assert [host.host for host in trace.traces] == ["a", "b", "c", "d", "e"]
    assert (trace.name, trace.path) == ("s", session.path)
    assert {reading.state for reading in readings} == {"ready"}
    assert all(reading.bytes_read == reading.bytes > 0 for reading in readings)


def test_a_host_that_fails_is_left_out_with_a_diagnostic(session: SessionFiles) -> None:
    Path(session.hosts[1].file.path).unlink()
    readings = initial_readings(session)
    trace = read_session(session, load_catalog(), readings)
    assert [host.host for host in trace.traces] == ["a", "c", "d", "e"]
    [skipped] = [diagnostic for diagnostic in trace.diagnostics if diagnostic.id == "skipped_host"]
    assert (skipped.severity, skipped.host) == ("warning", "b")
    assert session.hosts[1].file.path in skipped.message
    assert readings[1].state == "error"
    assert readings[1].message == skipped.message


def test_if_all_hosts_fail_the_error_is_that_of_the_first(session: SessionFiles) -> None:
    for host in session.hosts:
        Path(host.file.path).write_text("<html>")
    with pytest.raises(InputError, match=r"a\.xplane\.pb: .*\(5 hosts, all fail\)$"):
        read_session(session, load_catalog())


def test_nothing_more_is_read_once_stopped(session: SessionFiles) -> None:
    readings = initial_readings(session)

    def is_one_ready() -> bool:
        return any(reading.state == "ready" for reading in readings)

    trace = read_session(session, load_catalog(), readings, is_one_ready)
    names = [host.host for host in trace.traces]
    assert names
    assert len(names) < 5
    left_out = {diagnostic.host for diagnostic in trace.diagnostics if diagnostic.id == "skipped_host"}
    assert left_out == {host.name for host in session.hosts} - set(names)


def test_stopped_before_anything_was_read_is_an_error(session: SessionFiles) -> None:
    with pytest.raises(InputError, match="not read, because reading was stopped"):
        read_session(session, load_catalog(), should_stop=lambda: True)


def test_a_bug_in_the_reader_is_a_one_line_error(
    session: SessionFiles, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(
        "tb_xla_insights.trace.read_trace.read_trace", raising(ZeroDivisionError("two\nlines"))
    )
    with pytest.raises(InputError) as caught:
        read_session(session, load_catalog())
    assert "ZeroDivisionError: two lines" in str(caught.value)
    assert "Traceback" in caplog.text
