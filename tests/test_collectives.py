"""Collectives by name, kind and device; their exposed time, compared with a count instant by instant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from captures import Core, capture, real_trace, session
from hypothesis import given
from hypothesis import strategies as st
from launching import US, Tpu
from programs import module, read
from synthetic.hlo import Instruction
from synthetic.writer import Space

from tb_xla_insights.analysis.delays.collectives import collectives_report, find_collectives
from tb_xla_insights.analysis.opcodes import collective_kind
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.one_step import one_step
from tb_xla_insights.trace.model import Trace


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("all-reduce", "all-reduce"),
        ("all-reduce.12", "all-reduce"),
        ("%all-reduce-start.3 = f32[8] all-reduce-start(x)", "all-reduce"),
        ("all-gather-done.1", "all-gather"),
        ("reduce-scatter.2", "reduce-scatter"),
        ("ragged-all-to-all.2", "all-to-all"),
        ("collective-permute-start", "collective-permute"),
        ("send-done.4", "send"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all-reduce"),
        ("ncclKernel_ReduceScatter_RING_LL_Sum_float", "reduce-scatter"),
        ("ncclDevKernel_Generic", "collective"),
        ("reduce.64", None),
        ("reduce-window.1", None),
        ("send_weights_fusion", None),
        ("all-reduce-promotion", None),
        ("multiply_all-reduce_fusion", None),
    ],
)
def test_kinds_by_name(name: str, kind: str | None) -> None:
    assert collective_kind(name) == kind


def test_on_a_cpu_the_opcode_identifies_a_collective(tmp_path: Path) -> None:
    """JAX names ops after its primitives; a loop is a container whatever its name."""
    space = Space()
    line = space.plane("/host:CPU").line("tf_XLAPjRtCpuClient/1", id=1)
    for op, start, length in (
        ("body_scan.1", 0, 100),
        ("psum_invariant.7", 10, 30),
        ("all-reduce.2", 50, 20),
    ):
        line.event(op, start, length, hlo_op=op, hlo_module="jit_f", program_id=7)
    inner = [Instruction(2, "psum_invariant.7", "all-reduce"), Instruction(3, "all-reduce.2", "fusion")]
    proto = module([Instruction(1, "body_scan.1", "while", calls=[2])], {2: inner}, "jit_f")
    space.plane("/host:metadata").event_metadata("jit_f(7)", 1, stats={"program_id": 7, "Hlo Proto": proto})
    trace = read(space, tmp_path)
    [row] = collectives_report(trace)
    assert row == {
        "op": "psum_invariant.7", "kind": "all-reduce", "count": 1, "duration_ps": 30, "exposed_ps": 30,
        "exposed_in_steps_ps": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("capture_name", "rows"),
    [
        ("jax0.10.2_shardmap", {("psum_invariant.7", "all-reduce"): 80}),
        ("jax0.7.2_pmap", {("psum.5", "all-reduce"): 80, ("all_gather.3", "all-gather"): 80}),
    ],
)
def test_collectives_of_real_captures_of_jax(
    shared_traces: Path, capture_name: str, rows: dict[tuple[str, str], int]
) -> None:
    collectives = collectives_report(real_trace(shared_traces / "other" / capture_name))
    assert {(row["op"], row["kind"]): row["count"] for row in collectives} == rows


def test_the_category_identifies_a_collective() -> None:
    trace = capture(Core([("fusion.9", 0, 10, {"hlo_category": "all-reduce fusion"}), ("dot", 10, 5)]))
    [row] = collectives_report(trace)
    assert row == {
        "op": "fusion.9", "kind": "all-reduce", "count": 1, "duration_ps": 10, "exposed_ps": 10,
        "exposed_in_steps_ps": 0,
    }  # fmt: skip


@pytest.mark.parametrize("stats", [{"hlo_category": "host send-done"}, {"tf_op": "jit(f)/io_callback:"}])
def test_a_send_to_the_host_is_no_collective(stats: dict[str, str]) -> None:
    trace = capture(Core([("send-done.2", 0, 10, stats), ("send-done.3", 10, 10), ("dot", 20, 5)]))
    assert [row["op"] for row in collectives_report(trace)] == ["send-done.3"]
    assert find_collectives(trace, 0).op.tolist() == [1]


def test_a_send_to_the_host_hides_nothing() -> None:
    stats = {"hlo_category": "host send"}
    trace = capture(Core([("all-reduce.1", 0, 10), ("send.2", 2, 5, stats)]))
    collectives = find_collectives(trace, 0)
    assert collectives.exposed_intervals.total_ps == 10


def test_ops_of_one_name_have_a_row_per_kind(tmp_path: Path) -> None:
    """Two programs may each have an op of that name."""
    space = Space()
    plane = space.plane("/device:TPU:0")
    line = plane.line("XLA Ops")
    for number, (kind, length) in enumerate([("all-reduce", 5), ("all-gather", 3)], 1):
        fusion = plane.event_metadata("fusion.3", number, stats={"hlo_category": f"{kind} fusion"})
        line.event(fusion, 10 * number, length)
    rows = collectives_report(read(space, tmp_path))
    assert [(row["op"], row["kind"], row["count"], row["duration_ps"]) for row in rows] == [
        ("fusion.3", "all-reduce", 1, 5),
        ("fusion.3", "all-gather", 1, 3),
    ]


def test_rows_add_up_over_devices_and_have_own_times() -> None:
    """The time of a collective in a loop's body counts for the collective, not for the loop."""
    ops = [("while.1", 0, 30), ("all-gather.1", 5, 10), ("all-reduce.1", 20, 5)]
    trace = capture(Core(ops), Core(ops, name="TPU:1"))
    rows = {row["op"]: row for row in collectives_report(trace)}
    # The loop's own time does not hide a collective, as it excludes the ops inside the loop.
    assert rows["all-gather.1"] == {
        "op": "all-gather.1", "kind": "all-gather", "count": 2, "duration_ps": 20, "exposed_ps": 20,
        "exposed_in_steps_ps": 0,
    }  # fmt: skip
    assert list(rows) == ["all-gather.1", "all-reduce.1"]


