"""Time, FLOPs and bytes of ops compared with those of the stock profile plugin, on the same real files."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from captures import real_trace
from test_stock_profiler import rows_of, run_tool

from tb_xla_insights.device_work import host_work

Sums = dict[str, list[float]]


def sum_columns(capture: Path, *columns: str) -> Sums:
    """Sums of columns by op, over all programs, without kernels that name no program."""
    sums: Sums = defaultdict(lambda: [0.0] * len(columns))
    row: Any
    for row in host_work(real_trace(capture), [])["ops"]:
        if row["program"]:
            sums[row["op"]] = [
                total + (row[name] or 0) for total, name in zip(sums[row["op"]], columns, strict=True)
            ]
    return dict(sums)


def stock_rows(tmp_path: Path, capture: Path) -> list[dict[str, Any]]:
    return rows_of(run_tool(tmp_path, capture, "hlo_stats"))


def test_a_tpus_ops_have_the_same_flops_and_bytes(shared_traces: Path, tmp_path: Path) -> None:
    """The stock plugin reports rates over its own times, whose total is within 0.01 % of that of this project."""
    capture = shared_traces / "public" / "tpu_v6e_jax"
    expected: Sums = {}
    for row in stock_rows(tmp_path, capture):
        time_us = row["total_self_time"]
        amounts = row["model_flop_rate"] * time_us * 1e3, row["measured_memory_bw"] * time_us * 2**30 / 1e6
        expected[row["hlo_op_name"]] = [row["occurrences"], *amounts]
    sums_by_op = sum_columns(capture, "executions", "model_flops", "bytes")
    assert len(sums_by_op) == 17
    assert sums_by_op == {op: pytest.approx(sums, rel=1e-6) for op, sums in expected.items()}
    total = run_tool(tmp_path, capture, "op_profile")["byProgramExcludeIdle"]["metrics"]
    assert sum(flops for _, flops, _ in sums_by_op.values()) == int(total["rawFlops"])
    self_ps = sum(time for (time,) in sum_columns(capture, "self_ps").values())
    assert self_ps == pytest.approx(int(total["rawTime"]), rel=1e-4)


def find_leaves(node: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The metrics of the tree's innermost nodes, by name."""
    if not node.get("children"):
        return {node["name"]: node["metrics"]}
    return {name: leaf for child in node["children"] for name, leaf in find_leaves(child).items()}


def test_a_gpus_products_have_the_same_flops(shared_traces: Path, tmp_path: Path) -> None:
    """Only for fusions with a matrix product: the stock plugin has no FLOPs of cuBLAS calls, and adds those of
    element-wise ops."""
    capture = shared_traces / "other" / "mi300_jax08_attention"
    stock_metrics = find_leaves(run_tool(tmp_path, capture, "op_profile")["byProgramExcludeIdle"])
    sums_by_op = sum_columns(capture, "flops", "self_ps")
    assert sums_by_op["gemm_fusion_dot_general.1"] == [
        float(stock_metrics["gemm_fusion_dot_general.1"][name]) for name in ("rawFlops", "rawTime")
    ]
    assert float(stock_metrics["custom-call.1"]["rawFlops"]) == 0 < sums_by_op["custom-call.1"][0]


@pytest.mark.parametrize("name", ["mi300_jax08_attention", "mi355_te_fused_attn"])
def test_a_gpus_fusions_have_the_same_bytes(shared_traces: Path, tmp_path: Path, name: str) -> None:
    """The stock plugin has no bytes of library calls, and sums duplicates under one name, so sums per op are
    compared."""
    capture = shared_traces / "other" / name
    expected: dict[str, float] = defaultdict(float)
    for row in stock_rows(tmp_path, capture):
        if "fusion" in row["category"]:
            expected[row["hlo_op_name"]] += row["measured_memory_bw"] * row["total_self_time"] * 2**30 / 1e6
    sums_by_op = {op: nbytes for op, (nbytes,) in sum_columns(capture, "bytes").items() if op in expected}
    assert len(sums_by_op) > 5
    assert sums_by_op == pytest.approx(dict(expected), rel=1e-6)


def test_the_stock_plugin_counts_a_convolution_once_for_each_of_its_kernels(
    shared_traces: Path, tmp_path: Path
) -> None:
    capture = shared_traces / "public" / "gpu_mi300_jax"
    stock_metrics = find_leaves(run_tool(tmp_path, capture, "op_profile")["byProgramExcludeIdle"])[
        "cudnn-conv.1"
    ]
    count, executions, flops, time = sum_columns(capture, "count", "executions", "flops", "self_ps")[
        "cudnn-conv.1"
    ]
    assert (count, executions) == (int(stock_metrics["occurrences"]), 40)
    assert flops / executions == float(stock_metrics["rawFlops"]) / count
    assert time == float(stock_metrics["rawTime"])
