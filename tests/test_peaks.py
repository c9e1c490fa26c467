"""Peaks of devices: from the capture, from the table of known devices, or from the user; and the bounds that follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from captures import Core, capture
from captures import session as session_of
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from tb_xla_insights.cli.main import main
from tb_xla_insights.device_work import session_work
from tb_xla_insights.device_work.device_view import device_view
from tb_xla_insights.device_work.peaks import peaks_of
from tb_xla_insights.device_work.roofline import Roof, bound_of
from tb_xla_insights.errors import InputError

MI300X = {
    "device_vendor": "AMD", "core_count": 304, "memory_size": 206_141_652_992, "compute_cap_major": 9,
    "compute_cap_minor": 4,
}  # fmt: skip
MI355X = MI300X | {
    "core_count": 256, "memory_size": 309_220_868_096, "clock_rate": 2_400_000, "compute_cap_minor": 5,
}  # fmt: skip
H100 = {
    "device_vendor": "Nvidia", "gpu_device_name": "NVIDIA H100 80GB HBM3", "core_count": 132,
    "memory_size": 84_944_093_184, "memory_bandwidth": 3_352_320_000_000, "compute_cap_major": 9,
    "compute_cap_minor": 0,
}  # fmt: skip
RECORDED_PEAKS = {"peak_teraflops_per_second": 459.0, "peak_hbm_bw_gigabytes_per_second": 2765.0}


@pytest.mark.parametrize(
    ("name", "stats", "expected"),
    [
        ("TPU:0", RECORDED_PEAKS | {"device_type_string": "TPU v5"}, ("TPU v5", 459e12, 2765e9, "capture")),
        ("TPU:0", {"device_type_string": "TPU v4"}, ("TPU v4", 275e12, 1228e9, "table")),
        ("TPU:0", {"device_type_string": "TPU v99"}, ("TPU v99", None, None, None)),
        ("GPU:0", MI300X, ("AMD Instinct MI300X", 1307.4e12, 5300e9, "table")),
        ("GPU:0", MI300X | {"core_count": 303}, ("GPU", None, None, None)),
        ("GPU:0", MI355X, ("AMD Instinct MI355X", 2516.6e12, 8000e9, "table")),
        ("GPU:0", H100, ("NVIDIA H100 80GB HBM3", 989e12, 3_352_320_000_000.0, "table")),
        ("GPU:0", H100 | {"memory_size": 10**11}, ("NVIDIA H100 80GB HBM3", None, None, None)),
        # Without the memory or the clock, one of two models.
        ("GPU:0", H100 | {"memory_size": 0}, ("NVIDIA H100 80GB HBM3", None, None, None)),
        ("GPU:0", MI355X | {"clock_rate": 0}, ("GPU", None, None, None)),
    ],
)
def test_peaks_come_from_the_capture_or_the_table(
    name: str, stats: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    line = "Stream #1(Kernel)" if name.startswith("GPU") else "XLA Ops"
    trace = capture(Core(name=name, stats=stats, lines={line: [("dot", 0, 5)]}))
    (peaks,) = peaks_of(trace, [0])
    assert (peaks["kind"], peaks["flops_per_s"], peaks["bytes_per_s"], peaks["source"]) == expected
    assert (peaks["cite"] is not None) == (peaks["source"] == "table")


def test_a_device_keeps_its_peaks_beside_one_of_another_kind() -> None:
    lines = {"XLA Ops": [("dot", 0, 5)]}
    cores = [
        Core(name=f"TPU:{number}", stats={"device_type_string": name}, lines=lines)
        for number, name in enumerate(("TPU v4", "TPU v99"))
    ]
    trace = capture(*cores)
    of_link = device_view(session_of(trace), "0.0")["peaks"]
    of_report = session_work(session_of(trace), device=trace.devices[0].id)["device_work"]["peaks"]
    for peaks in (of_link, of_report):
        assert (peaks["flops_per_s"], [row["kind"] for row in peaks["devices"]]) == (275e12, ["TPU v4"])
    assert device_view(session_of(trace), "all")["peaks"]["flops_per_s"] is None


DEMO = Path(__file__).parents[1] / "demo_logs" / "synthetic_case_study_8_tpu_cores"


def test_peaks_on_the_command_line_are_used_and_times_still_add_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["report", str(DEMO), "--json", "--peaks", "1e15,2e12"]) == 0
    document = json.loads(capsys.readouterr().out)
    peaks = document["device_work"]["peaks"]
    assert (peaks["flops_per_s"], peaks["bytes_per_s"], peaks["source"]) == (1e15, 2e12, "user")
    assert sum(row["self_ps"] for row in document["ops"]) == document["propagation"]["device_ps"]
    device_ps = {row["path"]: row["device_ps"] for row in document["annotations"] if row["device_ps"]}
    self_ps = {row["path"]: row["self_ps"] for row in document["device_work"]["annotations"] if row["path"]}
    assert self_ps == device_ps


@pytest.mark.parametrize(
    "text", ["abc", "1e12", "1e12,0", "1e12,inf", "1,2,3", "1e-300,1e9", "1e12,1e300", "918,1638"]
)
def test_invalid_peaks_on_the_command_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["report", str(DEMO), "--peaks", text])
    assert f"{text!r} is not FLOP/s,bytes/s" in capsys.readouterr().err


@pytest.fixture(scope="module")
def session() -> xi.Session:
    return xi.load(str(LOGDIR / "torch_xla_baseline"))


@pytest.mark.parametrize(
    "peaks",
    [
        (0, 1),
        (1e9, -1.0),
        (1e9, float("inf")),
        (float("nan"), 1e9),
        (1e9,),
        ("a", 1e9),
        918e12,
        "1,2",
        (1e-300, 1e9),
        (1e9, 1e300),
    ],
    ids=str,
)
def test_invalid_peaks_of_a_user(peaks: Any, session: xi.Session) -> None:
    for method in (session.report, session.device_work):
        with pytest.raises(
            InputError, match=r"two numbers from 1e\+06 to 1e\+24, such as \(918e12, 1638e9\)$"
        ) as error:
            method(peaks=peaks)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("flops", "hbm_bytes", "bound"),
    [
        (50, 0, "compute"), (49, 49, "neither"), (49, 50, "memory"), (60, 80, "memory"), (80, 60, "compute"),
        (None, 80, "memory"), (None, 10, "unknown"), (90, None, "compute"), (10, None, "unknown"),
        (None, None, "unknown"),
    ],
)  # fmt: skip
def test_an_op_that_reaches_half_of_a_roof_is_bound_by_the_nearer_one(
    flops: int | None, hbm_bytes: int | None, bound: str
) -> None:
    row = {"kind": "work", "self_ps": 10**12, "flops": flops, "hbm_bytes": hbm_bytes}
    assert bound_of(row, Roof(100.0, 100.0)) == bound
