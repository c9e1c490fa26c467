"""The times of each annotation: its time on the host, and the device time of the ops traced inside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.ops import Ops, find_ops
from tb_xla_insights.analysis.propagation.path_names import outer_path
from tb_xla_insights.analysis.scope_names import ScopeKind, scope_kind, scope_position
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Coverage

_AFTER_HOST_PATHS = 1e15
"""The base of positions of paths that only ops have: greater than any time on the host, small enough to add a scope's
number exactly."""


@dataclass(frozen=True)
class Nodes:
    """The paths of one host and its devices: `path`, `parent` (index of its `outer_path`, -1: none), `kind`.
    `of_part`: the index of the path of each part of `Ops` (-1: none); `of_host`: the index of each path of
    `HostAnnotations`."""

    path: list[str]
    parent: list[int]
    kind: list[ScopeKind]
    of_part: Int32
    of_host: Int32

    position: list[float]
    """The sort key of each path among its siblings: the mean start of its annotations relative to their parents, or
    else the position of its scope."""

    def in_order(self) -> list[int]:
        """The indices of all paths, each before those nested in it, siblings in the order of the host."""
        children: dict[int, list[int]] = {}
        for node, outer in enumerate(self.parent):
            children.setdefault(outer, []).append(node)
        order: list[int] = []
        pending = [-1]
        while pending:
            node = pending.pop()
            if node >= 0:
                order.append(node)
            pending += sorted(
                children.get(node, ()),
                key=lambda child: (self.position[child], self.path[child]),
                reverse=True,
            )
        return order

    def name_of(self, node: int) -> str:
        """A path's last name. The name of an annotation may itself contain slashes."""
        outer = self.parent[node]
        return self.path[node][len(self.path[outer]) + 1 if outer >= 0 else 0 :]

    def recorded_names(self, node: int, enclosing: int, scope: str) -> list[str]:
        """The names that the recorded scope of a path has of a path around it; a path may begin further out."""
        names = scope.split("/")
        lacking = self.path[node].count("/") + 1 - len(names)
        return names[: max(0, self.path[enclosing].count("/") + 1 - lacking)]

    def with_enclosing(self, node: int) -> list[int]:
        """The indices of a path and of all paths around it, the innermost first."""
        nodes = []
        while node >= 0:
            nodes.append(node)
            node = self.parent[node]
        return nodes


@dataclass
class AnnotationSums:
    """The sums of one annotation path. `thread`: that of helpers, as in `HostAnnotations`. Device times and numbers of
    ops include nested paths, except `own_device_ps`. `device_ops`: ops that ran; `executions`: launches of the
    `programs` that have ops of the path."""

    path: str
    kind: ScopeKind = "annotation"
    thread: str | None = None
    count: int = 0
    host_ps: int = 0
    device_ps: int = 0
    own_device_ps: int = 0
    device_ops: int = 0
    executions: int = 0
    programs: set[str] = field(default_factory=set)

    def add(self, sums: AnnotationSums) -> None:
        """Adds the sums of the same path on another host."""
        for name in ("count", "host_ps", "device_ps", "own_device_ps", "device_ops", "executions"):
            setattr(self, name, getattr(self, name) + getattr(sums, name))
        self.programs |= sums.programs


@memoised
def find_nodes(trace: Trace) -> Nodes:
    """All annotation paths of one host, including those of its ops' scopes."""
    host, ops = host_annotations(trace), find_ops(trace)
    kinds: dict[str, ScopeKind] = dict.fromkeys(host.path_texts, "annotation")
    paths_of_scopes = [host.paths.path_of(scope) for scope in ops.scopes]
    for scope, text in zip(ops.scopes, paths_of_scopes, strict=True):
        kind = scope_kind(scope, host.paths.names)
        while text and text not in kinds:
            kinds[text] = kind
            text = text.rpartition("/")[0]
    path = [*kinds]
    index = {text: node for node, text in enumerate(path)}
    parent = [index[outer] if (outer := outer_path(text, index)) else -1 for text in path]
    of_scope = [index[text] for text in paths_of_scopes]
    of_part = np.append(np.array(of_scope, np.int32), np.int32(-1))[ops.scope]
    of_host = np.array([index[text] for text in host.path_texts], np.int32)
    position = [float("inf")] * len(path)
    for node, scope in zip(of_scope, ops.scopes, strict=True):
        position[node] = min(position[node], _AFTER_HOST_PATHS + scope_position(scope.rpartition("/")[2]))
    is_whole = ~host.is_cut
    start, parents = trace.start_ps[host.row], host.parent[is_whole]
    relative_ps = (
        np.where(parents >= 0, start[is_whole] - start[parents], start[is_whole]) if len(start) else start
    )
    sums = np.bincount(host.path[is_whole], relative_ps, len(of_host))
    counts = np.bincount(host.path[is_whole], None, len(of_host))
    for node, total, count in zip(of_host.tolist(), sums.tolist(), counts.tolist(), strict=True):
        position[node] = total / count if count else _AFTER_HOST_PATHS
    return Nodes(path, parent, [*kinds.values()], of_part, of_host, position)


