"""Which events are annotations of the user's program."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from captures import Core, capture, real_trace, thread

from tb_xla_insights.trace.model import Trace


def names(trace: Trace) -> list[str]:
    return [trace.name(int(row)) for row in trace.annotations]


def test_unknown_names_on_the_driving_thread_are_annotations() -> None:
    trace = capture(
        thread(
            "python",
            ("Training_Step", 0, 90, {"_r": 1}),
            ("forward", 5, 30),
            ("attention", 6, 9),
            ("StepMarker", 50, 9),
        ),
    )
    assert names(trace) == ["Training_Step", "forward", "attention"]


def test_inside_a_runtime_event_an_unknown_name_is_the_runtimes() -> None:
    trace = capture(
        thread(
            "python", ("forward", 0, 40), ("StepMarker", 10, 20), ("something new", 12, 5), ("part", 13, 2)
        )
    )
    assert names(trace) == ["forward"]


def test_unknown_names_are_annotations_on_threads_that_may_run_python() -> None:
    trace = capture(
        thread("python", ("step", 0, 40), role="driving"),
        thread("tf_Compute/1", ("something", 0, 9), role="executor"),
        thread("futex-default-SDomainT/7", ("something", 0, 9), role="other"),
        thread("VLLM::EngineCor/8", ("KV_Cache_Pull", 0, 9), ("np.asarray(jax.Array)", 2, 3), role="other"),
        thread("python", ("step", 0, 9, {"_r": 1}), ("forward", 2, 3), role="other"),
        thread("pt_autograd_0", ("my_backward", 0, 9), role="autograd"),
        thread("python", ("cpu_loader.next", 0, 19), ("decode", 3, 9), role="loader"),
    )
    assert sorted(names(trace)) == ["KV_Cache_Pull", "decode", "forward", "my_backward", "step", "step"]


def test_python_frames_may_enclose_annotations() -> None:
    trace = capture(
        thread("python", ("$train.py:12 main", 0, 90), ("forward", 5, 30), ("$model.py:3 f", 6, 20),
               ("attention", 7, 9), role="driving")
    )  # fmt: skip
    assert names(trace) == ["forward", "attention"]


def test_a_compilers_pass_at_the_top_of_a_thread_is_no_annotation() -> None:
    top = capture(thread("python", ("fusion", 0, 9), ("dce", 2, 3), ("forward", 20, 9), role="driving"))
    assert names(top) == ["forward"]
    inside = capture(thread("python", ("forward", 0, 9), ("fusion", 2, 3), role="driving"))
    assert names(inside) == ["forward", "fusion"], (
        "where an annotation encloses it the name can only be the user's"
    )


def test_ops_on_host_threads_and_lines_of_devices_are_no_annotations() -> None:
    trace = capture(
        thread("python", ("forward", 0, 9), ("dot.3", 2, 3, {"hlo_op": "dot.3"}), role="driving"),
        Core([("%custom = f32[] custom()", 0, 9)]),
    )
    assert names(trace) == ["forward"]
    assert trace.annotation_mask.tolist() == [row in trace.annotations for row in range(len(trace))]


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("torch_xla/tiny_dynamic", {"Training_Step": 9, "data_loading": 9, "forward": 9, "loss": 9, "backward": 9,
                                    "FINISH_UPDATE": 9}),
        ("torch_xla/tiny_mp_loader", {"Training_Step": 6, "data_loading": 6, "forward": 6, "loss": 6, "backward": 6,
                                      "FINISH_UPDATE": 6}),
        ("public/tpu_v6e_jax", {}),
        ("public/gpu_mi300_jax", {}),
        ("public/gpu_v100_tf", {}),
    ],
)  # fmt: skip
def test_real_captures_have_their_users_annotations_and_no_others(
    shared_traces: Path, folder: str, expected: dict[str, int]
) -> None:
    trace = real_trace(shared_traces / folder)
    assert Counter(names(trace)) == expected
    assert np.all(np.diff(trace.annotations) > 0)
