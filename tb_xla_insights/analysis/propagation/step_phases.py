"""The phases of one step on the host and on a device, and the links between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.order import (
    PhaseSegments,
    device_phase_segments,
    find_phases,
    host_phases,
)
from tb_xla_insights.analysis.propagation.tree import select_runs
from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog import without_encoded_stats
from tb_xla_insights.text.name_limit import shorten_name
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Lost
    from tb_xla_insights.schema.propagation_route import (
        DevicePhase,
        HostPhase,
        PhaseRun,
        PhaseTime,
        StepPhases,
    )

_MIN_SHARE = 1 / 200
"""Segments with less than this part of the step's work are short: they would be drawn narrower than 3 pixels."""
_PARTS = 20
"""The number of equal parts of the step's work within each of which short segments of a phase are joined."""


def phase_indices(trace: Trace) -> dict[str, int]:
    """By path, the index of its phase; the first one if the path repeats within a step."""
    host, index_of_phase = host_annotations(trace), _phase_index(trace)
    paths = np.unique(host_phases(trace).path).tolist()
    return {host.path_texts[path]: index_of_phase[host.name_of(path), 0] for path in paths}


def _phase_index(trace: Trace) -> dict[tuple[str, int], int]:
    """The index of each phase by name and repetition."""
    phases = find_phases(trace)
    return {phase: index for index, phase in enumerate(zip(phases.name, phases.repetition, strict=True))}


def phase_strips(
    trace: Trace | None, step: int | None, device: int | None, lost: Mapping[str, Lost]
) -> StepPhases:
    """The keys `phases`, `phase_rows`, `ribbons` and `order` of the propagation view (`StepPhases` documents
    them)."""
    if trace is None or step is None or device is None:
        return {
            "phases": [],
            "phase_rows": {"host": [], "device": [], "runs": []},
            "ribbons": [],
            "order": {"runs": 0, "phases": 0, "inversion_share": 0.0, "by_phase": []},
        }
    phases = find_phases(trace)
    paths = {index: path for path, index in phase_indices(trace).items()}
    segments = device_phase_segments(trace, device, select_runs(trace, step, device))
    segments = _with_repetitions_of_host(trace, step, segments)
    host_strip = _host_strip(trace, step)
    shown_segments, segment_counts = _legible(segments)
    run = np.unique(shown_segments.run)
    device_strip: list[DevicePhase] = [
        {
            "phase": None if phase < 0 else phase,
            "start_ps": start,
            "end_ps": end,
            "device_ps": time,
            "ops": ops,
            "run": run_index,
            "inverted": inverted,
            "merged": count,
        }
        for phase, start, end, time, ops, run_index, inverted, count in zip(
            *(column.tolist() for column in (
                shown_segments.phase, shown_segments.start_ps, shown_segments.end_ps, shown_segments.time_ps,
                shown_segments.ops, np.searchsorted(run, shown_segments.run), shown_segments.inverted,
            )),
            segment_counts, strict=True,
        )
    ]  # fmt: skip
    host_index = {row["phase"]: index for index, row in enumerate(host_strip) if row["phase"] is not None}
    total = int(segments.time_ps.sum())
    has_phases = bool((segments.phase >= 0).any())
    return {
        "phases": [
            {"name": name, "repetition": repetition, "lost": lost.get(paths.get(index, ""))}
            for index, (name, repetition) in enumerate(zip(phases.name, phases.repetition, strict=True))
        ],
        "phase_rows": {"host": host_strip, "device": device_strip, "runs": _run_rows(trace, run.tolist())},
        "ribbons": [
            {"host": host_index[row["phase"]], "device": index, "inverted": row["inverted"]}
            for index, row in enumerate(device_strip)
            if row["phase"] in host_index
        ],
        "order": {
            "runs": len(segments) if has_phases else 0,
            "phases": len(np.unique(segments.phase)) if has_phases else 0,
            "inversion_share": int(segments.time_ps[segments.inverted].sum()) / total if total else 0.0,
            "by_phase": _by_phase(segments) if has_phases else [],
        },
    }


def _with_repetitions_of_host(trace: Trace, step: int, segments: PhaseSegments) -> PhaseSegments:
    """The segments of one step with the repetitions of the host's step. Each run numbers its phases from 0, although
    the step may launch several runs for the same phases, for example to accumulate gradients. A run gets the
    repetitions in which the host was longest between the synchronisations of the previous launch and of its own."""
    times = _repetition_times(trace, step)
    if all(len(repetitions) < 2 for repetitions in times.values()):
        return segments
    phases, index_of_phase, launches = find_phases(trace), _phase_index(trace), find_launches(trace)
    sync_ps = trace.start_ps[np.where(launches.sync >= 0, launches.sync, launches.row)]
    sync_times = np.unique(sync_ps[launches.step == step])
    phase_of_segment = segments.phase.copy()
    for run in np.unique(segments.run).tolist():
        is_of_run = segments.run == run
        sync = int(sync_ps[launches.runs.launch[run]])
        index = int(np.searchsorted(sync_times, sync))
        tracing_interval = int(sync_times[index - 1]) if index else 0, sync
        phases_of_name: dict[str, list[int]] = {}
        for phase in np.unique(segments.phase[is_of_run & (segments.phase >= 0)]).tolist():
            phases_of_name.setdefault(phases.name[phase], []).append(phase)
        for name, run_phases in phases_of_name.items():
            run_phases.sort(key=lambda phase: phases.repetition[phase])
            repetitions = _longest_within(times.get(name, {}), tracing_interval, len(run_phases))
            for phase, repetition in zip(run_phases, repetitions, strict=False):
                phase_of_segment[is_of_run & (segments.phase == phase)] = index_of_phase[name, repetition]
    return replace(segments, phase=phase_of_segment)


