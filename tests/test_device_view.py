"""The document of the view Device: the selection, sums, and the limits of lists."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from build import trace_of
from captures import Core, capture, real_trace, session, thread
from launching import US, Tpu
from synthetic import transformer
from synthetic.writer import Space
from tpu_ops import Op, tpu_trace

from tb_xla_insights.analysis.propagation import propagation_report
from tb_xla_insights.device_work import device_view as view_module
from tb_xla_insights.device_work import host_work
from tb_xla_insights.device_work.device_view import device_view
from tb_xla_insights.schema.device_route import DeviceAnswer
from tb_xla_insights.trace.model import SessionTrace

STEP = "Training_Step.1"
DOT = Op("dot.1", f"{STEP}/mlp.1", flops=60_000, nbytes=200, category="convolution", source="train.py:7")
ADD = Op("add.2", f"{STEP}/mlp.1/act.1", flops=100, nbytes=900)
COPY = Op("copy.3", flops=0, nbytes=100)
CALL = Op("custom-call.4", f"{STEP}/attention.2", category="custom-call")
REDUCE = Op("all-reduce.5", f"{STEP}/mlp.1", category="all-reduce")
FIRST = [(DOT, 10, 1_000), (ADD, 1_010, 1_000), (COPY, 2_010, 1_000), (CALL, 3_010, 1_000)]
SECOND = [(op, start + 10_000, length) for op, start, length in FIRST]
STEPS = [(0, 10_000), (10_000, 12_000), (22_000, 9_000)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> SessionTrace:
    """Three steps of 10, 12 and 9 ns on two cores; the second core works in the first step alone. On the first core
    the second step executes the dot a second time, for 3,000 ps, and an all-reduce."""
    extra_ops = [(DOT, 14_010, 3_000), (REDUCE, 17_010, 1_000)]
    late_ops = [(DOT, 22_010, 1_000)]
    folder = tmp_path_factory.mktemp("known")
    return session(tpu_trace(folder, [[*FIRST, *SECOND, *extra_ops, *late_ops], FIRST], STEPS))


def own_times(document: DeviceAnswer) -> dict[str | None, int]:
    paths = [*document["paths"], None]  # index -1 is that of ops without a path
    tree = document["tree"]
    return {paths[index]: own_ps for index, own_ps in zip(tree["path"], tree["own_ps"], strict=True)}


def test_the_first_core_and_the_median_step_are_shown_first(trained: SessionTrace) -> None:
    document = device_view(trained)
    assert document["chosen"] == {"cores": "0.0", "steps": "0", "category": None}
    assert document["steps"] == ["0", "1", "2"]
    assert (document["cores"], document["core_steps"], document["stale"]) == (1, 1, False)
    assert document["total"]["self_ps"] == 4_000


def test_times_of_a_step_on_a_core(trained: SessionTrace) -> None:
    document = device_view(trained, "0.0", "1")
    assert own_times(document) == {
        "Training_Step": 0,
        "Training_Step/mlp": 5_000,
        "Training_Step/mlp/act": 1_000,
        "Training_Step/attention": 1_000,
        None: 1_000,
    }
    total = document["total"]
    assert total["self_ps"] == 8_000
    assert (total["flops_known_ps"], total["flops_unknown_ps"], total["other_ps"]) == (6_000, 1_000, 1_000)
    assert (total["op_count"], total["executions"]) == (5, 6)
    assert (document["notes"]["not_counted"] or "").startswith("custom-call.4 has no FLOP count")


@pytest.mark.parametrize(
    ("cores", "steps", "core_steps", "self_ps"),
    [
        ("all", "all", 2, 17_000), ("0", "0", 2, 8_000), ("0.1", "all", 1, 4_000), ("0.0", "mean", 3, 13_000),
        ("all", "mean", 6, 17_000), ("0.1", "1", 1, 0),
    ],
)  # fmt: skip
def test_sums_of_cores_and_steps(
    trained: SessionTrace, cores: str, steps: str, core_steps: int, self_ps: int
) -> None:
    document = device_view(trained, cores, steps)
    assert document["chosen"] == {"cores": cores, "steps": steps, "category": None}
    assert (document["core_steps"], document["total"]["self_ps"]) == (core_steps, self_ps)
    assert sum(own_times(document).values()) == sum(document["ops"]["self_ps"]) == self_ps


@pytest.mark.parametrize(
    ("cores", "steps"), [("7", "1"), ("0.2", "1"), ("x", "1"), ("0.0", "99"), ("0.0", "1-2")]
)
def test_defaults_replace_unknown_devices_and_steps(trained: SessionTrace, cores: str, steps: str) -> None:
    document = device_view(trained, cores, steps)
    assert document["stale"]
    assert document["chosen"]["cores"] == "0.0"
    assert document["chosen"]["steps"] == ("1" if steps == "1" else "0")


def test_steps_of_one_number_are_chosen_by_their_index_too() -> None:
    """Numbers may begin anew, for example in each epoch."""
    space = Space()
    thread, core = space.plane("/host:CPU").line("python"), space.plane("/device:TPU:0")
    for run, number in enumerate((7, 8, 7)):
        thread.event("Training_Step", 1000 * run, 900, _r=1, step_num=number, step_name="Training_Step")
        core.line("XLA Modules").event("jit_f(7)", 1000 * run, 900, run_id=run + 1)
        core.line("XLA Ops").event("dot.1", 1000 * run, 100 * (run + 1))
    trace = session(trace_of(space.to_bytes()))
    assert device_view(trace)["steps"] == ["7.0", "8", "7.2"]
    assert device_view(trace, "0.0", "7.2")["chosen"]["steps"] == "7.2"
    for link in ("7", "7.5"):  # other views count the steps of all hosts
        document = device_view(trace, "0.0", link)
        assert (document["chosen"]["steps"], document["stale"]) == ("7.0", False)


def test_on_all_hosts_a_repeated_number_is_the_same_repetition() -> None:
    """The second host's capture ends before the second step of number 8."""
    traces = []
    for host, step_count in {"a": 4, "b": 3}.items():
        tpu = Tpu()
        for index in range(step_count):
            tpu.step(1000 * index, 900, 7 + index % 2)
            tpu.launch(1000 * index + 10, (1000 * index + 20, 5), (1000 * index + 30, 100 * 2**index))
        threads = thread("python", *tpu.main), thread("executor", *tpu.executor)
        traces.append(capture(*threads, Core(tpu.ops[0], tpu.runs[0]), host=host))
    hosts = session(*traces)
    for step, own_us in {"7.0": 2 * 100, "7.2": 2 * 400, "8.1": 2 * 200, "8.3": 800}.items():
        document = device_view(hosts, "all", step)
        assert (document["chosen"]["steps"], document["total"]["self_ps"]) == (step, own_us * US)


