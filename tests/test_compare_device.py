"""The comparison of the device's ops, on captures with known differences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from build import trace_of
from captures import Core, capture, comparison_document, session, thread
from launching import US
from loops import loop
from programs import Step, training
from synthetic.writer import Space

from tb_xla_insights.cli.main import main
from tb_xla_insights.compare.device import match_ops
from tb_xla_insights.device_work import op_times
from tb_xla_insights.report.document import session_report
from tb_xla_insights.trace.model import SessionTrace

Ops = Mapping[str, tuple[str, int]]
"""Annotation and duration (ps) of each op, by its name."""

OPS: Ops = {
    "fusion.1": ("Training_Step/attention", 200_000), "fusion.2": ("Training_Step/mlp", 100_000),
    "copy-done.3": ("", 40_000), **{f"add.{number}": ("Training_Step/mlp", 2_000) for number in range(10, 30)},
}  # fmt: skip


def write_session(folder: Path, ops: Ops, seed: int, steps: int = 8) -> SessionTrace:
    """Writes steps of 1 µs that launch these ops, with durations that vary by 2 %."""
    random = np.random.default_rng(seed)
    bodies = [
        [
            (name, round(ps * random.normal(1, 0.02)), f"{path}/op:" * bool(path))
            for name, (path, ps) in ops.items()
        ]
        for _ in range(steps)
    ]
    folder.mkdir()
    phases = (("attention", 100_000), ("mlp", 100_000))
    return training(
        folder, [Step(phases, [(step * 1_000_000 + 920_000, body)]) for step, body in enumerate(bodies)]
    )


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> SessionTrace:
    return write_session(tmp_path_factory.mktemp("before") / "a", OPS, 1)


def work(a: SessionTrace, b: SessionTrace) -> dict[str, list[dict[str, Any]]]:
    device_work: dict[str, list[dict[str, Any]]] = comparison_document(a, b)["device_work"]
    return device_work


def notable(rows: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """The ops that are better or worse, with `presence` and the verdict."""
    return {
        " ".join(row["ops_a"] or row["ops_b"]): (row["presence"], row["verdict"])
        for row in rows
        if row["verdict"] in ("better", "worse")
    }


def test_times_add_up_to_the_time_of_all_ops_in_steps(before: SessionTrace) -> None:
    """Op by op, or by annotation beyond the limit of cells."""
    rows = session_report(before)["ops"]
    for cells in (10_000, 40):
        result = op_times(before.traces[0], cells)
        for key, times in result.ops.items():
            row = next(row for row in rows if (row["program"], row["op"], row["annotation"]) == key)
            assert times.sum() == row["in_steps_ps"]
        total = sum(int(times.sum()) for times in [*result.ops.values(), *result.rest.values()])
        assert total == sum(row["in_steps_ps"] for row in rows)
    assert (len(result.ops), set(result.rest)) == (5, {"Training_Step/mlp"})


def test_unknown_device_work_is_not_compared(
    before: SessionTrace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of the sessions has no device: it is not known that its ops and its idle time took 0 ms."""
    space = Space()
    host = space.plane("/host:CPU").line("python")
    for step in range(8):
        host.event("Training_Step", step * 1_000_000, 1_000_000, _r=1, step_num=step)
    path = space.write(tmp_path / "without.xplane.pb")
    assert work(session(trace_of(space.to_bytes())), before) == {"annotations": [], "ops": []}
    write_session(tmp_path / "with", OPS, 1)
    assert main(["compare", str(path), str(tmp_path / "with")]) == 0
    text = capsys.readouterr().out
    assert "On the device" not in text
    idle = text.partition("Idle time per step and core")[2].partition("\n\n")[0]
    assert re.search(r"\n *all +– +\d", idle)


def test_hosts_without_device_work_shorten_no_op() -> None:
    tpu = loop(steps=8)
    host_threads, core = (
        (thread("python", *tpu.main), thread("executor", *tpu.executor)),
        Core(tpu.ops[0], tpu.runs[0]),
    )
    with_devices, without_devices = (capture(*host_threads, *cores, host="b") for cores in ([core], []))
    first_host = capture(*host_threads, core, host="a")
    document = work(session(first_host, with_devices), session(first_host, without_devices))
    for row in document["annotations"] + document["ops"]:
        assert row["a_ps"] == row["b_ps"] == 500 * US
        assert (row["p"], row["verdict"]) == (1, "same")


