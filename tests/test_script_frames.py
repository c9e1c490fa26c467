"""The script's own functions, from the Python tracer's frames."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import capture, real_trace, thread

from tb_xla_insights.analysis.host.script_frames import code_within, script_frames
from tb_xla_insights.analysis.time.intervals import span_intervals
from tb_xla_insights.catalog.frames import Frame, parse_frame
from tb_xla_insights.trace.model import Trace


def files(trace: Trace) -> set[str]:
    frames = [parse_frame(trace.name(row)) for row in script_frames(trace).tolist()]
    return {frame.file for frame in frames if frame}


def test_files_of_libraries_and_what_only_they_call_are_not_the_scripts() -> None:
    """`helpers.py` is called by a file of JAX, `model.py` also by the script, and `compiler.py` by the runtime."""
    trace = capture(
        thread(
            "python", ("$train.py:1 main", 0, 100), ("$pjit.py:2 cache_miss", 10, 20), ("$helpers.py:3 f", 11, 5),
            ("$model.py:4 loss", 17, 5), ("PjitFunction(g)", 40, 20), ("$compiler.py:5 lower", 41, 10),
            ("$model.py:9 evaluate", 70, 10), ("$contextlib.py:6 __enter__", 85, 5), ("$<string>:1 __init__", 91, 2),
            ("$numeric.py:7 roll", 94, 2), role="driving",
        )
    )  # fmt: skip
    assert files(trace) == {"train.py", "model.py"}


def test_a_decorated_function_is_the_scripts() -> None:
    trace = capture(
        thread("python", ("$profiler.py:1 wrapper", 0, 50), ("$train.py:2 step", 5, 40), role="driving")
    )
    assert files(trace) == {"train.py"}


def test_own_time_includes_libraries_but_not_other_functions_of_the_script() -> None:
    trace = capture(
        thread(
            "python", ("$train.py:1 step", 0, 100), ("$train.py:2 augment", 10, 50), ("$numeric.py:3 roll", 12, 40),
            ("$builtins len", 20, 5), ("$train.py:4 <listcomp>", 70, 20), ("$numpy asarray", 72, 15), role="driving",
        )
    )  # fmt: skip
    code = code_within(trace, span_intervals(0, 80))
    assert [(row.place, row.own_ps, row.count) for row in code] == [
        ("augment (train.py:2)", 50, 1), ("step (train.py:1)", 20, 1), ("numpy.asarray (train.py:4)", 10, 1),
    ]  # fmt: skip
    assert code[0].callee == Frame("roll", "numeric.py", 3)


def test_without_a_frame_of_the_script_the_library_function_that_it_called_is_named() -> None:
    trace = capture(
        thread("python", ("train", 0, 100, {"_r": 1}), ("$async_checkpointer.py:578 save", 10, 60),
               ("$jax_array_handlers.py:9 write", 20, 30), ("$gc collect", 80, 10), role="driving")
    )  # fmt: skip
    code = code_within(trace, span_intervals(0, 100))
    assert [(row.place, row.own_ps) for row in code] == [
        ("save (async_checkpointer.py:578)", 60),
        ("gc.collect", 10),
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pairs/jx_augment_bad", {"jaxalt.py"}),
        ("other/jax0.10.2_host_numpy", {"train2.py"}),
        ("other/jax0.10.2_loader_between_steps", {"train3.py"}),
        ("other/mi300_jax08_attention", {"generate_attention_trace.py"}),
    ],
)
def test_files_of_real_scripts(shared_traces: Path, name: str, expected: set[str]) -> None:
    assert files(real_trace(shared_traces / name)) == expected
