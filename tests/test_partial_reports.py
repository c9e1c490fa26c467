"""Reports of a session while some of its hosts are still being read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from merging import Row

from tb_xla_insights.logdir.partial_reports import PartialReport, PartialReporter
from tb_xla_insights.logdir.session_hosts import HostExtras
from tb_xla_insights.report.partial import partial_report


class Reader:
    """Builds documents, each of which takes a number of seconds."""

    files = SimpleNamespace(name="pod", path="run/pod")
    comparison = SimpleNamespace(hosts=())

    def __init__(self, seconds: float) -> None:
        self.now, self.seconds = 0.0, seconds

    def document(self, _: object) -> Any:
        self.now += self.seconds
        return document()


def document(*findings: Row, hosts: int = 2) -> Any:
    device = {"span_ps": 1000, "busy_ps": 900}
    return {
        "session": {"hosts": [{}] * hosts, "duration_ps": 1},
        "devices": [device] * 2 * hosts,
        "findings": list(findings),
    }


def reports_at(reader: Reader, seconds_per_host: float, hosts: int) -> list[int]:
    """The numbers of hosts after which reports are built."""
    parts: HostExtras[Row] = HostExtras(lambda _: {})
    shown: list[int] = []

    def show(_: PartialReport) -> None:
        shown.append(len(parts.results))

    reports: Any = PartialReporter(reader, parts, show, lambda: reader.now)  # type: ignore[arg-type]
    for host in range(hosts):
        reader.now += seconds_per_host
        parts.results[host] = {}
        reports.update(object())
    return shown


def test_reports_follow_the_first_second_fourth_and_so_on_host() -> None:
    assert reports_at(Reader(0.0), 0.01, 20) == [1, 2, 4, 8, 16]


def test_between_these_reports_follow_every_two_seconds() -> None:
    assert reports_at(Reader(0.0), 1.0, 9) == [1, 2, 4, 6, 8]


def test_expensive_reports_are_rare() -> None:
    assert reports_at(Reader(1.0), 1.0, 32) == [1, 2, 4, 8, 16, 25, 32]


def test_read_hosts_are_reported_while_another_host_is_awaited() -> None:
    reader = Reader(0.0)
    parts: HostExtras[Row] = HostExtras(lambda _: {}, {0: {}, 1: {}, 2: {}})
    shown: list[PartialReport] = []
    reports: Any = PartialReporter(reader, parts, shown.append, lambda: reader.now)  # type: ignore[arg-type]
    reports.update(object())
    reports.update(object())
    assert len(shown) == 1
    parts.results[3] = {}
    parts.results[4] = {}
    reports.update(object())
    assert len(shown) == 1
    reader.now += 2.0
    reports.update(object())
    assert len(shown) == 2


def test_findings_that_need_all_hosts_are_left_out_and_no_gain_is_given() -> None:
    def finding(name: str, kind: str) -> Row:
        return {"id": name, "kind": kind, "brief": f"{name} there", "gain": 0.5}

    report = partial_report(
        document(
            finding("early_sync", "mistake"),
            finding("exposed_collectives", "limit"),
            finding("recompilation", "mistake"),
            finding("device_bound", "info"),
            finding("straggler", "mistake"),
        )
    )
    assert [row["id"] for row in report["findings"]] == ["early_sync", "recompilation", "straggler"]
    text = report["verdict"]["text"].replace("\u202f", " ")
    assert (
        text
        == "So far the 4 devices of 2 hosts are 90.0 % busy; seen: early_sync there, recompilation there and 1 more."
    )


def test_without_findings_only_the_busy_time_is_given() -> None:
    one_host: Any = document(hosts=1) | {"devices": [{"span_ps": 1000, "busy_ps": 900}]}
    assert (
        partial_report(one_host)["verdict"]["text"].replace("\u202f", " ")
        == "So far the device of 1 host is 90.0 % busy."
    )
    no_devices: Any = document(hosts=3) | {"devices": []}
    assert partial_report(no_devices)["verdict"]["text"] == "So far no device work is known, of 3 hosts."
