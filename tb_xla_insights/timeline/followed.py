"""What an annotation of the host became on the devices, and what a call launched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.names import ProgramName
from tb_xla_insights.analysis.propagation.hlo_scopes import DIRECT, RECOVERED
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.lost import ADVICE, lost_annotations, op_source
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.pieces import (
    PartsOfPath,
    Traced,
    WorkPiece,
    find_pieces,
    parts_of,
    runs_of,
)
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.text import units
from tb_xla_insights.text.english import plural
from tb_xla_insights.timeline.rows import HostRows
from tb_xla_insights.timeline.scopes import ScopeTrack
from tb_xla_insights.timeline.tracks import HiddenEvent, RowEvent

if TYPE_CHECKING:
    from tb_xla_insights.schema.timeline_route import (
        DevicePiece,
        DeviceWork,
        EventSummary,
        LaunchOfEvent,
        OnDevice,
    )

_MAX_LAUNCHES = 3
_DISPATCH = CLASSES.index("dispatch")


class Followed:
    """The launches and the work on devices of one event. `find`: the position of an event; `summary`: its summary."""

    def __init__(
        self,
        host: HostRows,
        row_event: RowEvent | HiddenEvent,
        find: Callable[[int], RowEvent | HiddenEvent | None],
        summary: Callable[[RowEvent | HiddenEvent], EventSummary],
    ) -> None:
        self._trace, self._host, self._event = host.trace, host, row_event
        self._find, self._summary = find, summary
        self._annotation, self._path = self._find_annotation()
        self._work = self._find_work() if self._path is not None else None

    def _find_annotation(self) -> tuple[int, str | None]:
        """The event as an index into the host's annotations (-1: it is a scope of ops), and the path; None for other
        events."""
        track, host = self._event.track, host_annotations(self._trace)
        if isinstance(track, ScopeTrack) and isinstance(self._event, RowEvent):
            return -1, track.path_of(self._event)
        index = int(np.searchsorted(host.row, self._event.event))
        if track.head.device is None and index < len(host.row) and host.row[index] == self._event.event:
            return index, host.path_texts[host.path[index]]
        return -1, None

    def _find_work(self) -> Traced:
        if self._annotation >= 0:
            return runs_of(self._trace, self._annotation)
        runs = find_launches(self._trace).runs
        assert isinstance(self._event.track, ScopeTrack)
        assert isinstance(self._event, RowEvent)
        run = self._event.track.run_of(self._event)
        launch = runs.launch[run] if run >= 0 else -1
        return Traced(runs.launch == launch if launch >= 0 else np.arange(len(runs)) == run)

    @cached_property
    def _parts(self) -> PartsOfPath | None:
        return (
            parts_of(self._trace, self._path, self._work) if self._path is not None and self._work else None
        )

    @cached_property
    def _pieces(self) -> dict[int, list[WorkPiece]]:
        """The pieces of an annotation's work, by device."""
        if self._work is None or self._parts is None:
            return {}
        return {
            device: pieces
            for device in np.unique(find_launches(self._trace).runs.device).tolist()
            if (pieces := find_pieces(self._trace, device, self._work, self._parts))
        }

    def launches(self) -> tuple[list[LaunchOfEvent], int]:
        """The launches of an annotation's work, of a call, or of a run, and the number of those left out."""
        launches = find_launches(self._trace)
        runs = np.flatnonzero(self._runs())
        by_launch: dict[tuple[int, int], list[int]] = {}
        for run in runs.tolist():
            by_launch.setdefault(
                (int(launches.runs.launch[run]), int(launches.runs.program[run])), []
            ).append(run)
        rows = [
            self._launch(launch, launches.programs[program], of_launch)
            for (launch, program), of_launch in [*by_launch.items()][:_MAX_LAUNCHES]
        ]
        return rows, max(0, len(by_launch) - _MAX_LAUNCHES)

    def _runs(self) -> NDArray[np.bool_]:
        """A mask over Launches.runs: those of the event's launches."""
        trace, event = self._trace, self._event.event
        launches = find_launches(trace)
        runs = launches.runs
        if self._work is not None:
            with_pieces = [piece.run for pieces in self._pieces.values() for piece in pieces]
            return np.isin(runs.launch, runs.launch[with_pieces]) & (runs.launch >= 0)
        kind = self._event.track.head.kind
        if kind == "modules":
            device = [device.id for device in trace.devices].index(self._event.track.head.device or "")
            is_run = np.zeros(len(runs), np.bool_)
            is_run[runs.of_device(device)] = trace.devices[device].runs.row == event
            return is_run
        if kind != "thread" or event < 0:
            return np.zeros(len(runs), np.bool_)
        calls = np.append(launches.row, np.int32(-1))[runs.launch]
        is_own: NDArray[np.bool_] = calls == event
        if not is_own.any() and self._host.class_index[event] == _DISPATCH:
            stop, end_ps = trace.line_of(event).rows.stop, trace.end_ps[event]
            for rows in (calls, runs.enqueue_row):
                is_own |= (rows >= event) & (rows < stop) & (trace.start_ps[rows] <= end_ps)
        return is_own

    def _launch(self, launch: int, program: ProgramName, of_launch: list[int]) -> LaunchOfEvent:
        trace, runs = self._trace, find_launches(self._trace).runs
        call = self._find(int(find_launches(trace).row[launch])) if launch >= 0 else None
        device = int(runs.device[of_launch[0]])
        event = trace.devices[device].runs.row[of_launch[0] - runs.of_device(device).start]
        run = next(
            (
                found
                for track in self._host.tracks
                if track.head.kind == "modules" and track.head.device == trace.devices[device].id
                for found in track.find_events([int(event)])
            ),
            None,
        )
        return {
            "call": None if call is None else self._summary(call),
            "run": None if run is None else self._summary(run),
            "program": program.name,
            "devices": [trace.devices[index].id for index in runs.device[of_launch].tolist()],
            "duration_ps": int(runs.duration_ps[of_launch].max()),
        }

    def on_device(self) -> OnDevice | None:
        """The ops that were traced inside the annotation; None for other events."""
        if self._path is None or self._parts is None:
            return None
        nodes, pieces = find_nodes(self._trace), self._pieces
        node = nodes.path.index(self._path) if self._path in nodes.path else -1
        texts = {_work_text(of_device) for of_device in pieces.values()}
        where = f"on each of {len(pieces)} cores" if len(texts) == 1 < len(pieces) else ""
        return {
            "path": self._path,
            "depth": len(nodes.with_enclosing(node)) - 1 if node >= 0 else 0,
            "missing": None if pieces else self._reason(),
            "devices": [
                self._device(number, of_device, self._parts, where) for number, of_device in pieces.items()
            ],
        }

    def _reason(self) -> str:
        """Why the annotation has no ops on the devices."""
        if not any(len(device.ops) for device in self._trace.devices):
            return "no device ops were recorded."
        reason = lost_annotations(self._trace).get(self._path or "")
        if reason is None:
            return "no run that its step launched after it has an op of it."
        return f"{reason}. {ADVICE[reason]}"

    def _device(self, number: int, pieces: list[WorkPiece], parts: PartsOfPath, where: str) -> DeviceWork:
        trace, ops = self._trace, find_ops(self._trace)
        device, runs = trace.devices[number], find_launches(self._trace).runs
        of_runs = sorted({piece.run for piece in pieces})
        time, direct, op_count, count = (
            sum(getattr(piece, name) for piece in pieces)
            for name in ("device_ps", "direct_ps", "ops", "count")
        )
        first, begin = pieces[0], int(runs.start_ps[pieces[0].run])
        rows = {
            found.event: found
            for track in self._host.tracks
            if track.head.kind == "ops" and track.head.device == device.id
            for found in track.find_events([int(device.ops.row[piece.longest]) for piece in pieces])
        }
        place = where or f"on {device.name}"
        begins, ends = ("They begin", "end") if count > 1 else ("It begins", "ends")
        after_ps = first.start_ps - begin
        after = f"{units.brief_time(after_ps)} after" if after_ps else "at"
        program = find_launches(trace).programs[runs.program[first.run]].name
        length = units.brief_time(max(piece.end_ps for piece in pieces) - first.start_ps)
        sentences = [f"{begins} {after} the start of {program}, and {ends} {length} later."]
        if direct < time:
            sentences.append(f"{units.share(1 - direct / time)} of the time is {ops.words[RECOVERED]}.")
        if parts.annotations > 1:
            sentences.append(
                f"Their scopes do not tell the {parts.annotations} annotations of this name apart: the ops are of all."
            )
        return {
            "device": device.id,
            "text": f"{_work_text(pieces)}, {place}",
            "note": " ".join(sentences),
            "ops": op_count,
            "count": count,
            "runs": [(int(runs.start_ps[run]), int(runs.end_ps[run])) for run in of_runs],
            "pieces": [self._piece(number, piece, rows) for piece in pieces],
        }

    def _piece(self, number: int, piece: WorkPiece, rows: dict[int, RowEvent]) -> DevicePiece:
        trace, ops = self._trace, find_ops(self._trace)
        longest = rows.get(int(trace.devices[number].ops.row[piece.longest]))
        return {
            "start_ps": piece.start_ps,
            "end_ps": piece.end_ps,
            "after_ps": piece.start_ps - int(find_launches(trace).runs.start_ps[piece.run]),
            "device_ps": piece.device_ps,
            "ops": piece.ops,
            "count": piece.count,
            "named": _named(piece, ops.words),
            "longest": None if longest is None else self._summary(longest),
            "source": op_source(ops, int(ops.devices[number].key[piece.longest])),
        }


def _work_text(pieces: list[WorkPiece]) -> str:
    """`41.9 ms, 48 ops, 3 pieces`."""
    time, ops, count = (
        sum(getattr(piece, name) for piece in pieces) for name in ("device_ps", "ops", "count")
    )
    return ", ".join((units.brief_time(time), plural(ops, "op"), plural(count, "piece")))


def _named(piece: WorkPiece, words: Sequence[str]) -> str:
    """How the annotation of the piece's ops was found, in the words for each state: `named 80.0 %, inferred`."""
    named, inferred = words[DIRECT], words[RECOVERED]
    if not piece.direct_ps:
        return inferred
    if piece.direct_ps == piece.device_ps:
        return named
    return f"{named} {units.share(piece.direct_ps / piece.device_ps)}, {inferred}"
