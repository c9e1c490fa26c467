"""One step's phases on the host and on a device, and what leads from one to the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.order import Stretches, device_stretches, find_phases, host_phases
from tb_xla_insights.analysis.propagation.tree import chosen_runs
from tb_xla_insights.name_limit import shorten_name
from tb_xla_insights.trace.model import Trace

_MOST_STRETCHES = 400


def phase_places(trace: Trace) -> dict[str, int]:
    """The phase that a path is, the first of its repetitions."""
    host, number = host_annotations(trace), _numbers(trace)
    names = [host.names[path] for path in np.unique(host_phases(trace).path).tolist()]
    return {path: number[path.rpartition("/")[2], 0] for path in names}


def _numbers(trace: Trace) -> dict[tuple[str, int], int]:
    """Phases by name and repetition."""
    known = find_phases(trace)
    return {it: place for place, it in enumerate(zip(known.name, known.repetition, strict=True))}


def strips_of(
    trace: Trace | None, step: int | None, device: int | None, lost: Mapping[str, str]
) -> dict[str, Any]:
    """`phases`, `strips`, `ribbons` and `order`."""
    if trace is None or step is None or device is None:
        empty: dict[str, Any] = {"host": [], "device": [], "runs": []}
        none = {"runs": 0, "phases": 0, "inversion_share": 0.0, "by_phase": []}
        return {"phases": [], "strips": empty, "ribbons": [], "order": none}
    known = find_phases(trace)
    paths = {place: path for path, place in phase_places(trace).items()}
    whole = device_stretches(trace, device, chosen_runs(trace, step, device))
    host = _host_strip(trace, step)
    shown, merged = _short(whole)
    run = np.unique(shown.run)
    device_strip = [
        {
            "phase": None if phase < 0 else phase,
            "start_ps": start,
            "end_ps": end,
            "device_ps": time,
            "ops": ops,
            "run": its,
            "inverted": inverted,
            "merged": count,
        }
        for phase, start, end, time, ops, its, inverted, count in zip(
            *(it.tolist() for it in (shown.phase, shown.start_ps, shown.end_ps, shown.time_ps, shown.ops,
                                     np.searchsorted(run, shown.run), shown.inverted)),
            merged, strict=True,
        )
    ]  # fmt: skip
    places = {entry["phase"]: place for place, entry in enumerate(host) if entry["phase"] is not None}
    total = int(whole.time_ps.sum())
    ordered = bool((whole.phase >= 0).any())
    return {
        "phases": [
            {"name": name, "repetition": again, "lost": lost.get(paths.get(place, ""))}
            for place, (name, again) in enumerate(zip(known.name, known.repetition, strict=True))
        ],
        "strips": {"host": host, "device": device_strip, "runs": _run_documents(trace, run.tolist())},
        "ribbons": [
            {"host": places[it["phase"]], "device": place, "inverted": it["inverted"]}
            for place, it in enumerate(device_strip)
            if it["phase"] in places
        ],
        "order": {
            "runs": len(whole) if ordered else 0,
            "phases": len(np.unique(whole.phase)) if ordered else 0,
            "inversion_share": int(whole.time_ps[whole.inverted].sum()) / total if total else 0.0,
            "by_phase": _by_phase(whole) if ordered else [],
        },
    }


def _by_phase(whole: Stretches) -> list[dict[str, Any]]:
    """One entry per phase in the order of the host, what has none last."""
    found = []
    for phase in sorted(np.unique(whole.phase).tolist(), key=lambda it: (it < 0, it)):
        mine = whole.where(whole.phase == phase)
        found.append(
            {
                "phase": None if phase < 0 else phase,
                "runs": len(mine),
                "device_ps": int(mine.time_ps.sum()),
                "start_ps": int(mine.start_ps.min()),
                "end_ps": int(mine.end_ps.max()),
                "inverted_ps": int(mine.time_ps[mine.inverted].sum()),
            }
        )
    return found


def _host_strip(trace: Trace, step: int) -> list[dict[str, Any]]:
    """The phases of one step and the step markers after them, by start."""
    phases, host, launches, number = (
        host_phases(trace),
        host_annotations(trace),
        find_launches(trace),
        _numbers(trace),
    )
    mine = slice(*np.searchsorted(phases.step, [step, step + 1]).tolist())
    columns = (phases.index[mine].tolist(), phases.path[mine].tolist(), phases.repetition[mine].tolist())
    entries = [
        (int(host.row[index]), number[host.names[path].rpartition("/")[2], again])
        for index, path, again in zip(*columns, strict=True)
    ]
    markers = np.unique(launches.marker[launches.step == step])
    entries += [(row, -1) for row in markers[markers >= 0].tolist()]
    return sorted(
        (
            {
                "phase": None if phase < 0 else phase,
                "name": shorten_name(trace.name(row).split("#", 1)[0]),
                "start_ps": int(trace.start_ps[row]),
                "end_ps": int(trace.end_ps[row]),
            }
            for row, phase in entries
        ),
        key=lambda entry: (entry["start_ps"], -entry["end_ps"]),
    )


def _short(whole: Stretches) -> tuple[Stretches, list[int]]:
    """At most so many stretches as can be drawn: the longest, the others of a run between them joined without a phase;
    and how many each stands for."""
    if len(whole) <= _MOST_STRETCHES:
        return whole, [1] * len(whole)
    kept = np.zeros(len(whole), np.bool_)
    kept[np.argsort(-whole.time_ps, kind="stable")[: _MOST_STRETCHES // 2]] = True
    begins = kept | np.append(True, kept[:-1]) | np.append(True, whole.run[1:] != whole.run[:-1])
    first = np.flatnonzero(begins)
    joined = replace(
        whole.where(begins),
        phase=np.where(kept, whole.phase, -1)[first].astype(np.int32),
        time_ps=np.add.reduceat(whole.time_ps, first),
        end_ps=np.maximum.reduceat(whole.end_ps, first),
        ops=np.add.reduceat(whole.ops, first).astype(np.int32),
        inverted=(whole.inverted & kept)[first],
    )
    return joined, np.diff(np.append(first, len(whole))).tolist()


def _run_documents(trace: Trace, runs: list[int]) -> list[dict[str, Any]]:
    launches = find_launches(trace)
    found = []
    for run in runs:
        name, id_ = launches.programs[launches.runs.program[run]]
        times = {"start_ps": int(launches.runs.start_ps[run]), "end_ps": int(launches.runs.end_ps[run])}
        found.append({"program": shorten_name(name), "program_id": id_, **times})
    return found