def test_a_mean_step_without_steps_is_replaced() -> None:
    device = Core(name="TPU:0", lines={"XLA Ops": [("dot.1", 0, 5)]})
    document = device_view(session(capture(device)), "0.0", "mean")
    assert (document["chosen"]["steps"], document["stale"]) == ("all", True)
    assert not device_view(session(capture(device)), "0.0", "all")["stale"]


def test_an_op_links_to_its_longest_run(trained: SessionTrace) -> None:
    document = device_view(trained, "0.0", "1")
    op_index = document["ops"]["op"].index("dot.1")
    run = document["ops"]["run"][op_index]
    assert run is not None
    assert [document["rows"][run[0]], *run[1:]] == ["h0.d0.ops", 14_010, 0, 3_000]
    index = document["tree"]["path"].index(document["paths"].index("Training_Step/mlp"))
    assert (document["tree"]["first_ps"][index], document["tree"]["last_ps"][index]) == (10_010, 18_010)
    assert device_view(trained, "0.0", "mean")["tree"]["first_ps"] == [None] * 5


def test_the_verdict_names_the_work_farthest_below_the_roof(trained: SessionTrace) -> None:
    document = device_view(trained, "0.0", "1")
    # The dot reaches 120,000 of 400,000 FLOPs, the add 900 of 1,000 bytes, the copy 100 of 1,000.
    assert document["ops"]["op"][document["verdict"]["op"]] == "dot.1"
    assert document["verdict"]["text"][1:4] == ["mlp", " takes ", "62.5\u202f%"]


def test_a_category_filters_ops_and_totals_but_not_the_list_of_categories(trained: SessionTrace) -> None:
    unfiltered = device_view(trained, "0.0", "1")
    document = device_view(trained, "0.0", "1", category="convolution")
    assert document["categories"] == unfiltered["categories"]
    assert document["categories"][0] == "convolution"
    assert document["total"]["self_ps"] == 4_000
    assert document["ops"]["op"] == ["dot.1"]


