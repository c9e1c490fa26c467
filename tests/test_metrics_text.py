"""Metrics reports and Dynamo's explanations: whole, cut, and in other wordings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.report.debug_text import parse_debug
from tb_xla_insights.report.explain_text import parse_explain
from tb_xla_insights.report.metrics_text import parse_count, parse_metrics, parse_quantity

REPORT = """step 3 done
Metric: CompileTime
  TotalSamples: 6
  Accumulator: 01s147ms508.595us
  ValueRate: 02s558ms079.210us / second
  Rate: 5.2 / second
  Percentiles: 1%=057ms628.070us; 99%=292ms135.357us
Metric: OutboundData
  TotalSamples: 29
  Accumulator: 171.02KB
Metric: TensorsGraphSize
  TotalSamples: 20
  Accumulator: 716.00
Counter: UncachedCompile
  Value: 6
Counter: aten::special_i1
  Value: 12
Counter: aten::_local_scalar_dense
  Value: 3
"""
EXPLAIN = """Graph Count: 3
Graph Break Count: 2
Op Count: 18
Break Reasons:
  Break Reason 1:
    Reason: Unsupported Tensor.item() call
  Explanation: Dynamo does not follow a value to the host.
  Hint: Capture scalars.
    User Stack:
      <FrameSummary file outer.py, line 3 in main>
      <FrameSummary file train.py, line 73 in forward>
  Break Reason 2:
    Reason: print
Ops per Graph:
  Ops 1:
    Reason: not one
"""
OLD_EXPLAIN = """Dynamo produced 3 graphs with 2 graph breaks and 6 ops
 Break reasons:

1. call_function BuiltinVariable(print)
   File "t.py", line 16, in example
    print("woo")

2. generic_jump
   File "t.py", line 17, in example
    if b.sum() < 0:
