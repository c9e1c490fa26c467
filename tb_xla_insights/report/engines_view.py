"""The document of `data/engines`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.engines.one_run import (
    MAX_OPS,
    TENSOR_CORE,
    busy_computing,
    collectives_alone,
    grouped,
    main_runs,
    shown_run,
)
from tb_xla_insights.analysis.engines.op_texts import short_op_name
from tb_xla_insights.analysis.engines.report import (
    keys_of_windows,
    rows_of_device,
)
from tb_xla_insights.analysis.engines.slice_rows import transfers_of_devices
from tb_xla_insights.analysis.engines.sparse_cores import find_jobs, find_sparse_cores
from tb_xla_insights.analysis.engines.wait_texts import advice_on_waits, reason_of_transfer, reason_of_wait
from tb_xla_insights.analysis.engines.windows import find_windows, waits_by_engine
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.thresholds import EXPOSED_SHARE, INFO_SHARE
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import Intervals
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.text.english import Sentence, join_words, sentences
from tb_xla_insights.text.units import part_text, time_text
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.row_ids import RowId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tb_xla_insights.schema.engines import AsyncOp, Engine, SliceTransfer
    from tb_xla_insights.schema.engines_route import (
        EnginesAnswer,
        EnginesOfDevice,
        LongestWait,
        ShownTransfer,
        WaitRow,
    )

_ENGINE_NAMES: Mapping[Engine, str] = {
    "sparse_core": "SparseCore",
    "interconnect": "interconnect",
    "host_memory": "host memory",
    "other_slice": "other slice",
    "other": "other",
}

_AWAITED: Mapping[Engine, str] = {
    "sparse_core": "its SparseCore",
    "interconnect": "the interconnect",
    "host_memory": "copies between device and host memory",
    "other_slice": "other slices",
    "other": "other asynchronous ops",
}

_MIN_NAMED_SHARE = 0.1
"""Of a device's waits: the least share of an engine that the headline names."""

_MIN_WAIT_SHARE = 0.001
"""Of the runs: the least share of the wait for an op that has a row."""


def engines_view(session: SessionView, device: str | None, *, stale: bool) -> EnginesAnswer:
    """What the engines of a device do, which is given by its id."""
    row = next((row for row in session.report["devices"] if row["id"] == device), None)
    shown = next(
        (
            (host, trace, index)
            for host, trace in session.hosts.numbered_traces()
            for index, candidate in enumerate(trace.devices)
            if candidate.id == device
        ),
        None,
    )
    has_runs = shown is not None and len(main_runs(*shown[1:])) > 0
    return {
        "async_ops": len(session.report["async_ops"]),
        "device": device if shown else None,
        "stale": stale,
        "of_device": _of_device(*shown, row["duty_cycle_xprof"]) if row and shown and has_runs else None,
    }


def _of_device(host: int, trace: Trace, index: int, duty_cycle_xprof: float | None) -> EnginesOfDevice:
    launches, main = find_launches(trace), main_runs(trace, index)
    start_ps, end_ps = launches.runs.start_ps[main], launches.runs.end_ps[main]

    def in_runs(times: Intervals) -> int:
        return int(covered_times(times.start_ps, times.end_ps, start_ps, end_ps).sum())

    duration_ps = int((end_ps - start_ps).sum())
    transfers = transfers_of_devices(trace, [index])
    waits_ps = {engine: in_runs(times) for engine, times in waits_by_engine(trace, index).items()}
    wait_ps = sum(waits_ps.values())
    of_device: EnginesOfDevice = {
        "program": launches.programs[launches.runs.program[main[0]]].name,
        "runs": len(main),
        "duration_ps": duration_ps,
        "computing_ps": in_runs(busy_computing(trace, index)),
        "collectives_ps": in_runs(collectives_alone(trace, index)),
        "waits_ps": {engine: ps for engine, ps in waits_ps.items() if ps},
        "duty_cycle_xprof": duty_cycle_xprof,
        "headline": "",
        "details": "",
        "waits": [],
        "shown": shown_run(trace, index),
        "slice_transfers": [_shown_transfer(row) for row in transfers[:MAX_OPS]],
        "more_slice_transfers": len(transfers[MAX_OPS:]),
    }
    rows = _Rows(host, trace, index)
    of_device["headline"] = _headline(of_device)
    if wait_ps >= INFO_SHARE * duration_ps:
        of_device["details"] = rows.details
    of_device["waits"] = rows.document(wait_ps, max(INFO_SHARE * wait_ps, _MIN_WAIT_SHARE * duration_ps))
    return of_device


def _shown_transfer(row: SliceTransfer) -> ShownTransfer:
    why = "".join(map(str, sentences(reason_of_transfer(row))))
    return {**row, "why": why}