def annotation_of_op(trace: Trace, op: int) -> str | None:
    """The annotation of a distinct op (an index into Ops); the first one of several."""
    nodes = find_nodes(trace)
    node = int(nodes.of_part[find_ops(trace).first_part[op]])
    return nodes.path[node] if node >= 0 else None


def annotation_rows(
    trace: Trace, step: int | None = None, device: int | None = None, runs: NDArray[np.bool_] | None = None
) -> list[AnnotationSums]:
    """A row per path, of one step or of the whole capture, of one device (index) or of all. `runs`: a mask over
    Launches.runs that limits the device work.

    A step's device work is the work that its launches started, however late it ran: ops are attributed through the
    step's launches, never by time.
    """
    nodes, ops, host = find_nodes(trace), find_ops(trace), host_annotations(trace)
    is_limited = step is not None or runs is not None
    runs = select_runs(trace, step, device) if runs is None else runs
    if is_limited:
        sums = ops.sums(ops.of_runs(runs, device))
    else:
        sums = ops.sums(ops.all_ops if device is None else [(device, slice(None))])
    rows = [AnnotationSums(path, kind) for path, kind in zip(nodes.path, nodes.kind, strict=True)]
    times = (times_of_path.tolist() for times_of_path in host.times(trace, step))
    for node, thread, ps, count in zip(nodes.of_host.tolist(), host.thread, *times, strict=True):
        rows[node].thread = thread
        rows[node].host_ps += ps
        rows[node].count += count
    has_path = nodes.of_part >= 0
    own_ps = np.zeros(len(rows), np.int64)
    np.add.at(own_ps, nodes.of_part[has_path], sums.part_ps[has_path])
    for node in range(len(rows) - 1, -1, -1):
        rows[node].own_device_ps = int(own_ps[node])
        for outer in nodes.with_enclosing(node):
            rows[outer].device_ps += int(own_ps[node])
    launches = _launches_by_program(trace, runs)
    for key in np.flatnonzero(sums.op_count).tolist():
        innermost = set(nodes.of_part[ops.first_part[key] : ops.first_part[key + 1]].tolist()) - {-1}
        for node in {outer for inner in innermost for outer in nodes.with_enclosing(inner)}:
            rows[node].device_ops += int(sums.op_count[key])
            rows[node].programs.add(ops.program[key])
    for row in rows:
        row.executions = sum(launches.get(program, 0) for program in row.programs)
    return [rows[node] for node in nodes.in_order()]


@memoised
def capture_rows(trace: Trace) -> list[AnnotationSums]:
    """The rows of the whole capture on all devices. Memoised: callers must not change them."""
    return annotation_rows(trace)


@memoised
def device_ps_in_steps(trace: Trace) -> dict[str, int]:
    """Device time per path of the work that steps launched."""
    return {
        row.path: row.device_ps for row in annotation_rows(trace, runs=find_launches(trace).step_of_run >= 0)
    }


def select_runs(trace: Trace, step: int | None, device: int | None) -> NDArray[np.bool_]:
    """A mask over Launches.runs: the runs of a step (None: all runs), on a device or on all."""
    launches = find_launches(trace)
    runs = launches.runs
    mask: NDArray[np.bool_] = np.ones(len(runs), np.bool_) if step is None else launches.step_of_run == step
    return mask if device is None else mask & (runs.device == device)


def _launches_by_program(trace: Trace, mask: NDArray[np.bool_]) -> dict[str, int]:
    """The number of launches of each program, by program id, among the runs that a mask selects."""
    launches = find_launches(trace)
    runs = launches.runs
    rows = np.flatnonzero(mask & (runs.launch >= 0))
    pairs = set(zip(runs.program[rows].tolist(), runs.launch[rows].tolist(), strict=True))
    launch_counts: dict[str, int] = {}
    for program, count in Counter(program for program, _ in pairs).items():
        id_ = launches.programs[program].id
        if id_:
            key = str(int(id_) % 2**64)
            launch_counts[key] = launch_counts.get(key, 0) + count
    return launch_counts


def coverage(ops: Ops, time: Int64) -> Coverage:
    """Device time by state, from times per distinct op; `device_ps` is their exact sum."""
    direct, recovered, bare, none = (int(time[ops.state == state].sum()) for state in range(4))
    return {
        "device_ps": direct + recovered + bare + none,
        "direct_ps": direct,
        "recovered_ps": recovered,
        "bare_ps": bare,
        "none_ps": none,
    }
