"""The documents of the page's views: parts of the report, reduced to what a screen shows, and small."""

from __future__ import annotations

import gzip
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from captures import Core, capture, real_trace, session, thread
from launching import US, demo
from loops import loop

from tb_xla_insights.analysis.idle.chains import HANDED_OVER
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.errors import InputError
from tb_xla_insights.report import cached, compile_views, execution_views, gap_views, views
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.gap_text import gap_sentence
from tb_xla_insights.trace.model import SessionTrace

BUDGET = 60_000
MS = 10**9


def packed(document: Any) -> int:
    return len(gzip.compress(json.dumps(document, separators=(",", ":"), allow_nan=False).encode(), 6))


@pytest.fixture(scope="module")
def case_study() -> SessionTrace:
    return session(demo("synthetic_case_study_8_tpu_cores"))


MS = 1000 * US
SENTENCES = [
    (False, "starved", {"wait": MS}, "Nothing was queued: the host waits (1.00 ms)."),
    (True, "starved", {"wait": MS}, "Nothing was queued: the host waits (1.00 ms)."),
    (
        False,
        "starved",
        {"input": 350 * US, "dispatch": 150 * US, "tracing": 400 * US, "wait": 100 * US},
        "Nothing was queued: the host traces and lowers (0.400 ms), waits for data (0.350 ms) and launches (0.150 ms).",
    ),
    (
        False,
        "starved",
        {"wait": 150 * US, "compile": 850 * US},
        "Nothing was queued: the host compiles (0.850 ms).",
    ),
    (
        True,
        "queued",
        {"wait": MS},
        "The device is idle while train runs: the program itself waits for something.",
    ),
    (
        False,
        "queued",
        {"wait": MS},
        (
            "train was queued before the gap began: the device waited for something else, a transfer, a collective "
            "or another core."
        ),
    ),
    (False, "unknown", {"wait": MS}, "What was queued is not known: the host waits (1.00 ms)."),
]


