"""The sums that add up in every report."""

from __future__ import annotations

from typing import Any

_MIN_GAP_PS = 10_000_000


def check_sums(report: Any) -> None:
    """Fails if parts of a report do not add up to the whole, or a time is negative."""
    devices, gaps, propagation = report["devices"], report["gaps"], report["propagation"]
    for device in devices:
        assert device["busy_ps"] + device["idle_ps"] == device["span_ps"]
        assert 0 <= device["stall_ps"] <= device["busy_ps"] <= device["span_ps"]
    assert gaps["total_ps"] == sum(device["idle_ps"] for device in devices)
    assert gaps["listed_ps"] == sum(gap["duration_ps"] for gap in gaps["items"])
    assert gaps["listed_ps"] == sum(gaps["by_class_ps"].values())
    assert gaps["listed_ps"] == sum(pattern["total_ps"] for pattern in gaps["patterns"])
    for gap in gaps["items"]:
        assert sum(gap["by_class_ps"].values()) == gap["duration_ps"] >= _MIN_GAP_PS
        at = gap["start_ps"]
        for piece in gap["chain"]:
            assert piece["start_ps"] == at
            assert piece["duration_ps"] > 0
            at += piece["duration_ps"]
        assert at == gap["start_ps"] + gap["duration_ps"]
        assert gap["kind"] != "queued" or gap["cause"] == "wait"
    for row in report["executions"]:
        parts = [row["device_ps"], row["queue_ps"], row["overhead_ps"]]
        assert sum(parts) == row["host_ps"]
        assert min(parts) >= 0
    for step in report["steps"]:
        assert sum(step["host_ps"].values()) == step["duration_ps"]
        assert min(step["host_ps"].values(), default=0) >= 0
    kinds = ("direct_ps", "recovered_ps", "bare_ps", "none_ps")
    assert sum(propagation[kind] for kind in kinds) == propagation["device_ps"]
    durations_ps: dict[int, list[int]] = {}
    for step in report["steps"]:
        durations_ps.setdefault(step["host"], []).append(step["duration_ps"])
    # Where the host only hands steps over, they last as long as its devices work: within their spans.
    spans = {
        host: max(device["span_ps"] for device in devices if device["host"] == host)
        for host in {device["host"] for device in devices}
    }
    max_mean_step_ps = max(
        (
            max(sum(durations), spans.get(host, 0)) / len(durations)
            for host, durations in durations_ps.items()
        ),
        default=0,
    )
    for finding in report["findings"]:
        assert finding["cost_ps"] >= 0
        best, worst = finding["step_if_fixed_ps"], finding["step_if_fixed_at_worst_ps"]
        assert (best is None) == (worst is None)
        assert 0 <= (best or 0) <= (worst or 0) <= max_mean_step_ps + 1
        assert (finding["gain_at_worst"] is None) == (best is None)
        assert 0 <= (finding["gain_at_worst"] or 0) <= max(finding["gain"] or 0, 0)
    # These are about busy time or about hosts that wait for each other; each other finding claims idle time.
    not_about_idle_time = (
        "below_roofline", "device_copies", "device_waits", "host_callback", "straggler",
    )  # fmt: skip
    assert (
        sum(finding["cost_ps"] for finding in report["findings"] if finding["id"] not in not_about_idle_time)
        <= gaps["total_ps"]
    )