def _headline(of_device: EnginesOfDevice) -> str:
    """`The TensorCore computes 5.0 of 16.1 ms; for 11.1 ms it waits for its SparseCore.`"""
    runs, duration_ps, waits_ps = of_device["runs"], of_device["duration_ps"], of_device["waits_ps"]
    wait_ps, engines = sum(waits_ps.values()), of_device["shown"]["engines"]
    names = dict(_AWAITED)
    if len(engines) > 2:
        names["sparse_core"] += "s"
    awaited = [
        names[engine]
        for engine, ps in sorted(waits_ps.items(), key=lambda item: -item[1])
        if ps >= _MIN_NAMED_SHARE * wait_ps
    ]
    clauses = [
        f"for {time_text(ps // runs, 1)} it {does}"
        for ps, does in (
            (wait_ps, f"waits for {join_words(awaited)}"),
            (of_device["collectives_ps"], "is in collectives that nothing hides"),
        )
        if ps >= INFO_SHARE * duration_ps
    ]
    computing = part_text(of_device["computing_ps"] // runs, duration_ps // runs)
    name = engines[0]["name"]
    computes = f"{'the ' if name == TENSOR_CORE else ''}{name} computes {computing}"
    return str(Sentence(f"{computes}; {join_words(clauses)}" if clauses else f"{computes} and hardly waits"))


class _Rows:
    """What a device waits for in the runs of its main program: `rows`, most waiting first, and the windows of each."""

    def __init__(self, host: int, trace: Trace, index: int) -> None:
        self._host, self._trace, self._index = host, trace, index
        self._runs = main_runs(trace, index)
        chosen, key = keys_of_windows(trace, index, self._runs)
        rows = zip(rows_of_device(trace, index, self._runs), grouped(chosen, key), strict=True)
        self._rows = sorted(rows, key=lambda item: -item[0]["wait_ps"])

    @property
    def details(self) -> str:
        """Why the device waits for the op that it waits for longest, and what to do."""
        if not self._rows:
            return ""
        row = self._rows[0][0]
        why = self._why(row, short_op_name(row["op"]))
        return " ".join(filter(None, (why, self._advice(row))))

    def document(self, wait_ps: int, least_ps: float) -> list[WaitRow]:
        """The rows, which add up to `wait_ps`; those of less than `least_ps` are one."""
        waiting = sum(row["wait_ps"] >= least_ps > 0 for row, _ in self._rows[:MAX_OPS])
        shown = [self._row(row, windows) for row, windows in self._rows[:waiting]]
        rest = [row for row, _ in self._rows[waiting:]]
        rest_ps = wait_ps - sum(row["wait_ps"] for row in shown)
        if rest or rest_ps > 0:
            shown.append(
                {
                    "op": None,
                    "ops": len(rest),
                    "engine": None,
                    "engine_name": "",
                    "annotation": None,
                    "wait_ps": max(0, rest_ps),
                    "wait_own_ps": None,
                    "wait_queue_ps": None,
                    "start_up_ps": None,
                    "hidden_ps": sum(row["hidden_ps"] for row in rest),
                    "why": "",
                    "advice": "",
                    "join": "none",
                    "longest": None,
                }
            )
        return shown

    def _row(self, row: AsyncOp, windows: NDArray[np.intp]) -> WaitRow:
        own_ps, queue_ps = row["wait_own_ps"], row["wait_queue_ps"]
        is_known = own_ps is not None and queue_ps is not None
        hardly_waits = row["wait_ps"] <= EXPOSED_SHARE * row["window_ps"]
        return {
            "op": short_op_name(row["op"]),
            "ops": 1,
            "engine": row["engine"],
            "engine_name": self._engine_name(row, windows),
            "annotation": row["annotation"],
            "wait_ps": row["wait_ps"],
            "wait_own_ps": own_ps,
            "wait_queue_ps": queue_ps,
            "start_up_ps": row["wait_ps"] - (own_ps or 0) - (queue_ps or 0) if is_known else None,
            "hidden_ps": row["hidden_ps"],
            "why": self._why(row),
            "advice": "" if hardly_waits else self._advice(row),
            "join": row["join"],
            "longest": self._longest(windows),
        }

    def _engine_name(self, row: AsyncOp, windows: NDArray[np.intp]) -> str:
        cores = set(find_jobs(self._trace, self._index).core[windows].tolist())
        is_one = row["engine"] == "sparse_core" and len(cores) == 1 and min(cores) >= 0
        name: str = find_sparse_cores(self._trace, self._index)[min(cores)].name if is_one else ""
        return name or _ENGINE_NAMES[row["engine"]]

    def _why(self, row: AsyncOp, op: str = "") -> str:
        return "".join(map(str, sentences(reason_of_wait(self._trace, row, op))))

    def _advice(self, row: AsyncOp) -> str:
        kinds = {self._trace.devices[self._index].kind}
        return advice_on_waits(row["engine"], row["cause"], [row["kind"]], kinds)

    def _longest(self, windows: NDArray[np.intp]) -> LongestWait:
        ops, found = self._trace.devices[self._index].ops, find_windows(self._trace, self._index)
        op = int(found.done_op[windows[found.wait_ps[windows].argmax()]])
        return {
            "row": str(RowId(self._host, "ops", self._index)),
            "depth": int(ops.depth[op]),
            "start_ps": int(ops.start_ps[op]),
            "duration_ps": int(ops.end_ps[op] - ops.start_ps[op]),
        }
