"""What the device's ops took in two sessions: on captures in which it is known what became slower."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import compared
from programs import Step, training
from synthetic.writer import Space

from tb_xla_insights.cli.main import main
from tb_xla_insights.compare.device import match_ops
from tb_xla_insights.device_work import op_times
from tb_xla_insights.report.views import whole_report
from tb_xla_insights.trace.model import SessionTrace

Ops = Mapping[str, tuple[str, int]]
"""Per name of an op its annotation and how long it takes, in ps."""

OPS: Ops = {
    "fusion.1": ("Training_Step/attention", 200_000), "fusion.2": ("Training_Step/mlp", 100_000),
    "copy-done.3": ("", 40_000), **{f"add.{it}": ("Training_Step/mlp", 2_000) for it in range(10, 30)},
}  # fmt: skip


def made(folder: Path, ops: Ops, seed: int, steps: int = 8) -> SessionTrace:
    """Steps of 1 µs that launch these ops, each as long as told give or take 2 %."""
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
        folder, [Step(phases, [(it * 1_000_000 + 920_000, body)]) for it, body in enumerate(bodies)]
    )


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> SessionTrace:
    return made(tmp_path_factory.mktemp("before") / "a", OPS, 1)


def work(a: SessionTrace, b: SessionTrace) -> dict[str, list[dict[str, Any]]]:
    told: dict[str, list[dict[str, Any]]] = compared(a, b)["device_work"]
    return told


def judged(rows: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """What stands out."""
    return {
        " ".join(row["ops_a"] or row["ops_b"]): (row["found"], row["verdict"])
        for row in rows
        if row["verdict"] in ("better", "worse")
    }


def test_times_of_all_ops_in_steps_are_told(before: SessionTrace) -> None:
    """One by one, or where there is no room for them, by annotation."""
    rows = whole_report(before)["ops"]
    for cells in (10_000, 40):
        found = op_times(before.traces[0], cells)
        for key, times in found.ops.items():
            row = next(row for row in rows if (row["program"], row["op"], row["annotation"]) == key)
            assert times.sum() == row["in_steps_ps"]
        told = sum(int(it.sum()) for it in [*found.ops.values(), *found.rest.values()])
        assert told == sum(row["in_steps_ps"] for row in rows)
    assert (len(found.ops), set(found.rest)) == (5, {"Training_Step/mlp"})


def test_what_became_slower_and_by_how_much_of_the_step(before: SessionTrace, tmp_path: Path) -> None:
    slower = made(tmp_path / "b", {**OPS, "fusion.1": ("Training_Step/attention", 230_000)}, 2)
    found = work(before, slower)
    assert judged(found["ops"]) == {"fusion.1": ("both", "worse")}
    first = found["annotations"][0]
    assert (first["path"], first["verdict"]) == ("Training_Step/attention", "worse")
    assert [row["verdict"] for row in found["annotations"][1:]].count("worse") == 0
    assert first["difference_ps"] == pytest.approx(30_000, rel=0.15)
    assert first["of_step"] == first["difference_ps"] / 1_000_000
    back = work(slower, before)["annotations"][0]
    assert (back["path"], back["difference_ps"], back["verdict"]) == (
        "Training_Step/attention", -first["difference_ps"], "better",
    )  # fmt: skip


def test_ops_that_are_new_gone_or_changed(before: SessionTrace, tmp_path: Path) -> None:
    """The compiler made other fusions of attention; the wait is gone, and an op of a new annotation is there."""
    ops = {name: op for name, op in OPS.items() if name not in ("fusion.1", "copy-done.3")}
    ops |= {"fusion.5": ("Training_Step/attention", 90_000), "fusion.6": ("Training_Step/attention", 60_000)}
    ops |= {"dot.9": ("Training_Step/loss", 50_000)}
    found = work(before, made(tmp_path / "b", ops, 2))
    assert judged(found["ops"]) == {
        "fusion.1": ("changed", "better"), "dot.9": ("only_b", "worse"), "copy-done.3": ("only_a", "better"),
    }  # fmt: skip
    (changed,) = (row for row in found["ops"] if row["found"] == "changed")
    assert (changed["ops_b"], changed["count"]) == (["fusion.5", "fusion.6"], [1, 2])
    assert {row["path"]: row["found"] for row in found["annotations"]} == {
        "Training_Step/attention": "both", "Training_Step/mlp": "both", "Training_Step/loss": "only_b", None: "only_a",
    }  # fmt: skip


def test_a_name_says_nothing_where_the_compiler_numbered_anew() -> None:
    def key(name: str) -> tuple[str, str, str]:
        return "jit_f", name, "mlp"

    shapes = {"fusion.1": "f32[8]", "fusion.2": "f32[4]", "dot.3": "f32[2]"}
    renumbered = {"fusion.1": "f32[4]", "fusion.4": "f32[8]", "dot.3": "f32[2]"}
    a, b = list(map(key, shapes)), list(map(key, renumbered))
    identity = [lambda it, own=own: (it[1], own[it[1]]) for own in (shapes, renumbered)]
    assert match_ops(a, b, *identity) == [([a[2]], [b[2]]), (a[:2], b[:2])]
    assert match_ops(a, a, *identity) == [([it], [it]) for it in a]


def test_sessions_alike_seldom_have_any_op_that_seems_to_differ(tmp_path: Path) -> None:
    """Of 12 pairs less than one is expected, in each of three families of ops and annotations."""
    sessions = [made(tmp_path / str(seed), OPS, seed, steps=5) for seed in range(24)]
    found = [work(a, b) for a, b in zip(sessions[:12], sessions[12:], strict=True)]
    assert sum(bool(judged(it["ops"])) for it in found) <= 3


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Captures of eight steps of 1 ms (`base`, `same` with other noise), 1.02 and 1.2 ms, and of three of 9 ms."""
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
    ("b", "asked", "code", "told"),
    [
        ("longer", "worse", 1, "B is worse than A: its steps are 20.0 % longer, beyond chance"),
        ("longer", "worse=25", 0, ""),
        ("longer", "worse=15%", 1, "20.0 %"),
        ("little", "worse", 0, ""),  # as much as steps differ from run to run
        ("little", "worse=1", 1, "2.0 %"),
        ("same", "worse=0", 0, ""),
        ("few", "worse", 0, "too few to tell a difference from chance"),
        ("none", "worse", 0, "B has no steps to compare"),
    ],
)
def test_a_worse_session_fails_a_pipeline(
    timed: dict[str, str], b: str, asked: str, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", timed["base"], timed[b], "--fail-on", asked, "--json"]) == code
    lines = [line for line in capsys.readouterr().err.splitlines() if "worse" in line]
    assert told in (lines[0].replace("\u202f", " ") if lines else "")
    assert bool(lines) == bool(told)
    assert (
        main(["compare", timed[b], timed["base"], "--fail-on", "worse"]) == 0
    )  # nothing is worse that is better


@pytest.mark.parametrize("asked", ["better", "worse=", "worse=-1", "worse=nan", "worse=many"])
def test_what_is_asked_for_is_checked(timed: dict[str, str], asked: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(["compare", timed["base"], timed["same"], "--fail-on", asked])
    assert left.value.code == 2
