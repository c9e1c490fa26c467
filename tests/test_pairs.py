"""The speed-up table of many pairs: the format of its file, correct means, and errors in a file."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from captures import session
from helpers import MS, write_session
from hypothesis import given
from hypothesis import strategies as st
from loops import loop

import tb_xla_insights as xi
from tb_xla_insights.analysis.sidecar_contents import RECORD_FILE
from tb_xla_insights.compare.pairs import SessionSteps, read_pairs, session_steps
from tb_xla_insights.errors import InputError

SPEED_UPS = """model,first,second,third
resnet50,0.758,0.937,1.344
resnet18,0.66,1.003,1.322
BERT_pytorch,1.441,1.869,3.356
resnext50_32x4d,0.87,1.139,1.417
alexnet,0.632,0.802,1.264
mobilenet_v2,0.549,0.672,1.408
mnasnet1_0,0.698,0.967,1.232
vgg16,0.712,0.742,0.821
timm_vision_transformer,1.275,1.69,1.740
squeezenet1_1,0.72,0.958,1.563
"""


def fail_on_session(path: str) -> SessionSteps:
    raise AssertionError(path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pairs.csv"


def test_given_speed_ups(file: Path) -> None:
    """The sums of the columns, by hand: 8.315, 10.779, 15.467."""
    file.write_text(SPEED_UPS)
    table: Any = read_pairs(str(file), fail_on_session)
    assert table["columns"] == ["first", "second", "third"]
    assert [row["model"] for row in table["rows"]][:2] == ["resnet50", "resnet18"]
    assert table["rows"][2]["speedups"] == [1.441, 1.869, 3.356]
    assert (table["means"], table["counts"]) == ([0.8315, 1.0779, 1.5467], [10, 10, 10])


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30))
def test_the_mean_is_arithmetic(tmp_path_factory: pytest.TempPathFactory, numbers: list[int]) -> None:
    file = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    lines = [f"m{index},{number / 1000:.3f}" for index, number in enumerate(numbers)]
    file.write_text("\n".join(["model,only", *lines]))
    assert read_pairs(str(file), fail_on_session)["means"] == [
        float(Fraction(sum(numbers), 1000 * len(numbers)))
    ]


def test_step_times_in_milliseconds(file: Path) -> None:
    file.write_text("model,a,b\nresnet50,40,50\nvgg16,30,20\n")
    table: Any = read_pairs(str(file), fail_on_session)
    assert [row["speedups"] for row in table["rows"]] == [[0.8], [1.5]]
    assert table["means"] == [1.15]
    assert table["rows"][0]["pairs"] == [
        {"a": "40", "b": "50", "a_ps": 40 * MS, "b_ps": 50 * MS, "steps": None, "p": None, "verdict": None}
    ]


def timed(*milliseconds: float, samples: float | None = None) -> SessionSteps:
    rows = [
        {"host": "vm", "number": number, "duration_ps": round(ms * MS), "compiles": 0}
        for number, ms in enumerate(milliseconds)
    ]
    return SessionSteps(rows, samples)


def test_sessions_beside_the_file(file: Path) -> None:
    times = {
        str(file.parent / "lazy"): timed(39, 38, 39, 40, 39, 41, 37),
        str(file.parent / "dynamo"): timed(51, 52, 53, 52, 50, 54, 52, 52, 51),
    }
    file.write_text("model,column,a,b\nbert,today,lazy,dynamo\nbert,before,10,5\n")
    table: Any = read_pairs(str(file), times.__getitem__)
    [row] = table["rows"]
    assert (table["columns"], row["speedups"]) == (["today", "before"], [0.75, 2.0])
    assert (row["pairs"][0]["steps"], row["pairs"][0]["verdict"]) == ([7, 9], "worse")
    assert row["pairs"][1]["verdict"] is None


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (timed(20, 21, 22, 23), timed(10, 11, 12, 13), "better"),
        (timed(20, 21, 22, 23), timed(19, 25, 22, 28), "chance"),
        (timed(20, 21, 22, 23), timed(10, 11, 12), "few"),
        (timed(20, 21, 22, 23), timed(20, 21, 22, 23), "same"),
        (timed(20, 21, 22, 23, samples=64), timed(10, 11, 12, 13, samples=64), "better"),
        (timed(20, 21, 22, 23, samples=64), timed(10, 11, 12, 13, samples=32), None),
    ],
)
def test_pairs_of_sessions_are_judged_as_comparisons_are(
    file: Path, a: SessionSteps, b: SessionSteps, verdict: str | None
) -> None:
    file.write_text("model,a,b\nx,one,other\n")
    table: Any = read_pairs(str(file), lambda path: a if path.endswith("one") else b)
    assert table["rows"][0]["pairs"][0]["verdict"] == verdict


def test_quoted_cells(file: Path) -> None:
    file.write_text('model,"a","b"\n"a ""small"" one, 8 cores",3,2\n')
    assert [row["model"] for row in read_pairs(str(file), fail_on_session)["rows"]] == [
        'a "small" one, 8 cores'
    ]


def test_cells_that_are_not_plain_numbers_are_paths(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []

    def steps_of(path: str) -> SessionSteps:
        paths.append(path)
        return timed(5)

    monkeypatch.setenv("HOME", "/home/someone")
    file.write_text("model,a,b\nx,1/0,~/run\ny,s3://bucket/run,/runs/2\n")
    read_pairs(str(file), steps_of)
    assert paths == [str(file.parent / "1/0"), "/home/someone/run", "s3://bucket/run", "/runs/2"]


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="this system has no /dev/fd")
def test_paths_in_a_pipe_are_relative_to_the_working_directory() -> None:
    """`--pairs <(…)` has no folder of its own."""
    paths = []

    def steps_of(path: str) -> SessionSteps:
        paths.append(path)
        return timed(5)

    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as pipe:
        pipe.write("model,a,b\nx,lazy/run,/runs/2\n")
    try:
        read_pairs(f"/dev/fd/{read_end}", steps_of)
    finally:
        os.close(read_end)
    assert paths == ["lazy/run", "/runs/2"]


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="this system has no /dev/shm")
def test_paths_in_a_file_in_shared_memory_are_relative_to_its_folder() -> None:
    paths = []

    def steps_of(path: str) -> SessionSteps:
        paths.append(path)
        return timed(5)

    with TemporaryDirectory(dir="/dev/shm") as folder:
        file = Path(folder) / "pairs.csv"
        file.write_text("model,a,b\nx,lazy/run,/runs/2\n")
        read_pairs(str(file), steps_of)
    assert paths == [f"{folder}/lazy/run", "/runs/2"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_file_with_a_byte_order_mark(file: Path, encoding: str) -> None:
    byte_order_mark = "\ufeff" if encoding.endswith("be") else ""
    file.write_text(f"{byte_order_mark}model,first\r\nModèle,2\r\n", encoding=encoding, newline="")
    assert read_pairs(str(file), fail_on_session)["rows"][0]["model"] == "Modèle"
    assert read_pairs(str(file), fail_on_session)["columns"] == ["first"]


def test_missing_cells_are_not_part_of_a_mean(file: Path) -> None:
    file.write_text("model,first,second\na,2,1\nb,,3\nc,–,5\n")
    table: Any = read_pairs(str(file), fail_on_session)
    assert (table["means"], table["counts"]) == ([2.0, 3.0], [1, 3])
    assert table["rows"][1]["speedups"] == [None, 3.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no pairs"),
        ("model,first\n", "no pairs"),
        ("model,a,b\n", "no pairs"),
        ("model\nx\n", "line 1: no column of speed-ups"),
        ("model,first\nx,fast\n", "line 2: 'fast' is not a speed-up"),
        ('model,first\nx,"0,758"\n', "line 2: '0,758' is not a speed-up"),
        ("model,first\nx,0,758\n", "line 2: 3 cells under 2 headings"),
        ("model,first\nx,-1\n", "is not a speed-up"),
        ("model,first\nx,1/0\n", "is not a speed-up"),
        ("model,first\nx,1_000\n", "is not a speed-up"),
        ("model,first\nx,1e999999999\n", "is not a speed-up"),
        ("model,first\nx,1\nx,2\n", "line 3: x occurs twice in first"),
        ("model,first,first\nx,1,2\n", "line 2: x occurs twice in first"),
        ('model,first\n"x,1\ny,2\n', "line 3: unexpected end of data"),
        ('model,first\n"x\ny",1\nz,fast\n', "line 4: 'fast' is not a speed-up"),
        ("model,a,b\nx,0,5\n", "line 2: a step takes no time"),
        ("model,a,b\nx,1,5\nx,2,5\n", "line 3: x occurs twice in speed-up"),
        ("model,a,b\nx,missing,5\n", "line 2: no such session"),
        ("model,a,b\nx,,5\n", "line 2: '' is not a session"),
        ("model,a,b\nx,a\0b,5\n", "line 2: "),
        ("model;first\nx;0,758\n", "line 1: no commas, but ';'"),
        ("model\tfirst\nx\t1\n", "line 1: no commas, but '\\t'"),
        ("a,x\nresnet50,1.5\n", "line 1: a is not a column of models, and pairs need both columns a and b"),
        ("column,a\nfirst,1.5\n", "line 1: column is not a column of models"),
    ],
)
def test_errors_name_the_file_and_the_line(file: Path, text: str, message: str) -> None:
    def refuse(path: str) -> SessionSteps:
        raise InputError(f"no such session as {path}")

    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_pairs(str(file), refuse)
    assert message in str(error.value)
    assert str(error.value).startswith(str(file))
    assert "\n" not in str(error.value)


def test_a_missing_or_binary_file(file: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_pairs(str(file), fail_on_session)
    file.write_bytes(b"\xff\x00m")
    with pytest.raises(InputError, match="byte 0: not UTF-8 or UTF-16 text; give a CSV file"):
        read_pairs(str(file), fail_on_session)


def test_the_step_time_of_a_session(tmp_path: Path) -> None:
    steps = session_steps(session(loop(steps=3).trace()))
    assert [step["duration_ps"] for step in steps.steps] == [1000 * 10**6] * 3
    assert steps.samples is None
    path = write_session(tmp_path / "s", "vm")
    (path / RECORD_FILE).write_text('{"samples_per_step": 64}')
    steps = session_steps(xi.load(str(path)).trace)
    assert ([step["duration_ps"] for step in steps.steps], steps.samples) == (
        [10 * MS, 10 * MS, 9 * MS],  # until the next step, and the last one's annotation
        64,
    )
