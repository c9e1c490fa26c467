"""A row per device with the nested scopes of its ops: the annotations that the device works on.

Scopes come from the ops' metadata and from the programs that ran, which take a while to read, so these rows are added
after the session's first view. A device whose file stores a row of name scopes shows that row instead.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.hlo_scopes import BARE, STATES
from tb_xla_insights.analysis.propagation.lost import op_source, op_stack, operation_of
from tb_xla_insights.analysis.propagation.ops import Ops, find_ops
from tb_xla_insights.analysis.propagation.path_names import path_text
from tb_xla_insights.analysis.propagation.scope_lines import scope_line
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.arrays import Int32
from tb_xla_insights.text.units import share
from tb_xla_insights.timeline import kernels
from tb_xla_insights.timeline.pyramid.pyramid import Lane
from tb_xla_insights.timeline.tracks import RowEvent, RowHead, Track
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.row_ids import RowId

if TYPE_CHECKING:
    from tb_xla_insights.schema.timeline_route import StatOfEvent

SCOPES = "scopes"
"""The end of these rows' ids."""

_MAX_DEPTH = 12
_NO_SCOPE, _NOTHING = -1, -2
"""Labels of parts without a scope, and of depths below a part's scope, where nothing is shown."""
_MAX_LISTED_KINDS = 4
_REASONS = {
    "bare": "their op names have no scope, as those of the backward pass",
    "none": "the compiler created them, or their program has no scopes",
}


@dataclass(eq=False)
class ScopeTrack(Track):
    """The scopes of one device. A slice's name is its scope, -1 if it has none. Per name, `paths` is the annotation's
    path on the host, and `recorded_scopes` the scope as recorded, with the numbers that distinguish repetitions."""

    device_number: int = 0
    paths: list[str] = field(default_factory=list)
    recorded_scopes: list[str] = field(default_factory=list)

    def path_of(self, event: RowEvent) -> str | None:
        """The annotation's path of a slice, None if it has no scope."""
        name = int(event.lane.name[event.index])
        return self.paths[name] if name >= 0 else None

    def run_of(self, event: RowEvent) -> int:
        """The run of a slice, an index into Launches.runs, -1: none."""
        intervals = self.trace.devices[self.device_number].ops
        running = (intervals.start_ps <= event.start_ps) & (intervals.end_ps > event.start_ps)
        op = np.flatnonzero(running)[-1]  # of running ops, the one that started last is shown
        return int(find_ops(self.trace).devices[self.device_number].run[op])

    def step_of(self, event: RowEvent) -> int:
        """The index of the step whose launch started the run of a slice, -1: none."""
        run = self.run_of(event)
        return int(find_launches(self.trace).step_of_run[run]) if run >= 0 else -1

    def enclosing(self, event: RowEvent) -> list[RowEvent]:
        """The slices that enclose a slice, the outermost first."""
        slices = []
        for depth, lane in enumerate(self.lanes[: event.depth]):
            index = int(np.searchsorted(lane.start, event.start_ps, "right")) - 1
            slices.append(RowEvent(self, depth, index))
        return slices

    def facts(self, event: RowEvent) -> list[StatOfEvent]:
        """The facts that the panel lists about a slice: its annotation, or why it has none."""
        name = int(event.lane.name[event.index])
        if name >= 0:
            facts = {"annotation": self.paths[name], "as recorded": self.recorded_scopes[name]}
        else:
            facts = self._reasons(event)
        return [{"name": key, "value": value, "kind": "text"} for key, value in facts.items()]

    def _reasons(self, event: RowEvent) -> dict[str, str]:
        ops, intervals = find_ops(self.trace), self.trace.devices[self.device_number].ops
        end_ps = event.start_ps + event.duration_ps
        is_in_slice = (intervals.start_ps < end_ps) & (intervals.end_ps > event.start_ps)
        keys = ops.devices[self.device_number].key[is_in_slice].tolist()
        reasons = {}
        for state in range(BARE, len(STATES)):
            kinds = Counter(operation_of(ops, key) for key in keys if ops.state[key] == state)
            if kinds:
                kinds_text = ", ".join(
                    f"{kind} ×{count}" for kind, count in kinds.most_common(_MAX_LISTED_KINDS)
                )
                more = ", …" if len(kinds) > _MAX_LISTED_KINDS else ""
                total = kinds.total()
                reasons[f"{ops.words[state]}: {total} op{'s' * (total != 1)}"] = (
                    f"{_REASONS[STATES[state]]}: {kinds_text}{more}"
                )
        return reasons


