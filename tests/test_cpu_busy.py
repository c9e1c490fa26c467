"""Busy time of virtual cores, compared with a second derivation from the events of threads."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import real_trace
from cpu_ops import read

from tb_xla_insights.analysis.idle.busy import busy
from tb_xla_insights.analysis.idle.idle_time import MIN_GAP_PS


@pytest.mark.parametrize(
    ("capture_name", "late_ends"),
    [
        ("dynamo_full_step", 15),
        ("dynamo_train_session", 15),
        ("lazy_train_session", 6),
        ("tiny_early_item", 2),
    ],
)
def test_busy_is_the_union_of_ops_that_end_with_their_run_at_the_latest(
    shared_traces: Path, capture_name: str, late_ends: int
) -> None:
    """No op begins after its run is complete. Some `end:` events are recorded late, while the next programs run,
    because their thread waits for a processor."""
    folder = shared_traces / "torch_xla" / capture_name
    recorded = read(folder)
    spans = list(recorded.spans())
    assert all(start <= complete for start, _, complete in spans)
    assert sum(end > complete for _, end, complete in spans) == late_ends
    union = recorded.union()
    trace = real_trace(folder)
    (device,) = trace.devices
    intervals = busy(trace, device)
    assert [
        list(column) for column in zip(intervals.start_ps.tolist(), intervals.end_ps.tolist(), strict=True)
    ] == union


def test_listed_idle_time_of_a_host_that_runs_ahead(shared_traces: Path) -> None:
    """If runs ended with their threads' regions, part of it would count as busy: late `end:` events are in the gaps and
    in the next runs."""
    trace = real_trace(shared_traces / "torch_xla" / "dynamo_full_step")
    (device,) = trace.devices
    intervals = busy(trace, device)
    between = intervals.start_ps[1:] - intervals.end_ps[:-1]
    listed = between[between >= MIN_GAP_PS]
    assert (len(listed), listed.sum()) == (83, 16_523_516_000)
    starts, ends = device.runs.start_ps.tolist(), device.runs.end_ps.tolist()
    assert all(end <= start for end, start in zip(ends[:-1], starts[1:], strict=True)), "runs do not overlap"
    # The device's span begins with its first run, which takes 54 us to its first op.
    assert intervals.start_ps[0] - starts[0] == 54_141_000
