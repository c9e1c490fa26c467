"""The finding that the device waits while the host builds graphs, runs Python or records nothing: its times and
phases."""

from __future__ import annotations

import re

from launching import US, Tpu
from loops import LAUNCH, STEP, findings, loop
from simulated import Simulation

from tb_xla_insights.analysis.launches.step_times import find_steps


def test_tracing_in_a_call_that_compiles_in_the_warm_up_is_no_limit() -> None:
    """JAX traces for 300 us and compiles for 100 us in step 1, while the device is idle. As a compilation after the
    warm-up, this is another finding's time."""
    first_calls, later_calls = loop(device=50, first=0), loop(device=50, first=5)
    for tpu in (first_calls, later_calls):
        tpu.on_main("PjitFunction(f)", STEP + 270, 400)
        tpu.on_main("trace_to_jaxpr", STEP + 270, 300)
        tpu.on_main("backend_compile", STEP + 570, 100)
    warm_up, later = findings(first_calls.trace()), findings(later_calls.trace())
    assert "recompilation" in later.keys() - warm_up.keys()
    assert warm_up["tracing_bound"].cost_ps == later["tracing_bound"].cost_ps
    fixed = warm_up["tracing_bound"].step_if_fixed_ps
    assert fixed is not None
    assert 4 * fixed >= (400 + 3 * 50) * US


def test_the_time_of_a_phase_is_that_of_whole_steps() -> None:
    """Of the last six steps no work was recorded."""
    simulation = Simulation()
    for number in range(12):
        with simulation.step(number):
            simulation.host("forward", 400)
            simulation.launch(300, marker=True)
        simulation.now += 200
    del simulation.tpu.runs[0][6:], simulation.tpu.ops[0][6:]
    trace = simulation.tpu.trace()
    assert len(find_steps(trace)) == 6
    assert findings(trace)["tracing_bound"].detail.endswith(
        " Building takes 0.400\u202fms a step in forward."
    )


def test_without_steps_the_time_of_an_annotation_is_its_total_in_the_gaps() -> None:
    """The first `forward` is before the device's first run, so in no gap."""
    tpu = Tpu()
    for at in (0, 1000, 2000):
        tpu.on_main("forward", at + 300, 300)
        tpu.launch(at + LAUNCH, (at + LAUNCH + 10, 20), (at + LAUNCH + 50, 500), program=f"once{at}")
    trace = tpu.trace()
    assert not find_steps(trace)
    finding = findings(trace)["tracing_bound"]
    assert finding.detail.endswith(" Building takes 0.600\u202fms in forward.")


def test_compiled_phases_get_no_advice_to_compile() -> None:
    tpu = loop()
    for i in range(4):
        tpu.on_main("forward", i * STEP + 300, 380)
    assert "Build less in forward (torch.compile," in findings(tpu.trace())["tracing_bound"].advice
    for i in range(4):
        tpu.launch(
            i * STEP + 400, (i * STEP + 405, 10), (i * STEP + 420, 10), by="dynamo", program="graph(9)"
        )
    assert "the graphs of torch.compile in forward" in findings(tpu.trace())["host_code"].advice


def test_python_and_building_are_two_findings_with_their_phases() -> None:
    """Each gap of 500 us has both; Python runs inside the graphs of torch.compile."""
    tpu = loop()
    for i in range(4):
        tpu.on_main("forward", i * STEP + 270, 300)
        tpu.launch(i * STEP + 560, (i * STEP + 570, 4), (i * STEP + 572, 3), by="dynamo")
        tpu.on_main("loss", i * STEP + 580, 100)
    found = findings(tpu.trace())
    assert found["tracing_bound"].title == "The device waits while the host builds the graph"
    assert re.search(r"Building takes \S+\sms a step in loss\b", found["tracing_bound"].detail)
    assert found["host_code"].title == "The device waits while the script runs forward"
    assert "forward has " in found["host_code"].detail


def test_an_annotation_between_steps_is_named_with_its_time_in_the_gaps() -> None:
    """It is inside `epoch`, which contains steps and is therefore not named. The device works during the first 300 us
    of `evaluate`. Where steps are annotated, nothing shows that the script builds graphs beside them."""
    tpu = Tpu()
    for i, at in enumerate((0, STEP, 4 * STEP, 5 * STEP)):
        tpu.step(at, STEP, 5 + i)
        tpu.launch(at + LAUNCH, (at + LAUNCH + 10, 20), (at + LAUNCH + 50, 550), by="marker")
    tpu.on_main("evaluate", 2 * STEP, 950)
    tpu.on_main("epoch", 0, 6 * STEP)
    finding = findings(tpu.trace())["host_code"]
    assert {"name": "evaluate", "host_ps": 650 * US} in finding.evidence["annotations"]
