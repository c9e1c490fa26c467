"""The documents of the page's views: parts of the report, reduced to what a screen shows, and small."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from captures import Core, capture, session, thread
from launching import US, demo
from loops import loop
from synthetic.__main__ import LOGDIR

from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.sessions import roots
from tb_xla_insights.logdir.store import Store, session_opener
from tb_xla_insights.report import compile_views, execution_views, gap_views, session_view, views
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.session_view import SessionView, results_of_hosts
from tb_xla_insights.routes.arguments import Arguments
from tb_xla_insights.routes.handlers import Handlers
from tb_xla_insights.trace.model import SessionTrace


@pytest.fixture(scope="module")
def case_study() -> SessionView:
    return SessionView(session(demo("synthetic_case_study_8_tpu_cores")))


class TestOverview:
    def test_the_overview_is_a_summary_of_the_report(self, case_study: SessionView) -> None:
        view, report = views.overview(case_study), case_study.report
        assert view["findings"] == report["findings"]
        listed = [finding["id"] for group in view["groups"] for finding in group["findings"]]
        assert sorted(listed) == sorted(finding["id"] for finding in report["findings"])
        assert view["step_idle"] | {"devices": report["step_idle"]["devices"]} == report["step_idle"]
        devices = zip(view["devices"]["host"], view["devices"]["name"], strict=True)
        assert ["/".join(pair) for pair in devices] == [row["id"] for row in report["devices"]]
        assert (view["input_pipeline"], view["transfers"]) == (report["input_pipeline"], report["transfers"])
        assert view["collectives"] == report["collectives"]
        steps, columns = report["steps"], view["steps"]["columns"]
        assert (view["steps"]["count"], view["steps"]["source"], view["steps"]["cut_count"]) == (
            10,
            "annotation",
            1,
        )
        for name in ("number", "duration_ps", "device_busy_ps", "early_syncs"):
            assert columns[name] == [step[name] for step in steps]
        for index, step in enumerate(steps):
            host = {name: column[index] for name, column in columns["host_ps"].items()}
            assert sum(host.values()) == step["duration_ps"]

    def test_four_figures(self, case_study: SessionView) -> None:
        figures: dict[str, Any] = {
            figure["name"]: figure["value"] for figure in views.overview(case_study)["figures"]
        }
        assert list(figures) == ["duty", "step", "work", "idle"]
        assert figures["duty"] == pytest.approx(0.605, abs=0.001)
        assert figures["idle"] == figures["step"] - figures["work"]

    def test_figures_of_devices_are_unknown_without_devices(self) -> None:
        steps = thread("python", *[("Step", at, 9, {"_r": 1, "step_num": at}) for at in (0, 10)])
        figures: dict[str, Any] = {
            figure["name"]: figure["value"]
            for figure in views.overview(SessionView(session(capture(steps))))["figures"]
        }
        assert figures == {"duty": None, "step": 9, "work": None, "idle": None}

    def test_ops_that_wait_are_summed_over_devices(self) -> None:
        cores = [
            Core([("fusion.1", 0, 2), ("copy-done.1", 2, 3 + i), ("copy-done.2", 9, 5)], name=f"TPU:{i}")
            for i in range(2)
        ]
        assert views.overview(SessionView(session(capture(*cores))))["stalls"] == [
            {"op": "copy-done.2", "engine": "other", "count": 2, "duration_ps": 10},
            {"op": "copy-done.1", "engine": "other", "count": 2, "duration_ps": 7},
        ]

    def test_the_longest_ops_are_listed_and_the_others_summed_up(self) -> None:
        ops = [(f"all-reduce.{i}", 100 * i, 40 - i) for i in range(20)]
        capture_session = session(capture(Core(ops)))
        reported, shown = (
            session_report(capture_session)["collectives"],
            views.overview(SessionView(capture_session))["collectives"],
        )
        assert shown[:-1] == reported[: views.MAX_OPS]
        rest = shown[-1]
        assert (rest["op"], rest["summed_ops"], rest["count"]) == (
            None,
            20 - views.MAX_OPS,
            20 - views.MAX_OPS,
        )
        for name in ("duration_ps", "exposed_ps"):
            assert sum(row[name] for row in shown) == sum(row[name] for row in reported)

    def test_the_verdict_names_the_worst_finding(self, case_study: SessionView) -> None:
        sentence = views.overview(case_study)["verdict"]
        assert sentence["severity"] == "critical"
        assert sentence == case_study.report["verdict"]
        assert sentence["details"].startswith("Fix first: 324.5\u202fMB sent each step;")
        good = views.overview(SessionView(session(loop(device=980).trace())))["verdict"]
        assert (good["severity"], good["cause"]) == ("good", "device_bound")

    def test_nothing_stands_out_only_if_launches_are_known(self) -> None:
        work = Core([("fusion.1", 0, 60), ("fusion.1", 80, 20)], [("train(1)", 0, 100)])
        sentence = views.overview(SessionView(session(capture(work))))["verdict"]
        assert (sentence["severity"], sentence["text"].replace("\u202f", " ")) == (
            "warning",
            "The TPU core works for 0.080 ns, too briefly to tell more.",
        )

    def test_a_capture_without_devices_and_steps(self) -> None:
        view = views.overview(SessionView(session(capture(thread("python", ("forward", 0, 10))))))
        assert "no device's work" in view["verdict"]["headline"]
        assert [figure["value"] for figure in view["figures"]] == [None] * 4
        assert view["steps"] | {"columns": None} == {
            "source": None,
            "count": 0,
            "cut_count": 0,
            "columns": None,
            "work": [],
        }


def test_documents_are_cached(case_study: SessionView) -> None:
    assert views.overview(case_study) is views.overview(case_study)
    assert gap_views.gaps(case_study) is gap_views.gaps(case_study)


class TestRoutes:
    @pytest.fixture
    def get(self) -> Any:
        """Answers of the routes about the case study, by the name of the route."""
        listing = Listing(roots(str(LOGDIR)))
        listing.refresh(wait=None)
        handlers = Handlers(listing, Store(listing, session_opener())).gets()
        name = next(
            session.name for session in listing.sessions if session.name.startswith("synthetic_case_study")
        )
        return lambda route, **arguments: handlers[route](
            Arguments(f"data/{route}", {"session": name, **arguments})
        )

    def test_each_view_has_a_route(self, get: Any) -> None:
        assert get("overview")["steps"]["count"] == 10
        longest = get("gaps")["items"][0]
        gap = get("gap", device=longest["device"], start_ps=str(longest["start_ps"]))
        assert gap["duration_ps"] == longest["duration_ps"]
        piece = next(candidate for candidate in gap["chain"] if candidate["event"])
        assert get("event", event=piece["event"])["name"] == piece["name"]
        assert get("executions", step="3")["step"] == 3
        assert get("compiles")["graph_count"] == 4

    @pytest.mark.parametrize(
        ("route", "arguments", "message"),
        [
            ("gap", {"start_ps": "5"}, "device is missing"),
            ("gap", {"device": "x", "start_ps": "5"}, "no gap"),
            ("executions", {"step": "-1"}, "step must be"),
            ("executions", {"step": "10"}, "no step 10"),
        ],
    )
    def test_missing_steps_and_devices_are_errors(
        self, get: Any, route: str, arguments: dict[str, str], message: str
    ) -> None:
        with pytest.raises(InputError, match=message):
            get(route, **arguments)


class TestChoiceOfDevices:
    def test_idle_time_of_each_device_adds_up(self, case_study: SessionView) -> None:
        overview: Any = views.overview(case_study)
        all_cores, devices = overview["step_idle"]["all_cores"], overview["devices"]
        for name, time in all_cores["by_class_ps"].items():
            assert sum(devices["idle"][name]) == time
        parts = [*devices["idle"].values(), devices["small"]]
        assert sum(map(sum, parts)) == all_cores["idle_ps"]

    def test_executions_of_each_device_add_up(self, case_study: SessionView) -> None:
        whole: Any = execution_views.executions(case_study)
        answers: list[Any] = [
            execution_views.executions(case_study, None, [device.id]) for device in case_study.hosts.devices
        ]
        for row in whole["executions"]:
            rows_of_devices = [
                next(entry for entry in answer["executions"] if entry["program"] == row["program"])
                for answer in answers
            ]
            for name in ("count", "host_ps", "device_ps", "queue_ps", "overhead_ps"):
                assert sum(entry[name] for entry in rows_of_devices) == row[name]
            assert {entry["launches"] for entry in rows_of_devices} == {row["launches"]}
        assert sum(len(answer["runs"]["start_ps"]) for answer in answers) == len(whole["runs"]["start_ps"])
        assert sum(row["count"] for answer in answers for row in answer["between"]) == sum(
            row["count"] for row in whole["between"]
        )
        assert {device for answer in answers[:1] for device in answer["runs"]["device"]} == {
            case_study.hosts.devices[0].id
        }

    def test_an_unknown_device_has_no_executions(self, case_study: SessionView) -> None:
        view = execution_views.executions(case_study, None, ["nowhere"])
        assert (view["executions"], view["between"], view["lead"], view["reading"]) == ([], [], None, "")


def test_counts_of_tabs_equal_the_rows_of_their_views(case_study: SessionView) -> None:
    """Compilations in the warm-up do not count."""
    compiles = compile_views.compiles(case_study)["compiles"]
    report = case_study.report
    assert views.overview(case_study)["counts"] == views.counts(case_study)
    assert views.counts(case_study) == {
        "gaps": report["gaps"]["count"],
        "executions": len(execution_views.executions(case_study)["executions"]),
        "async_ops": len(report["async_ops"]),
        "iterations": 0,
        "compiles": sum(not row["warm_up"] for row in compiles),
        "lost": sum(row["lost"] is not None for row in report["annotations"]),
    }


def test_views_requested_at_the_same_time_share_one_report(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_session = session(capture(Core([("a", 0, 10 * US), ("b", 30 * US, 10 * US)])))
    barrier, reports = threading.Barrier(3), []

    def results(hosts: SessionTrace) -> Any:
        reports.append(threading.get_ident())
        with suppress(threading.BrokenBarrierError):  # every thread that builds a report passes here
            barrier.wait(0.3)
        return results_of_hosts(hosts)

    monkeypatch.setattr(session_view, "results_of_hosts", results)
    view_of_session = SessionView(capture_session)
    with ThreadPoolExecutor(3) as threads:
        requests: list[Any] = [
            threads.submit(view, view_of_session) for view in (views.overview, gap_views.gaps, views.counts)
        ]
    assert requests[0].result()["counts"] == requests[2].result()
    assert requests[1].result()["count"] == requests[2].result()["gaps"] == 1
    assert len(reports) == 1
