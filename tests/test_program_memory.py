"""The report's `memory`: what fills the memory of a device at the peak of each program, by annotation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from buffers import Allocation, program
from captures import real_trace
from programs import STEP_PS, Step, read, training
from synthetic.writer import Space

from tb_xla_insights.analysis.propagation import propagation_diagnostics
from tb_xla_insights.analysis.propagation.memory import memory_report
from tb_xla_insights.analysis.propagation.path_names import forward_paths
from tb_xla_insights.columns.merge import merged
from tb_xla_insights.schema.memory import ProgramMemory
from tb_xla_insights.trace.model import Trace

PARAMETER = Allocation("parameter", {"p": 100})
TEMPORARY = Allocation("temporary", {"a": 40, "b": 30, "c": 20}, size=90)
FORWARD = "Training_Step.1/forward.2/aten__mm"


def trained(tmp_path: Path, hlo: Any) -> Trace:
    """A capture of one step whose phases are `forward` and `loss`, and whose program has an op `a`."""
    step = Step([("forward", 100), ("loss", 100)], [(STEP_PS // 2, [("a", 1000, FORWARD)])])
    (trace,) = training(tmp_path, [step], hlo.SerializeToString()).traces
    return trace


def row_of(trace: Trace) -> ProgramMemory:
    (row,) = memory_report(trace)
    return row


def by_path(row: ProgramMemory) -> dict[str | None, tuple[int, int, int]]:
    """The bytes of parameters, activations and gradients by path."""
    return {
        part["path"]: (part["parameter_bytes"], part["bytes"], part["gradient_bytes"])
        for part in row["by_annotation"]
    }


def test_a_row_has_the_peak_and_its_parts(tmp_path: Path) -> None:
    op_names = {"a": FORWARD, "b": "Training_Step.1/loss.3/aten__nll"}
    row = row_of(trained(tmp_path, program(PARAMETER, TEMPORARY, traces=["+a +b +c"], op_names=op_names)))
    assert row == {
        "program": "SyncTensorsGraph.1",
        "peak_bytes": 190,
        "total_bytes": 190,
        "exact": True,
        "peak_at": "c",
        "capacity_bytes": None,
        "other_bytes": None,
        "parameters_bytes": 100,
        "padding_bytes": 2 + 2 + 0 - 2 - 0,
        "by_annotation": [
            {"path": None, "parameter_bytes": 100, "bytes": 20, "gradient_bytes": 0},
            {"path": "Training_Step/forward", "parameter_bytes": 0, "bytes": 40, "gradient_bytes": 0},
            {"path": "Training_Step/loss", "parameter_bytes": 0, "bytes": 30, "gradient_bytes": 0},
        ],
    }


def test_a_program_that_never_ran_has_no_row(tmp_path: Path) -> None:
    step = Step([("forward", 100)], [(STEP_PS // 2, [("a", 1000, FORWARD)])], program=8)
    (trace,) = training(tmp_path, [step], program(PARAMETER).SerializeToString()).traces
    assert memory_report(trace) == []


def test_a_program_that_ran_without_recorded_ops_has_a_row(tmp_path: Path) -> None:
    step = Step([("forward", 100)], [(STEP_PS // 2, [])])
    (trace,) = training(tmp_path, [step], program(PARAMETER).SerializeToString()).traces
    assert row_of(trace)["peak_bytes"] == 100


def test_without_a_heap_trace_only_bounds_are_known(tmp_path: Path) -> None:
    row = row_of(trained(tmp_path, program(PARAMETER, TEMPORARY)))
    assert (row["peak_bytes"], row["total_bytes"], row["exact"]) == (100, 190, False)
    assert (row["peak_at"], row["padding_bytes"], row["by_annotation"]) == (None, None, [])


class TestAnnotations:
    def test_gradients_stand_with_the_forward_pass(self, tmp_path: Path) -> None:
        op_names = {
            "a": "jit(f)/jvp(loss)/dot",
            "b": "jit(f)/transpose(jvp(loss))/dot",
            "c": "jit(f)/transpose(jvp(norm))/mul",
        }
        hlo = program(TEMPORARY, traces=["+a +b +c"], op_names=op_names)
        assert by_path(row_of(trained(tmp_path, hlo))) == {
            "jit(f)/jvp(loss)": (0, 40, 30),
            "jit(f)/transpose(jvp(norm))": (0, 0, 20),
        }

    def test_parameters_stand_with_the_annotation_of_their_name(self, tmp_path: Path) -> None:
        parameters = {
            "p0": "params['loss']['logits']['w']", "p1": "state.params['loss'].scale", "p2": "x", "p3": "args[0]",
        }  # fmt: skip
        allocations = [Allocation("parameter", {name: 10}) for name in parameters]
        temporary = Allocation("temporary", {"a": 40})
        op_names = {**parameters, "a": "jit(f)/loss/logits/dot"}
        hlo = program(*allocations, temporary, traces=["+a"], op_names=op_names)
        assert by_path(row_of(trained(tmp_path, hlo))) == {
            "jit(f)/loss/logits": (10, 40, 0),
            None: (20, 0, 0),
            "jit(f)/loss": (10, 0, 0),
        }

    def test_parameters_do_not_stand_with_the_backward_pass(self, tmp_path: Path) -> None:
        temporary = Allocation("temporary", {"a": 40})
        op_names = {"p": "params['layer']['w']", "a": "jit(f)/transpose(jvp(loss))/layer/dot"}
        hlo = program(PARAMETER, temporary, traces=["+a"], op_names=op_names)
        assert by_path(row_of(trained(tmp_path, hlo))) == {
            None: (100, 0, 0), "jit(f)/transpose(jvp(loss))/layer": (0, 0, 40),
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("path", "forward"),
        [
            ("f/transpose(jvp(a))/b", ["f/jvp(a)/b", "f/a/b"]),
            ("f/transpose(jvp(a/b))", ["f/jvp(a/b)", "f/a/b"]),
            ("transpose(jvp(f))", ["jvp(f)", "f"]),
            ("f/transpose(jvp())", ["f/jvp()", "f/"]),
            ("f/transpose(a)", []),
            ("f/my_transpose(jvp(a))", []),
            ("f/jvp(a)", []),
            ("f/transpose(jvp(a", ["f/transpose(jvp(a", "f/transpose(jvp(a"]),
        ],
    )
    def test_the_forward_pass_of_a_path(self, path: str, forward: list[str]) -> None:
        assert forward_paths(path) == forward


class TestAllocator:
    """A program that needs 100 B of parameters and up to 40 B more is launched at 0.9 ms and runs from 1 to 2 ms."""

    def trace(self, tmp_path: Path, *events: tuple[int, int, int, int], **stats: Any) -> Trace:
        """`events`: time in ms/10, bytes allocated, reserved and available."""
        space, ms = Space(), 10**9
        device = space.plane("/device:TPU:0")
        device.line("XLA Modules").event("SyncTensorsGraph.1(7)", ms, ms, _ct=12, _c=1)
        op = device.event_metadata("a", display_name="a", stats={"program_id": 7})
        device.line("XLA Ops").event(op, ms, ms)
        host = space.plane("/host:CPU").line("python", id=1)
        host.event("PjRtComputationClient::ExecuteComputation", 9 * ms // 10, ms // 20)
        host.event("DoEnqueueProgram", 91 * ms // 100, ms // 100, _pt=12, _p=1)
        for at, allocated, reserved, available in events:
            host.event(
                "MemoryAllocation", at * ms // 10, 1,
                bytes_allocated=allocated, bytes_reserved=reserved, bytes_available=available, **stats,
            )  # fmt: skip
        hlo = program(PARAMETER, Allocation("temporary", {"a": 40}), traces=["+a"])
        metadata = space.plane("/host:metadata")
        metadata.event_metadata("SyncTensorsGraph.1(7)", 7, stats={"Hlo Proto": hlo.SerializeToString()})
        return read(space, tmp_path)

    def known(self, trace: Trace) -> tuple[int | None, int | None]:
        row = row_of(trace)
        return row["capacity_bytes"], row["other_bytes"]

    def test_capacity_is_what_is_in_use_and_what_is_available(self, tmp_path: Path) -> None:
        assert self.known(self.trace(tmp_path, (15, 150, 40, 810))) == (1000, 50)

    def test_other_buffers_are_those_while_the_program_runs(self, tmp_path: Path) -> None:
        trace = self.trace(
            tmp_path, (5, 900, 40, 60), (12, 130, 40, 830), (18, 110, 40, 850), (25, 900, 40, 60)
        )
        assert self.known(trace) == (1000, 30)

    def test_without_an_event_then_they_are_not_known(self, tmp_path: Path) -> None:
        assert self.known(self.trace(tmp_path, (25, 900, 40, 60))) == (1000, None)

    def test_a_reservation_for_less_is_of_another_program(self, tmp_path: Path) -> None:
        assert self.known(self.trace(tmp_path, (12, 500, 10, 490), (15, 110, 40, 850))) == (1000, 10)

    def test_a_gpu_has_temporary_memory_among_the_buffers(self, tmp_path: Path) -> None:
        trace = self.trace(tmp_path, (15, 150, 0, 850), allocator_name="GPU_0_bfc")
        assert self.known(trace) == (1000, 10)

    @pytest.mark.parametrize("name", ["xla_gpu_host_bfc", "gpu_host_bfc", "mklcpu"])
    def test_allocators_of_the_hosts_memory_do_not_count(self, tmp_path: Path, name: str) -> None:
        assert self.known(self.trace(tmp_path, (15, 150, 0, 850), allocator_name=name)) == (None, None)

    def test_damaged_numbers_do_not_count(self, tmp_path: Path) -> None:
        trace = self.trace(tmp_path, (15, -5, 40, 810), (16, 2**62, 40, 0), (17, 120, 40, 840))
        assert self.known(trace) == (1000, 20)


class TestHosts:
    """One program on several hosts, and several programs of one name: the row with the highest peak."""

    def row(self, peak: int, **more: Any) -> ProgramMemory:
        row: Any = {
            "program": "f", "peak_bytes": peak, "total_bytes": peak + 1, "exact": True, "peak_at": f"at_{peak}",
            "capacity_bytes": None, "other_bytes": None, "parameters_bytes": 0, "padding_bytes": 0,
            "by_annotation": [{"path": "a", "parameter_bytes": 0, "bytes": peak, "gradient_bytes": 0}], **more,
        }  # fmt: skip
        return row  # type: ignore[no-any-return]

    def test_the_highest_peak_counts_as_a_whole(self) -> None:
        assert merged(ProgramMemory, [[self.row(5)], [self.row(7)], [self.row(6)]], "peak_bytes") == [
            self.row(7)
        ]

    def test_capacity_is_that_of_a_host_that_knows_it(self) -> None:
        (row,) = merged(ProgramMemory, [[self.row(7)], [self.row(5, capacity_bytes=9)]], "peak_bytes")
        assert (row["peak_bytes"], row["capacity_bytes"]) == (7, 9)

    def test_programs_of_other_names_have_rows(self) -> None:
        rows = merged(ProgramMemory, [[self.row(5)], [self.row(7, program="g")]], "peak_bytes")
        assert [row["program"] for row in rows] == ["g", "f"]


class TestDamage:
    """What is left out is said in one line."""

    def messages(self, trace: Trace) -> list[str]:
        return [item.message for item in propagation_diagnostics(trace) if item.id == "damaged_buffers"]

    def test_a_heap_trace_that_contradicts_itself(self, tmp_path: Path) -> None:
        trace = trained(tmp_path, program(PARAMETER, TEMPORARY, traces=["+a -a -a"]))
        assert not row_of(trace)["exact"]
        (message,) = self.messages(trace)
        assert message == (
            "Buffer assignments of 1 of the programs that ran free buffers that are not allocated: "
            "SyncTensorsGraph.1. Their peak of memory is not known."
        )

    def test_sizes_that_no_device_has(self, tmp_path: Path) -> None:
        trace = trained(tmp_path, program(Allocation("output", {"a": 8}, size=-1)))
        assert memory_report(trace) == []
        (message,) = self.messages(trace)
        assert message == (
            "Buffer assignments of 1 of the programs that ran have sizes that no device has: SyncTensorsGraph.1. "
            "Their peak of memory is not known."
        )


@pytest.fixture(scope="module")
def truth(shared_traces: Path) -> Any:
    return json.loads((shared_traces / "engines" / "hbm_peak" / "truth.json").read_text())["hbm"]


@pytest.fixture(scope="module")
def row(shared_traces: Path) -> ProgramMemory:
    return row_of(real_trace(shared_traces / "engines" / "hbm_peak"))


class TestSimulatedTpu:
    """A synthetic capture with exact truth."""

    def test_bytes(self, truth: Any, row: ProgramMemory) -> None:
        (expected,) = (item for item in truth["programs"] if item["module"].split("(")[0] in truth["ran"])
        assert (row["program"], row["exact"]) == (truth["ran"][0], True)
        assert row["peak_bytes"] == expected["peak_bytes"]
        assert row["total_bytes"] == expected["total_allocation_bytes"]
        assert row["peak_at"] == expected["peak_at_instruction"]
        assert row["parameters_bytes"] == expected["indefinite_bytes"]
        assert row["padding_bytes"] == expected["temp_peak_bytes"] - expected["temp_unpadded_at_peak_bytes"]

    def test_bytes_by_annotation(self, truth: Any, row: ProgramMemory) -> None:
        (expected,) = (item for item in truth["programs"] if item["module"].split("(")[0] in truth["ran"])
        paths = {str(path).removeprefix("jit(train_step)/"): sizes for path, sizes in by_path(row).items()}
        activations = {path: size for path, (_, size, _) in paths.items() if size}
        gradients = {f"transpose(jvp({path}))": size for path, (_, _, size) in paths.items() if size}
        parameters = {path: size for path, (size, _, _) in paths.items() if size}
        assert activations | gradients == expected["temp_by_scope_bytes"]
        assert parameters == expected["parameters_by_scope_bytes"]

    def test_the_allocator(self, truth: Any, row: ProgramMemory) -> None:
        allocator = truth["allocator"]
        assert row["capacity_bytes"] == allocator["capacity_bytes"]
        assert row["other_bytes"] == allocator["peak_in_window_bytes"] - row["peak_bytes"]


@pytest.mark.parametrize(
    ("capture", "program_name", "peak_bytes", "total_bytes"),
    [
        ("public/tpu_v6e_jax", "jit_f", 21_474_836_512, 21_474_934_816),
        ("public/gpu_mi300_jax", "jit_forward_3d_conv", 1_158_144_000, 1_158_144_256),
        ("other/mi300_jax08_attention", "jit_multiply", 201_326_592, 201_326_592),
        ("other/mi355_te_fused_attn", "jit_loss_fn", 520_618_120, 520_619_876),
        ("other/reactant_2xnvidia", "reactant_fn", 6_168, 6_192),
        ("other/jax0.10.2_gc_pause", "jit_train_step", 56_980_116, 56_980_384),
        ("other/jax0.9.2_block", "jit_train", 9_437_232, 12_582_960),
        ("torch_xla/spmd_fsdp_debug", "SyncTensorsGraph.218", 2_077_004, 2_077_064),
        ("torch_xla/tiny_dynamic", "SyncTensorsGraph.290", 762_328, 762_360),
    ],
)
def test_real_captures_have_the_bytes_of_the_stock_memory_viewer(
    shared_traces: Path, capture: str, program_name: str, peak_bytes: int, total_bytes: int
) -> None:
    """Measured with xprof 2.24.2. Without a heap trace it shows the least as the peak."""
    rows = {row["program"]: row for row in memory_report(real_trace(shared_traces / capture))}
    row = rows[program_name]
    assert (row["peak_bytes"], row["total_bytes"]) == (peak_bytes, total_bytes)
    assert row["exact"] == (capture not in ("other/jax0.9.2_block", "other/reactant_2xnvidia"))
    if row["exact"]:
        parts = row["by_annotation"]
        assert peak_bytes == sum(
            part["parameter_bytes"] + part["bytes"] + part["gradient_bytes"] for part in parts
        )