def _longest_within(
    times: Mapping[int, tuple[int, int]], interval: tuple[int, int], max_count: int
) -> list[int]:
    """The repetitions with most time in an interval, at most `max_count`, in their order."""
    overlaps = {
        repetition: min(end, interval[1]) - max(start, interval[0])
        for repetition, (start, end) in times.items()
    }
    overlapping = [repetition for repetition, overlap in overlaps.items() if overlap > 0]
    return sorted(sorted(overlapping, key=lambda repetition: -overlaps[repetition])[:max_count])


def _repetition_times(trace: Trace, step: int) -> dict[str, dict[int, tuple[int, int]]]:
    """By phase name and repetition, start and end on the host in one step."""
    phases, host = host_phases(trace), host_annotations(trace)
    rows = slice(*np.searchsorted(phases.step, [step, step + 1]).tolist())
    columns = (phases.index[rows].tolist(), phases.path[rows].tolist(), phases.repetition[rows].tolist())
    times: dict[str, dict[int, tuple[int, int]]] = {}
    for index, path, repetition in zip(*columns, strict=True):
        row = int(host.row[index])
        times.setdefault(host.name_of(path), {})[repetition] = (
            int(trace.start_ps[row]),
            int(trace.end_ps[row]),
        )
    return times


def _by_phase(segments: PhaseSegments) -> list[PhaseTime]:
    """A row per phase in the order of the host; ops without a phase last."""
    rows: list[PhaseTime] = []
    for phase in sorted(np.unique(segments.phase).tolist(), key=lambda phase: (phase < 0, phase)):
        of_phase = segments.where(segments.phase == phase)
        rows.append(
            {
                "phase": None if phase < 0 else phase,
                "runs": len(of_phase),
                "device_ps": int(of_phase.time_ps.sum()),
                "start_ps": int(of_phase.start_ps.min()),
                "end_ps": int(of_phase.end_ps.max()),
                "inverted_ps": int(of_phase.time_ps[of_phase.inverted].sum()),
            }
        )
    return rows


def _host_strip(trace: Trace, step: int) -> list[HostPhase]:
    """The phases of one step and its step markers, sorted by start."""
    phases, host, launches, index_of_phase = (
        host_phases(trace),
        host_annotations(trace),
        find_launches(trace),
        _phase_index(trace),
    )
    rows = slice(*np.searchsorted(phases.step, [step, step + 1]).tolist())
    columns = (phases.index[rows].tolist(), phases.path[rows].tolist(), phases.repetition[rows].tolist())
    events = [
        (int(host.row[index]), index_of_phase[host.name_of(path), repetition])
        for index, path, repetition in zip(*columns, strict=True)
    ]
    markers = np.unique(launches.marker[launches.step == step])
    events += [(row, -1) for row in markers[markers >= 0].tolist()]
    return sorted(
        (
            {
                "phase": None if phase < 0 else phase,
                "name": shorten_name(without_encoded_stats(trace.name(row))),
                "start_ps": int(trace.start_ps[row]),
                "end_ps": int(trace.end_ps[row]),
            }
            for row, phase in events
        ),
        key=lambda row: (row["start_ps"], -row["end_ps"]),
    )


def _legible(segments: PhaseSegments) -> tuple[PhaseSegments, list[int]]:
    """The segments as they can be drawn, and the number of segments that each stands for. Of short ones, those of one
    phase within a part of the step's work are one; of the result, neighbours of one phase."""
    if not len(segments):
        return segments, []
    total = int(segments.time_ps.sum())
    part = (np.cumsum(segments.time_ps) - segments.time_ps) * _PARTS // total
    kind = _kind(segments)
    joined_key = part * (int(kind.max()) + 1) + kind
    own_key = int(joined_key.max()) + 1 + np.arange(len(segments))
    is_short = segments.time_ps < _MIN_SHARE * total
    joined, counts = _joined(segments, np.where(is_short, joined_key, own_key))
    legible, neighbours = _joined(joined, np.cumsum(np.diff(_kind(joined), prepend=-1) != 0))
    return legible, np.add.reduceat(counts, np.cumsum(neighbours) - neighbours).tolist()


def _kind(segments: PhaseSegments) -> Int64:
    """A number for the phase and the order: segments with equal ones may be drawn as one."""
    return 2 * (segments.phase.astype(np.int64) + 1) + segments.inverted


def _joined(segments: PhaseSegments, key: Int64) -> tuple[PhaseSegments, Int64]:
    """The segments with equal keys joined to one in place of the first, and the number of segments in each."""
    _, first, group, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    rows, begin, order = np.argsort(group, kind="stable"), np.cumsum(counts) - counts, np.argsort(first)
    joined = replace(
        segments.where(first[order]),
        time_ps=np.add.reduceat(segments.time_ps[rows], begin)[order],
        end_ps=np.maximum.reduceat(segments.end_ps[rows], begin)[order],
        ops=np.add.reduceat(segments.ops[rows], begin)[order].astype(np.int32),
    )
    return joined, counts[order]


def _run_rows(trace: Trace, runs: list[int]) -> list[PhaseRun]:
    launches = find_launches(trace)
    rows: list[PhaseRun] = []
    for run in runs:
        name, id_ = launches.programs[launches.runs.program[run]]
        rows.append(
            {
                "program": shorten_name(name),
                "program_id": id_,
                "start_ps": int(launches.runs.start_ps[run]),
                "end_ps": int(launches.runs.end_ps[run]),
            }
        )
    return rows
