"""What each annotation cost: its time on the host, and the device's in the ops that were traced inside of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.ops import Ops, find_ops
from tb_xla_insights.analysis.propagation.scopes import ScopeKind, kind_of, number_of
from tb_xla_insights.trace.model import Int32, Int64, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Coverage

_UNPLACED = 1e15
"""Comes after what the host placed, and leaves a float room for the number of a scope."""


@dataclass(frozen=True)
class Nodes:
    """The paths of one host and its devices, what encloses each before it: `path`, `above` (index, -1: nothing),
    `kind`. `of_part` is the path of each part of `Ops` (-1: none); `of_host` that of each path of the host's
    annotations."""

    path: list[str]
    above: list[int]
    kind: list[ScopeKind]
    of_part: Int32
    of_host: Int32

    place: list[float]
    """Where each lies within what encloses it: the mean of its annotations' starts there, else its ops' positions."""

    def in_order(self) -> list[int]:
        """All paths, each before those inside of it, siblings in the order of the host."""
        inside: dict[int, list[int]] = {}
        for node, outer in enumerate(self.above):
            inside.setdefault(outer, []).append(node)
        found: list[int] = []
        pending = [-1]
        while pending:
            node = pending.pop()
            if node >= 0:
                found.append(node)
            pending += sorted(
                inside.get(node, ()), key=lambda it: (self.place[it], self.path[it]), reverse=True
            )
        return found

    def with_enclosing(self, node: int) -> list[int]:
        """A path and all around it."""
        found = []
        while node >= 0:
            found.append(node)
            node = self.above[node]
        return found


@dataclass
class Row:
    """One annotation path. Times and counts of the device include those of the paths below; `own_device_ps` does not.
    `device_ops` are ops that ran, `executions` launches of the `programs` that have ops of it."""

    path: str
    kind: ScopeKind = "annotation"
    count: int = 0
    host_ps: int = 0
    device_ps: int = 0
    own_device_ps: int = 0
    device_ops: int = 0
    executions: int = 0
    programs: set[str] = field(default_factory=set)

    def add(self, other: Row) -> None:
        """Takes over what another host knows of the same path."""
        for name in ("count", "host_ps", "device_ps", "own_device_ps", "device_ops", "executions"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.programs |= other.programs


@memoised
def find_nodes(trace: Trace) -> Nodes:
    """All annotation paths of one host, those of its ops' scopes included."""
    host, ops = host_annotations(trace), find_ops(trace)
    path, above, kind = [], [], []  # type: list[str], list[int], list[ScopeKind]
    number: dict[str, int] = {}

    def node(text: str, what: ScopeKind, around: str) -> int:
        if text not in number:
            outer = node(around, what, around.rpartition("/")[0]) if around else -1
            number[text] = len(path)
            path.append(text)
            above.append(outer)
            kind.append(what)
        return number[text]

    for text, outer in zip(host.names, host.above, strict=True):
        node(text, "annotation", host.names[outer] if outer >= 0 else "")
    of_scope = []
    for scope in ops.scopes:
        text = host.paths.path_of(scope)
        of_scope.append(node(text, kind_of(scope, host.paths.names), text.rpartition("/")[0]))
    of_part = np.append(np.array(of_scope, np.int32), np.int32(-1))[ops.scope]
    of_host = np.array([number[text] for text in host.names], np.int32)
    place = [float("inf")] * len(path)
    for at, scope in zip(of_scope, ops.scopes, strict=True):
        place[at] = min(place[at], _UNPLACED + number_of(scope.rpartition("/")[2]))
    whole = ~host.cut
    start, up = trace.start_ps[host.row], host.up[whole]
    since = np.where(up >= 0, start[whole] - start[up], start[whole]) if len(start) else start
    sums, counts = (
        np.bincount(host.path[whole], since, len(of_host)),
        np.bincount(host.path[whole], None, len(of_host)),
    )
    for at, total, count in zip(of_host.tolist(), sums.tolist(), counts.tolist(), strict=True):
        place[at] = total / count if count else _UNPLACED
    return Nodes(path, above, kind, of_part, of_host, place)


