"""Tables of device work: rows that add up, whatever their number."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from captures import real_trace, session
from programs import Step, training
from tpu_ops import Op, tpu_trace

from tb_xla_insights.analysis.propagation import propagation_report
from tb_xla_insights.device_work import host_work
from tb_xla_insights.report.work_tables import WorkTable, peaks_note, work_by_annotation, work_by_op
from tb_xla_insights.text import units
from tb_xla_insights.trace.model import Trace

UNKNOWN_OP: dict[str, Any] = {
    "kind": "work", "source": None, "flops": None, "model_flops": None, "bytes": None, "hbm_bytes": None,
    "bound_by": "unknown", "flops_known_ps": 0, "bytes_known_ps": 0, "in_steps_ps": 0,
}  # fmt: skip


def work_of(self_ps: int) -> dict[str, Any]:
    return {
        "total": {**UNKNOWN_OP, "self_ps": self_ps, "work_ps": self_ps},
        "annotations": [],
        "peaks": {"flops_per_s": None, "bytes_per_s": None},
    }


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


def work_report(trace: Trace) -> dict[str, Any]:
    capture_session = session(trace)
    return dict(
        host_work(capture_session.traces[0], propagation_report(capture_session.traces[0])["annotations"])
    )


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A step of eight layers with an op of 700 ps and more in each of their two parts, and three other ops."""
    ops = [Op(f"dot.{n}", f"Step.1/layer_{n // 2}.1/{'ab'[n % 2]}.1", flops=9, nbytes=9) for n in range(16)]
    ops += [
        Op("loss.1", "Step.1/loss.1", flops=9, nbytes=9),
        Op("copy.2"),
        Op("step.3", "Step.1", flops=9, nbytes=9),
    ]
    starts = [1_000 * index for index in range(len(ops))]
    executions = [
        (op, start, 700 + 3 * index) for index, (op, start) in enumerate(zip(ops, starts, strict=True))
    ]
    return work_report(tpu_trace(tmp_path_factory.mktemp("layers"), [executions]))


def round_as_printed(table: WorkTable) -> list[tuple[int, int]]:
    """Times in the last digit printed, and shares without the point; the last row is the total."""
    last_digit_ps = units.PS_PER[units.column_unit([table.total["self_ps"]])] // 1000
    result = []
    for row in (*table.rows, table.total):
        share = 0 if "<" in row["share"] else int(plain(row["share"]).replace(".", "").rstrip(" %"))
        result.append(((row["self_ps"] + last_digit_ps // 2) // last_digit_ps, share))
    return result


@pytest.mark.parametrize("max_rows", [1, 2, 5, 12, 40])
def test_rows_add_up_as_printed(layers: dict[str, Any], max_rows: int) -> None:
    for table in (
        work_by_annotation(layers["device_work"], max_rows),
        work_by_op(layers["ops"], layers["device_work"], max_rows),
    ):
        *rows, total = round_as_printed(table)
        assert len(rows) <= max_rows
        assert tuple(map(sum, zip(*rows, strict=True))) == total
        assert total[1] == 1000
        assert all(left >= right for (left, _), (right, _) in pairwise(rows[:-1]))


def test_annotations_are_expanded_as_far_as_rows_fit(layers: dict[str, Any]) -> None:
    def names(max_rows: int) -> list[str]:
        return sorted(row["path"] for row in work_by_annotation(layers["device_work"], max_rows).rows)

    assert names(3) == ["Step/…", "no annotation"]
    outer = [*(f"Step/layer_{n}/…" for n in range(8)), "Step/loss", "no annotation"]
    assert names(11) == ["Step", *outer]
    inner = [f"Step/layer_{n}/{part}" for n in range(8) for part in "ab"]
    assert names(19) == ["Step", *inner, "Step/loss", "no annotation"]


def test_a_collapsed_annotation_includes_inner_ones(layers: dict[str, Any]) -> None:
    rows = {row["path"]: row for row in work_by_annotation(layers["device_work"], 11).rows}
    assert rows["Step/layer_0/…"]["self_ps"] == 1_403
    assert rows["Step/layer_0/…"]["tflops_per_s"] == "0.0128"  # 18 FLOPs in 1,403 ps


def test_annotations_around_names_with_slashes_are_rows(tmp_path: Path) -> None:
    ops = [
        ("dot.1", 40, "train/step.1/net/forward.2/aten__mm"),
        ("dot.2", 20, "train/step.1/loss.3/aten__mm"),
    ]
    step = Step([("net/forward", 200_000), ("loss", 100_000)], [(950_000, ops)], name="train/step")
    loaded = training(tmp_path, [step])
    result = host_work(loaded.traces[0], propagation_report(loaded.traces[0])["annotations"])
    table = work_by_annotation(result["device_work"], 12)
    rows = [(row["path"], row["self_ps"]) for row in table.rows]
    assert rows == [("train/step/net/forward", 40), ("train/step/loss", 20)]
    (row,) = work_by_annotation(result["device_work"], 1).rows
    assert (row["path"], row["self_ps"]) == ("train/step/…", 60)


def test_kernels_with_and_without_an_annotation() -> None:
    kernel: dict[str, Any] = {
        **UNKNOWN_OP, "program": "", "op": "gemm", "category": "kernel", "executions": 1, "self_ps": 5, "work_ps": 5,
    }  # fmt: skip
    ops = [kernel | {"annotation": path} for path in (None, "s/a")]
    (row,) = work_by_op(ops, work_of(10), 5).rows
    assert (row["annotation"], row["executions"]) == ("1 annotation or none", 2)


def test_of_small_ops_alone_the_longest_are_listed() -> None:
    op: dict[str, Any] = {
        **UNKNOWN_OP, "program": "jit_f", "category": "fusion", "executions": 1, "self_ps": 5, "work_ps": 5,
        "annotation": None,
    }  # fmt: skip
    ops = [op | {"op": f"fusion.{number}", "body": f"fusion.{number}"} for number in range(3000)]
    table = work_by_op(ops, work_of(5 * 3000), 3)
    assert [plain(row["op"]) for row in table.rows] == ["fusion.0", "fusion.1", "2 998 others"]


def test_kernels_without_a_program_have_one_row_per_name(shared_traces: Path) -> None:
    result = work_report(real_trace(shared_traces / "public/gpu_v100_tf"))
    table = work_by_op(result["ops"], result["device_work"], 12)
    assert len(result["ops"]) == 1_330
    first = table.rows[0]
    assert first["op"].startswith("void tensorflow::functor::FillPhiloxRandomKernelLaunch<")
    assert (first["annotation"], first["executions"], plain(first["share"])) == (
        "194 annotations",
        194,
        "26.6 %",
    )
    assert plain(peaks_note(result["device_work"])).endswith(
        "100.0 % of the time is work; its FLOPs are not known."
    )