"""


class TestMetrics:
    def test_a_report_inside_a_log_is_read(self) -> None:
        parsed = parse_metrics(REPORT, "m.txt")
        assert parsed
        assert parsed.metrics["CompileTime"] == {
            "samples": 6,
            "total": 1_147_508_595_000,
            "unit": "ps",
            "percentiles": {"1": 57_628_070_000, "99": 292_135_357_000},
        }
        assert parsed.metrics["OutboundData"]["total"] == round(171.02 * 1024)
        assert (parsed.metrics["OutboundData"]["unit"], parsed.metrics["TensorsGraphSize"]["unit"]) == (
            "bytes",
            None,
        )
        assert parsed.counters["UncachedCompile"] == 6
        assert parsed.fallbacks() == {"special_i1": 12}
        assert parsed.unread == []

    def test_samples_and_totals_are_found_under_any_name_of_a_metric(self) -> None:
        parsed = parse_metrics(REPORT)
        assert parsed
        assert parsed.samples("CompileTime", "XrtCompile") == parsed.samples("XrtCompile", "CompileTime") == 6
        assert parsed.total("ps", "CompileTime") == 1_147_508_595_000
        assert parsed.total("ps", "OutboundData") is None
        assert parsed.samples("ExecuteTime") is None

    @pytest.mark.parametrize("text", ["", "hello\n", "Counter: \n", "Metrics are good\n  Value: 3\n"])
    def test_other_texts_are_not_reports(self, text: str) -> None:
        assert parse_metrics(text) is None

    def test_unread_lines_are_reported_and_the_rest_is_used(self) -> None:
        parsed = parse_metrics(
            "Counter: A\n  Value: many\nCounter: B\n  Value: 2\nMetric: C\n  Accumulator: 3parsecs\n  Mood: good\n",
            "m",
        )
        assert parsed
        assert (parsed.counters, parsed.metrics["C"]["total"]) == ({"B": 2}, None)
        assert [(line.line, line.text) for line in parsed.unread] == [
            (2, "Value: many"),
            (6, "Accumulator: 3parsecs"),
            (7, "Mood: good"),
        ]

    @pytest.mark.parametrize(
        "samples", ["Samples: 6", "TotalSamples: about 6", "TotalSamples: -6", "Accumulator: 01s"]
    )
    def test_an_unknown_number_of_samples_is_none(self, samples: str) -> None:
        parsed = parse_metrics(f"Metric: CompileTime\n  {samples}\n")
        assert parsed
        assert parsed.samples("CompileTime") is None

    @pytest.mark.parametrize(
        "line", ["TotalSamples: {}", "Accumulator: {}", "Accumulator: {}s", "Percentiles: 1%={}KB"]
    )
    def test_numbers_with_too_many_digits_are_unread(self, line: str) -> None:
        parsed = parse_metrics(f"Metric: C\n  {line.format('9' * 5000)}\n")
        assert parsed
        assert (parsed.metrics["C"]["samples"], parsed.metrics["C"]["total"]) == (None, None)
        assert [unread.line for unread in parsed.unread] == [2]

    @given(st.integers(0, len(REPORT)))
    def test_a_report_cut_anywhere_has_no_wrong_value(self, length: int) -> None:
        """All values of a cut report are in the whole one; a cut number is left out and reported."""
        whole, parsed = parse_metrics(REPORT), parse_metrics(REPORT[:length])
        assert whole
        if parsed is None:
            return
        assert parsed.counters.items() <= whole.counters.items()
        for name, cut_metric in parsed.metrics.items():
            metric = whole.metrics[name]
            assert cut_metric["samples"] in (None, metric["samples"])
            assert cut_metric["total"] in (None, metric["total"])
            assert cut_metric["percentiles"].items() <= metric["percentiles"].items()
        if not REPORT[:length].endswith("\n") and REPORT[:length].splitlines()[-1].startswith("  Value: "):
            assert parsed.unread


class TestNumbers:
    @pytest.mark.parametrize(
        ("text", "ps"),
        [("02m01s000ms000.000us", 121 * 10**12), ("003.926us", 3_926_000), ("1d00h00m00s", 86_400 * 10**12)],
    )
    def test_times(self, text: str, ps: int) -> None:
        assert parse_quantity(text) == (ps, "ps")

    @pytest.mark.parametrize(
        ("text", "value"),
        [("12", 12), ("-3", -3), ("9" * 18, 10**18 - 1), ("9" * 19, None), ("11,520", None), ("1 520", None),
         ("1.0", None), ("", None), ("many", None), ("٣", None)],
    )  # fmt: skip
    def test_counts(self, text: str, value: int | None) -> None:
        assert parse_count(text) == value

    @pytest.mark.parametrize(
        ("text", "expected"),
        [("716.00", (716.0, None)), ("1654", (1654.0, None)), ("-0.25", (-0.25, None)), ("12.00B", (12, "bytes")),
         ("171.02KB", (175_124, "bytes")), ("1.50PB", (3 << 49, "bytes"))],
    )  # fmt: skip
    def test_numbers_and_sizes(self, text: str, expected: tuple[float, str | None]) -> None:
        assert parse_quantity(text) == expected

    @pytest.mark.parametrize(
        "text", ["", "KB", "3 parsecs", "1s-2ms", "1,234KB", "1,5", "1.2.3", "ms", "1e5", "٣"]
    )
    def test_other_texts_are_not_quantities(self, text: str) -> None:
        assert parse_quantity(text) == (None, None)


class TestExplanation:
    def test_reasons_and_places(self) -> None:
        parsed = parse_explain(EXPLAIN, "d.txt")
        assert parsed
        assert (parsed.graphs, parsed.breaks, parsed.ops, parsed.unread) == (3, 2, 18, [])
        assert [row.as_json() for row in parsed.explained] == [
            {
                "reason": "Unsupported Tensor.item() call",
                "place": "train.py:73 in forward",
                "explanation": "Dynamo does not follow a value to the host.",
                "hint": "Capture scalars.",
            },
            {"reason": "print", "place": None},
        ]

    def test_the_wording_of_pytorch_2_0(self) -> None:
        parsed = parse_explain(OLD_EXPLAIN)
        assert parsed
        assert (parsed.graphs, parsed.breaks, parsed.ops, parsed.unread) == (3, 2, 6, [])
        assert [row.as_json() for row in parsed.explained] == [
            {"reason": "call_function BuiltinVariable(print)", "place": "t.py:16 in example"},
            {"reason": "generic_jump", "place": "t.py:17 in example"},
        ]

    def test_several_explanations_in_one_file_add_up(self) -> None:
        parsed = parse_explain(EXPLAIN + "some text\n" + EXPLAIN)
        assert parsed
        assert (parsed.graphs, parsed.breaks, len(parsed.explained)) == (6, 4, 4)

    def test_a_place_is_the_programs_own(self) -> None:
        inside = "      <FrameSummary file /venv/site-packages/torch/nn/module.py, line 9 in _call>\n"
        parsed = parse_explain(EXPLAIN.replace("  Break Reason 2", f"{inside}  Break Reason 2"))
        assert parsed
        assert parsed.explained[0].place == "train.py:73 in forward"

    def test_a_cut_explanation_reports_missing_reasons(self) -> None:
        parsed = parse_explain(EXPLAIN.partition("  Break Reason 2")[0], "d.txt")
        assert parsed
        assert (parsed.breaks, len(parsed.explained)) == (2, 1)
        assert [line.text for line in parsed.unread] == ["2 breaks, but only 1 reason"]

    def test_an_explanation_cut_before_its_reasons_reports_it(self) -> None:
        parsed = parse_explain(EXPLAIN.partition("Break Reasons")[0], "d.txt")
        assert parsed
        assert [line.text for line in parsed.unread] == ["2 breaks, but only 0 reasons"]

    @pytest.mark.parametrize("text", ["", "hello\n", "Graph Count: many\n", REPORT])
    def test_other_texts_are_not_explanations(self, text: str) -> None:
        assert parse_explain(text) is None


def test_real_files(shared_traces: Path) -> None:
    for path in sorted(shared_traces.glob("torch_xla/*/metrics_report.txt")):
        metrics = parse_metrics(path.read_text())
        assert metrics
        assert metrics.unread == []
        assert all(
            metric["total"] is not None and metric["percentiles"] for metric in metrics.metrics.values()
        )
        assert not parse_debug(path.read_text()).unread
    folder = shared_traces / "torch_xla/tiny_dynamo_train"
    metrics = parse_metrics((folder / "metrics_report.txt").read_text())
    assert metrics
    assert (metrics.counters["UncachedCompile"], metrics.fallbacks()) == (6, {})
    explained = parse_explain((folder / "dynamo_explain.txt").read_text())
    assert explained
    assert (explained.graphs, explained.breaks, explained.ops, explained.explained) == (1, 0, 6, [])
