"""The comparison of sessions without steps, by the runs of a program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from captures import Core, capture, comparison_document, real_trace, session, thread
from launching import US, Tpu
from test_compare import measure, plain, steps_of
from test_compare_captures import text_of

from tb_xla_insights.cli.compare import _is_worse
from tb_xla_insights.trace.model import SessionTrace


def runs_of(
    *lengths: float,
    overhead: float = 30,
    other: float = 20,
    program: str = "jit_f",
    cores: Sequence[int] = (0,),
) -> SessionTrace:
    """A session without steps: runs of a program that take `lengths` us, and after each a run of another program of
    its own; `jit_g` runs after the first one, for `other` us, as often."""
    tpu, start = Tpu(), 0.0
    for number, length in enumerate(lengths):
        tpu.launch(
            start,
            (start + 10, 5),
            (start + 10 + overhead, length),
            program=f"{program}(7)",
            cores=tuple(cores),
        )
        start += length + 200
        tpu.launch(start, (start + 10, 5), (start + 40, other), program="jit_g(8)")
        start += other + 100
        tpu.launch(start, (start + 10, 5), (start + 40, 1), program=f"jit_h{number}({number})")
        start += 1000 + 137 * number
    return session(tpu.trace())


def text(document: dict[str, Any]) -> str:
    return plain(document["verdict"]["text"])


def test_runs_with_more_device_time() -> None:
    document = comparison_document(runs_of(*[100, 101] * 3), runs_of(*[150, 151] * 3))
    assert (document["a"]["steps"], document["b"]["steps"]) == (0, 0)
    assert text(document) == (
        "Neither session has steps; compared are runs of the same program. B’s runs of jit_f are 1.38× slower at the "
        "median: 50.0 µs more per run. The device takes 50.0 µs more per run, on average. On the device, fusion.1 "
        "takes 50.0 µs more per run and core."
    )
    assert (document["verdict"]["verdict"], document["verdict"]["program"]) == ("worse", "jit_f")
    assert document["chance"]["measure"] == "run_median"
    assert document["chance"]["p"] == pytest.approx(2 / 924)
    assert plain(document["chance"]["text"]).startswith(
        "6 executions in A and 6 executions in B: chance alone causes"
    )
    for name, a, b, verdict in (
        ("run_median", 130, 180, "worse"), ("run_mean", 130.5, 180.5, "worse"), ("run_device", 100.5, 150.5, "worse"),
        ("run_overhead", 30, 30, "same"),
    ):  # fmt: skip
        row = measure(document, name)
        assert (row["a_ps"], row["b_ps"], row["verdict"]) == (a * US, b * US, verdict)
    assert measure(document, "run_ops")["a"] == measure(document, "run_ops")["b"] == 1
    shown = text_of(document)
    assert "Device time per run and core, by op" in shown
    assert "Step time" not in shown


def test_runs_with_more_overhead() -> None:
    document = comparison_document(runs_of(*[100, 101] * 3), runs_of(*[100, 101] * 3, overhead=60))
    assert text(document).endswith("30.0 µs more per run. Overhead is 30.0 µs more per run, on average.")
    assert measure(document, "run_device")["verdict"] == "same"
    [row] = [row for row in document["programs"] if row["program"] == "jit_f"]
    assert (row["device"]["verdict"], row["overhead"]["verdict"]) == ("same", "worse")


def test_a_longer_queue_is_not_worse() -> None:
    """In B, each run waits for one that was launched before it."""
    before, after = Tpu(), Tpu()
    for number in range(6):
        start = 2000 * number + 137 * number**2
        for tpu, delay in ((before, 0), (after, 300)):
            tpu.launch(start, (start + 5, 5), (start + 30, 20 + delay), program="jit_g(8)")
            tpu.launch(start + 20, (start + 25, 5), (start + 60 + delay, 500), program="jit_f(7)")
            tpu.launch(start + 990, (start + 995, 5), (start + 1005, 1), program=f"jit_h{number}({number})")
    document = comparison_document(session(before.trace()), session(after.trace()))
    queue = measure(document, "run_queue")
    assert queue["difference_ps"] == 300 * US
    assert queue["verdict"] is queue["better"] is None
    assert measure(document, "run_median")["verdict"] == "same"
    assert "as long as A’s at the median" in text(document)
    assert "A run of jit_g takes 0.300 ms more on the device." in text(document)


def test_three_runs_are_too_few() -> None:
    document = comparison_document(runs_of(100, 101, 102), runs_of(*[150] * 6))
    assert "chance cannot be ruled out with so few runs" in text(document)
    assert document["verdict"]["verdict"] == "few"
    assert plain(document["chance"]["text"]) == (
        "3 executions in A and 6 executions in B: too few to distinguish a difference from chance; capture at least 4 "
        "of each."
    )


def test_runs_that_vary_may_differ_by_chance() -> None:
    document = comparison_document(runs_of(100, 130, 160, 190), runs_of(120, 150, 180, 210))
    assert "may be chance" in text(document)
    assert document["verdict"]["verdict"] == "chance"


def test_sessions_without_a_common_program_are_not_compared() -> None:
    document = comparison_document(runs_of(*[100] * 4, program="jit_a"), steps_of(1000, 1000))
    assert text(document) == "A has no steps, and no program runs in both: only totals are compared."
    assert document["verdict"]["verdict"] == "unknown"
    assert document["chance"] == {"measure": None, "p": None, "share": None, "text": None}
    assert not _is_worse(document, 0.03)


def test_a_program_of_another_number_is_named_twice() -> None:
    document = comparison_document(
        runs_of(*[100] * 4, program="train.12"), runs_of(*[200] * 4, program="train.13")
    )
    assert "B’s runs of train.12 (train.13 in B) are" in text(document)


def test_a_session_with_steps_is_compared_with_one_without() -> None:
    """The runs of `steps_of` take 100 us, with 40 us of overhead."""
    document = comparison_document(runs_of(*[200] * 6, program="train"), steps_of(*[1000] * 6))
    assert text(document).startswith(
        "A has no steps; compared are runs of the same program. B’s runs of train are 1.77× faster at the median"
    )
    assert measure(document, "run_mean")["b_ps"] == 130 * US
    assert measure(document, "step_median")["a_ps"] is None


def test_runs_on_several_cores_count_once() -> None:
    """Two cores of a launch do not make six executions twelve."""
    two, one = runs_of(*[100, 101] * 3, cores=(0, 1)), runs_of(*[130, 131] * 3)
    document = comparison_document(two, one)
    assert plain(document["chance"]["text"]).startswith("6 executions in A and 6 executions in B: ")
    assert measure(document, "run_device")["a_ps"] == 100.5 * US


def test_runs_without_launches_are_compared_by_their_device_time() -> None:
    def modules(duration: int) -> SessionTrace:
        runs = [("jit_f(7)", (number * 2000 + 137 * number**2) * US, duration * US) for number in range(5)]
        other = [(f"jit_h{number}(8)", runs[number][1] + 900 * US, US) for number in range(5)]
        return session(
            capture(thread("python", ("load", 0, 10)), Core([], sorted(runs + other, key=lambda run: run[1])))
        )

    document = comparison_document(modules(100), modules(200))
    assert "B’s runs of jit_f are 2.00× slower at the median" in text(document)
    row = measure(document, "run_median")
    assert (row["label"], row["verdict"]) == ("Device time of a run, median", "worse")
    assert not [row for row in document["measures"] if row["name"] in ("run_overhead", "run_device")]


def test_a_session_without_steps_does_not_differ_from_itself(shared_traces: Path) -> None:
    step = session(real_trace(shared_traces / "tpu/vllm_qwen3_step"))
    document = comparison_document(step, step)
    assert "B’s runs of jit_step_fun are as long as A’s at the median" in text(document)
    assert measure(document, "run_device")["a_ps"] / 1e9 == pytest.approx((66.914 + 66.976) / 2, abs=0.001)
    rows = [
        *document["measures"],
        *(row[key] for row in document["programs"] for key in ("device", "overhead")),
    ]
    assert {row["verdict"] for row in rows} <= {"same", None}
    assert all(row["difference_ps"] == 0 for row in document["device_work"]["ops"])
    assert measure(document, "run_ops")["a"] == 3440


def test_a_step_of_a_server_is_compared_with_ten_of_them(shared_traces: Path) -> None:
    """The loop repeats the single step ten times, and only the loop has steps."""
    one, ten = (
        session(real_trace(shared_traces / "tpu" / name))
        for name in ("vllm_qwen3_step", "vllm_qwen3_loop_annotated")
    )
    document = comparison_document(one, ten)
    assert text(document).startswith(
        "A has no steps; compared are runs of the same program. B’s runs of jit_step_fun are as"
    )
    assert plain(document["chance"]["text"]).startswith("1 execution in A and 10 executions in B: too few")


def test_worse_runs_fail_a_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    faster, slower = runs_of(*[100, 101] * 3), runs_of(*[150, 151] * 3)
    assert _is_worse(comparison_document(faster, slower), 0.03)
    assert "B is worse than A: its runs of jit_f are 38.5 % longer" in plain(capsys.readouterr().err)
    assert not _is_worse(comparison_document(slower, faster), 0.03)
