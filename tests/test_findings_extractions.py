"""The finding about graphs that torch.compile extracts again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from launching import US, Tpu
from loops import STEP, findings, us
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from tb_xla_insights.analysis.compiles.repeated_extractions import find_repeated_extractions
from tb_xla_insights.analysis.sidecar_contents import Guard, Sidecars


def extracting(steps: tuple[int, ...], first: int = 5, compiling: float = 0) -> Tpu:
    """The loop with dynamo's graph, which is extracted in some of its steps for 400 us in the middle of a gap, the last
    `compiling` of them in XLA."""
    tpu = Tpu()
    for i in range(4):
        at = i * STEP
        tpu.step(at, STEP, first + i)
        tpu.on_main("forward", at + 200, 510)
        if first + i in steps:
            for name, start, length in (
                ("StepMarker", 580, 2), ("StepMarker", 590, 2), ("RunPostOrder", 595, 1),
                ("SyncTensorsGraph", 600 - compiling, compiling or 2),
            ):  # fmt: skip
                start = start if name == "SyncTensorsGraph" else start - compiling
                tpu.on_main(name, at + start, length)
            if compiling:
                tpu.on_main(
                    "XLAGraphExecutor::Compile", at + 600 - compiling, compiling, graph_hash=f"{i:08x}"
                )
        tpu.launch(at + 600, (at + 610, 20), (at + 650, 300), by="dynamo")
    return tpu


class TestDynamoRecompilation:
    def test_graphs_that_are_extracted_again_cost_the_idle_time_in_extractions(self) -> None:
        finding = findings(extracting((5, 6, 7, 8)).trace())["dynamo_recompilation"]
        assert finding.title == "torch.compile compiles again in every step"
        assert us(finding.evidence["dynamo_ps"]) == 4 * 400
        assert us(finding.cost_ps) == 3 * 400  # before the first run the device has no span
        assert (finding.evidence["extractions"], finding.recurs, finding.severity) == (
            4,
            "every_step",
            "critical",
        )
        assert us(finding.step_if_fixed_ps) == 600
        assert (us(finding.windows[0].start_ps), us(finding.windows[0].end_ps)) == (200, 600)
        assert "TORCH_LOGS=recompiles" in finding.advice

    def test_compilations_of_an_extraction_count_once(self) -> None:
        by_id = findings(extracting((6, 8), compiling=100).trace())
        assert "recompilation" not in by_id
        finding = by_id["dynamo_recompilation"]
        assert (us(finding.evidence["dynamo_ps"]), us(finding.evidence["compile_ps"])) == (2 * 300, 2 * 100)
        assert us(finding.cost_ps) == 2 * 400
        assert finding.title == "torch.compile compiles again in steps 6 and 8"

    def test_other_compilations_are_a_separate_finding(self) -> None:
        tpu = extracting((6,))
        tpu.on_main("XLAGraphExecutor::Compile", 2 * STEP + 20, 100)
        by_id = findings(tpu.trace())
        assert (us(by_id["recompilation"].cost_ps), us(by_id["dynamo_recompilation"].cost_ps)) == (100, 400)

    def test_warm_up_is_not_reported(self) -> None:
        assert "dynamo_recompilation" not in findings(extracting((0, 1), first=0).trace())

    def test_without_step_numbers_a_graph_that_has_run_is_extracted_again(self) -> None:
        tpu = extracting((5, 7))
        tpu.main = [event if event[0] != "Training_Step" else (*event[:3], {"_r": 1}) for event in tpu.main]
        trace = tpu.trace()
        repeated = find_repeated_extractions(trace)
        assert repeated.step.tolist() == [2], "the first time it is new"

    def test_the_guard_that_failed_is_named_and_chooses_the_advice(self) -> None:
        def advice(guard: str, source: str | None = None, limit: int | None = None) -> tuple[str, str]:
            failed_guard = Guard("forward", "train.py:9", guard, source, limit, "stderr.txt")
            finding = findings(extracting((6, 7, 8)).trace(), Sidecars(guards=[failed_guard]))[
                "dynamo_recompilation"
            ]
            return finding.detail, finding.advice

        detail, advice_text = advice("___stack0 == 3.5", "if x.max().item() > 1:  # a comment", 8)
        assert (
            "the guard ___stack0 == 3.5 failed last at train.py:9; after 8 variants torch.compile gave up"
            in detail
        )
        assert advice_text.startswith("Take the .item() at train.py:9 out of compiled code")
        assert "a few fixed ones" in advice("tensor 'x' size mismatch at index 0. expected 8, actual 10")[1]
        assert "the Python number that changes at train.py:9" in advice("self.scale == 1.2")[1]
        assert "the value that the guard at train.py:9 checks" in advice("___check_obj_id(L['f'], 7)")[1]

    def test_lazy_graphs_after_torch_compile_gave_up_belong_to_it(self) -> None:
        tpu = extracting((6,))
        tpu.on_main("XLAGraphExecutor::Compile", 2 * STEP + 20, 100)
        tpu.on_main("XLAGraphExecutor::Compile", 3 * STEP + 20, 100)
        guard = Guard("forward", None, None, None, 8, "stderr.txt")
        by_id = findings(tpu.trace(), Sidecars(guards=[guard]))
        assert us(by_id["dynamo_recompilation"].cost_ps) == 400 + 100
        assert us(by_id["recompilation"].cost_ps) == 100

    def test_torch_compile_gave_up_between_steps(self) -> None:
        """The last extraction is between two annotations, as in an evaluation: the step after it builds lazily."""
        tpu = extracting((6, 7))
        steps = [event for event in tpu.main if event[0] in ("Training_Step", "forward")]
        number_7 = next(event for event in steps if event[3].get("step_num") == 7)
        # The annotation ends before its extraction, and the next one begins after it.
        tpu.main = [event for event in tpu.main if event not in steps]
        tpu.main += [
            (name, start, 150 * US if (name, start) == number_7[:2] else length, stats)
            for name, start, length, stats in steps
            if (name, start) != ("forward", number_7[1] + 200 * US)
        ]
        tpu.on_main("XLAGraphExecutor::Compile", 3 * STEP + 20, 100)
        guard = Guard("forward", None, None, None, 8, "stderr.txt")
        trace = tpu.trace()
        assert find_repeated_extractions(trace).step.tolist() == [1, 2]
        by_id = findings(trace, Sidecars(guards=[guard]))
        assert "recompilation" not in by_id
        assert by_id["dynamo_recompilation"].evidence["compiles"] == 1

    def test_the_real_capture_with_a_graph_break(self) -> None:
        """Each of its steps extracts a forward and a backward again until the limit; in the one after that XLA compiles
        the lazy graphs that take their place."""
        run = Path(LOGDIR) / "torch_xla_dynamo_graph_break"
        report: Any = xi.load(str(run)).report()
        first = report["findings"][0]
        assert (first["id"], first["severity"]) == ("dynamo_recompilation", "critical")
        evidence = first["evidence"]
        assert (evidence["extractions"], evidence["compiles"], evidence["limit"]) == (10, 2, 8)
        assert (evidence["function"], evidence["guard"]) == (
            "torch_dynamo_resume_in_forward_at_73", "___stack0 == 3.9214017391204834",
        )  # fmt: skip
        assert (evidence["dynamo_ps"], evidence["compile_ps"]) == (1_315_945_753_000, 684_221_865_000)
        assert not {"recompilation", "early_sync"} & {finding["id"] for finding in report["findings"]}
        assert first["step_if_fixed_ps"] < 15 * 10**9 < 340 * 10**9 < first["step_ps"]
