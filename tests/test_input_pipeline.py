"""Loading of batches: its kind, the waits of the driving thread, and the share that the device's work hides."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import Core, capture, real_trace, thread
from launching import Tpu, event
from loops import LAUNCH, STEP, findings, loop, us
from simulated import Simulation, simulate

from tb_xla_insights.analysis.delays.input_pipeline import find_input_pipeline, input_pipeline_report
from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.trace.model import Trace


def loading(duration: float, hidden: bool) -> Trace:
    """The loop, with a batch loaded in each step while the device works (`hidden`) or while it does not."""
    training = loop()
    for i in range(4):
        training.on_main("data_loading", i * STEP + (10 if hidden else LAUNCH - 10 - duration), duration)
    return training.trace()


def test_loading_while_the_device_works_is_hidden() -> None:
    """The first step's batch comes before the device's first run."""
    report = input_pipeline_report(loading(200, hidden=True))
    assert (report["kind"], report["batches"], report["verdict"]) == ("driving_thread", 4, "hidden")
    assert (us(report["wait_ps"]), us(report["idle_ps"])) == (800, 0)
    assert report["load_hidden"] == 3 / 4


def test_loading_while_the_device_idles_is_bound() -> None:
    report = input_pipeline_report(loading(200, hidden=False))
    assert report["verdict"] == "bound"
    assert (us(report["idle_ps"]), report["load_hidden"]) == (600, 0)
    assert report["share"] == pytest.approx(600 / 3500)
    assert input_pipeline_report(loading(60, hidden=False))["verdict"] == "partly_hidden"


def test_capture_without_a_loader() -> None:
    report = input_pipeline_report(loop().trace())
    assert (report["kind"], report["verdict"], report["load_hidden"]) == (None, "unknown", None)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cpu_loader.next", "mp_device_loader"),
        ("IteratorGetNext", "tf_data"),
        ("load_batch", "loader_threads"),
        ("$parallel_loader.py:34 next", "mp_device_loader"),
        ("$dataloader.py:708 __next__", "loader_threads"),
    ],
)
def test_loader_threads(name: str, kind: str) -> None:
    trace = capture(
        thread("python", ("Training_Step", 0, 100, {"_r": 1, "step_num": 5}), role="driving"),
        thread("python", (name, 10, 30), (name, 50, 20), role="loader"),
        Core([("fusion", 20, 40)], [("train(1)", 20, 40)]),
    )
    pipeline = find_input_pipeline(trace)
    assert pipeline.kind == kind
    # Loading lasts from 10 to 40 and from 50 to 70, the device works from 20 to 60.
    assert (pipeline.loading.total_ps, pipeline.load_hidden) == (50, 30 / 50)
    assert pipeline.waits.total_ps == 0


def test_a_data_loader_on_the_driving_thread_is_not_tf_data() -> None:
    """The Python tracer records the call of torch's DataLoader."""
    frame = ("$dataloader.py:708 __next__", 10, 30)
    trace = capture(thread("python", ("Training_Step", 0, 100, {"_r": 1}), frame, role="driving"))
    assert find_input_pipeline(trace).kind == "driving_thread"


def test_infeed_ops_wait_for_data() -> None:
    ops = [
        ("fusion.1", 0, 50_000_000),
        ("infeed.2", 50_000_000, 40_000_000),
        ("fusion.1", 90_000_000, 10_000_000),
    ]
    trace = capture(thread("python", ("forward", 0, 10)), Core(ops, [("train(1)", 0, 100_000_000)]))
    report = input_pipeline_report(trace)
    assert (report["kind"], report["infeed_ps"], report["verdict"]) == ("infeed", 40_000_000, "bound")
    assert findings(trace)["input_bound"].detail == "The device waits in infeed for 40.0\u202fµs."


def test_a_fix_of_loading_removes_the_waits_in_infeed() -> None:
    """In each step the device waits for 600 us in infeed, while the host waits for the run."""
    training = Tpu()
    for i in range(4):
        start = i * STEP
        training.step(start, STEP, 5 + i)
        training.launch(start + 2, (start + 10, 5), (start + 20, 970), by="marker")
        training.ops[0][-1:] = [
            event("fusion.1", start + 20, 100),
            event("infeed.1", start + 120, 600),
            event("fusion.1", start + 720, 270),
        ]
        training.on_main("PjRtFuture::Await", start + 12, 985)
    finding = findings(training.trace())["input_bound"]
    assert (finding.recurs, finding.severity) == ("every_step", "critical")
    assert us(finding.step_if_fixed_ps) == STEP - 600
    assert [(us(window.start_ps), us(window.end_ps)) for window in finding.windows] == [
        (i * STEP + 120, i * STEP + 720) for i in range(4)
    ]
    assert finding.detail == (
        "The device waits in infeed for 0.600\u202fms a step; at best a step's runs are 0.600\u202fms shorter too."
    )


def test_loading_without_idle_time_states_no_idle_time() -> None:
    """Loading while the device works delays the building of the graph after it."""

    def step(simulation: Simulation, number: int) -> None:
        simulation.host("forward", 20)
        simulation.host("load_batch", 200 * (number > 0))
        simulation.host("loss", 400)
        simulation.launch(300, marker=True)

    finding = findings(simulate(6, step)[0])["input_bound"]
    assert finding.detail.startswith(
        "No device idles while the host loads or waits for a batch (0.200\u202fms each); a fix gains nonetheless, as "
    )


def test_infeed_while_the_host_loads_counts_once() -> None:
    """The first infeed's run was launched before its gap began. The others end gaps that began before their launch, and
    in which 680 us are spent on batches."""
    training = Tpu()
    for i in range(4):
        start = i * STEP
        training.step(start, STEP, 5 + i)
        training.on_main("load_batch", start + 1, 400)
        training.launch(start + 402, (start + 410, 5), (start + 420, 500), by="marker")
        training.on_main("next_batch", start + 430, 280)
        training.ops[0][-1:] = [event("infeed.1", start + 420, 300), event("fusion.1", start + 720, 200)]
    trace = training.trace()
    idle = device_summaries(trace)[0]["idle_ps"]
    assert (us(idle), us(findings(trace)["input_bound"].cost_ps)) == (300 + 3 * 800, 300 + 3 * 680)


@pytest.mark.parametrize(
    ("folder", "kind", "verdict"),
    [
        ("torch_xla/tiny_slow_input", "driving_thread", "bound"),
        ("torch_xla/tiny_baseline", "driving_thread", "hidden"),
        ("torch_xla/tiny_mp_loader", "mp_device_loader", "hidden"),
        ("public/gpu_v100_tf", "tf_data", "hidden"),
        ("public/tpu_v6e_jax", None, "unknown"),
    ],
)
def test_pipelines_of_real_captures(shared_traces: Path, folder: str, kind: str | None, verdict: str) -> None:
    report = input_pipeline_report(real_trace(shared_traces / folder))
    assert (report["kind"], report["verdict"]) == (kind, verdict)