class TestOverview:
    def test_the_overview_is_a_summary_of_the_report(self, case_study: SessionTrace) -> None:
        view, report = views.overview(case_study), session_report(case_study)
        assert view["findings"] == report["findings"]
        listed = [finding["id"] for group in view["groups"] for finding in group["findings"]]
        assert sorted(listed) == sorted(finding["id"] for finding in report["findings"])
        assert view["step_idle"] | {"devices": report["step_idle"]["devices"]} == report["step_idle"]
        finding = zip(view["devices"]["host"], view["devices"]["name"], strict=True)
        assert ["/".join(pair) for pair in finding] == [row["id"] for row in report["devices"]]
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

    def test_four_figures(self, case_study: SessionTrace) -> None:
        figures: dict[str, Any] = {
            figure["name"]: figure["value"] for figure in views.overview(case_study)["figures"]
        }
        assert list(figures) == ["duty", "step", "work", "idle"]
        assert figures["duty"] == pytest.approx(0.605, abs=0.001)
        assert figures["idle"] == figures["step"] - figures["work"]

    def test_figures_without_devices_are_unknown(self) -> None:
        steps = thread("python", *[("Step", at, 9, {"_r": 1, "step_num": at}) for at in (0, 10)])
        figures: dict[str, Any] = {
            figure["name"]: figure["value"] for figure in views.overview(session(capture(steps)))["figures"]
        }
        assert figures == {"duty": None, "step": 9, "work": None, "idle": None}

    def test_ops_that_wait_are_summed_over_devices(self) -> None:
        cores = [
            Core([("fusion.1", 0, 2), ("copy-done.1", 2, 3 + i), ("copy-done.2", 9, 5)], name=f"TPU:{i}")
            for i in range(2)
        ]
        assert views.overview(session(capture(*cores)))["stalls"] == [
            {"op": "copy-done.2", "count": 2, "duration_ps": 10},
            {"op": "copy-done.1", "count": 2, "duration_ps": 7},
        ]

    def test_the_longest_ops_are_listed_and_the_others_summed_up(self) -> None:
        ops = [(f"all-reduce.{i}", 100 * i, 40 - i) for i in range(20)]
        traced = session(capture(Core(ops)))
        reported, shown = session_report(traced)["collectives"], views.overview(traced)["collectives"]
        assert shown[:-1] == reported[: views.MAX_OPS]
        rest = shown[-1]
        assert (rest["op"], rest["summed_ops"], rest["count"]) == (
            None,
            20 - views.MAX_OPS,
            20 - views.MAX_OPS,
        )
        for name in ("duration_ps", "exposed_ps"):
            assert sum(row[name] for row in shown) == sum(row[name] for row in reported)

    def test_the_verdict_names_the_worst_finding(self, case_study: SessionTrace) -> None:
        sentence = views.overview(case_study)["verdict"]
        assert sentence["severity"] == "warning"
        assert sentence == session_report(case_study)["verdict"]
        assert ": 324.5\u202fMB sent each step;" in sentence["text"]
        good = views.overview(session(loop(device=980).trace()))["verdict"]
        assert (good["severity"], "bottleneck" in good["text"]) == ("good", True)

    @pytest.mark.parametrize(("inside", "kind", "parts", "sentence"), SENTENCES)
    def test_a_gap_in_one_sentence(
        self, inside: bool, kind: str, parts: dict[str, int], sentence: str
    ) -> None:
        gap = {"duration_ps": MS, "after": "train", "kind": kind, "inside_run": inside, "by_class_ps": parts}
        assert gap_sentence(gap, "jax").replace("\u202f", " ") == sentence

    def test_a_gap_with_a_late_launch_states_the_time_of_the_launch(self) -> None:
        pieces = [("forward", "tracing", 400), (HANDED_OVER, "wait", 500), ("Execute", "dispatch", 100)]
        chain = [
            {"name": name, "class": class_, "thread": "executor", "start_ps": at * US, "duration_ps": ps * US}
            for (name, class_, ps), at in zip(pieces, (0, 400, 900), strict=True)
        ]
        gap = {"duration_ps": MS, "start_ps": 0, "after": "train", "kind": "starved", "chain": chain}
        # The driving thread worked on the next step in the meantime.
        sentence = gap_sentence(
            gap | {"by_class_ps": {"tracing": 900 * US, "dispatch": 100 * US}}, "torch_xla"
        )
        assert sentence.replace("\u202f", " ") == (
            "Nothing was queued: the host builds the graph (0.400 ms). train was handed over 0.400 ms into the gap, "
            "and taken up by executor 0.500 ms later."
        )

    def test_nothing_stands_out_only_if_launches_are_known(self) -> None:
        work = Core([("fusion.1", 0, 60), ("fusion.1", 80, 20)], [("train(1)", 0, 100)])
        sentence = views.overview(session(capture(work)))["verdict"]
        assert (sentence["severity"], sentence["text"].replace("\u202f", " ")) == (
            "warning",
            "The device is 80.0 % busy; why is not known, as the launches are not recorded.",
        )

    def test_a_capture_without_devices_and_steps(self) -> None:
        view = views.overview(session(capture(thread("python", ("forward", 0, 10)))))
        assert "No device" in view["verdict"]["text"]
        assert [figure["value"] for figure in view["figures"]] == [None] * 4
        assert view["steps"] | {"columns": None} == {
            "source": None,
            "count": 0,
            "cut_count": 0,
            "columns": None,
            "work": [],
        }