def annotation_rows(
    trace: Trace, step: int | None = None, device: int | None = None, runs: NDArray[np.bool_] | None = None
) -> list[Row]:
    """One row per path, of one step or of the whole capture, of one device (index) or of all; `runs`, a mask over
    Launches.runs, limits the device's work to some of them.

    A step's device work is what its launches ran, however late: the way from an annotation to its ops leads through
    the step's synchronisation, never through the clock.
    """
    nodes, ops, host = find_nodes(trace), find_ops(trace), host_annotations(trace)
    limited = step is not None or runs is not None
    runs = chosen_runs(trace, step, device) if runs is None else runs
    if limited:
        time, _, count = ops.sums(ops.of_runs(runs, device))
    else:
        time, _, count = ops.sums(ops.whole if device is None else [(device, slice(None))])
    rows = [Row(path, kind) for path, kind in zip(nodes.path, nodes.kind, strict=True)]
    host_ps, host_count = host.times(trace, step)
    for node, its, times in zip(nodes.of_host.tolist(), host_ps.tolist(), host_count.tolist(), strict=True):
        rows[node].host_ps += its
        rows[node].count += times
    scoped = nodes.of_part >= 0
    own = np.zeros(len(rows), np.int64)
    np.add.at(own, nodes.of_part[scoped], time[scoped])
    for node in range(len(rows) - 1, -1, -1):
        rows[node].own_device_ps = int(own[node])
        for around in nodes.with_enclosing(node):
            rows[around].device_ps += int(own[node])
    launches = _launches_by_program(trace, runs)
    for k in np.flatnonzero(count).tolist():
        parts = set(nodes.of_part[ops.first[k] : ops.first[k + 1]].tolist()) - {-1}
        for node in {around for part in parts for around in nodes.with_enclosing(part)}:
            rows[node].device_ops += int(count[k])
            rows[node].programs.add(ops.program[k])
    for row in rows:
        row.executions = sum(launches.get(program, 0) for program in row.programs)
    return [rows[node] for node in nodes.in_order()]


@memoised
def whole_rows(trace: Trace) -> list[Row]:
    """The rows of the whole capture on all devices, for whoever only reads them."""
    return annotation_rows(trace)


@memoised
def device_ps_in_steps(trace: Trace) -> dict[str, int]:
    """Device time per path of what steps launched."""
    return {
        row.path: row.device_ps for row in annotation_rows(trace, runs=find_launches(trace).step_of_run >= 0)
    }


def chosen_runs(trace: Trace, step: int | None, device: int | None) -> NDArray[np.bool_]:
    """Which of Launches.runs belong to a step, or to any launch (None), on a device or on all."""
    launches = find_launches(trace)
    runs = launches.runs
    chosen: NDArray[np.bool_] = np.ones(len(runs), np.bool_) if step is None else launches.step_of_run == step
    return chosen if device is None else chosen & (runs.device == device)


def _launches_by_program(trace: Trace, chosen: NDArray[np.bool_]) -> dict[str, int]:
    """Launches of each program, by the program's id, among the chosen runs."""
    launches = find_launches(trace)
    runs = launches.runs
    some = np.flatnonzero(chosen & (runs.launch >= 0))
    pairs = np.unique(np.stack((runs.program[some], runs.launch[some]), 1), axis=0)
    found: dict[str, int] = {}
    for program, count in zip(
        *(it.tolist() for it in np.unique(pairs[:, 0], return_counts=True)), strict=True
    ):
        id_ = launches.programs[program][1]
        if id_:
            key = str(int(id_) % 2**64)
            found[key] = found.get(key, 0) + count
    return found


def coverage(ops: Ops, time: Int64) -> Coverage:
    """Device time by state, of times per distinct op; `device_ps` is their sum, exactly."""
    direct, recovered, bare, none = (int(time[ops.state == state].sum()) for state in range(4))
    return {
        "device_ps": direct + recovered + bare + none,
        "direct_ps": direct,
        "recovered_ps": recovered,
        "bare_ps": bare,
        "none_ps": none,
    }
