"""Which call and which core the ops of a CPU are of, as JAX records it from 0.7 on: every op, and the event that ends a
run, carry the `run_id` of their execute call and the `device_ordinal` of their core."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_xla_insights.trace.model import Int32, Int64, Trace
from tb_xla_insights.trace.regions import Regions

UNKNOWN = -1
"""Stands for a core that is not recorded."""


@dataclass(frozen=True)
class RunKeys:
    """`run`: of each op the region that it runs in, -1: none. `device`: of each op its core. Per region `of_region`,
    its core, and `run_id`, the id of its call; UNKNOWN, and 0, where they are not recorded."""

    run: Int32
    device: Int64
    of_region: Int64
    run_id: Int64


def find_run_keys(trace: Trace, ops: Int32, regions: Regions, run: Int32) -> RunKeys:
    """The keys of ops and of runs (regions). An op that no flow leads to a run (`run` is -1) is part of the run with
    its key; where several runs have it, of the last."""
    of_region = np.full(len(regions.row), UNKNOWN, np.int64)
    run_id = np.zeros(len(regions.row), np.int64)
    device = stat_at(trace, "device_ordinal", ops, UNKNOWN)
    if not (device != UNKNOWN).any() or "run_id" not in trace.stats:
        return RunKeys(run, device, of_region, run_id)
    ids = stat_at(trace, "run_id", ops, 0)
    parts = np.flatnonzero(run >= 0)
    of_region[run[parts]], run_id[run[parts]] = device[parts], ids[parts]
    ends = np.setdiff1d(trace.stats["run_id"].rows, ops)
    ends = ends[(regions.of_row[ends] >= 0) & (stat_at(trace, "device_ordinal", ends, UNKNOWN) != UNKNOWN)]
    ended = regions.of_row[ends]
    ends, ended = ends[regions.runs[ended]], ended[regions.runs[ended]]
    of_region[ended] = stat_at(trace, "device_ordinal", ends, UNKNOWN)
    run_id[ended] = stat_at(trace, "run_id", ends, 0)
    runs = {key: number for number, key in enumerate(zip(run_id.tolist(), of_region.tolist(), strict=True))}
    lost = np.flatnonzero((run < 0) & (device != UNKNOWN))
    found = run.copy()
    found[lost] = [runs.get(key, -1) for key in zip(ids[lost].tolist(), device[lost].tolist(), strict=True)]
    return RunKeys(found, device, of_region, run_id)


def stat_at(trace: Trace, name: str, rows: Int32, missing: int) -> Int64:
    """A number that events carry, `missing` where one has none."""
    return (
        trace.stats[name].at(rows, missing) if name in trace.stats else np.full(len(rows), missing, np.int64)
    )
