"""The training steps of a capture, from whatever tells them best."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tb_xla_insights.analysis.extractions import find_extractions
from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.analysis.names import program_of
from tb_xla_insights.trace.model import Device, Int32, Int64, SessionTrace, Trace
from tb_xla_insights.trace.nesting import outermost

Source = Literal["annotation", "steps_line", "step_marker", "modules"]

_NUMBER = re.compile(r"(\d+)\D*$")


@dataclass(frozen=True)
class Step:
    """One step. `row` is the event that tells it: the annotation, the entry of the device's line, the marker
    at its end, or the run it starts with."""

    name: str
    number: int | None
    source: Source
    host: str
    start_ps: int
    duration_ps: int
    row: int

    @property
    def end_ps(self) -> int:
        return self.start_ps + self.duration_ps

    @property
    def on_device(self) -> bool:
        """Whether a device tells it: it goes from work to work there, whatever the host did when."""
        return self.source in ("steps_line", "modules")


@kept
def steps_of(trace: Trace) -> list[Step]:
    """The steps of one host in order of time, all from one source; empty where nothing tells them.

    Sources, the best first: step annotations (`_r` or `step_num`, not those inside of others); a `Steps` line
    of a device; step markers on the driving thread but those of torch.compile, a step lasting from one marker's
    end to the next one's;
    the rhythm of the modules, a step lasting from one run to the next of the program that takes most time.
    (docs/definitions.md, "Step")
    """
    for find in (_annotations, _steps_line, _step_markers, _modules):
        steps = sorted(find(trace), key=lambda step: (step.start_ps, -step.duration_ps))
        if steps:
            return steps
    return []


def annotated_steps(trace: Trace) -> list[Step]:
    """The steps if annotations tell them, else none."""
    return [step for step in steps_of(trace) if step.source == "annotation"]


@kept
def step_times(trace: Trace) -> tuple[Int64, Int64]:
    """When the steps start and end."""
    times = [(step.start_ps, step.end_ps) for step in steps_of(trace)]
    start, end = np.array(times, np.int64).reshape(-1, 2).T.copy()
    return start, end


def steps_at(trace: Trace, when: Int64) -> Int32:
    """The step at each of some instants, -1 outside of steps."""
    start, end = step_times(trace)
    at = np.searchsorted(start, when, "right") - 1
    return np.where((at >= 0) & (when < np.append(end, 0)[at]), at, -1).astype(np.int32)


def with_offsets(session: SessionTrace) -> Iterator[tuple[Trace, int]]:
    """Each host's trace, and how many steps the hosts before it have: where its own begin in the report's `steps`."""
    offset = 0
    for trace in session.traces:
        yield trace, offset
        offset += len(steps_of(trace))


def step_rows(trace: Trace) -> Int32:
    """The events of step annotations, in row order, also those inside of others."""
    found = [trace.stats[name].rows for name in ("_r", "step_num") if name in trace.stats]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int32)


def _annotations(trace: Trace) -> Iterator[Step]:
    rows = _outermost(trace, step_rows(trace))
    numbers = trace.stats["step_num"].at(rows, -1) if "step_num" in trace.stats else np.full(len(rows), -1)
    for row, number in zip(rows.tolist(), numbers.tolist(), strict=True):
        yield _step(trace, row, trace.name(row), None if number < 0 else number, "annotation")


def _outermost(trace: Trace, rows: Int32) -> Int32:
    """Those that lie in no other one of them and on the driving thread; on all threads where it has none."""
    rows = outermost(trace.parent, rows)
    mine = rows[np.isin(trace.lines_of(rows), trace.lines_with("driving"))]
    return mine if mine.size else rows


def _steps_line(trace: Trace) -> Iterator[Step]:
    """Of the first device plane that has one: the others tell the same steps."""
    for line in trace.lines:
        if line.name == "Steps" and line.count and trace.planes[line.plane].name.startswith("/device:"):
            for row in range(line.first, line.rows.stop):
                number = _NUMBER.search(trace.name(row))
                yield _step(trace, row, trace.name(row), int(number[1]) if number else None, "steps_line")
            return


def _step_markers(trace: Trace) -> Iterator[Step]:
    names = {
        meta
        for meta in np.unique(trace.meta)
        if "step_marker" in trace.catalog.tags(trace.strings[trace.metadata.name[meta]])
    }
    rows = np.flatnonzero(np.isin(trace.meta, list(names))).astype(np.int32)
    rows = rows[~find_extractions(trace).recorded(trace)[rows]]
    rows = _outermost(trace, rows)
    rows = rows[np.argsort(trace.end_ps[rows], kind="stable")]
    ends = trace.end_ps[rows].tolist()
    for row, before, end in zip(rows[1:].tolist(), ends, ends[1:], strict=False):
        yield Step(trace.name(row), None, "step_marker", trace.host, before, end - before, row)


def _modules(trace: Trace) -> Iterator[Step]:
    """Of the device with most runs. The last run of the program has no next one: the capture cuts its step."""
    device = max(trace.devices, key=lambda it: len(it.modules), default=None)
    if device is None or not len(device.modules):
        return
    name, rows, starts = _main_runs(trace, device)
    for row, start, end in zip(rows, starts, starts[1:], strict=False):
        yield Step(name, None, "modules", trace.host, start, end - start, row)


def _main_runs(trace: Trace, device: Device) -> tuple[str, list[int], list[int]]:
    """Name and runs of the program that takes most of the device's time, among those that run more than once."""
    modules = device.modules
    # A recompiled graph keeps its name; the id of the program is left out.
    names = [program_of(trace.strings[text])[0] for text in modules.name.tolist()]
    distinct = {name: number for number, name in enumerate(dict.fromkeys(names))}
    program = np.array([distinct[name] for name in names])
    time = np.bincount(program, modules.end_ps - modules.start_ps)
    repeated = np.bincount(program) > 1
    if not repeated.any():
        return "", [], []
    most = int(np.argmax(np.where(repeated, time, -1)))
    mine = program == most
    return list(distinct)[most], modules.row[mine].tolist(), modules.start_ps[mine].tolist()


def _step(trace: Trace, row: int, name: str, number: int | None, source: Source) -> Step:
    start, duration = int(trace.start_ps[row]), int(trace.duration_ps[row])
    return Step(name, number, source, trace.host, start, duration, row)