def test_user_peaks_change_the_shares(trained: SessionTrace) -> None:
    document = device_view(trained, "0.0", "1", user_peaks=(200e12, 1e12))
    assert document["peaks"]["source"] == "user"
    own_share = device_view(trained, "0.0", "1")["total"]["flops_share"]
    assert own_share is not None
    assert document["total"]["flops_share"] == own_share / 2


def test_ops_beyond_the_limit_are_sums(trained: SessionTrace, monkeypatch: pytest.MonkeyPatch) -> None:
    unlimited = device_view(trained, "0.0", "1")
    monkeypatch.setattr(view_module, "MAX_OPS", 2)
    document = device_view(trained, "0.0", "1")
    assert document["ops"]["op"] == unlimited["ops"]["op"][:2]
    assert document["tree"] == unlimited["tree"]
    rest = document["rest"]
    assert sum(document["ops"]["self_ps"]) + sum(row["self_ps"] for row in rest) == 8_000
    assert sum(row["op_count"] for row in rest) == 3
    assert device_view(trained, "0.0", "1", all_ops=True)["ops"] == unlimited["ops"]


def test_paths_beyond_the_limit_count_for_their_ancestors(
    trained: SessionTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_module, "MAX_PATHS", 2)
    document = device_view(trained, "0.0", "1")
    assert own_times(document) == {"Training_Step": 1_000, "Training_Step/mlp": 6_000, None: 1_000}
    listed = {document["paths"][index] if index >= 0 else None for index in document["ops"]["path"]}
    assert "Training_Step/mlp/act" in listed


def test_hosts_that_are_not_in_memory_come_from_the_report(trained: SessionTrace) -> None:
    annotations = propagation_report(trained.traces[0])["annotations"]
    report = {
        "session": {"hosts": [{"name": name} for name in "abc"]},
        "devices": [{}] * 6,
        "annotations": annotations,
        **host_work(trained.traces[0], annotations),
    }
    document = device_view(trained, "all", "all", report=report)
    assert document["hosts"] == {"shown": [0, 1, 2], "total": 3}
    assert document["core_steps"] == 6
    assert document["total"]["self_ps"] == 17_000
    assert document["ops"]["run"] == [None] * 5
    assert device_view(trained, "all", "1", report=report)["hosts"] == {"shown": [0], "total": 3}


def test_a_session_without_devices(tmp_path: Path) -> None:
    document = device_view(session(tpu_trace(tmp_path, [], STEPS)))
    assert document["cores"] == 0
    assert document["chosen"]["steps"] == "all"
    assert document["total"]["self_ps"] == 0
    assert document["verdict"] == {"text": ["No op was recorded on this device."], "op": -1}


def test_the_demo_has_its_documented_figures() -> None:
    truth = transformer.truth()
    document = device_view(session(trace_of(transformer.build().to_bytes())))
    own_ps = {path or "": time for path, time in own_times(document).items() if time}
    assert own_ps == truth.own_ps
    total = document["total"]
    # The all-reduce has no FLOPs either, but it is not work.
    assert total["flops_unknown_ps"] + total["other_ps"] == truth.uncounted_ps
    assert sum(value or 0 for value in document["ops"]["flops"]) == truth.flops
    assert sum(value or 0 for value in document["ops"]["hbm_bytes"]) == truth.nbytes


def test_a_document_of_thousands_of_ops_is_small(tmp_path: Path) -> None:
    layers = [f"{STEP}/layer.{number}/mlp.1" for number in range(40)]
    ops = [
        Op(f"fusion.{7 * at}", layers[at % 40], flops=97 * at, nbytes=31 * at, source=f"model/part{at % 9}.py:{at}")
        for at in range(4_000)
    ]  # fmt: skip
    executions = [(op, 10 + 1_000 * at, 500 + 13 * at % 499) for at, op in enumerate(ops)]
    document = device_view(session(tpu_trace(tmp_path, [executions])))
    assert document["total"]["op_count"] == 4_000
    assert len(gzip.compress(json.dumps(document).encode())) < 60_000


def test_ops_that_repeat_are_one_in_sentences(shared_traces: Path) -> None:
    unrolled = session(real_trace(shared_traces / "tpu/vllm_qwen3_step"))
    document = device_view(unrolled, "0.0", "all")
    assert (
        document["verdict"]["text"][-1]
        .replace("\u202f", " ")
        .startswith(
            " of the session’s op time. 64 × convolution fusion take 22.222 ms."  # MergedColumnParallelLinear
        )
    )
