"""Reports about a session of many hosts while some of them are still being read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from merging import Row

from tb_xla_insights.logdir.partial_reports import PartialReporter
from tb_xla_insights.report.partial import partial_report
from tb_xla_insights.report.session_view import SessionResults, SessionView


class Reader:
    """Stands for SessionHosts: builds results, each of which takes `seconds` on the clock `now`."""

    files = SimpleNamespace(name="pod", path="run/pod")

    def __init__(self, seconds: float) -> None:
        self.now, self.seconds = 0.0, seconds

    def results_of(self, merger: Any) -> SessionResults:
        self.now += self.seconds
        tables: Any = [None] * merger.host_count
        comparison: Any = None
        return SessionResults(document(), tables, comparison)


def document(*findings: Row, hosts: int = 2) -> Any:
    device = {"kind": "tpu", "span_ps": 1000, "busy_ps": 900, "stall_ps": 0}
    return {
        "session": {"hosts": [{}] * hosts, "duration_ps": 1},
        "devices": [device] * 2 * hosts,
        "findings": list(findings),
    }


def reports_at(reader: Reader, seconds_per_host: float, hosts: int) -> list[int]:
    """The numbers of hosts after which reports are built."""
    counts: list[int] = []

    def show(view: SessionView) -> None:
        counts.append(len(view.results.tables))

    reports: Any = PartialReporter(reader, show, lambda: reader.now)  # type: ignore[arg-type]
    for host in range(hosts):
        reader.now += seconds_per_host
        reports.update(SimpleNamespace(host_count=host + 1))
    return counts


def test_reports_are_built_after_1_2_4_8_hosts() -> None:
    assert reports_at(Reader(0.0), 0.01, 20) == [1, 2, 4, 8, 16]


def test_reports_in_between_are_built_every_two_seconds() -> None:
    assert reports_at(Reader(0.0), 1.0, 9) == [1, 2, 4, 6, 8]


def test_slow_reports_are_built_less_often() -> None:
    assert reports_at(Reader(1.0), 1.0, 32) == [1, 2, 4, 8, 16, 25, 32]


def test_hosts_read_are_reported_while_another_is_awaited() -> None:
    reader = Reader(0.0)
    views: list[SessionView] = []
    reports: Any = PartialReporter(reader, views.append, lambda: reader.now)  # type: ignore[arg-type]
    reports.update(SimpleNamespace(host_count=3))
    reports.update(SimpleNamespace(host_count=3))
    assert len(views) == 1
    reports.update(SimpleNamespace(host_count=5))
    assert len(views) == 1
    reader.now += 2.0
    reports.update(SimpleNamespace(host_count=5))
    assert len(views) == 2


def test_partial_reports_have_no_findings_that_need_all_hosts_and_their_verdict_has_no_gain() -> None:
    def finding(name: str, kind: str) -> Row:
        return {"id": name, "kind": kind, "brief": f"{name} there", "gain": 0.5, "cost_ps": 0}

    report = partial_report(
        document(
            finding("early_sync", "mistake"),
            finding("device_waits", "limit"),
            finding("recompilation", "mistake"),
            finding("device_bound", "info"),
            finding("straggler", "mistake"),
        )
    )
    assert [finding["id"] for finding in report["findings"]] == ["early_sync", "recompilation", "straggler"]
    text = report["verdict"]["text"].replace("\u202f", " ")
    assert text == (
        "So far the 4 TPU cores of 2 hosts work 90 % of the time. "
        "Found: early_sync there, recompilation there and 1 more."
    )


def test_the_partial_verdict_without_findings_is_the_busy_time() -> None:
    with_device: Any = document(hosts=1) | {
        "devices": [{"kind": "tpu", "span_ps": 1000, "busy_ps": 900, "stall_ps": 0}]
    }
    assert (
        partial_report(with_device)["verdict"]["text"].replace("\u202f", " ")
        == "So far the TPU core of 1 host works 90 % of the time."
    )
    without_device: Any = document(hosts=3) | {"devices": []}
    assert partial_report(without_device)["verdict"]["text"] == "So far no device work of 3 hosts is known."