def op_facts(trace: Trace, device: int, op: int) -> list[StatOfEvent]:
    """The facts that the panel lists about an op (index into the device's ops): its annotations with the op's state
    (its word), and the Python stack in which it was traced, the innermost frame first."""
    ops, nodes = find_ops(trace), find_nodes(trace)
    key = int(ops.devices[device].key[op])
    parts = range(int(ops.first_part[key]), int(ops.first_part[key + 1]))
    cumulative = ops.cumulative_weights[parts.start : parts.stop]
    weights = np.diff(cumulative, prepend=0) / cumulative[-1]
    shares: dict[str, float] = {}
    for part, weight in zip(parts, weights.tolist(), strict=True):
        node = int(nodes.of_part[part])
        path = nodes.path[node] if node >= 0 else "no annotation"
        shares[path] = shares.get(path, 0.0) + weight
    annotations = ", ".join(
        f"{path} {share(time_share)}" if len(shares) > 1 else path for path, time_share in shares.items()
    )
    frames = [f"{frame.place} {frame.function}".rstrip() for frame in op_stack(ops, key)] or [
        op_source(ops, key)
    ]
    facts = {
        "annotation": f"{annotations} ({ops.words[ops.state[key]]})",
        "python": " ← ".join(filter(None, frames)),
    }
    return [{"name": name, "value": value, "kind": "text"} for name, value in facts.items() if value]


def scope_tracks(host_number: int, trace: Trace, duration_ps: int) -> list[ScopeTrack]:
    """The rows of scopes of one host's devices, without devices that store their own or whose ops have no scopes."""
    tracks = []
    for number, device in enumerate(trace.devices):
        if len(device.ops) and scope_line(trace, device) is None:
            track = _track(host_number, trace, number, duration_ps)
            if track is not None:
                tracks.append(track)
    return tracks


def _track(host_number: int, trace: Trace, device_number: int, duration_ps: int) -> ScopeTrack | None:
    ops, device = find_ops(trace), trace.devices[device_number]
    device_ops, intervals = ops.devices[device_number], device.ops
    labels = _Labels(trace, ops)
    if not (labels.of_part[0][_used_parts(ops, device_ops.key)] >= 0).any():
        return None
    columns = (
        intervals.start_ps,
        intervals.end_ps,
        device_ops.key,
        device_ops.run,
        ops.first_part,
        ops.cumulative_weights,
    )
    start, end, part, run = kernels.op_pieces(*map(np.ascontiguousarray, columns))
    lanes = []
    for label_of_part in labels.of_part:
        slice_start, slice_end, label = kernels.merge_pieces(start, end, part, run, label_of_part)
        if not (label >= 0).any():
            break
        no_class, no_event = np.zeros(len(label), np.int8), np.full(len(label), -1, np.int32)
        lanes.append(Lane(slice_start, slice_end, label, no_class, no_event, len(labels.names)))
    if not lanes:  # ops of no length
        return None
    has_scope = lanes[0].name >= 0
    busy_ps = int(kernels.covered_ps(lanes[0].start[has_scope], lanes[0].end[has_scope]))
    row_id = str(RowId(host_number, SCOPES, device_number))
    head = RowHead(row_id, "scopes", "scopes", trace.host, device.id)
    busy_share = busy_ps / duration_ps if duration_ps else None
    return ScopeTrack(
        head,
        host_number,
        trace,
        lanes,
        labels.names,
        busy_share,
        None,
        device_number,
        labels.paths,
        labels.recorded_scopes,
    )


def _used_parts(ops: Ops, key: Int32) -> Int32:
    """The indices of the parts of the ops with these keys."""
    keys = np.unique(key).tolist()
    return np.concatenate([np.arange(ops.first_part[key], ops.first_part[key + 1]) for key in keys]).astype(
        np.int32
    )


class _Labels:
    """`of_part` has, per depth, the label of each part of a host's ops (_NO_SCOPE, _NOTHING: none). Each repetition of
    a scope has its own label; `names`, `paths` and `recorded_scopes` are by label."""

    def __init__(self, trace: Trace, ops: Ops) -> None:
        self.names: list[str] = []
        self.paths: list[str] = []
        self.recorded_scopes: list[str] = []
        self._label_ids: dict[tuple[str, str], int] = {}
        self._nodes = nodes = find_nodes(trace)
        labels_of_part: list[list[int]] = []
        scopes = ops.scope.tolist()
        labels_of_scope: dict[int, list[int]] = {_NO_SCOPE: [_NO_SCOPE]}
        for scope, node in zip(scopes, nodes.of_part.tolist(), strict=True):
            if scope not in labels_of_scope:
                labels_of_scope[scope] = self._nested_labels(node, ops.scopes[scope])
            labels_of_part.append(labels_of_scope[scope])
        depths = max(map(len, labels_of_part), default=1)
        self.of_part = [
            np.array(
                [labels[depth] if depth < len(labels) else _NOTHING for labels in labels_of_part], np.int32
            )
            for depth in range(depths)
        ]

    def _nested_labels(self, node: int, scope: str) -> list[int]:
        """The labels of a scope and its enclosing scopes, the outermost first."""
        nodes, labels = self._nodes, []
        for enclosing in nodes.with_enclosing(node)[::-1][:_MAX_DEPTH]:
            path = nodes.path[enclosing]
            recorded_scope = "/".join(nodes.recorded_names(node, enclosing, scope))
            outer = nodes.parent[enclosing]
            name = path_text(path, nodes.path[outer] if outer >= 0 else "")
            labels.append(self._label(path, recorded_scope, name))
        return labels

    def _label(self, path: str, recorded_scope: str, name: str) -> int:
        label = self._label_ids.setdefault((path, recorded_scope), len(self.names))
        if label == len(self.names):
            self.names.append(name)
            self.paths.append(path)
            self.recorded_scopes.append(recorded_scope)
        return label
