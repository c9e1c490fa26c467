"""The documents of the views on executions and compilations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from build import trace_of
from captures import capture, real_trace, session, thread
from gpus import gpu, kernel, nested
from graphs import Framework, Graph, compiling
from launching import US, Tpu, demo
from loops import loop
from pods import POD
from synthetic import pod

from tb_xla_insights.analysis.memo import RecentResults
from tb_xla_insights.analysis.propagation import propagation_view
from tb_xla_insights.compare.step import default_step_view
from tb_xla_insights.device_work.selection import select
from tb_xla_insights.errors import InputError
from tb_xla_insights.report import compile_views, execution_views, gap_views
from tb_xla_insights.report.compile_text import compile_heading, compile_reason
from tb_xla_insights.report.default_step import default_step
from tb_xla_insights.report.session_view import SessionView


@pytest.fixture(scope="module")
def case_study() -> SessionView:
    return SessionView(session(demo("synthetic_case_study_8_tpu_cores")))


@pytest.mark.parametrize(
    "name", ["synthetic_case_study_8_tpu_cores", "torch_xla_early_item", "torch_xla_slow_input"]
)
def test_views_show_the_same_step_first(name: str) -> None:
    loaded = session(demo(name))
    executions: Any = execution_views.executions(SessionView(loaded))
    number = executions["steps"][executions["step"]]
    step = propagation_view(loaded)["step"]
    assert step
    assert step["number"] == number
    assert select(loaded, None, None).step == str(number)
    shown = default_step_view(SessionView(loaded))
    assert shown is not None
    assert shown["number"] == number


def test_the_default_step_is_of_the_median_host() -> None:
    steps = [{"host": host, "duration_ps": ps} for host in "abc" for ps in (30, 10, 20, 40)]
    hosts = [
        {"name": name, "others_wait_ps": None, "step_ps": ps} for name, ps in (("a", 3), ("b", 1), ("c", 2))
    ]
    report = {"steps": steps, "hosts": hosts, "findings": []}
    # On c, the shorter of the two middle steps of 20 and 30 ps.
    assert default_step(report) == 10
    assert [default_step(report, hosts) for hosts in ({"b"}, {"a", "c"}, {"none"})] == [6, 10, 10]
    assert default_step(report | {"steps": steps[:4]}) == 2
    assert default_step(report | {"steps": []}) is None


class TestExecutions:
    def test_totals_by_kind_add_up(self) -> None:
        view: Any = execution_views.executions(SessionView(session(demo("synthetic_dynamo_issue_dynamo"))))
        for name in ("host_ps", "overhead_ps"):
            totals = [
                [row["costs"]["total"][name] for row in rows]
                for rows in ([view["all"]], view["kinds"].values(), view["executions"])
            ]
            assert len({sum(total) for total in totals}) == 1
        assert (view["kinds"]["dynamo"]["count"], view["kinds"]["lazy"]["count"]) == (2, 3)
        between = {(row["before"], row["after"]): row["mean_ps"] for row in view["between"]}
        assert between["SyncTensorsGraph.4410", "SyncTensorsGraph.131"] == 9_910_000_000
        assert "(fitted to 5 runs)" in view["reading"]

    def test_a_step_has_the_runs_that_steps_launched(self, case_study: SessionView) -> None:
        """Of 12 launches on 8 cores, one is of a step that the capture cuts; the 10 whole steps have the others."""
        view: Any = execution_views.executions(case_study)
        runs = sum(row["count"] for row in view["executions"])
        per_step = sum(row["per_step"] for row in view["executions"])
        assert (runs, view["core_steps"], per_step) == (12 * 8, 10 * 8, 11 / 10)
        on_one_device = execution_views.executions(case_study, devices=[case_study.hosts.devices[3].id])
        assert on_one_device["core_steps"] == 10
        assert sum(row["per_step"] for row in on_one_device["executions"]) == 11 / 10

    def test_the_same_devices_have_the_same_figures_however_they_are_chosen(self) -> None:
        traces = [
            trace_of(space.to_bytes(), pod.name_of(host)) for host, space in enumerate(pod.files(POD)[:3])
        ]
        hosts = session(*traces)
        ids = [device.id for device in hosts.devices]
        whole = execution_views.executions(SessionView(hosts))
        choices = [ids, ids[::-1], [f"{trace.host}/*" for trace in traces]]
        choices.append([choices[2][0], *ids[len(traces[0].devices) :]])
        for choice in choices:
            assert execution_views.executions(SessionView(hosts), devices=choice) == whole
        for trace in traces:
            alone: Any = execution_views.executions(SessionView(session(trace)))
            chosen: Any = execution_views.executions(SessionView(hosts), devices=[f"{trace.host}/*"])
            assert [chosen[key] for key in ("executions", "reading", "lead", "core_steps")] == [
                alone[key] for key in ("executions", "reading", "lead", "core_steps")
            ]

    def test_runs_without_a_lead_are_left_out(self) -> None:
        """A core's first run, and a run whose enqueuing is not recorded, have no lead."""
        tpu = Tpu()
        for i in range(3):
            tpu.launch(i * 100, (i * 100 + 10, 10), (i * 200 + 50, 200))
        tpu.launch(300, (310, 10), (650, 200))
        tpu.executor = [
            event for event in tpu.executor if event[0] != "DoEnqueueProgram" or event[1] < 300 * US
        ]
        # Enqueued at 115 and 215, when the core was busy until 250 and 450.
        lead = execution_views.executions(SessionView(session(tpu.trace())))["lead"]
        assert lead
        assert lead.replace("\u202f", " ").endswith(
            "enqueued 0.185 ms before the device is free for it (median; from 0.135 ms to 0.235 ms over 2 runs)."
        )

    def test_a_step_of_many_runs_has_the_first_and_their_number(
        self, case_study: SessionView, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        devices = [case_study.hosts.devices[1].id]
        whole: Any = execution_views.executions(case_study, devices=[case_study.hosts.devices[0].id])
        monkeypatch.setattr(execution_views, "_MAX_RUNS", 3)
        monkeypatch.setattr(execution_views, "_MAX_PROGRAM_PAIRS", 0)
        fresh = SessionView(case_study.hosts)
        view: Any = execution_views.executions(fresh, 7)
        assert (len(view["runs"]["device"]), view["run_count"]) == (3, 16)
        cut: Any = execution_views.executions(fresh, devices=devices)
        assert (len(cut["between"]), cut["between_count"]) == (0, len(whole["between"]))

    def test_the_runs_of_one_step(self, case_study: SessionView) -> None:
        view: Any = execution_views.executions(case_study, 7)
        runs = view["runs"]
        assert view["step"] == 7
        assert {len(column) for column in runs.values()} == {16}
        assert runs["start_ps"] == sorted(runs["start_ps"])
        for host, device, queue, overhead in zip(
            runs["host_ps"], runs["duration_ps"], runs["queue_ps"], runs["overhead_ps"], strict=True
        ):
            assert host == device + queue + overhead
        assert execution_views.executions(case_study)["step"] in range(10)
        with pytest.raises(InputError, match="no step 99"):
            execution_views.executions(case_study, 99)


class TestCompiles:
    def test_graphs_by_step(self, case_study: SessionView) -> None:
        view: Any = compile_views.compiles(case_study)
        assert view["steps"] == list(range(1204, 1214))
        first = view["graphs"][0]
        assert (first["module"], first["compiles"], first["steps"]) == (
            "SyncTensorsGraph.42210",
            1,
            {"5": "compiled"},
        )
        assert first["cost_ps"] == view["compiles"][0]["duration_ps"]
        usual = next(graph for graph in view["graphs"] if graph["module"] == "SyncTensorsGraph.41937")
        assert set(usual["steps"].values()) == {"run"}
        assert len(usual["steps"]) == 8

    def test_all_steps_of_a_graph_are_listed(self) -> None:
        view: Any = compile_views.compiles(SessionView(session(loop(steps=600, device=500).trace())))
        assert [len(graph["steps"]) for graph in view["graphs"]] == [len(view["steps"])] == [600]

    def test_programs_of_one_name_are_distinct_graphs(self, shared_traces: Path) -> None:
        view: Any = compile_views.compiles(
            SessionView(session(real_trace(shared_traces / "torch_xla/tiny_dynamic")))
        )
        assert [graph["compiles"] for graph in view["graphs"]] == [1, 1, 1]
        assert [len(graph["steps"]) for graph in view["graphs"]] == [3, 3, 3]


def test_pauses_between_runs_have_the_cause_of_their_gaps(case_study: SessionView) -> None:
    patterns = {(row["before"], row["after"]): row["cause"] for row in gap_views.gaps(case_study)["patterns"]}
    between = execution_views.executions(case_study)["between"]
    assert {(row["before"], row["after"]): row["cause"] for row in between} == patterns
    assert [row["after"] for row in between if row["queued"]] == ["SyncTensorsGraph.41102"]


def test_no_device_is_idle_between_runs_during_a_longer_one() -> None:
    """On a GPU runs overlap: `f` works from 10 to 150 us on one stream, `g` and `h` in between on another."""
    main = nested((0, 20, [(1, 5)]), (30, 20, [(2, 35)]), (60, 20, [(3, 65)]), (200, 20, [(4, 205)]))
    others = [kernel(40, 5, 2, "jit_g(8)"), kernel(100, 5, 3, "jit_h(9)"), kernel(210, 5, 4, "jit_i(1)")]
    device = gpu(kernel(10, 140, 1), streams={"Stream #2(Kernel)": others})
    view = execution_views.executions(
        SessionView(session(capture(thread("python", *main, role="driving"), device)))
    )
    between = [(row["before"], row["after"], row["count"], row["total_ps"] // US) for row in view["between"]]
    assert sorted(between) == [("jit_f", "jit_g", 1, 0), ("jit_g", "jit_h", 1, 0), ("jit_h", "jit_i", 1, 60)]


class TestCompileTexts:
    """The page's texts about a compilation come from the server."""

    def row(self, **changes: Any) -> dict[str, Any]:
        return {
            "module": "jit_f", "graph": "aa", "warm_up": False, "cut": None, "cause": None, "nearest": None,
            "difference": None,
        } | changes  # fmt: skip

    def test_headings(self) -> None:
        assert compile_heading(self.row()) == "What is new in jit_f"
        assert compile_heading(self.row(warm_up=True)) == "jit_f was compiled in the warm-up"
        assert compile_heading(self.row(cut="end")) == "jit_f: unfinished where the capture ends"
        assert (
            compile_heading(self.row(module=None, graph=None, cut="start"))
            == "unknown graph: begun before the capture"
        )

    def test_reasons(self) -> None:
        same_hlo = {"difference": "the HLO is that of jit_f(4)", "nearest": {"different_count": 0}}
        assert (
            compile_reason(self.row(cause="a step marker", **same_hlo))
            == "Cause: a step marker. The HLO is that of jit_f(4)."
        )
        grown = {"difference": "s64[1] became s64[2]", "nearest": {"different_count": 1}}
        assert compile_reason(self.row(**grown)) == "s64[1] became s64[2]."
        assert compile_reason(self.row()) == "The capture does not record why the graph is new."
        assert (
            compile_reason(self.row(warm_up=True))
            == "The first steps compile each graph once: nothing to fix."
        )

    @pytest.mark.parametrize(
        ("framework", "word"), [("torch_xla", "PT_XLA_DEBUG"), ("jax", "jax_explain_cache_misses")]
    )
    def test_hints_and_advice_use_the_terms_of_the_framework(
        self, tmp_path: Path, framework: Framework, word: str
    ) -> None:
        graphs = [Graph(["f32[8]"]), Graph(["f32[8]"])]
        view: Any = compile_views.compiles(SessionView(compiling(tmp_path, graphs, framework=framework)))
        assert word in view["how_to_record_causes"]
        assert view["note"] is None
        assert [row["change"] for row in view["compiles"]] == ["other_graph", "same_hlo"]
        assert ("jax.jit" in view["compiles"][1]["advice"]) == (framework == "jax")


def test_the_sums_of_the_last_choices_of_devices_are_cached(case_study: SessionView) -> None:
    ids = [device.id for device in case_study.hosts.devices]
    first: Any = execution_views.executions(case_study, devices=ids[:1])
    sums = [execution_views.executions(case_study, devices=[ids[0], "unknown"])["kinds"] for _ in range(2)]
    assert all(kinds is first["kinds"] for kinds in sums)


def test_a_host_stands_for_all_of_its_devices(case_study: SessionView) -> None:
    [host] = {device.host for device in case_study.hosts.devices}
    assert execution_views.executions(case_study, devices=[f"{host}/*"]) == execution_views.executions(
        case_study, devices=[device.id for device in case_study.hosts.devices]
    )


def test_the_least_recently_used_result_is_dropped() -> None:
    cache = RecentResults(3)
    for key in (1, 2, 3, 1, 4):
        cache.get(key, lambda key=key: [key])  # type: ignore[misc]
    assert len(cache) == 3
    assert [cache.get(key, lambda: None) for key in (1, 3, 4, 2)] == [[1], [3], [4], None]
