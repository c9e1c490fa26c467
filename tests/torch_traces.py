"""Logs as PyTorch writes them with TORCH_TRACE, with TorchTPU's records as its version 0.2.0 writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = "dedicated_log_torch_trace_abc.log"
RECORDED = Path(__file__).parent / "recorded/torch_trace/dedicated_log_torch_trace_made.log"
"""What PyTorch 2.13 wrote of the program in `recorded/README.md`."""


def record(kind: str, value: Any, payload: str | None = None, **context: object) -> str:
    """A record: a line, and those of its payload."""
    head = f"V1129 03:51:49.980000 12720 torch/a.py:{len(kind)}]"
    if payload is not None:
        context["has_payload"] = "0" * 32
    lines = [f"{head} {json.dumps({kind: value, **context})}"]
    lines += [f"\t{line}" for line in (payload.split("\n") if payload is not None else ())]
    return "\n".join(lines) + "\n"


def artifact(name: str, payload: str, /, compile_id: str = "", **values: Any) -> str:
    frame, _, number = compile_id.partition("/")
    context = {"frame_id": int(frame), "frame_compile_id": int(number)} if compile_id else {}
    return record("artifact", {"name": name, "encoding": "string", **values}, payload, **context)


def materialization(
    reason: str,
    operator: str = "mm",
    *,
    start_us: int | None = None,
    duration_us: int = 30,
    program: str = "",
    place: str = "",
    failed: bool = False,
) -> str:
    """The records of a graph of deferred operators; of one that was not compiled before if it has a `program`."""
    name = f"torchtpu_eager/{operator}"
    metadata: dict[str, Any] = {
        "op_name": name, "cache_hit": not program, "compile_failed": failed, "reason": reason,
    }  # fmt: skip
    event = ""
    if start_us is not None:
        payload = json.dumps(
            {"name": name, "ph": "X", "ts": start_us, "dur": duration_us, "cat": "torchtpu_eager"},
            separators=(",", ":"),
        )
        event = record("chromium_event", {}, payload)
    operators = (
        f"# Graph: 2 ops, 1 inputs, reason: {reason}\n%0: f32[8] = input\n"
        f"%1: f32[8] = {operator}(%0)    # /job/other.py:1 in inner\n"
        f"%2: f32[] = sum(%1)    # {place}\nreturn %2\n"
    )
    return (
        event
        + artifact("torchtpu_eager_aten_graph", operators if program else "", **metadata)
        + artifact("torchtpu_eager_stablehlo", module(program) if program else "", **metadata)
    )


def module(program: str) -> str:
    return f'#loc1 = loc("p0")\nmodule @{program} attributes {{mhlo.num_partitions = 1 : i32}} {{\n}}\n'


def metrics(compile_id: str, function: str, line: int, duration_us: int, start_us: int = 1) -> str:
    return record(
        "compilation_metrics",
        {
            "compile_id": compile_id,
            "co_name": function,
            "co_filename": "/job/train.py",
            "co_firstlineno": line,
            "duration_us": duration_us,
            "start_time_us": start_us,
        },
    )


BREAK = """\
Graph break in user code at /job/train.py:8
Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):

Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace builtin operator `print`
  Hint: Avoid calling builtin `print`.
  Hint: Please report an issue to PyTorch.

User code traceback:
  File "/job/train.py", line 19, in <module>
    train()
  File "/job/train.py", line 8, in scaled
    print("mean", y.mean())

Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/torch/_dynamo/symbolic_convert.py", line 1076, in wrapper
    return inner_fn(self, inst)
"""
