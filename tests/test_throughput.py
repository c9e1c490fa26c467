"""Samples per second, from the recording or the command line, in the report and in a comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from captures import Core, capture, comparison_document, session, thread
from launching import US
from synthetic.__main__ import LOGDIR
from test_compare import measure, plain, steps_of

import tb_xla_insights as xi
from tb_xla_insights.analysis.sidecar_contents import RECORD_FILE
from tb_xla_insights.cli.main import main
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.throughput import throughput
from tb_xla_insights.text import units
from tb_xla_insights.trace.model import SessionTrace

Capsys = pytest.CaptureFixture[str]
BASELINE, SLOW_INPUT = (str(LOGDIR / name) for name in ("torch_xla_baseline", "torch_xla_slow_input"))


class TestReport:
    def test_samples_per_second_of_the_median_and_the_mean_step(self) -> None:
        """Steps of 100, 200, 200 and 500 us: 5,000 and 4,000 steps per second."""
        result = session_report(steps_of(100, 200, 200, 500), samples_per_step=8)["throughput"]
        assert result == {"samples_per_step": 8, "samples_per_s": {"median": 40_000, "mean": 32_000}}

    def test_without_samples_or_steps_throughput_is_unknown(self) -> None:
        assert session_report(steps_of(100, 200))["throughput"] is None
        stepless = session(capture(thread("python", ("forward", 0, 10)), Core([("dot", 2, 3)])))
        assert session_report(stepless, samples_per_step=8)["throughput"] is None

    @pytest.mark.parametrize(("recorded", "option", "used"), [(64, None, 64), (64, 32, 32), (0.5, None, 0.5)])
    def test_given_samples_override_recorded_ones(
        self, recorded: float, option: float | None, used: float
    ) -> None:
        result = throughput([{"duration_ps": 100 * US}], {"samples_per_step": recorded}, option)
        assert result == {
            "samples_per_step": used,
            "samples_per_s": {"median": used * 1e4, "mean": used * 1e4},
        }

    @pytest.mark.parametrize("recorded", [None, 0, -3, "64", True, float("inf"), [64]])
    def test_only_numbers_above_0_count_as_recorded(self, recorded: Any) -> None:
        assert throughput([{"duration_ps": 100 * US}], {"samples_per_step": recorded}, None) is None

    def test_as_text_and_json(self, capsys: Capsys) -> None:
        assert main(["report", BASELINE, "--samples-per-step", "64", "--json"]) == 0
        result = json.loads(capsys.readouterr().out)["throughput"]
        assert result == xi.load(BASELINE).report(samples_per_step=64)["throughput"]
        assert main(["report", BASELINE, "--samples-per-step", "64", "--full"]) == 0
        text = plain(capsys.readouterr().out)
        median, mean = (plain(units.rate(result["samples_per_s"][name])) for name in ("median", "mean"))
        assert (
            f"Throughput: 64 samples per step: {median} per second at the median step, {mean} in the mean."
            in text
        )


@pytest.mark.parametrize("invalid", ["0", "-1", "nan", "inf", "many", ""])
@pytest.mark.parametrize("command", [["report", BASELINE], ["compare", BASELINE, SLOW_INPUT]])
def test_an_invalid_number_of_samples_is_wrong_usage(
    command: list[str], invalid: str, capsys: Capsys
) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main([*command, f"--samples-per-step={invalid}"])
    assert exit_info.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "give a number above 0" in line


class TestCompare:
    def rows(self, a: SessionTrace, b: SessionTrace, *samples: float) -> dict[str, dict[str, Any]]:
        document = comparison_document(a, b, (samples[0], samples[1]))
        return {name: measure(document, name) for name in ("samples_median", "samples_mean", "step_median")}

    def test_with_equal_samples_throughput_agrees_with_steps(self) -> None:
        rows = self.rows(steps_of(*[1000, 1010] * 3), steps_of(*[800, 808] * 3), 64, 64)
        assert (rows["samples_median"]["a"], rows["samples_median"]["b"]) == (64_000, 80_000)
        assert rows["samples_median"]["verdict"] == rows["step_median"]["verdict"] == "better"
        assert rows["samples_median"]["p"] == rows["step_median"]["p"]
        assert rows["samples_mean"]["verdict"] == "better"

    def test_with_different_samples_throughput_decides(self) -> None:
        """Steps of B last 1.6 times as long and take 2 times as many samples."""
        a, b = steps_of(*[1000, 1010] * 3), steps_of(*[1600, 1616] * 3)
        document = comparison_document(a, b, (32, 64))
        assert measure(document, "samples_median")["verdict"] == "better"
        assert plain(document["verdict"]["text"]) == (
            "B is 1.25× faster at the median: 40 000 samples per second against 32 000. "
            "B takes 64 samples per step, A 32 samples."
        )
        judged = {row["name"] for row in document["measures"] if row["verdict"]}
        assert judged == {"samples_median", "samples_mean"}
        assert {row["verdict"] for row in document["classes"]} == {None}

    def test_a_difference_that_may_be_chance_is_not_faster(self) -> None:
        document = comparison_document(
            steps_of(1000, 1500, 1200, 1300), steps_of(2100, 2900, 2300, 2800), (32, 64)
        )
        assert document["verdict"]["verdict"] == measure(document, "samples_median")["verdict"] == "chance"
        assert "may be chance" in document["verdict"]["text"]

    def test_samples_of_one_session_may_be_unknown(self) -> None:
        a, b = steps_of(*[1000, 1010] * 3), steps_of(*[800, 808] * 3)
        row = measure(comparison_document(a, b, (32, None)), "samples_median")
        assert (row["a"], row["b"], row["ratio"], row["verdict"]) == (32_000, None, None, None)

    def test_on_the_command_line(self, capsys: Capsys) -> None:
        def rates(*arguments: str) -> list[float]:
            assert main(["compare", BASELINE, SLOW_INPUT, *arguments, "--json"]) == 0
            row = measure(json.loads(capsys.readouterr().out), "samples_mean")
            return [row["a"], row["b"]]

        a, b = rates("--samples-per-step", "64")
        assert rates("--samples-per-step", "64,32") == [a, b / 2]
        assert main(["compare", BASELINE, SLOW_INPUT, "--samples-per-step", "64"]) == 0
        assert f"Samples per second, mean {plain(units.rate(a))} {plain(units.rate(b))}" in " ".join(
            plain(capsys.readouterr().out).split()
        )

    def test_as_recorded(self, logdir: Path) -> None:
        (logdir / "plugins/profile/2026_01_01_00_00_00" / RECORD_FILE).write_text('{"samples_per_step": 128}')
        loaded = xi.load(str(logdir), session="2026_01_01_00_00_00")
        row = measure(loaded.compare(xi.load(str(logdir))), "samples_median")
        assert (row["a"], row["b"]) == (128e12 / loaded.steps()[0]["duration_ps"], None)
