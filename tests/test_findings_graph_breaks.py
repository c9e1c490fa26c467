"""The finding about graphs that torch.compile breaks."""

from __future__ import annotations

import pytest
from launching import Tpu
from loops import STEP, findings, loop

from tb_xla_insights.analysis.graph_break import GraphBreak
from tb_xla_insights.analysis.sidecar_contents import GraphBreaks, Sidecars
from tb_xla_insights.catalog.frames import Frame


def compiled(graphs: int) -> Tpu:
    """Steps of several dynamo graphs, each launched once."""
    tpu = Tpu()
    for i in range(3):
        tpu.step(i * STEP, STEP, 5 + i)
        for k in range(graphs):
            at = i * STEP + 50 + k * 200
            tpu.launch(at, (at + 6, 10), (at + 30, 40 + 20 * k), by="dynamo", program=f"graph{k}({k + 1})")
    return tpu


class TestGraphBreaks:
    def test_more_graphs_than_forward_and_backward_are_suspected(self) -> None:
        finding = findings(compiled(4).trace())["graph_breaks"]
        assert finding.evidence["suspected"]
        assert finding.evidence["graphs_per_step"] == 4
        # The two graphs with most device time are forward and backward; gaps before the other two count.
        assert finding.cost_ps == sum(window.end_ps - window.start_ps for window in finding.windows)
        assert len(finding.windows) == 3 + 2

    @pytest.mark.parametrize(
        ("programs", "executions"),
        [
            ("ffbb", 4),  # a break between two equal layers
            ("fbfb", None),  # two micro-batches
            ("ffbbffbb", 4),  # two micro-batches with a break each
            ("ffff", None),
        ],
    )
    def test_executions_are_counted_instead_of_programs(self, programs: str, executions: int | None) -> None:
        tpu = Tpu()
        for i in range(3):
            tpu.step(i * STEP, STEP, 5 + i)
            for k, program in enumerate(programs):
                at = i * STEP + 20 + k * 110
                tpu.launch(at, (at + 6, 10), (at + 30, 40), by="dynamo", program=f"{program}({ord(program)})")
        finding = findings(tpu.trace()).get("graph_breaks")
        assert (finding and finding.evidence["graphs_per_step"]) == executions
        if finding:
            extra = 3 * (len(programs) - 2 * len(programs) // 4)
            assert finding.detail.endswith(f" a step before the {extra} extra executions.")

    def test_reads_in_several_annotations_have_no_common_place(self) -> None:
        tpu = Tpu()
        for i in range(3):
            at = i * STEP
            tpu.step(at, STEP, 5 + i)
            for number, phase in enumerate(("forward", "loss")):
                start = at + 90 + number * 300
                tpu.on_main(phase, start, 240)
                tpu.launch(start + 5, (start + 10, 4), (start + 20, 60), by="dynamo", program="f(1)")
                tpu.launch(start + 95, (start + 100, 4), (start + 120, 20), program="value(2)")
                tpu.on_main("PjRtComputationClient::TransferFromDevice", start + 142, 10)
                tpu.launch(start + 200, (start + 205, 4), (start + 220, 40), by="dynamo", program="g(3)")
            tpu.launch(at + 700, (at + 705, 4), (at + 720, 90), by="dynamo", program="b(4)")
        detail = findings(tpu.trace())["graph_breaks"].detail
        assert detail.endswith("; a value is read before 6 of them.")

    @pytest.mark.parametrize(
        ("steps", "executions", "read_executions"),
        [(3, "3 extra executions", "3 of them"), (1, "extra execution", "it")],
    )
    def test_a_read_between_two_executions_is_reported_with_its_place(
        self, steps: int, executions: str, read_executions: str
    ) -> None:
        """The second of three graphs follows a read: the gap before it is the early execution's."""
        tpu = Tpu()
        for i in range(steps):
            at = i * STEP
            tpu.step(at, STEP, 5 + i)
            tpu.on_main("forward", at + 90, 400)
            tpu.launch(at + 100, (at + 105, 4), (at + 120, 60), by="dynamo", program="f(1)")
            tpu.launch(at + 190, (at + 200, 10), (at + 220, 20), program="value(2)")
            tpu.on_main("PjRtComputationClient::TransferFromDevice", at + 242, 10)
            tpu.launch(at + 400, (at + 405, 4), (at + 420, 60), by="dynamo", program="f(1)")
            tpu.launch(at + 600, (at + 605, 4), (at + 620, 90), by="dynamo", program="b(3)")
        by_id = findings(tpu.trace())
        assert by_id["early_sync"].cost_ps > 0
        broken = by_id["graph_breaks"]
        assert (broken.evidence["graphs_per_step"], broken.cost_ps, broken.recurs) == (3, 0, "every_step")
        assert broken.detail.endswith(
            f" Idle time before the {executions}, if any, counts with other findings;"
            f" a value is read before {read_executions} in Training_Step/forward."
        )

    def test_two_graphs_are_usual(self) -> None:
        assert "graph_breaks" not in findings(compiled(2).trace())

    def test_dynamos_explanation_decides(self) -> None:
        no_breaks = Sidecars(breaks=GraphBreaks("dynamo_explain.txt", 1, 0))
        assert "graph_breaks" not in findings(compiled(4).trace(), no_breaks)
        reason = GraphBreak("Tensor.item()", Frame("forward", "train.py", 9))
        finding = findings(compiled(2).trace(), Sidecars(breaks=GraphBreaks("d.txt", 2, 1, [reason])))[
            "graph_breaks"
        ]
        assert finding.title == "torch.compile breaks the graph once"
        assert finding.detail.endswith(
            " torch.compile runs no more than two graphs in a step of the capture."
        )
        assert "train.py:9" in finding.advice
        lazy = findings(loop().trace(), Sidecars(breaks=GraphBreaks("d.txt", 2, 1, [reason])))["graph_breaks"]
        assert lazy.detail.endswith(" torch.compile runs no graph in a step of the capture.")
        assert finding.step_if_fixed_ps is None

    def test_reason_and_place_are_those_of_one_break(self) -> None:
        reasons = [
            GraphBreak("generic_jump"),
            GraphBreak("call_function print", Frame("forward", "train.py", 22)),
        ]
        sidecars = Sidecars(breaks=GraphBreaks("d.txt", 3, 2, reasons))
        detail = findings(compiled(2).trace(), sidecars)["graph_breaks"].detail
        assert detail.startswith(
            "d.txt counts 2 breaks and 3 graphs: call_function print at train.py:22 in forward. "
        )