def test_a_slower_op_and_its_share_of_the_step(before: SessionTrace, tmp_path: Path) -> None:
    slower = write_session(tmp_path / "b", {**OPS, "fusion.1": ("Training_Step/attention", 230_000)}, 2)
    result = work(before, slower)
    assert notable(result["ops"]) == {"fusion.1": ("both", "worse")}
    first = result["annotations"][0]
    assert (first["path"], first["verdict"]) == ("Training_Step/attention", "worse")
    assert [row["verdict"] for row in result["annotations"][1:]].count("worse") == 0
    assert first["difference_ps"] == pytest.approx(30_000, rel=0.15)
    assert first["of_step"] == first["difference_ps"] / 1_000_000
    reverse = work(slower, before)["annotations"][0]
    assert (reverse["path"], reverse["difference_ps"], reverse["verdict"]) == (
        "Training_Step/attention", -first["difference_ps"], "better",
    )  # fmt: skip


def test_ops_that_are_new_gone_or_changed(before: SessionTrace, tmp_path: Path) -> None:
    """The compiler fused attention differently, the wait is gone, and a new annotation has an op."""
    ops = {name: op for name, op in OPS.items() if name not in ("fusion.1", "copy-done.3")}
    ops |= {"fusion.5": ("Training_Step/attention", 90_000), "fusion.6": ("Training_Step/attention", 60_000)}
    ops |= {"dot.9": ("Training_Step/loss", 50_000)}
    result = work(before, write_session(tmp_path / "b", ops, 2))
    assert notable(result["ops"]) == {"fusion.1": ("changed", "better")}
    assert {
        (*row["ops_a"], *row["ops_b"]): (row["presence"], row["verdict"])
        for row in result["ops"]
        if row["presence"].startswith("only")
    } == {("dot.9",): ("only_b", None), ("copy-done.3",): ("only_a", None)}
    (changed,) = (row for row in result["ops"] if row["presence"] == "changed")
    assert (changed["ops_b"], changed["count"]) == (["fusion.5", "fusion.6"], [1, 2])
    assert {row["path"]: row["presence"] for row in result["annotations"]} == {
        "Training_Step/attention": "both", "Training_Step/mlp": "both", "Training_Step/loss": "only_b", None: "only_a",
    }  # fmt: skip


def kernels_of(tmp_path: Path, name: str, duration_ps: int, seed: int, ops: Ops = OPS) -> SessionTrace:
    """A session with two kernels of this name and time each, in a scope of the same name."""
    kernel = (f"Training_Step/attention/{name}", duration_ps)
    return write_session(
        tmp_path / f"{seed}", {**ops, f"{name}.7": kernel, f"{name}.{seed + 8}": kernel}, seed
    )


@pytest.mark.parametrize(
    ("name_a", "name_b"),
    [("RPA-bq_32-bkvp_64-p_64-", "RPA-bq_64-bkvp_128-p_64-"), ("_fwd_128_64", "_fwd_64_64")],
)
def test_a_kernel_with_other_tuned_sizes_is_the_same(tmp_path: Path, name_a: str, name_b: str) -> None:
    a, b = kernels_of(tmp_path, name_a, 60_000, 1), kernels_of(tmp_path, name_b, 80_000, 2)
    document = comparison_document(a, b)
    [row] = [row for row in document["device_work"]["ops"] if name_a in row["ops_a"][0]]
    assert (row["count"], row["presence"], row["verdict"]) == ([2, 2], "changed", "worse")
    assert row["difference_ps"] == pytest.approx(40_000, rel=0.2)
    path = f"Training_Step/attention/{name_a}"
    [row] = [row for row in document["device_work"]["annotations"] if row["path"] == path]
    assert (row["presence"], row["verdict"]) == ("changed", "worse")
    assert {row["presence"] for row in document["device_work"]["annotations"]} == {"both", "changed"}


def test_another_kernel_is_compared_at_the_innermost_common_path(tmp_path: Path) -> None:
    """The ops of both are inside of attention, whose own op is the same."""
    a, b = kernels_of(tmp_path, "splash", 60_000, 1), kernels_of(tmp_path, "flash", 60_000, 2)
    rows = {row["path"]: row for row in work(a, b)["annotations"]}
    assert set(rows) == {"Training_Step/attention", "Training_Step/mlp", None}
    row = rows["Training_Step/attention"]
    assert (row["presence"], row["verdict"]) == ("changed", "same")
    assert row["a_ps"] == pytest.approx(320_000, rel=0.02)


