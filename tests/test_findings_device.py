"""Findings about the device: waits for other engines, and the device as the bottleneck."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import Core, capture, real_trace, thread
from launching import US, event
from loops import findings, loop, us

from tb_xla_insights.trace.model import Trace


def core(*ops: tuple[str, float, float], name: str = "TPU:0") -> Core:
    """A core that runs one program from 0 to 1000 us with these ops."""
    return Core([event(*op) for op in ops], [event("train(7)", 0, 1000)], name)


LOST = "annotations_not_propagated"
"""A finding that these captures have too, as their ops carry no scopes."""


def step_on(*cores: Core) -> Trace:
    return capture(thread("python", ("Training_Step", 0, 1000 * US, {"_r": 1, "step_num": 5})), *cores)


@pytest.mark.parametrize(
    ("wait", "severity"), [(20, None), (40, "info"), (150, "warning"), (400, "critical")]
)
def test_busy_time_in_which_ops_only_wait(wait: float, severity: str | None) -> None:
    finding = findings(step_on(core(("fusion.1", 0, 1000 - wait), ("copy-done.3", 1000 - wait, wait)))).get(
        "device_waits"
    )
    assert (finding and finding.severity) == severity
    if finding:
        assert us(finding.cost_ps) == wait
        assert finding.evidence["ops"] == [{"op": "copy.3", "duration_ps": wait * US}]
        assert finding.title == "The device waits for copy.3"


@pytest.mark.parametrize("op", ["copy-done.2", "all-reduce.2"])
def test_time_that_is_lost_in_one_step_does_not_recur(op: str) -> None:
    tpu = loop()
    _, start, _, _ = tpu.ops[0][-1]
    tpu.ops[0][-1:] = [event("fusion.1", start / US, 100), event(op, start / US + 100, 400)]
    finding = findings(tpu.trace())["device_waits"]
    assert finding.recurs == "once"
    assert " 0.400\u202fms" in finding.detail
    assert " a step" not in finding.detail


@pytest.mark.parametrize("op", ["copy-done.2", "all-reduce.2"])
def test_time_outside_of_runs_is_stated(op: str) -> None:
    """The devices record ops and no runs."""
    ops = [event(op, start, 200) for start in (0, 1000)]
    steps = [("Training_Step", i * 1000 * US, 1000 * US, {"_r": 1, "step_num": 5 + i}) for i in range(2)]
    finding = findings(capture(thread("python", *steps), Core(ops)))["device_waits"]
    assert us(finding.cost_ps) == 400
    assert " 0.200\u202fms a step" in finding.detail


def test_the_finding_is_about_the_engine_that_takes_longest_and_mentions_others() -> None:
    """200 us for copies, 190 and 110 for other devices."""
    ops = (("copy-done.1", 500, 200), ("all-reduce-done.2", 700, 190), ("send-done.3", 890, 110))
    finding = findings(step_on(core(("fusion.1", 0, 500), *ops)))["device_waits"]
    assert us(finding.cost_ps) == 300
    assert finding.evidence["by_engine_ps"] == {"interconnect": 300 * US, "other": 200 * US}
    assert finding.title == "Time in all-reduce and send without computing"
    assert finding.detail == (
        "The device waits 0.300\u202fms a step in collectives, 30.0\u202f% of its busy time (and 20.0\u202f% in "
        "asynchronous ops), above all in all-reduce and send."
    )


def test_copies_from_and_to_the_hosts_memory_are_told_as_such() -> None:
    text = "%copy-done.1 = f32[4]{0} copy-done((f32[4]{0}, f32[4]{0:S(5)}, u32[]) %copy-start.1)"
    finding = findings(step_on(core(("fusion.1", 0, 500), (text, 500, 500))))["device_waits"]
    assert finding.title == "The device waits for copies between device and host memory"
    assert finding.advice.startswith("Move less between host and device memory")


@pytest.mark.parametrize(("time", "severity"), [(20, None), (150, "warning"), (400, "critical")])
def test_exposed_collectives(time: float, severity: str | None) -> None:
    by_id = findings(step_on(core(("fusion.1", 0, 1000 - time), ("all-reduce.3", 1000 - time, time))))
    exposed = by_id.get("device_waits")
    assert (exposed and exposed.severity) == severity
    if exposed:
        assert us(exposed.cost_ps) == time
        assert exposed.evidence["ops"] == [{"op": "all-reduce", "duration_ps": time * US}]
        assert [window.device for window in exposed.windows] == ["vm/TPU:0"]


@pytest.mark.parametrize(
    ("collective", "name"),
    [
        (("all-gather.2", 900, 100), "all-reduce and all-gather"),
        (("all-gather.2", 991, 9), "all-reduce"),
        (("collective-permute.2", 900, 100), "all-reduce and collective-permute"),
    ],
)
def test_all_kinds_of_collectives_that_have_a_share_are_named(
    collective: tuple[str, float, float], name: str
) -> None:
    finding = findings(step_on(core(("fusion.1", 0, 500), ("all-reduce.3", 500, 400), collective)))[
        "device_waits"
    ]
    assert finding.brief == f"time in {name} without computing"
    assert finding.title == f"Time in {name} without computing"
    assert finding.advice.startswith(f"Overlap {name} with computation (")


def test_more_kinds_than_a_title_holds_are_collectives() -> None:
    ops = [
        (f"{kind}.{number}", number * 100, 100)
        for number, kind in enumerate(("all-reduce", "all-gather", "all-to-all", "collective-permute"))
    ]
    finding = findings(step_on(core(*ops, ("fusion.1", 400, 600))))["device_waits"]
    assert finding.title == "Time in collectives without computing"


@pytest.mark.parametrize(
    ("name", "flags"), [("TPU:0", "--xla_tpu_"), ("GPU:0", "--xla_gpu_"), ("OTHER:0", "scheduler, ")]
)
def test_advice_on_collectives_names_the_flags_of_the_device(name: str, flags: str) -> None:
    by_id = findings(step_on(core(("fusion.1", 0, 500), ("all-reduce.3", 500, 500), name=name)))
    assert flags in by_id["device_waits"].advice


def test_partly_hidden_collectives_are_reported_as_such() -> None:
    sequential = findings(step_on(core(("fusion.1", 0, 500), ("all-reduce.3", 500, 500))))["device_waits"]
    assert sequential.detail == (
        "The device waits 0.500\u202fms a step in collectives, 50.0\u202f% of its busy time, above all in all-reduce."
    )
    streams = {
        "Stream #1(Kernel)": [event("gemm", 0, 300)],
        "Stream #2(Kernel)": [event("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 100, 500)],
    }
    finding = findings(step_on(Core(name="GPU:0", lines=streams)))["device_waits"]
    assert us(finding.cost_ps) == 300


def test_what_hides_an_asynchronous_collective_before_its_done_op_is_not_denied() -> None:
    ops = [
        ("all-gather-start.1", 0, 1),
        ("fusion.1", 1, 499),
        ("all-gather-done.1", 500, 300),
        ("fusion.2", 800, 200),
    ]
    finding = findings(step_on(core(*ops)))["device_waits"]
    assert finding.title == "Time in all-gather without computing"
    assert finding.detail.startswith("The device waits 0.30")


def test_a_collective_on_one_stream_is_hidden_by_kernels_on_another() -> None:
    streams = {
        "Stream #1(Kernel)": [event("gemm", 0, 1000)],
        "Stream #2(Kernel)": [event("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 100, 500)],
    }
    assert "device_waits" not in findings(step_on(Core(name="GPU:0", lines=streams)))
    streams["Stream #1(Kernel)"] = [event("gemm", 0, 300)]
    finding = findings(step_on(Core(name="GPU:0", lines=streams)))["device_waits"]
    assert us(finding.cost_ps) == 300


class TestDeviceBound:
    def test_a_device_that_hardly_idles_is_the_bottleneck(self) -> None:
        by_id = findings(loop(device=980).trace())
        assert set(by_id) == {"device_bound", LOST}
        assert (by_id["device_bound"].severity, by_id["device_bound"].cost_ps) == ("info", 0)
        assert by_id["device_bound"].step_if_fixed_ps is None

    def test_a_device_that_idles_for_a_fifth_of_its_span_is_not_the_bottleneck(self) -> None:
        assert "device_bound" not in findings(loop(device=800).trace())

    def test_a_stall_in_an_exposed_collective_counts_once(self) -> None:
        tpu = loop(device=980)
        tpu.ops[0] = [
            op
            for _, start, duration, _ in tpu.runs[0]
            for op in (
                ("fusion.1", start, duration - 80 * US),
                ("all-reduce-done.2", start + duration - 80 * US, 80 * US),
            )
        ]
        bound = findings(tpu.trace())["device_bound"]
        span_us = 3 * 1000 + 980
        assert bound.evidence["computing_share"] == pytest.approx(4 * 900 / span_us)

    def test_a_device_that_only_waits_is_not_the_bottleneck(self) -> None:
        assert "device_bound" not in findings(step_on(core(("copy-done.1", 0, 900), ("fusion.1", 900, 100))))

    def test_without_known_launches_the_device_is_not_called_the_bottleneck(self) -> None:
        runs = [event("train(7)", 0, 500), event("train(7)", 500, 500)]
        ops = [event("fusion.1", 0, 500), event("fusion.1", 500, 500)]
        assert "device_bound" not in findings(capture(Core(ops, runs)))
        assert "device_bound" not in findings(capture(Core([event("fusion.1", 0, 0.001)])))

    def test_without_ops_the_device_is_not_called_the_bottleneck(self) -> None:
        tpu = loop(device=980)
        tpu.ops[0].clear()
        assert "device_bound" not in findings(tpu.trace())

    def test_one_run_is_not_enough_for_device_bound(self) -> None:
        assert set(findings(step_on(core(("fusion.1", 0, 1000))))) == {LOST}


def test_findings_of_real_captures(shared_traces: Path) -> None:
    v6e = findings(real_trace(shared_traces / "public/tpu_v6e_jax"))
    assert v6e["device_waits"].severity == "critical"
    assert v6e["device_waits"].evidence["share_of_busy"] > 0.9
    assert "device_bound" not in v6e
    spmd = findings(real_trace(shared_traces / "torch_xla/spmd_fsdp_debug"))["device_waits"]
    assert {row["op"] for row in spmd.evidence["ops"]} == {"all-reduce", "all-gather"}
    assert "--xla_" not in spmd.advice, "CPU devices: there is nothing to overlap"
    pmap = findings(real_trace(shared_traces / "other/jax0.7.2_pmap"))["device_waits"]
    assert pmap.title == "Time in all-reduce and all-gather without computing"
    dynamo = findings(real_trace(shared_traces / "torch_xla/dynamo_train_session"))
    assert "device_bound" in dynamo
