"""FLOPs, bytes and time by op, annotation and step: in captures with known values, and compared with a count per op."""

from __future__ import annotations

import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from captures import Core, capture, session, thread
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from tpu_ops import BYTES_PER_PS, FLOPS_PER_PS, Op, tpu_trace

from tb_xla_insights.analysis.propagation import propagation_report
from tb_xla_insights.cli.report_text import DETAIL, print_sections
from tb_xla_insights.device_work import WorkMerger, host_work, session_work, with_peaks
from tb_xla_insights.errors import InputError
from tb_xla_insights.report.document import session_report
from tb_xla_insights.sections.device_time import work_of_annotations, work_of_ops
from tb_xla_insights.trace.model import Trace

STEP = "Training_Step.1"
DOT = Op(
    "dot.1", f"{STEP}/mlp.1", flops=60_000, nbytes=300, hbm=200, category="convolution", source="train.py:7"
)
ADD = Op("add.2", f"{STEP}/mlp.1", flops=100, nbytes=900)
COPY = Op("copy.3", flops=0, nbytes=100)
CALL = Op("custom-call.4", f"{STEP}/attention.2", category="custom-call")
REDUCE = Op("all-reduce.5", f"{STEP}/mlp.1", flops=10, nbytes=10, category="all-reduce")
DONE = Op("copy-done.6", nbytes=5_000, category="copy-done")


def work(trace: Trace) -> dict[str, Any]:
    loaded = session(trace)
    return dict(host_work(loaded.traces[0], propagation_report(loaded.traces[0])["annotations"]))


