"""What a report promises whatever was recorded: its sums add up."""

from __future__ import annotations

from typing import Any

_SHORTEST_GAP_PS = 10_000_000


def check_sums(report: Any) -> None:
    """Fails where parts of a report do not add up to the whole, or a time is none."""
    devices, gaps, propagation = report["devices"], report["gaps"], report["propagation"]
    for device in devices:
        assert device["busy_ps"] + device["idle_ps"] == device["span_ps"]
        assert 0 <= device["stall_ps"] <= device["busy_ps"] <= device["span_ps"]
    assert gaps["total_ps"] == sum(device["idle_ps"] for device in devices)
    assert gaps["listed_ps"] == sum(gap["duration_ps"] for gap in gaps["items"])
    assert gaps["listed_ps"] == sum(gaps["by_class_ps"].values())
    assert gaps["listed_ps"] == sum(pattern["total_ps"] for pattern in gaps["patterns"])
    for gap in gaps["items"]:
        assert sum(gap["by_class_ps"].values()) == gap["duration_ps"] >= _SHORTEST_GAP_PS
        at = gap["start_ps"]
        for link in gap["chain"]:
            assert link["start_ps"] == at
            assert link["duration_ps"] > 0
            at += link["duration_ps"]
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
    steps = {
        step["host"]: [item for item in report["steps"] if item["host"] == step["host"]]
        for step in report["steps"]
    }
    # Where the host only hands steps over, they last as long as its devices work: within their spans.
    spans = {
        host: max(item["span_ps"] for item in report["devices"] if item["host"] == host)
        for host in {item["host"] for item in report["devices"]}
    }
    longest = max(
        (
            max(sum(item["duration_ps"] for item in rows_of_host), spans.get(host, 0)) / len(rows_of_host)
            for host, rows_of_host in steps.items()
        ),
        default=0,
    )
    for finding in report["findings"]:
        assert finding["cost_ps"] >= 0
        least, most = finding["step_if_fixed_ps"], finding["step_if_fixed_at_worst_ps"]
        assert (least is None) == (most is None)
        assert 0 <= (least or 0) <= (most or 0) <= longest + 1
        assert (finding["gain_at_worst"] is None) == (least is None)
        assert 0 <= (finding["gain_at_worst"] or 0) <= max(finding["gain"] or 0, 0)
    # These are about busy time, and about waits of hosts for each other; the others each claim idle time.
    apart = ("device_stalls", "exposed_collectives", "host_callback", "straggler")
    assert sum(item["cost_ps"] for item in report["findings"] if item["id"] not in apart) <= gaps["total_ps"]
