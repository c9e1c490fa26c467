"""Where the time of findings is: inside the steps' annotations, between them, or outside of the loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captures import real_trace
from loops import findings
from simulated import STEPS, Simulation

import tb_xla_insights as xi
from tb_xla_insights.analysis.findings import find_findings


def loading_loop(inside: int, between: int, before: int = 0) -> Simulation:
    """The host loads inside each annotation and after it, and for `before` between two runs before the first step."""
    simulation = Simulation()
    if before:
        simulation.launch(50, program="warm_up(9)")
        simulation.host("next_batch", before)
        simulation.launch(50, program="warm_up(9)")
    for number in range(STEPS):
        with simulation.step(number):
            simulation.host("next_batch", inside)
            simulation.host("forward", 50)
            simulation.launch(100, marker=True)
        simulation.host("next_batch", between)
    return simulation


@pytest.mark.parametrize(
    ("times", "place"),
    [
        ((2000, 300, 0), "in_step"),
        ((300, 2000, 0), "between_steps"),
        ((300, 2000, 90_000), "outside"),
    ],
)
def test_place_of_idle_time(times: tuple[int, int, int], place: str) -> None:
    """Where the host did, in the device's idle time, what the finding is about."""
    assert findings(loading_loop(*times).tpu.trace())["input_bound"].where == place


def test_place_of_findings_without_idle_time() -> None:
    """Its windows decide. A finding that costs no time has no place."""
    simulation = Simulation()
    for number in range(STEPS):
        with simulation.step(number):
            simulation.host("forward", 250)
            simulation.launch(500, marker=True)
        simulation.wait("PjRtComputationClient::TransferFromDevice", delay_us=0)
    by_id = findings(simulation.tpu.trace())
    assert by_id["sync_every_step"].where == "between_steps"


def test_steps_without_annotations_have_no_time_between_them(shared_traces: Path) -> None:
    trace = real_trace(shared_traces / "public/tpu_v6e_jax")
    assert {finding.where for finding in find_findings(trace)} <= {"in_step", "outside", None}


def test_a_real_loader_between_the_annotations(shared_traces: Path) -> None:
    report: Any = xi.load(str(shared_traces / "other/jax0.10.2_loader_between_steps")).report()
    places = {finding["id"]: (finding["where"], finding["gain"]) for finding in report["findings"]}
    assert max(places.values(), key=lambda place: place[1] or 0.0)[0] == "between_steps"
    assert places["sync_every_step"][0] == "in_step"
    step = report["findings"][0]["step_ps"]
    loop = (
        report["steps"][-1]["start_ps"] + report["steps"][-1]["duration_ps"] - report["steps"][0]["start_ps"]
    )
    assert step == loop // len(report["steps"])
