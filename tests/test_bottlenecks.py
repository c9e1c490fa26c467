"""Reports of a device that is the bottleneck: where its time is spent, how far from the roofline, and advice."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from build import trace_of
from captures import real_trace, session
from sums import check_sums
from synthetic import transformer

import tb_xla_insights as xi
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.device_work import host_work
from tb_xla_insights.device_work.advice import advice_for, layout_waste, product_dims, product_waste
from tb_xla_insights.device_work.amounts import find_amounts
from tb_xla_insights.device_work.bottlenecks import BELOW_ROOFLINE, with_bottlenecks
from tb_xla_insights.device_work.view_verdict import find_below_roof
from tb_xla_insights.device_work.work_document import work_document
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.verdict import verdict

PEAKS = {
    "kind": "TPU v4",
    "count": 1,
    "flops_per_s": 1e14,
    "bytes_per_s": 1e12,
    "source": "capture",
    "cite": None,
}
"""100 FLOPs and one byte per picosecond."""
STEPS = [
    {
        "index": 0,
        "duration_ps": 1_000_000,
        "cores": 1,
        "self_ps": 0,
        "work_ps": 0,
        "flops_known_ps": 0,
        "bytes_known_ps": 0,
    }
    | dict.fromkeys(("flops", "model_flops", "bytes", "hbm_bytes"))
]


def op(name: str, path: str | None, ps: int, flops: int, nbytes: int, **fields: Any) -> dict[str, Any]:
    times = dict.fromkeys(("self_ps", "in_steps_ps", "work_ps", "flops_known_ps", "bytes_known_ps"), ps)
    amounts = {"flops": flops, "model_flops": flops, "bytes": nbytes, "hbm_bytes": nbytes}
    texts = {
        "program": "p",
        "op": name,
        "body": name,
        "category": "convolution",
        "annotation": path,
        "source": "train.py:7",
    }
    defaults = {
        "shape": None,
        "product": None,
        "kind": "work",
        "flops_source": "stats",
        "count": 1,
        "executions": 1,
    }
    return texts | defaults | times | amounts | fields


def report(*rows: dict[str, Any], framework: str = "jax", host_work_ps: int = 1_000) -> dict[str, Any]:
    """A report of a device that is the bottleneck in a step of 1 µs."""
    bound: dict[str, Any] = {
        "id": "device_bound",
        "severity": "info",
        "kind": None,
        "gain": None,
        "gain_at_worst": None,
        "recurs": None,
        "cost_ps": 0,
        "waits_for": "",
        "step_if_fixed_ps": None,
        "evidence": {},
        "advice": "",
    }
    step = {"duration_ps": 1_000_000, "host": "h", "host_ps": {"python": host_work_ps, "wait": 900_000}}
    document: dict[str, Any] = {
        "steps": [step], "diagnostics": [], "findings": [bound], "environment": {"framework": framework},
        "mistakes": dict.fromkeys(("step_ps", "usual_step_ps", "step_if_fixed_ps"), 1_000_000),
        "outside_span": None, "iterations": None, "executions": [], "gaps": {"by_class_ps": {}},
        "devices": [
            {"kind": "tpu", "span_ps": 100, "busy_ps": 98, "stall_ps": 0, "idle_ps": 2, "modules": 9, "ops": 9},
        ],
        "annotations": [{"path": path} for path in ("s", *{row["annotation"] for row in rows} - {None, "s"})],
    }  # fmt: skip
    return document | work_document(list(rows), STEPS, [PEAKS], [])


# 20 % of the FLOP/s, 10 % of the bandwidth.
ATTENTION = op("fusion.1", "s/attention", 500_000, 10_000_000, 50_000)
MLP = op("dot.2", "s/mlp", 300_000, 24_000_000, 30_000)  # 80 % of the FLOP/s
WAIT = op("copy-done.3", "s/mlp", 150_000, 0, 0, kind="wait")


def test_the_worst_group_and_its_gain_at_the_roofline() -> None:
    document = with_bottlenecks(report(ATTENTION, MLP, WAIT))
    bound, worst = document["findings"]
    assert (worst["id"], bound["id"], bound["severity"]) == (BELOW_ROOFLINE, "device_bound", "info")
    assert worst["cost_ps"] == 400_000  # 100 ns at the roofline
    assert (worst["step_if_fixed_ps"], worst["gain"], worst["severity"]) == (600_000, 0.4, "critical")
    # Best and worst case are the same.
    assert (worst["step_if_fixed_at_worst_ps"], worst["gain_at_worst"]) == (
        600_000,
        0.4,
    )
    assert [row["of_step"] for row in bound["evidence"]["places"]] == [0.5, 0.3]  # the wait is not work
    assert verdict(document, {})["text"].replace("\u202f", " ") == (
        "The TPU core works 98 % of the time; the host keeps up. The pace is set by the device's "
        "own work, above all attention with 50.0 % of the step and mlp with 30.0 %. Next: the time "
        "that attention loses below the device's peaks; without it, a step would go from 1.0 to 0.6 µs."
    )
    assert with_bottlenecks(document) == document


def test_advice_about_an_op_of_two_annotations_is_about_all_of_its_time() -> None:
    elsewhere = op("fusion.1", "s/mlp", 250_000, 5_000_000, 25_000)
    findings = with_bottlenecks(report(ATTENTION, elsewhere, MLP))["findings"]
    worst = next(row for row in findings if row["id"] == BELOW_ROOFLINE)
    assert worst["cost_ps"] == 400_000
    assert (
        worst["advice"].replace("\u202f", " ").endswith("it takes 0.8 µs each time, and has work for 0.2 µs.")
    )


def test_a_name_that_contains_a_slash_is_given_whole() -> None:
    document = with_bottlenecks(report(op("fusion.1", "s/net/attention", 500_000, 10_000_000, 50_000), MLP))
    worst = next(row for row in document["findings"] if row["id"] == BELOW_ROOFLINE)
    assert worst["title"] == "net/attention is far from the roofline"
    assert " above all net/attention with " in verdict(document, {})["text"]


def test_ops_of_one_name_in_several_programs_are_named_with_their_programs() -> None:
    rows = [
        op("fusion.1", None, 500_000, 10_000_000, 50_000, program="jit_generator"),
        op("fusion.1", None, 300_000, 24_000_000, 30_000, program="jit_critic"),
        op("dot.2", None, 20_000, 0, 0, category="fusion"),
    ]
    document = with_bottlenecks(report(*rows))
    assert " above all fusion.1 of jit_generator with 50.0" in verdict(document, {})["text"]
    bound = next(row for row in document["findings"] if row["id"] == "device_bound")
    assert "fusion.1 of jit_generator at train.py:7 (50.0" in bound["advice"]
    assert "fusion.1 of jit_critic at train.py:7 (30.0" in bound["advice"]


def test_the_worst_annotation_is_that_of_the_view_device() -> None:
    trained = session(trace_of(transformer.build().to_bytes()))
    document = session_report(trained)
    worst = next(row for row in document["findings"] if row["id"] == BELOW_ROOFLINE)
    farthest = find_below_roof(document["ops"], {}, 0)
    assert farthest is not None
    assert worst["evidence"]["annotation"] == farthest.path
    # The view is of all runs, the finding of those that steps launched: one was launched before the capture.
    assert worst["cost_ps"] * (transformer.STEPS + 1) == farthest.below_ps * transformer.STEPS
    assert worst["advice"].replace("\u202f", " ") == (
        "Look first at fusion.1042 at /opt/demo/model/attention.py:88: it takes 11.6 ms a step, at 56.0 % "
        "of HBM bandwidth."
    )


def test_sums_hold_if_the_work_below_the_roofline_exceeds_the_idle_time() -> None:
    report = session_report(session(trace_of(transformer.build().to_bytes())))
    worst = next(row for row in report["findings"] if row["id"] == BELOW_ROOFLINE)
    assert worst["cost_ps"] > report["gaps"]["total_ps"]
    check_sums(report)


def test_several_ops_are_far_from_the_roofline() -> None:
    """Without annotations, the ops of a category are a group of their own."""
    ops = [op(f"dot.{number}", None, 250_000, 5_000_000, 25_000) for number in (1, 2)]
    document = with_bottlenecks(report(*ops, op("add.1", None, 400_000, 1, 390_000, category="fusion")))
    worst = document["findings"][1]
    assert " The host itself needs " in worst["detail"]
    two_hosts = [*document["steps"], document["steps"][0] | {"host": "other"}]
    assert (
        " The slowest host needs "
        in with_bottlenecks(document | {"steps": two_hosts})["findings"][1]["detail"]
    )
    assert worst["title"] == "2 convolution ops are far from the roofline"
    assert worst["detail"].startswith("They take 50.0\u202f% of the step")


def test_a_step_is_not_shorter_than_the_work_of_the_host() -> None:
    worst = with_bottlenecks(report(ATTENTION, MLP, host_work_ps=900_000))["findings"][1]
    assert (worst["step_if_fixed_ps"], worst["gain"], worst["severity"]) == (900_000, 0.1, "warning")
    assert worst["evidence"]["step_by_devices_ps"] == 600_000
    assert with_bottlenecks(report(ATTENTION, MLP, host_work_ps=990_000))["findings"][1:] == []


def test_ops_near_the_roofline_are_no_finding() -> None:
    # At 81 % of the roofline, although the rest is 17 % of the step.
    document = with_bottlenecks(report(op("dot.2", "s/mlp", 900_000, 73_000_000, 30_000)))
    assert [row["id"] for row in document["findings"]] == ["device_bound"]


def test_the_finding_is_sorted_among_the_limits_by_its_gain() -> None:
    document = report(ATTENTION, MLP)
    limits = [
        {"id": name, "kind": "limit", "gain": gain, "gain_at_worst": gain, "recurs": None, "cost_ps": 0}
        for name, gain in (("more", 0.5), ("less", 0.3))
    ]
    findings = with_bottlenecks(document | {"findings": [*document["findings"], *limits]})["findings"]
    assert [row["id"] for row in findings] == ["device_bound", "more", BELOW_ROOFLINE, "less"]


def test_a_scope_without_a_name_is_named_by_the_function_around_it_and_located() -> None:
    document = with_bottlenecks(report(op("dot.1", "jit(step)/transpose(jvp())", 600_000, 1_000, 1_000), MLP))
    bound = next(row for row in document["findings"] if row["id"] == "device_bound")
    assert ", above all backward of step (train.py:7) with 60.0" in bound["brief"]


def test_ops_that_repeat_are_named_as_one() -> None:
    layers = [op(f"dot.{layer}", "s/mlp", 200_000, 1_000_000, 10_000, body="dot.0") for layer in range(3)]
    document = with_bottlenecks(report(*layers, op("add.1", "s/add", 100_000, 1_000, 1_000)))
    bound, worst = (
        next(row for row in document["findings"] if row["id"] == id_)
        for id_ in ("device_bound", BELOW_ROOFLINE)
    )
    assert "the longest: 3 × convolution at train.py:7" in bound["advice"]
    assert "and 3 × convolution at train.py:7 lose most of the time" in worst["detail"]


def test_a_small_gain_is_no_finding() -> None:
    """Only the small op is far from the roofline: at half of it, for 3 % of the step."""
    small = op("dot.3", "s/head", 30_000, 1_500_000, 300)
    document = with_bottlenecks(report(op("dot.2", "s/mlp", 900_000, 89_000_000, 30_000), small))
    assert [row["id"] for row in document["findings"]] == ["device_bound"]
    assert verdict(document, {})["severity"] == "good"


@pytest.mark.parametrize(
    ("shape", "waste"),
    [("f32[1024,3]{1,0:T(8,128)}", 1 - 3 / 128), ("f32[3,1024]{0,1:T(8,128)}", 1 - 3 / 128),
     ("f32[8,128]{1,0:T(8,128)}", 0), ("f32[5,3]{1,0}", 0), (None, 0)],
)  # fmt: skip
def test_padding_of_a_layout(shape: str | None, waste: float) -> None:
    assert layout_waste({"shape": shape}) == pytest.approx(waste)


def test_a_long_text_without_a_shape_takes_no_quadratic_time() -> None:
    """Which would be an hour."""
    assert layout_waste({"shape": "f" * 10**6}) == 0


@pytest.mark.parametrize(
    ("product", "dims", "waste"),
    [
        ("bf16[512,96] × bf16[96,256] = bf16[512,256]", (512, 256, 96), 0.25),
        ("bf16[96,512] × bf16[96,256] = bf16[512,256]", (512, 256, 96), 0.25),
        ("bf16[8,128] × bf16[128,256] = bf16[8,256]", (8, 256, 128), 0),  # eight rows stream through
        ("bf16[2,64,64] × bf16[2,64,64] = bf16[2,64,64]", (64, 64, 64), 0.75),
        ("bf16[4,8,8,3] × bf16[3,3,3,9] = bf16[4,8,8,9]", None, 0),
    ],
)
def test_padding_of_a_matrix_unit(product: str, dims: tuple[int, int, int] | None, waste: float) -> None:
    assert product_dims({"product": product}) == dims
    assert product_waste({"product": product}, 128) == pytest.approx(waste)


def advice(
    *rows: dict[str, Any], framework: str = "jax", device: str = "TPU v4", source: str = "table"
) -> str:
    op_rows = report(*rows)["ops"]
    peaks = {"source": source, "devices": [{"kind": device}]}
    text = advice_for(op_rows, [row["self_ps"] for row in op_rows], peaks, {"framework": framework}) or ""
    return text.replace("\u202f", " ")


def test_advice_fits_the_op_and_the_framework() -> None:
    small = op(
        "dot.1", None, 900_000_000, 9_000_000_000, 1, product="bf16[64,64] × bf16[64,64] = bf16[64,64]"
    )
    assert "75 %" in advice(small)
    assert advice(small, device="NVIDIA V100") == ""
    single = small | {"product": "f32[128,128] × f32[128,128] = f32[128,128]"}
    assert "jnp.bfloat16" in advice(single)
    assert "torch.autocast" in advice(single, framework="torch_xla")
    assert "passes" in advice(single)
    assert advice(single, device="NVIDIA V100").endswith("which moves twice the bytes.")
    assert advice(single, device="CPU", source="user") == ""
    short = op("dot.1", None, 8_000_000, 1_000_000, 1)
    assert "8.0 µs each time" in advice(short)
    element_wise = [
        op(f"add.{number}", None, 900_000_000, 10, 9_000_000, category="loop fusion") for number in range(3)
    ]
    assert "Fuse the 3 element-wise ops into one kernel" in advice(*element_wise)
    assert "Pallas" not in advice(*element_wise, framework="tensorflow")
    assert advice(op("custom-call.1", None, 900_000_000, 9_000_000_000, 1)) == ""


def test_of_several_outputs_the_padded_one_is_named() -> None:
    shape = "(f32[8,130]{1,0:T(8,128)}, bf16[4096]{0})"
    padded = op("fusion.1", None, 900_000_000, 10, 9_000_000, shape=shape)
    assert "in f32[8,130], a dimension of 130 is padded to 256, so 49 % of this output is" in advice(padded)


REAL = {
    "other/jax0.9.2_block": 11,
    "other/jax0.10.2_slow_input": 11,
    "other/mi300_jax08_attention": 4,
    "other/mi355_te_fused_attn": 1,
    "torch_xla/baseline_session_debug": 39,
    "torch_xla/spmd_fsdp_debug": 8,
}
"""The number of products whose sizes are read, by capture."""


@pytest.mark.parametrize("name", REAL)
def test_product_sizes_of_recorded_programs_match_their_flops(name: str, shared_traces: Path) -> None:
    trace = real_trace(shared_traces / name)
    flops, count = find_amounts(trace).flops, 0
    for key, origin in enumerate(find_ops(trace).origin):
        product = origin.amounts.product
        dims = product_dims({"product": product})
        if dims:
            count += 1
            sizes = [int(size) for size in product.rpartition("[")[2].strip("]").split(",")]
            assert 2 * math.prod(dims) * math.prod(sizes[:-2]) == flops[key], product
    assert count == REAL[name]


def test_heads_of_32_in_a_recorded_program_waste_the_matrix_unit(shared_traces: Path) -> None:
    rows = host_work(real_trace(shared_traces / "torch_xla/baseline_session_debug"), [])["ops"]
    heads = [row for row in rows if row["product"] == "f32[32,32,32] × f32[32,32,32] = f32[32,32,32]"]
    peaks = {"source": "table", "devices": [{"kind": "TPU v4"}]}
    text = advice_for(heads, [row["self_ps"] for row in heads], peaks, {"framework": "torch_xla"})
    assert text
    assert "at least 94" in text  # 32×32 of 128×128 are at work


def test_layouts_of_a_recorded_tpu_program(shared_traces: Path) -> None:
    stats = real_trace(shared_traces / "public/tpu_v6e_jax").metadata.stats
    shape = "f32[5,1024,1024,256]{3,2,1,0:T(8,128)}"
    assert shape in {stats_of_op.get("shape_with_layout") for stats_of_op in stats}
    assert layout_waste({"shape": shape}) == 0
    assert layout_waste({"shape": shape.replace("256]", "64]")}) == 0.5


def test_no_advice_on_number_formats_with_user_peaks(shared_traces: Path) -> None:
    """Products of 32 bits on a CPU: the user's peak may be that of 32 bits."""
    loaded = xi.load(str(shared_traces / "other/jax0.9.2_block"))
    findings = {row["id"]: row for row in loaded.report(peaks=(5e11, 2e10))["findings"]}
    assert "16-bit" not in findings[BELOW_ROOFLINE]["advice"]
    assert findings[BELOW_ROOFLINE]["advice"].startswith("Look first at dot.")


def test_annotations_that_take_the_same_time_are_counted(shared_traces: Path) -> None:
    """Six of them take between 16.6 and 16.8 % of the work."""
    document = session_report(session(real_trace(shared_traces / "engines/hbm_peak")))
    assert " in 6 annotations alike, such as layer_1/mlp with 16.8" in document["verdict"]["details"]