def test_what_is_new_or_gone_is_named_as_such(before: SessionTrace, tmp_path: Path) -> None:
    with_loss = write_session(tmp_path / "b", {**OPS, "dot.9": ("Training_Step/loss", 90_000)}, 2)
    for a, b, sentence in (
        (before, with_loss, "On the device, Training_Step/loss (new) takes 90.9 ns per step and core."),
        (
            with_loss,
            before,
            "On the device, Training_Step/loss (gone) took 90.9 ns per step and core.",
        ),
    ):
        text = comparison_document(a, b)["verdict"]["text"].replace("\u202f", " ")
        assert text.endswith(sentence), text


def test_renumbered_ops_are_not_matched_by_name() -> None:
    def key(name: str) -> tuple[str, str, str]:
        return "jit_f", name, "mlp"

    shapes = {"fusion.1": "f32[8]", "fusion.2": "f32[4]", "dot.3": "f32[2]"}
    renumbered = {"fusion.1": "f32[4]", "fusion.4": "f32[8]", "dot.3": "f32[2]"}
    a, b = list(map(key, shapes)), list(map(key, renumbered))
    identity = [lambda key, shapes=shapes: (key[1], shapes[key[1]]) for shapes in (shapes, renumbered)]
    assert match_ops(a, b, *identity) == [([a[2]], [b[2]]), (a[:2], b[:2])]
    assert match_ops(a, a, *identity) == [([key], [key]) for key in a]


def test_equal_sessions_rarely_have_a_notable_op(tmp_path: Path) -> None:
    """Ops that work and other ops are tested separately: of 12 pairs, each of the two tests is expected to find a
    notable op in fewer than one by chance."""
    sessions = [write_session(tmp_path / str(seed), OPS, seed, steps=5) for seed in range(24)]
    results = [work(a, b) for a, b in zip(sessions[:12], sessions[12:], strict=True)]
    assert sum(bool(notable(device_work["ops"])) for device_work in results) <= 3


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Captures by name, with eight steps of 1 ms (`base`, and `same` with different noise), 1.02 ms (`little`) or 1.2
    ms (`longer`), with three steps of 9 ms (`few`), or without steps (`none`)."""
    folder, files = tmp_path_factory.mktemp("timed"), {}
    for name, length, count in (
        ("base", 1.0, 8), ("same", 1.0, 8), ("little", 1.02, 8), ("longer", 1.2, 8), ("few", 9.0, 3), ("none", 0, 0),
    ):  # fmt: skip
        space, start = Space(), 0
        python, ops = space.plane("/host:CPU").line("python"), space.plane("/device:TPU:0").line("XLA Ops")
        ops.event("fusion.1", 0, 1_000)
        for number in range(count):
            ps = round(length * 1e9) + 1_000_000 * (number + (name == "same") * 3) % 7_000_000
            python.event("Training_Step", start, ps, _r=1, step_num=number)
            start += ps
        files[name] = str(space.write(folder / f"{name}.xplane.pb"))
    return files


@pytest.mark.parametrize(
    ("b", "limit", "code", "message"),
    [
        ("longer", "worse", 1, "B is worse than A: its steps are 20.0 % longer, beyond chance"),
        ("longer", "worse=25", 0, ""),
        ("longer", "worse=15%", 1, "20.0 %"),
        ("little", "worse", 0, ""),  # within the variation from run to run
        ("little", "worse=1", 1, "2.0 %"),
        ("same", "worse=0", 0, ""),
        ("few", "worse", 0, "too few to distinguish a difference from chance"),
        ("none", "worse", 0, "B has no steps, and no program runs in both"),
    ],
)
def test_a_worse_session_fails_a_pipeline(
    timed: dict[str, str], b: str, limit: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", timed["base"], timed[b], "--fail-on", limit, "--json"]) == code
    lines = [line for line in capsys.readouterr().err.splitlines() if "worse" in line]
    assert message in (lines[0].replace("\u202f", " ") if lines else "")
    assert bool(lines) == bool(message)
    # In the other direction, B is not worse, or cannot be tested.
    assert main(["compare", timed[b], timed["base"], "--fail-on", "worse"]) == 0


@pytest.mark.parametrize("limit", ["better", "worse=", "worse=-1", "worse=nan", "worse=many"])
def test_invalid_limits_are_refused(timed: dict[str, str], limit: str) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["compare", timed["base"], timed["same"], "--fail-on", limit])
    assert exit_info.value.code == 2
