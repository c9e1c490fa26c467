"""Ops that repeat are one group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captures import real_trace, session

from tb_xla_insights.analysis.propagation import propagation_report
from tb_xla_insights.device_work import host_work
from tb_xla_insights.device_work.repeated_ops import group_name, group_repeated
from tb_xla_insights.report.work_tables import work_by_annotation, work_by_op


def op(name: str, body: str = "", annotation: str | None = "step/mlp", **keys: Any) -> dict[str, Any]:
    row = {
        "program": "jit_f", "op": name, "body": body or name, "category": "convolution fusion", "kind": "work",
        "annotation": annotation, "self_ps": 100, "executions": 2,
    }  # fmt: skip
    return row | keys


def names(*rows: dict[str, Any]) -> list[str]:
    return sorted(group_name(group) for group in group_repeated(rows))


def test_ops_of_one_body_are_one_group() -> None:
    assert names(op("dot.1"), op("dot.2", "dot.1"), op("dot.3", "dot.1")) == ["3 × convolution fusion"]
    assert names(op("dot.1"), op("dot.2")) == ["dot.1", "dot.2"]
    other_program = op("dot.2", "dot.1", program="jit_g")
    assert names(op("dot.1"), other_program) == ["dot.1", "dot.2"]


def test_bodies_of_one_category_in_one_annotation_are_one_group() -> None:
    rows = [op("dot.1"), op("dot.2", "dot.1"), op("add.1"), op("add.2", "add.1")]
    assert names(*rows) == ["4 × convolution fusion"]
    rows[2:] = [row | {"category": "loop fusion"} for row in rows[2:]]
    assert names(*rows) == ["2 × convolution fusion", "2 × loop fusion"]
    unannotated = [row | {"annotation": None, "category": "fusion"} for row in rows]
    assert names(*unannotated) == ["2 × fusion", "2 × fusion"]


def test_a_layer_with_another_body_belongs_to_the_others_unless_it_is_longer() -> None:
    layers = [op("dot.1"), op("dot.2", "dot.1")]
    assert names(*layers, op("dot.3", self_ps=150)) == ["3 × convolution fusion"]
    assert names(*layers, op("dot.3", self_ps=250)) == ["2 × convolution fusion", "dot.3"]


def test_layers_with_an_annotation_each_are_one_group() -> None:
    rows = [op("dot.1", annotation="layer_0"), op("dot.2", "dot.1", "layer_1")]
    assert names(*rows) == ["2 × convolution fusion"]


def test_an_op_of_several_annotations_does_not_repeat() -> None:
    assert names(op("dot.1", annotation="a"), op("dot.1", annotation="b")) == ["dot.1", "dot.1"]


@pytest.fixture(scope="module")
def unrolled(shared_traces: Path) -> dict[str, Any]:
    loaded = session(real_trace(shared_traces / "tpu/vllm_qwen3_step"))
    return dict(host_work(loaded.traces[0], propagation_report(loaded.traces[0])["annotations"]))


def test_the_layers_of_an_unrolled_model_are_rows_of_a_table(unrolled: dict[str, Any]) -> None:
    table = work_by_op(unrolled["ops"], unrolled["device_work"], 12)
    rows = [(row["op"], row["annotation"], row["executions"]) for row in table.rows[:4]]
    assert rows == [
        ("64 × convolution fusion", "MergedColumnParallelLinear/mn,pn->mp", 128),
        ("64 × custom-call", "RPA-bq_32-bkvp_64-p_64-", 128),
        ("128 × convolution fusion", "RowParallelLinear/mn,pn->mp", 256),
        ("64 × convolution fusion", "QKVParallelLinear/mn,pn->mp", 128),
    ]
    # 22.22, 17.01, 16.24 and 3.56 ms on the first of two cores
    assert [row["self_ps"] // 10**7 for row in table.rows[:4]] == [4_442, 3_402, 3_245, 711]


def test_the_rate_of_an_annotation_is_that_of_its_work(unrolled: dict[str, Any]) -> None:
    rows = {row["path"]: row for row in work_by_annotation(unrolled["device_work"], 12).rows}
    row = rows["jit(step_fun)/RowParallelLinear/mn,pn->mp"]
    assert row["other_ps"] // 10**6 == 6_798  # all-reduce
    assert row["tflops_per_s"] == "678.0"  # FLOPs / (39.25 ms - 6.80 ms)
