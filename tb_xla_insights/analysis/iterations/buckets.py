"""The lengths to which a server pads its batches (buckets), where the names of iterations tell nothing of them."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from tb_xla_insights.analysis.launches.executions import find_run_times
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.program_files import open_programs
from tb_xla_insights.arrays import Int64
from tb_xla_insights.trace.model import Trace

_DIMENSIONS = re.compile(r"(?<=[\[,])\d{1,18}(?=[\],])", re.ASCII)


def find_buckets(trace: Trace, start_ps: Int64) -> list[int | None]:
    """The bucket of each iteration, from its start to the next one's: of the program with most time, as iterations
    launch it with parameters of different shapes, the largest dimension that differs. None for all if the shapes are
    not recorded, or all are the same."""
    launches = find_launches(trace)
    device_ps = launches.sums(find_run_times(trace).device_ps)
    times: Counter[str] = Counter()
    for program, ps in zip(launches.program.tolist(), device_ps.tolist(), strict=True):
        if program >= 0:
            times[launches.programs[program].name] += ps
    buckets: list[int | None] = [None] * len(start_ps)
    if not times:
        return buckets
    main = times.most_common(1)[0][0]
    bucket_of_id = _buckets_of_programs(
        trace, [id_ for name, id_ in launches.programs if name == main and id_]
    )
    at = np.searchsorted(start_ps, trace.start_ps[launches.row], "right") - 1
    for iteration, program in zip(at.tolist(), launches.program.tolist(), strict=True):
        if iteration >= 0 and program >= 0 and launches.programs[program].name == main:
            buckets[iteration] = bucket_of_id.get(launches.programs[program].id)
    return buckets


def _buckets_of_programs(trace: Trace, ids: list[str]) -> dict[str, int]:
    """The bucket of each of some programs, by id; empty if it is not known for all."""
    with open_programs(trace) as programs:
        shapes = [programs.shapes(int(id_) % 2**64) if programs else None for id_ in ids]
    dimensions = [[*map(int, _DIMENSIONS.findall(" ".join(of_program or ())))] for of_program in shapes]
    if len({*map(len, dimensions)}) != 1:
        return {}
    differing = [sizes for sizes in zip(*dimensions, strict=True) if len({*sizes}) > 1]
    return dict(zip(ids, max(differing, key=max), strict=True)) if differing else {}