class TestGaps:
    def test_one_gap_of_several_cores_is_one_item(self, case_study: SessionTrace) -> None:
        view, report = gap_views.gaps(case_study), session_report(case_study)["gaps"]
        assert sum(entry["cores"] for entry in view["items"]) == len(report["items"]) == view["count"]
        longest = view["items"][0]
        assert (longest["cores"], len(set(longest["devices"])), longest["cause"]) == (8, 8, "compile")
        durations_by_gap = {
            (item["device"], item["start_ps"]): item["duration_ps"] for item in report["items"]
        }
        places = zip(longest["devices"], longest["starts_ps"], strict=True)
        assert [durations_by_gap[place] for place in places] == longest["durations_ps"]
        assert [entry["index"] for entry in view["items"]] == list(range(len(view["items"])))
        durations = [entry["duration_ps"] for entry in view["items"]]
        assert durations == sorted(durations, reverse=True)
        assert view["patterns"] == report["patterns"]

    def test_the_strip_has_the_cause_of_most_gap_time_per_bucket(self, case_study: SessionTrace) -> None:
        gaps = session_report(case_study, all_gaps=True)["gaps"]["items"]
        strip = gap_views.gaps(case_study)["strip"]
        assert len(strip) == 8
        for row in strip[::7]:
            for bucket in range(1000):
                low, high = (case_study.duration_ps * at // 1000 for at in (bucket, bucket + 1))
                time = dict.fromkeys(CLASSES, 0)
                for gap in gaps:
                    if gap["device"] == row["id"]:
                        start, end = gap["start_ps"], gap["start_ps"] + gap["duration_ps"]
                        time[gap["cause"]] += max(0, min(end, high) - max(start, low))
                most = max(CLASSES, key=lambda name: time[name])
                expected = f"{CLASSES.index(most):x}" if time[most] else "f"
                assert row["causes"][bucket] == expected

    def test_every_gap_has_a_document_whose_parts_add_up(self, case_study: SessionTrace) -> None:
        for item in gap_views.gaps(case_study)["items"]:
            for device in item["devices"][:1]:
                gap = gap_views.gap(case_study, device, item["start_ps"])
                assert sum(link["duration_ps"] for link in gap["chain"]) == gap["duration_ps"]
                assert sum(part["duration_ps"] for part in gap["by_thread"]) == gap["duration_ps"]
                assert gap["sentence"].endswith(".")
                assert gap["cores"] == item["cores"]
                pattern = gap_views.gaps(case_study)["patterns"][gap["pattern"]]
                assert [pattern[key] for key in ("before", "after")] == [gap["before"], gap["after"]]
                assert gap["occurrences"] == pattern["count"]

    def test_a_gap_states_whether_all_cores_of_the_host_were_idle(self, case_study: SessionTrace) -> None:
        """One core waits 20 to 60 us and 100 to 140 us, the other 40 to 140 us."""
        first = Core([("a", 0, 20 * US), ("b", 60 * US, 40 * US), ("c", 140 * US, 9 * US)])
        second = Core([("a", 0, 40 * US), ("b", 140 * US, 9 * US)], name="TPU:1")
        traced = session(capture(first, second))
        together = {
            (gap_item["device"], gap_item["start_ps"] // US): gap_item["all_cores_idle_ps"]
            for gap_item in gap_views.gaps(traced)["items"]
        }
        assert together == {
            ("vm/TPU:0", 20): 20 * US,
            ("vm/TPU:0", 100): 40 * US,
            ("vm/TPU:1", 40): 60 * US,
        }
        shown_sentence = gap_views.gap(traced, "vm/TPU:0", 20 * US)["sentence"].replace("\u202f", " ")
        assert shown_sentence.endswith(
            " All cores of the host are idle for 20.0 µs of it; in the rest, some of them work."
        )
        assert "are idle meanwhile." in gap_views.gap(traced, "vm/TPU:0", 100 * US)["sentence"]
        overlapping = session(
            capture(first, Core([("a", 0, 20 * US), ("b", 60 * US, 89 * US)], name="TPU:1"))
        )
        # "the same on 2 cores" says so.
        assert "cores" not in gap_views.gap(overlapping, "vm/TPU:0", 20 * US)["sentence"]
        alone = Core([("a", 0, 149 * US)], name="TPU:1")
        sentence = gap_views.gap(session(capture(first, alone)), "vm/TPU:0", 20 * US)["sentence"]
        assert sentence.endswith(" Other cores of the host work all the while.")
        single = session(capture(first))
        assert {gap_item["all_cores_idle_ps"] for gap_item in gap_views.gaps(single)["items"]} == {None}
        assert "cores" not in gap_views.gap(single, "vm/TPU:0", 20 * US)["sentence"]
        for item in gap_views.gaps(case_study)["items"]:
            assert len(item["all_cores_idle_by_device_ps"]) == item["cores"]

    def test_an_unknown_gap_is_an_error(self, case_study: SessionTrace) -> None:
        with pytest.raises(InputError, match="no gap of x begins at 5"):
            gap_views.gap(case_study, "x", 5)


def test_documents_are_cached(case_study: SessionTrace) -> None:
    assert views.overview(case_study) is views.overview(case_study)
    assert gap_views.gaps(case_study) is gap_views.gaps(case_study)


def test_views_of_real_captures_are_small(shared_traces: Path) -> None:
    for folder in sorted((shared_traces / "torch_xla").iterdir()) + sorted(
        (shared_traces / "public").iterdir()
    ):
        traced = session(real_trace(folder))
        for view in (views.overview, gap_views.gaps, execution_views.executions, compile_views.compiles):
            assert packed(view(traced)) < BUDGET, (folder.name, view.__name__)


class TestThroughHttp:
    @pytest.fixture
    def get(self) -> Any:
        """Answers of the routes over the demos' logdir."""
        from synthetic.__main__ import LOGDIR

        from tb_xla_insights.logdir.listing import Listing
        from tb_xla_insights.logdir.sessions import roots
        from tb_xla_insights.logdir.store import Store, session_opener
        from tb_xla_insights.plugin.arguments import Arguments
        from tb_xla_insights.plugin.routes import Routes

        listing = Listing(roots(str(LOGDIR)))
        listing.refresh(wait=None)
        handlers = Routes(listing, Store(listing, session_opener())).gets()
        name = next(item.name for item in listing.sessions if item.name.startswith("synthetic_case_study"))
        return lambda route, **more: handlers[route](Arguments(f"data/{route}", {"session": name, **more}))

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
        ("route", "more", "says"),
        [
            ("gap", {"start_ps": "5"}, "device is missing"),
            ("gap", {"device": "x", "start_ps": "5"}, "no gap"),
            ("executions", {"step": "-1"}, "step must be"),
            ("executions", {"step": "10"}, "no step 10"),
        ],
    )
    def test_missing_steps_and_devices_are_errors(
        self, get: Any, route: str, more: dict[str, str], says: str
    ) -> None:
        with pytest.raises(InputError, match=says):
            get(route, **more)


class TestChoiceOfDevices:
    def test_idle_time_of_each_device_adds_up(self, case_study: SessionTrace) -> None:
        overview: Any = views.overview(case_study)
        all_cores, devices = overview["step_idle"]["all_cores"], overview["devices"]
        for name, time in all_cores["by_class_ps"].items():
            assert sum(devices["idle"][name]) == time
        parts = [*devices["idle"].values(), devices["small"]]
        assert sum(map(sum, parts)) == all_cores["idle_ps"]

    def test_executions_of_each_device_add_up(self, case_study: SessionTrace) -> None:
        whole: Any = execution_views.executions(case_study)
        answers: list[Any] = [
            execution_views.executions(case_study, None, [device_item.id])
            for device_item in case_study.devices
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
            case_study.devices[0].id
        }

    def test_an_unknown_device_has_no_executions(self, case_study: SessionTrace) -> None:
        view = execution_views.executions(case_study, None, ["nowhere"])
        assert (view["executions"], view["between"], view["lead"], view["fixed"]) == ([], [], None, None)


def test_counts_of_tabs_equal_the_rows_of_their_views(case_study: SessionTrace) -> None:
    report = session_report(case_study)
    assert views.overview(case_study)["counts"] == views.counts(case_study)
    assert views.counts(case_study) == {
        "gaps": report["gaps"]["count"],
        "executions": 4,
        "compiles": 1,
        "lost": sum(row["lost"] is not None for row in report["annotations"]),
    }


def test_patterns_sum_up_their_gaps(case_study: SessionTrace) -> None:
    gaps = session_report(case_study, all_gaps=True)["gaps"]
    for pattern in gaps["patterns"]:
        members = [
            gap
            for gap in gaps["items"]
            if all(gap[name] == pattern[name] for name in ("before", "after", "inside_run"))
        ]
        durations = [gap["duration_ps"] for gap in members]
        assert (pattern["count"], pattern["total_ps"]) == (len(members), sum(durations))
        assert (pattern["min_ps"], pattern["max_ps"]) == (min(durations), max(durations))
        for name in CLASSES:
            assert pattern["by_class_ps"].get(name, 0) == sum(
                gap["by_class_ps"].get(name, 0) for gap in members
            )


def test_views_requested_at_the_same_time_share_one_report(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = session(capture(Core([("a", 0, 10 * US), ("b", 30 * US, 10 * US)])))
    together, reports = threading.Barrier(3), []

    def report(session: SessionTrace, all_gaps: bool) -> Any:
        reports.append(threading.get_ident())
        with suppress(threading.BrokenBarrierError):  # every thread that builds a report passes here
            together.wait(0.3)
        return session_report(session, all_gaps)

    monkeypatch.setattr(cached, "session_report", report)
    with ThreadPoolExecutor(3) as threads:
        requests: list[Any] = [
            threads.submit(view, traced) for view in (views.overview, gap_views.gaps, views.counts)
        ]
    assert requests[0].result()["counts"] == requests[2].result()
    assert requests[1].result()["count"] == requests[2].result()["gaps"] == 1
    assert len(reports) == 1