@pytest.fixture(scope="module")
def known_work(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two steps on two cores; the second core works in the first step alone. Each op takes 1,000 ps, except the second
    dot of the second step, which takes 3,000 ps."""
    step = [(DOT, 10, 1_000), (ADD, 1_010, 1_000), (COPY, 2_010, 1_000), (CALL, 3_010, 1_000)]
    second = [(op, start + 10_000, length) for op, start, length in step]
    extra_ops = [(DOT, 14_010, 3_000), (REDUCE, 17_010, 1_000), (DONE, 18_010, 1_000)]
    folder = tmp_path_factory.mktemp("known")
    return work(tpu_trace(folder, [[*step, *second, *extra_ops], step], [(0, 10_000), (10_000, 10_000)]))


def row_of(known_work: dict[str, Any], op: str) -> dict[str, Any]:
    row: dict[str, Any]
    (row,) = (row for row in known_work["ops"] if row["op"] == op)
    return row


def test_the_mean_step_leaves_out_the_steps_of_hosts_without_devices() -> None:
    step = ("Training_Step", 0, 90, {"_r": 1, "step_num": 7})
    device_host = capture(thread("python", step), Core([("dot", 5, 9)]), host="a")
    mean = session_report(session(device_host, capture(thread("python", step), host="b")))["device_work"][
        "mean_step"
    ]
    assert mean is not None
    assert (mean["steps"], mean["duration_ps"]) == (1, 90)


def test_a_row_has_the_sums_of_all_executions_of_an_op(known_work: dict[str, Any]) -> None:
    row = row_of(known_work, "dot.1")
    names = ("program", "op", "category", "annotation", "source", "kind", "flops_source")
    assert {name: row[name] for name in names} == {
        "program": "jit_f", "op": "dot.1", "category": "convolution", "annotation": "Training_Step/mlp",
        "source": "train.py:7", "kind": "work", "flops_source": "stats",
    }  # fmt: skip
    assert (row["count"], row["executions"], row["self_ps"], row["in_steps_ps"]) == (4, 4, 6_000, 6_000)
    assert (row["flops"], row["bytes"], row["hbm_bytes"]) == (240_000, 1_200, 800)
    assert row["flops_share"] == pytest.approx(240_000 / (6_000 * FLOPS_PER_PS))
    assert row["bytes_share"] == pytest.approx(800 / (6_000 * BYTES_PER_PS))
    assert (row["bound"], row["bound_by"]) == (None, "neither")  # 40 % of one roof, 13 % of the other
    assert row["roof_ps"] == 240_000 // FLOPS_PER_PS


def test_values_that_the_capture_does_not_record_are_null(known_work: dict[str, Any]) -> None:
    row = row_of(known_work, "custom-call.4")
    assert [
        row[name] for name in ("flops", "bytes", "flops_share", "bytes_share", "bound", "flops_source")
    ] == [None] * 6
    assert row["bound_by"] == "unknown"
    (uncounted,) = known_work["device_work"]["ops_without_flops"]
    assert uncounted == {
        "program": "jit_f", "op": "custom-call.4", "category": "custom-call", "self_ps": 3_000, "share": 3_000 / 17_000,
    }  # fmt: skip


def test_sums_with_only_a_copys_zero_flops_are_unknown(tmp_path: Path) -> None:
    unknown = Op("custom-call.4", f"{STEP}/mlp.1", category="custom-call")
    device_work = work(tpu_trace(tmp_path, [[(COPY, 10, 1_000), (unknown, 1_010, 1_000)]], [(0, 5_000)]))[
        "device_work"
    ]
    tree = {row["path"]: row for row in device_work["annotations"]}
    for sums in (
        device_work["total"],
        tree[f"{STEP[:-2]}/mlp"],
        *device_work["steps"],
        device_work["mean_step"],
    ):
        assert [sums[name] for name in ("flops", "model_flops", "mfu", "flops_share")] == [None] * 4
    assert [tree[None][name] for name in ("flops", "mfu", "hbm_bytes")] == [
        0,
        0.0,
        100,
    ]  # only the copy, whose amounts are known
    assert device_work["total"]["hbm_bytes"] == 100


def test_impossible_bytes_by_memory_are_ignored(tmp_path: Path) -> None:
    """The capture records the bytes as two halves, each of which fits into its field."""
    damaged = Op("copy.3", nbytes=100, hbm=1 << 64)
    assert row_of(work(tpu_trace(tmp_path, [[(damaged, 10, 1_000)]])), "copy.3")["hbm_bytes"] == 100


def test_waits_and_collectives_are_not_work(known_work: dict[str, Any]) -> None:
    """Their FLOPs and bytes are in their rows but in no sum."""
    reduce, done, total = (
        row_of(known_work, "all-reduce.5"),
        row_of(known_work, "copy-done.6"),
        known_work["device_work"]["total"],
    )
    assert (reduce["kind"], reduce["bound_by"], reduce["flops"]) == ("collective", "link", 10)
    assert (done["kind"], done["bound_by"], done["bytes"], done["bytes_share"]) == (
        "wait",
        "wait",
        5_000,
        None,
    )
    assert (total["self_ps"], total["work_ps"], total["flops_known_ps"], total["bytes_known_ps"]) == (
        17_000,
        15_000,
        12_000,
        12_000,
    )
    assert (total["flops"], total["bytes"]) == (240_300, 1_200 + 2_700 + 300)


def test_annotations_add_up(known_work: dict[str, Any]) -> None:
    tree = {row["path"]: row for row in known_work["device_work"]["annotations"]}
    # In the order of the numbers in scopes, as the host recorded no annotations inside the steps.
    assert list(tree) == ["Training_Step", "Training_Step/mlp", "Training_Step/attention", None]
    assert {path: row["self_ps"] for path, row in tree.items()} == {
        "Training_Step": 13_000, "Training_Step/mlp": 10_000, "Training_Step/attention": 3_000, None: 4_000,
    }  # fmt: skip
    mlp = tree["Training_Step/mlp"]
    assert (mlp["flops"], mlp["mfu"]) == (240_300, pytest.approx(240_300 / (10_000 * FLOPS_PER_PS)))
    assert (mlp["bound_by"], mlp["bound_ps"]) == (
        "neither",
        {"memory": 3_000, "link": 1_000, "neither": 6_000},
    )
    assert tree["Training_Step"]["own"]["self_ps"] == 0
    # 3,000 ps of a copy at a tenth of the memory's peak, 1,000 ps of waiting.
    assert tree[None]["bound_by"] == "neither"


def test_steps_have_the_work_that_they_launched(known_work: dict[str, Any]) -> None:
    first, second = known_work["device_work"]["steps"]
    assert (first["self_ps"], first["work_ps"], first["flops"], first["bytes"]) == (
        8_000,
        8_000,
        120_200,
        2_600,
    )
    assert (second["self_ps"], second["work_ps"], second["flops"], second["bytes"]) == (
        9_000,
        7_000,
        120_100,
        1_600,
    )
    assert first["mfu"] == pytest.approx(120_200 / (8_000 * FLOPS_PER_PS))
    assert first["mfu_of_step"] == pytest.approx(120_200 / (2 * first["duration_ps"] * FLOPS_PER_PS))
    mean = known_work["device_work"]["mean_step"]
    assert (mean["steps"], mean["duration_ps"], mean["self_ps"], mean["work_ps"]) == (2, 10_000, 4_250, 3_750)
    assert (mean["flops"], mean["mfu"]) == (240_300 // 4, pytest.approx(240_300 / (17_000 * FLOPS_PER_PS)))
    assert mean["mfu_of_step"] == pytest.approx(240_300 / (4 * 10_000 * FLOPS_PER_PS))


def test_other_peaks_change_only_shares_and_bounds(known_work: dict[str, Any]) -> None:
    report: Any = known_work | {"annotations": []}
    with_lower_peaks: Any = with_peaks(report, (50e12, 1e12))
    peaks = with_lower_peaks["device_work"]["peaks"]
    assert (peaks["flops_per_s"], peaks["bytes_per_s"], peaks["source"]) == (50e12, 1e12, "user")
    before, after = row_of(known_work, "dot.1"), row_of(with_lower_peaks, "dot.1")
    assert (after["flops_share"], after["bound"]) == (pytest.approx(2 * before["flops_share"]), "compute")
    unchanged = ("self_ps", "flops", "bytes", "count")
    assert [after[name] for name in unchanged] == [before[name] for name in unchanged]
    assert before["bound"] is None


def test_the_body_of_a_loop_counts_once_per_iteration(tmp_path: Path) -> None:
    """The loop itself has the time between the ops in it, and no FLOPs, even if its stats have some."""
    loop = Op("while.7", STEP, flops=999, nbytes=999, category="while")
    body = [(DOT, start, 100) for start in (20, 130, 240)]
    rows = {row["op"]: row for row in work(tpu_trace(tmp_path, [[(loop, 10, 400), *body]]))["ops"]}
    assert (rows["dot.1"]["executions"], rows["dot.1"]["flops"]) == (3, 180_000)
    assert (rows["while.7"]["self_ps"], rows["while.7"]["flops"], rows["while.7"]["kind"]) == (
        100,
        None,
        "container",
    )


def test_one_step_on_one_device(tmp_path: Path) -> None:
    cores = [[(DOT, 10, 100), (ADD, 1_010, 50)], [(DOT, 20, 70)]]
    trained = session(tpu_trace(tmp_path, cores, [(0, 1_000), (1_000, 1_000)]))
    first, second = (device.id for device in trained.devices)

    def times(**selection: Any) -> dict[str, int]:
        return {row["op"]: row["self_ps"] for row in session_work(trained, **selection)["ops"]}

    assert times(step=0) == {"dot.1": 170}
    assert times(step=1, device=first) == {"add.2": 50}
    assert times(device=second) == {"dot.1": 70}
    (step,) = session_work(trained, step=0, device=second)["device_work"]["steps"]
    assert (step["index"], step["cores"], step["self_ps"]) == (0, 1, 70)


def test_the_python_interface_selects_a_step_of_any_host(tmp_path: Path) -> None:
    hosts = []
    for name, length in (("a", 100), ("b", 70)):
        cores = [[(DOT, 10, length), (ADD, 1_010, 50)]]
        hosts.append(tpu_trace(tmp_path / name, cores, [(0, 1_000), (1_000, 1_000)]))
    trained = session(*hosts)
    answer = session_work(trained, step=2)
    assert {row["op"]: row["self_ps"] for row in answer["ops"]} == {"dot.1": 70}
    total = answer["device_work"]["total"]
    assert (total["self_ps"], total["bound_by"]) == (70, "compute")
    assert [row["index"] for row in answer["device_work"]["steps"]] == [2]
    assert {row["op"]: row["self_ps"] for row in session_work(trained)["ops"]} == {"dot.1": 170, "add.2": 100}
    with_high_peaks = session_work(trained, step=2, device=hosts[1].devices[0].id, user_peaks=(1e18, 1e18))
    assert with_high_peaks["device_work"]["total"]["bound_by"] == "neither"
    for selection in ({"step": 4}, {"step": -1}, {"device": "x/TPU:9"}):
        with pytest.raises(InputError, match="see the report's steps and devices"):
            session_work(trained, **selection)


@pytest.mark.parametrize(
    ("op", "kind", "flops"),
    [
        (Op("custom-call.1", flops=0, category="custom-call"), "work", None),
        (Op("custom-call.1", flops=7, category="custom-call"), "work", 7),
        (Op("fusion.1", flops=(1 << 64) - 1), "work", None),
        (Op("async-start.1", flops=7, category="async-start"), "start", 7),
        (Op("slice-start.1", category="async-start"), "start", None),
        (Op("send-done.1", category="send-done"), "collective", None),
        (Op("outfeed.1", category="outfeed"), "transfer", None),
        (Op("send-done.1", category="host send-done"), "transfer", None),
        (Op("while.1", flops=7, category="while"), "container", None),
    ],
)
def test_the_kind_of_an_op_decides_which_of_its_stats_count(
    tmp_path: Path, op: Op, kind: str, flops: int | None
) -> None:
    (row,) = work(tpu_trace(tmp_path, [[(op, 10, 5)]]))["ops"]
    assert (row["kind"], row["flops"]) == (kind, flops)


def test_adjacent_kernels_of_one_op_are_one_execution() -> None:
    kernels = [("im2col", 0, 5), ("gemm", 5, 9), ("add", 14, 2), ("gemm", 16, 9), ("gemm", 30, 9)]
    ops = ["conv.1", "conv.1", "add.2", "conv.1", "conv.1"]
    runs = [1, 1, 1, 1, 2]
    stream = [
        (name, start, length, {"hlo_op": op, "hlo_module": "jit_f", "program_id": 7, "correlation_id": run})
        for (name, start, length), op, run in zip(kernels, ops, runs, strict=True)
    ]
    rows = {
        row["op"]: row
        for row in work(capture(Core(name="GPU:0", lines={"Stream #1(Kernel)": stream})))["ops"]
    }
    assert (rows["conv.1"]["count"], rows["conv.1"]["executions"]) == (4, 2)
    assert (rows["add.2"]["count"], rows["add.2"]["executions"]) == (1, 1)


def test_hosts_add_up_in_any_order(tmp_path: Path) -> None:
    first = tpu_trace(tmp_path / "a", [[(DOT, 10, 100), (ADD, 200, 50)]], [(0, 1_000)])
    second = tpu_trace(tmp_path / "b", [[(DOT, 10, 70), (CALL, 100, 5)], [(DOT, 10, 30)]], [(0, 1_000)])
    works = [work(first), work(second)]
    documents = []
    for order in ((0, 1), (1, 0)):
        merger = WorkMerger()
        for host in order:
            merger.add(host, works[host]["ops"], works[host]["device_work"])
        documents.append(merger.document([]))
    assert documents[0] == documents[1]
    rows = {row["op"]: row for row in documents[0]["ops"]}
    assert (rows["dot.1"]["self_ps"], rows["dot.1"]["flops"], rows["dot.1"]["executions"]) == (
        200,
        180_000,
        3,
    )
    assert [step["index"] for step in documents[0]["device_work"]["steps"]] == [0, 1]
    assert [row["count"] for row in documents[0]["device_work"]["peaks"]["devices"]] == [3]


SCOPES = st.sampled_from(["", f"{STEP}/a.1", f"{STEP}/a.1/b.1", f"{STEP}/c.2"])
AMOUNT = st.none() | st.integers(0, 10**15)
OPS = st.lists(
    st.builds(
        Op, st.sampled_from(["dot.1", "add.2", "copy-done.3", "while.4"]), SCOPES, AMOUNT, AMOUNT,
        category=st.sampled_from(["loop fusion", "all-reduce", "while"]),
    ), min_size=1, max_size=6, unique_by=lambda op: (op.name, op.scope),
)  # fmt: skip
LENGTHS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 900), st.integers(0, 90)), min_size=1, max_size=12
)


@settings(max_examples=25)
@given(OPS, st.lists(LENGTHS, min_size=1, max_size=3))
def test_all_sums_equal_a_count_op_by_op(
    ops: list[Op], intervals_by_core: list[list[tuple[int, int, int]]]
) -> None:
    cores = []
    for intervals in intervals_by_core:
        start, ops_of_core = 10, []
        for number, length, pause in intervals:
            ops_of_core.append((ops[number % len(ops)], start, length))
            start += length + pause
        cores.append(ops_of_core)
    with TemporaryDirectory() as folder:
        trace = tpu_trace(Path(folder), cores, [(0, 3_000), (3_000, 30_000)])
    document = work(trace)
    executed = [(op, int(start >= 3_000), length) for core in cores for op, start, length in core]
    assert sum(row["self_ps"] for row in document["ops"]) == sum(length for _, _, length in executed)
    for row in document["ops"]:
        scope = row["annotation"]
        matching = [op for op, _, _ in executed if op.name == row["op"] and _path(op) == scope]
        assert row["count"] == row["executions"] == len(matching)
        if row["kind"] != "container":
            assert row["flops"] == (None if matching[0].flops is None else matching[0].flops * len(matching))
            nbytes = matching[0].nbytes
            assert row["bytes"] == (None if nbytes is None else nbytes * len(matching))
    work_keys = {(row["op"], row["annotation"]) for row in document["ops"] if row["kind"] == "work"}
    for number, step in enumerate(document["device_work"]["steps"]):
        of_step = [(op, length) for op, executed_in, length in executed if executed_in == number]
        assert step["self_ps"] == sum(length for _, length in of_step)
        flops = sum(op.flops or 0 for op, _ in of_step if (op.name, _path(op)) in work_keys)
        assert (step["flops"] or 0) == flops
    tree = document["device_work"]["annotations"]
    assert sum(row["own"]["self_ps"] for row in tree) == document["device_work"]["total"]["self_ps"]
    assert sum(row["own"]["flops"] or 0 for row in tree) == (document["device_work"]["total"]["flops"] or 0)
    device_ps = {row["path"]: row["device_ps"] for row in propagation_report(trace)["annotations"]}
    assert {row["path"]: row["self_ps"] for row in tree if row["path"]} == {
        path: ps for path, ps in device_ps.items() if ps
    }


def _path(op: Op) -> str | None:
    return "/".join(part.partition(".")[0] for part in op.scope.split("/")) if op.scope else None


def test_the_text_shows_times_and_shares_of_the_peaks(known_work: dict[str, Any]) -> None:
    output = io.StringIO()
    sections = [make(known_work, DETAIL) for make in (work_of_annotations, work_of_ops)]
    print_sections(Console(file=output, width=300), filter(None, sections))
    text = output.getvalue().replace("\u202f", " ")
    rows = {line.split("  ")[0]: line.split()[1:] for line in text.splitlines()}
    assert rows["Training_Step/mlp"][0] == "10.000"
    expected = "convolution mlp 4 6.000 35.3 % 40.00 40.0 % 13.3 % neither train.py:7"
    assert rows["dot.1"] == expected.split()
    peaks = "Peaks (TPU v0): 100.0 TFLOP/s and 1 000 GB/s, from the capture."
    assert f"{peaks} 88.2 % of the time is work; FLOPs are known for 70.6 %" in text
