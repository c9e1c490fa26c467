"""`xla-insights compare`: output and usage."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from helpers import MS, write_cut_session, write_session
from report_texts import UNLIMITED_WIDTH, console, printed_text, single_spaced
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from tb_xla_insights.cli.compare_text import print_comparison
from tb_xla_insights.cli.main import main

LAZY, DYNAMO = (str(LOGDIR / f"synthetic_dynamo_issue_{mode}") for mode in ("lazy", "dynamo"))
Capsys = pytest.CaptureFixture[str]


def comparison_text(capsys: Capsys, *arguments: str) -> str:
    assert main(["compare", *arguments]) == 0
    return capsys.readouterr().out.replace("\u202f", " ")


def test_two_sessions_as_text(capsys: Capsys) -> None:
    text = comparison_text(capsys, LAZY, DYNAMO)
    assert text.startswith(
        "B’s steps take 52.6 ms against 39.0 ms at the median (1.35×); chance cannot be ruled"
    )
    assert "1 step in A and 1 step in B: too few to distinguish a difference from chance" in text
    assert text.count("too few") == 1
    assert "1 step, 1 device, PyTorch/XLA (lazy)" in text
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "Step time, median 39.000 ms 52.600 ms 1.35×" in rows
    assert "lazy / dynamo 0.97× 0.77× 0.74×" in rows
    assert "dynamo: SyncTensorsGraph.96 lazy 1 1.892 0.08347 0.000 1.809" in rows
    assert "dynamo: SyncTensorsGraph.4410 SyncTensorsGraph.131 1 9.910" in rows
    assert "dynamo: SyncTensorsGraph.131 SyncTensorsGraph.6902 1 5.137" in rows


def test_numbers_per_step_are_unknown_without_steps() -> None:
    document: Any = xi.load(LAZY).compare(xi.load(DYNAMO))
    tables = document["lazy_dynamo"]
    for side in "ab":
        tables["step"][side] |= {"executions": None}
        for row in tables["executions"][side]:
            row["per_step"] = None
    out = console(UNLIMITED_WIDTH)
    print_comparison(out, document)
    rows = [single_spaced(line) for line in printed_text(out).splitlines()]
    assert [row.split(" ")[-1] for row in rows if re.match("(lazy|dynamo) 1 ", row)] == ["–", "–"]
    assert any(row.startswith("dynamo: SyncTensorsGraph.96 lazy – 1.892") for row in rows)


def test_a_cut_table_of_idle_time_between_executions_says_so() -> None:
    document: Any = xi.load(LAZY).compare(xi.load(DYNAMO))
    between = document["lazy_dynamo"]["between"]
    between["b"] = [dict(between["b"][0], before=f"f{number}") for number in range(12)]
    note = "; the 12 pairs with most time of each session"
    for is_cut in (False, True):
        out = console(UNLIMITED_WIDTH)
        print_comparison(out, document)
        assert (f"Between executions on a core{note}" in printed_text(out)) == is_cut
        assert printed_text(out).count("dynamo: f") == 12
        between["b"].append(dict(between["b"][0], before="f12"))


def test_two_sessions_as_json(capsys: Capsys) -> None:
    document = json.loads(comparison_text(capsys, LAZY, DYNAMO, "--json"))
    assert document["schema"] == 1
    assert document["lazy_dynamo"]["step"]["b"]["wall_ps"] == 52.6 * MS
    assert "pairs" not in document


def test_pairs_alone_and_with_two_sessions(capsys: Capsys, tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text(f"model,a,b\none,{LAZY},{DYNAMO}\ntwo,3,2\n")
    document = json.loads(comparison_text(capsys, "--pairs", str(file), "--json"))
    assert list(document) == ["pairs"]
    speedups = [row["speedups"] for row in document["pairs"]["rows"]]
    assert speedups == [[39_000 / 52_600], [1.5]]
    assert document["pairs"]["rows"][0]["pairs"][0]["steps"] == [1, 1]
    assert document["pairs"]["means"] == [pytest.approx((39 / 52.6 + 1.5) / 2)]
    text = comparison_text(capsys, "--pairs", str(file))
    assert text.splitlines()[-2].split() == ["mean", "of", "2", "1.121×"]
    assert "0.741× too few steps" in " ".join(text.split())
    assert "Differences" in comparison_text(capsys, LAZY, DYNAMO, "--pairs", str(file))


def test_a_session_of_a_logdir_is_chosen_by_name(capsys: Capsys) -> None:
    name = "synthetic_dynamo_issue_lazy/2023_01_12_18_04_22_synthetic"
    document = json.loads(comparison_text(capsys, str(LOGDIR), DYNAMO, "--session-a", name, "--json"))
    assert document["a"]["session"]["name"] == name


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="this system has no /dev/fd")
@pytest.mark.parametrize("with_pairs", [True, False])
def test_a_catalogue_from_a_pipe_applies_to_every_session(
    with_pairs: bool, capsys: Capsys, tmp_path: Path
) -> None:
    """As `--catalog <(…)` gives it: it can be read once."""
    catalogue = '{"groups": [{"class": "input", "names": ["Training_Step"]}]}'
    (tmp_path / "catalogue.json").write_text(catalogue)
    (tmp_path / "pairs.csv").write_text(f"model,a,b\none,{LAZY},{DYNAMO}\n")
    arguments = [LAZY, DYNAMO, "--json"]
    if with_pairs:
        arguments += ["--pairs", str(tmp_path / "pairs.csv")]
    expected = comparison_text(capsys, *arguments, "--catalog", str(tmp_path / "catalogue.json"))
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as pipe:
        pipe.write(catalogue)
    try:
        assert comparison_text(capsys, *arguments, "--catalog", f"/dev/fd/{read_end}") == expected
    finally:
        os.close(read_end)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["one"],
        ["one", "two", "three"],
        ["--pairs", "pairs.csv", "--fail-on", "worse"],
        ["--pairs", "pairs.csv", "--samples-per-step", "8"],
        ["--pairs", "pairs.csv", "--session-b", "name"],
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], capsys: Capsys) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["compare", *arguments])
    assert exit_info.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("--help")


def test_a_warning_names_the_session(capsys: Capsys, tmp_path: Path) -> None:
    """Captures of one machine have the same host."""
    whole, cut = write_session(tmp_path / "whole", "vm"), write_cut_session(tmp_path / "cut", "vm")
    assert main(["compare", str(whole), str(cut), "--json"]) == 0
    assert capsys.readouterr().err.startswith("warning (B, vm): ")
    (tmp_path / "pairs.csv").write_text("model,a,b\nx,cut,whole\n")
    main(["compare", "--pairs", str(tmp_path / "pairs.csv")])
    assert capsys.readouterr().err.startswith(f"warning ({tmp_path / 'cut'}, vm): ")


def test_unreadable_input_is_a_one_line_error(capsys: Capsys, tmp_path: Path) -> None:
    assert main(["compare", LAZY, str(tmp_path / "missing")]) == 3
    [line] = capsys.readouterr().err.splitlines()
    assert "missing: no such file or directory" in line
    (tmp_path / "pairs.csv").write_text("model,a,b\nx,3,nowhere\n")
    assert main(["compare", "--pairs", str(tmp_path / "pairs.csv")]) == 3
    output = capsys.readouterr()
    assert output.out == ""
    assert "pairs.csv, line 2: " in output.err
