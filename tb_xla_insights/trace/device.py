"""The model of a device: its program runs and its ops, as columns over intervals."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from tb_xla_insights.trace import kernels

if TYPE_CHECKING:
    from tb_xla_insights.arrays import Int16, Int32, Int64

DeviceKind = Literal["tpu", "gpu", "cpu", "other"]

_ORDINAL = re.compile(r"[A-Z]+:(\d{1,18})\b", re.ASCII)


@dataclass(frozen=True)
class NestedIntervals:
    """The runs or the ops of one device as intervals, sorted by start, the longer one first.

    `row` is the event of each interval, whose duration may differ: an op of a CPU capture lasts from its event's start
    to its `end:` event. `depth`, `parent` (index into these intervals, -1: none) and `own_ps` (time that no child
    covers) describe the nesting; `name` indexes the trace's strings. Columns may be views of the trace's.
    """

    row: Int32
    start_ps: Int64
    end_ps: Int64
    depth: Int16
    parent: Int32
    name: Int32

    @cached_property
    def own_ps(self) -> Int64:
        own_ps = self.end_ps - self.start_ps
        # One array serves as durations and as result: children come after their parent, whose duration is read before.
        kernels.own_times(self.start_ps, own_ps, self.parent, 0, own_ps, self.start_ps.copy())
        return own_ps

    def __len__(self) -> int:
        return len(self.row)

    def shifted(self, by_ps: int) -> NestedIntervals:
        return replace(self, start_ps=self.start_ps + by_ps, end_ps=self.end_ps + by_ps)


@dataclass(frozen=True)
class Device:
    """One device core. With `from_host_events` it has no plane of its own and was built from events of host threads.

    `runs` are its program runs, `ops` its operations (on a GPU the kernels of all streams; the event of a run is its
    first kernel), `lines` all lines of its plane by name. `run_of_op`, if runs were derived from kernels, is the run of
    each op (-1: none, as for kernels without a program); None if times determine it. `run_ids`, with
    `from_host_events`, are the ids of each run's execute call (0: not recorded).
    """

    id: str
    name: str
    kind: DeviceKind
    host: str
    plane: int | None
    from_host_events: bool
    runs: NestedIntervals
    ops: NestedIntervals
    lines: dict[str, int]
    run_of_op: Int32 | None = None
    run_ids: Int64 | None = None

    @property
    def ordinal(self) -> int:
        """The device's number in its name, among those of its kind on the host; -1 if it has none of at most 18
        digits."""
        digits = _ORDINAL.match(self.name)
        return int(digits[1]) if digits else -1

    @cached_property
    def span_ps(self) -> tuple[int, int]:
        """Start of the first and end of the last run or op; (0, 0) without any."""
        columns = [intervals for intervals in (self.runs, self.ops) if len(intervals)]
        if not columns:
            return 0, 0
        starts = (int(intervals.start_ps[0]) for intervals in columns)
        return min(starts), max(int(intervals.end_ps.max()) for intervals in columns)


def device_name(id_: str) -> str:
    """The name of a device, from its id: `TPU:2` for `w-0/TPU:2`."""
    return id_.rpartition("/")[2]
