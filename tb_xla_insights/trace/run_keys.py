"""The execute call and the core of a CPU's ops. From JAX 0.7 on, every op, and the event that ends a run, carry the
`run_id` of their execute call and the `device_ordinal` of their core."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.regions import Regions

UNKNOWN = -1
"""The placeholder for a core that is not recorded."""


@dataclass(frozen=True)
class RunKeys:
    """Per op: the region whose run it belongs to (-1: none), and its core (UNKNOWN: not recorded). Per region: its core
    (UNKNOWN: not recorded), and the id of its execute call (0: not recorded)."""

    run_of_op: Int32
    core_of_op: Int64
    core_of_region: Int64
    run_id_of_region: Int64


def find_run_keys(trace: Trace, ops: Int32, regions: Regions, run: Int32) -> RunKeys:
    """The keys (execute call and core) of ops and of regions. An op that no flow ties to a run (`run` is -1) belongs to
    the run with the same key, the last of several."""
    core_of_region = np.full(len(regions.row), UNKNOWN, np.int64)
    run_id = np.zeros(len(regions.row), np.int64)
    core = stat_at(trace, "device_ordinal", ops, UNKNOWN)
    if not (core != UNKNOWN).any() or "run_id" not in trace.stats:
        return RunKeys(run, core, core_of_region, run_id)
    ids = stat_at(trace, "run_id", ops, 0)
    ops_with_run = np.flatnonzero(run >= 0)
    core_of_region[run[ops_with_run]], run_id[run[ops_with_run]] = core[ops_with_run], ids[ops_with_run]
    ends = np.setdiff1d(trace.stats["run_id"].rows, ops)
    ends = ends[(regions.of_row[ends] >= 0) & (stat_at(trace, "device_ordinal", ends, UNKNOWN) != UNKNOWN)]
    ended_regions = regions.of_row[ends]
    ends, ended_regions = ends[regions.has_run[ended_regions]], ended_regions[regions.has_run[ended_regions]]
    core_of_region[ended_regions] = stat_at(trace, "device_ordinal", ends, UNKNOWN)
    run_id[ended_regions] = stat_at(trace, "run_id", ends, 0)
    region_of_key = {
        key: region for region, key in enumerate(zip(run_id.tolist(), core_of_region.tolist(), strict=True))
    }
    without_run = np.flatnonzero((run < 0) & (core != UNKNOWN))
    run_of_op = run.copy()
    run_of_op[without_run] = [
        region_of_key.get(key, -1)
        for key in zip(ids[without_run].tolist(), core[without_run].tolist(), strict=True)
    ]
    return RunKeys(run_of_op, core, core_of_region, run_id)


def stat_at(trace: Trace, name: str, rows: Int32, missing: int) -> Int64:
    """A numeric stat of some events, `missing` for events without it."""
    return (
        trace.stats[name].at(rows, missing) if name in trace.stats else np.full(len(rows), missing, np.int64)
    )