def test_a_collective_before_the_steps_is_in_no_step() -> None:
    """A warm-up exchanges for 40 us, each of three steps for 5 us, of which the step's own document has the mean."""
    tpu = Tpu()
    tpu.launch(1, (5, 5), (10, 40), program="warm_up(1)", op="all-reduce.1")
    for number in range(3):
        at = 100 + 100 * number
        tpu.step(at, 100, number)
        tpu.launch(at + 1, (at + 5, 5), (at + 20, 30))
        tpu.launch(at + 50, (at + 55, 5), (at + 70, 5), program="exchange(8)", op="all-reduce.2")
    trace = tpu.trace()
    rows = {row["op"]: (row["exposed_ps"], row["exposed_in_steps_ps"]) for row in collectives_report(trace)}
    assert rows == {"all-reduce.1": (40 * US, 0), "all-reduce.2": (15 * US, 15 * US)}
    step = one_step(session_report(session(trace)))
    assert step is not None
    assert {part["label"]: part["ps"] for part in step["parts"] if part["kind"] == "collective"} == {
        "all-reduce": 5 * US
    }


def test_waiting_for_a_copy_hides_nothing() -> None:
    streams = {
        "Stream #1(Kernel)": [("copy-done.1", 0, 10)],
        "Stream #2(Kernel)": [("ncclDevKernel_AllGather", 0, 10)],
    }
    trace = capture(Core(name="GPU:0", lines=streams))
    assert find_collectives(trace, 0).exposed_ps.tolist() == [10]


def test_on_a_cpu_ops_of_other_threads_are_not_nested_in_a_collective(tmp_path: Path) -> None:
    """A product on another thread runs within the time of the collective."""
    space = Space()
    host = space.plane("/host:CPU")
    for number, (op, start, length) in enumerate([("all-reduce.1", 10, 30), ("dot.2", 20, 10)]):
        line = host.line(f"tf_XLAEigen/{number}", id=number)
        line.event(op, start, length, hlo_op=op, hlo_module="SyncTensorsGraph.1", program_id=7)
    proto = module([Instruction(1, "all-reduce.1", "all-reduce"), Instruction(2, "dot.2", "dot")])
    space.plane("/host:metadata").event_metadata("SyncTensorsGraph.1(7)", 7, stats={"Hlo Proto": proto})
    [row] = collectives_report(read(space, tmp_path))
    assert (row["op"], row["duration_ps"], row["exposed_ps"]) == ("all-reduce.1", 30, 20)


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=6)


def without_overlaps(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans of one stream, without those that overlap an earlier one."""
    disjoint: list[tuple[int, int]] = []
    for start, length in sorted(spans):
        if not disjoint or start >= disjoint[-1][0] + disjoint[-1][1]:
            disjoint.append((start, length))
    return disjoint


@given(st.lists(SPANS, min_size=1, max_size=3), SPANS)
def test_exposed_time_instant_by_instant(
    spans_by_stream: list[list[tuple[int, int]]], collective: list[tuple[int, int]]
) -> None:
    """Each list of ops has its own stream, so that nothing nests."""
    lines = {
        f"Stream #{n}(Kernel)": [("gemm", *interval) for interval in without_overlaps(spans)]
        for n, spans in enumerate(spans_by_stream)
    }
    lines["Stream #9(Kernel)"] = [
        ("ncclDevKernel_AllReduce_Sum", *interval) for interval in without_overlaps(collective)
    ]
    trace: Trace = capture(Core(name="GPU:0", lines=lines))
    busy = np.zeros(100, np.bool_)
    for spans in spans_by_stream:
        for start, length in without_overlaps(spans):
            busy[start : start + length] = True
    expected = sum(
        int((~busy[start : start + length]).sum()) for start, length in without_overlaps(collective)
    )
    collectives = find_collectives(trace, 0) if trace.devices else None
    assert (int(collectives.exposed_ps.sum()) if collectives else 0) == expected


def test_collectives_of_a_real_capture_on_two_cores(shared_traces: Path) -> None:
    trace = real_trace(shared_traces / "torch_xla/spmd_fsdp_debug")
    rows = collectives_report(trace)
    assert {row["kind"] for row in rows} == {"all-reduce", "all-gather"}
    assert all(0 <= row["exposed_ps"] <= row["duration_ps"] for row in rows)
    # One run a step and core, eight steps, two cores.
    assert all(row["count"] == 16 for row in rows)
    assert collectives_report(real_trace(shared_traces / "torch_xla/tiny_baseline")) == []
