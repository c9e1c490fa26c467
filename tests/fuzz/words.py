"""Contents of captures by meaning: names that the readers interpret, and numbers at their limits."""

from __future__ import annotations

import json
from pathlib import Path

import tb_xla_insights.catalog
from tb_xla_insights.xplane.read_xspace import NUMBER_STATS, TEXT_STATS

IDS = (
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    15,
    100,
    2**31 - 1,
    2**31,
    2**32,
    2**53,
    2**63 - 1,
    2**63,
    2**64 - 1,
    -1,
    -(2**31),
)
TIMES = (
    0, 1, -1, 999, 1000, 10**6, 10**7 - 1, 10**7, 10**9, 10**12, 10**15, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63),
    -(10**6), -(10**12),
)  # fmt: skip
NUMBERS = (0, 1, 2, 3, 8, 12, 15, 64, 128, 1000, 2**31, 2**40, 2**62, 2**63 - 1, -1, -2, -(2**63), 2**64 - 1)
DOUBLES = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e18, 9.3e18, 1e308, float("inf"), float("-inf"), float("nan"))

_CATALOG = json.loads((Path(tb_xla_insights.catalog.__file__).parent / "host_events.json").read_text("utf-8"))
_CATALOG_NAMES = [
    name
    for group in _CATALOG["groups"]
    for key in ("names", "prefixes", "suffixes")
    for name in group.get(key, ())
]
_ODD_TEXTS = (
    "", " ", "/", "//", "a/b/c", ".", "$", "#", "%s", "{}", "0", "-1", "1e999", "nan", "=1+1", "<xss>", "\x00",
    "\x1b[2J", "\u202e", "é", "😀", "a" * 300, "a/" * 40, "(", "()", "f(", "f(1)", "f(-2)", "f(18446744073709551616)",
    ":", "::",
)  # fmt: skip
_OPS = (
    "fusion.1", "dot.3", "copy-start.1", "copy-done.1", "all-reduce.2", "all-reduce-start.4", "all-reduce-done.4",
    "infeed.1", "while.3", "call.1", "conditional.2", "custom-call.7", "end: dot.3", "%fusion.1 = f32[2]{0} fusion()",
    "SyncTensorsGraph.1(12)", "jit_f(5)", "ThunkExecutor::Execute (wait for completion)", "StepMarker", "forward",
    "Training_Step", "train 5", "$file.py:12 f", "MemcpyH2D", "cuLaunchKernel", "loop_add_fusion",
)  # fmt: skip

NAMES: dict[str, tuple[str, ...]] = {
    "plane name": (
        *_ODD_TEXTS, "/host:CPU", "/host:metadata", "/host:python-tracer", "Task Environment", "/device:TPU:0",
        "/device:TPU:1", "/device:GPU:0", "/device:CUSTOM:0", "/device:TPU:x", "/device:", "#Chip0#", "/host:CUPTI",
        "/device:TPU:0 SparseCore 1", "/device:TPU:01",
        "/device:TPU:99999999999999999999", "/device:GPU:-1",
    ),
    "line name": (
        *_ODD_TEXTS, "XLA Modules", "XLA Ops", "XLA TraceMe", "Steps", "Async XLA Ops", "python", "python3", "main",
        "pt_autograd_0", "tf_pytorchxla/1", "tf_XLAPjRtCpuClient/2", "tf_XLAEigen/3", "Thread-3",
        "Host Threads/Thread-3", "Stream #1(Kernel)", "Stream #2(MemcpyH2D)", "TensorFlow Ops",
        "TensorFlow Name Scope", "tf_data_private/7",
    ),
    "event name": (*_ODD_TEXTS, *_OPS, *_CATALOG_NAMES),
    "stat name": (
        *_ODD_TEXTS, *NUMBER_STATS, *TEXT_STATS, "Hlo Proto", "hlo_category", "flops", "bytes_accessed",
        "peak_teraflops_per_second", "profile_start_time", "profile_stop_time", "device_type_string", "long_name",
        "memory_access_breakdown", "context_id", "shape_with_layout", "source", "deduplicated_name", "equation", "cost",
    ),
    "opcode": (
        "", "add", "dot", "convolution", "fusion", "while", "call", "conditional", "custom-call", "parameter",
        "all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-permute", "all-reduce-start",
        "all-reduce-done", "copy", "copy-start", "copy-done", "tuple", "get-tuple-element", "constant", "infeed",
        "dynamic-slice", "dynamic-update-slice", "rng", "async-start", "async-done", "send", "recv", "partition-id",
    ),
}  # fmt: skip
NAMES["text"] = tuple(dict.fromkeys(name for names in NAMES.values() for name in names))
"""All of the above: texts without a fixed meaning, such as values of stats, can name ops, programs and scopes."""
