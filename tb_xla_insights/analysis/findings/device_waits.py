"""The finding about what devices wait for while a program runs: SparseCores, collectives, copies, other slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from tb_xla_insights.analysis.delays.collectives import find_collectives
from tb_xla_insights.analysis.engines.op_texts import ENGINES, kind_of, short_op_name
from tb_xla_insights.analysis.engines.report import async_ops_report, busy_share
from tb_xla_insights.analysis.engines.slice_rows import slice_transfers_report, transfers_by_op
from tb_xla_insights.analysis.engines.wait_texts import advice_on_waits, reason_of_wait
from tb_xla_insights.analysis.engines.windows import find_async_ops, waits_by_engine
from tb_xla_insights.analysis.findings.facts import Facts, Mean
from tb_xla_insights.analysis.findings.finding import (
    MAX_TITLE_LENGTH,
    MAX_WINDOWS,
    Finding,
    Frequency,
    ShownWindow,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.idle.busy import busy, stalls
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.opcodes import COLLECTIVE_KINDS, instruction_name
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.thresholds import DEVICE_BOUND_SHARE, INFO_SHARE, MAIN_SHARE
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import NO_INTERVALS, Intervals, union_all
from tb_xla_insights.arrays import Int64
from tb_xla_insights.schema.engines import Engine, SliceTransfer, WaitCause
from tb_xla_insights.text.english import Phrase, Sentence, join_words, sentences, upper_first
from tb_xla_insights.text.units import rounded_share, share
from tb_xla_insights.trace.model import Trace

_HIDEABLE: tuple[WaitCause, ...] = ("late", "order", "peer")
"""Causes that show how a wait can be avoided; for all others, the work that would hide it may not be there."""

_MIN_NAMED_SHARE = 0.25
"""The least share of the wait for an engine of an op that is named, if any op has it: a SparseCore's gather and scatter
may have equal shares."""


def device_waits(facts: Facts) -> Finding | None:
    """Time in which devices wait for another engine while a program runs: in ops that only wait for an asynchronous
    one, and in collectives that nothing hides. It is about the engine that they wait for longest, and mentions others.
    (docs/definitions.md, "Engines")"""
    trace, waits = facts.trace, _Waits(facts.trace)
    if not waits.by_engine:
        return None
    cost = waits.by_engine[waits.engine]
    frequency = facts.frequency_of_times(waits.times)
    busy_ps = sum(busy(trace, device).total_ps for device in trace.devices)
    others = [
        f"{share(ps / busy_ps)} {_WAITS[engine]}"
        for engine, ps in waits.by_engine.most_common()
        if engine != waits.engine and ps >= INFO_SHARE * busy_ps
    ]
    beside = f" (and {join_words(others)})" if others else ""
    return Finding(
        "device_waits",
        waits.title,
        waits.brief,
        sentences(
            f"{facts.core_subject} waits {waits.mean(facts, frequency)} {_WAITS[waits.engine]}, "
            f"{share(cost / busy_ps)} of its busy time{beside}, above all in {join_words(waits.named_ops)}",
            waits.reason,
        ),
        waits.advice,
        cost,
        {
            "wait_ps": cost,
            "busy_ps": busy_ps,
            "share_of_busy": cost / busy_ps,
            "engine": waits.engine,
            "by_engine_ps": dict(waits.by_engine.most_common()),
            "collectives_ps": waits.collectives_ps,
            "cause": waits.cause,
            "ops": [{"op": op, "duration_ps": ps} for op, ps in waits.ops.most_common(5)],
        },
        longest_windows(waits.windows()),
        frequency,
        Fix(device_ps=waits.of_runs, device_at_best=waits.cause not in _HIDEABLE),
        waits_for=Phrase(waits.name, waits.in_short),
    )


class _Waits:
    """The waits of a host's devices for the engine that they wait for longest. `by_engine`: their waits for each engine
    in ps; synchronous collectives that nothing hides are waits for the interconnect."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        by_device: list[dict[Engine, Intervals]] = []
        exposed = [find_collectives(trace, index).exposed_intervals for index in range(len(trace.devices))]
        for index, device in enumerate(trace.devices):
            waits = waits_by_engine(trace, index)
            # An op of a category that is no work, such as infeed, may have a collective's name.
            synchronous = exposed[index].within(busy(trace, device)).without(stalls(trace, device))
            waits["interconnect"] = union_all([waits.get("interconnect", NO_INTERVALS), synchronous])
            by_device.append(waits)
        self.by_engine = +Counter(
            {
                engine: sum(waits.get(engine, NO_INTERVALS).total_ps for waits in by_device)
                for engine in ENGINES
            }
        )
        self.engine: Engine = max(ENGINES, key=lambda engine: self.by_engine[engine])
        self.times = [waits.get(self.engine, NO_INTERVALS) for waits in by_device]
        self.collectives_ps = sum(
            times.within(of_device).total_ps for times, of_device in zip(self.times, exposed, strict=True)
        )

    @cached_property
    def of_runs(self) -> Int64:
        """Per run of Launches.runs, how long its device waits."""
        runs = find_launches(self._trace).runs
        wait_ps = np.zeros(len(runs), np.int64)
        for index, times in enumerate(self.times):
            rows = runs.of_device(index)
            wait_ps[rows] = covered_times(
                times.start_ps, times.end_ps, runs.start_ps[rows], runs.end_ps[rows]
            )
        return wait_ps

    def mean(self, facts: Facts, frequency: Frequency | None) -> Mean:
        """The mean wait per core; per step, of the runs that whole steps launched, whenever these ran."""
        step = find_launches(self._trace).step_of_run
        in_steps_ps = int(self.of_runs[(step >= 0) & (step < facts.step_count)].sum())
        if frequency not in ("every_step", "some_steps") or not in_steps_ps:
            return facts.mean_of_times(self.times, frequency)
        return Mean(round(in_steps_ps / facts.core_steps), " a step")

    @cached_property
    def ops(self) -> Counter[str]:
        """What these waits consist of, with times in ps: kinds of collectives, transfers between slices with their
        annotation, else names of ops."""
        times = Counter[str]()
        if self.engine == "other_slice":
            for row in slice_transfers_report(self._trace):
                times[_transfer_text(row)] += row["wait_ps"]
        if +times:
            return +times
        for index, device in enumerate(self._trace.devices):
            found = find_async_ops(self._trace, index)
            of_main = found.op[found.is_done & (found.engine == ENGINES.index(self.engine))]
            collectives = find_collectives(self._trace, index)
            if self.engine == "interconnect":
                elsewhere = found.op[found.engine != ENGINES.index(self.engine)]
                is_here = ~np.isin(collectives.op, elsewhere)
                for kind in np.unique(collectives.kind[is_here]).tolist():
                    exposed_ps = collectives.exposed_ps[is_here & (collectives.kind == kind)].sum()
                    times[COLLECTIVE_KINDS[kind]] += int(exposed_ps)
                continue
            for name in np.unique(device.ops.name[of_main]).tolist():
                own_ps = device.ops.own_ps[of_main[device.ops.name[of_main] == name]].sum()
                times[short_op_name(instruction_name(self._trace.strings[name]))] += int(own_ps)
        return +times

    @cached_property
    def named_ops(self) -> list[str]:
        """The ops of `ops` that are named: those with a large share, else the longest one."""
        least = (INFO_SHARE if self.engine == "interconnect" else _MIN_NAMED_SHARE) * self.ops.total()
        return [op for op, ps in self.ops.most_common() if ps >= least] or [
            f"ops such as {op}" for op, _ in self.ops.most_common(1)
        ]

    @cached_property
    def cause(self) -> WaitCause | None:
        """Why the devices wait for most of that time; None if that is not known."""
        times = Counter[WaitCause | None]()
        for row in async_ops_report(self._trace):
            if row["engine"] == self.engine:
                times[row["cause"]] += row["wait_ps"]
        cause, ps = max(times.items(), key=lambda item: item[1], default=(None, 0))
        return cause if ps >= MAIN_SHARE * self.by_engine[self.engine] else None

    @property
    def name(self) -> str:
        """`the SparseCore`, `all-reduce and all-gather`: what the devices wait for."""
        match self.engine:
            case "sparse_core":
                return "the SparseCore" if len(self._trace.devices) == 1 else "the SparseCores"
            case "interconnect":
                names = join_words(self.named_ops)
                return names if len(self._title_of_collectives(names)) <= MAX_TITLE_LENGTH else "collectives"
            case "host_memory":
                return "copies between device and host memory"
            case "other_slice":
                return "transfers between slices"
            case "other":
                return join_words(self.named_ops)

    @staticmethod
    def _title_of_collectives(names: str) -> str:
        return f"Time in {names} without computing"

    @cached_property
    def title(self) -> str:
        match self.engine, self.cause:
            case "interconnect", _:
                return self._title_of_collectives(self.name)
            case "sparse_core", "late":
                return upper_first(f"{self.name} {self._verb('get')} {self._verb('their')} work too late")
            case "sparse_core", "bottleneck" if self._is_busy:
                return upper_first(f"{self.name} {self._verb('are')} the bottleneck: {self._busy} busy")
        device = "device waits" if len(self._trace.devices) == 1 else "devices wait"
        return first_fitting_title(f"The {device} for {self.name}", f"The {device} for other engines")

    def _verb(self, plural: str) -> str:
        """`get` or `gets`, `are` or `is`, `their` or `its`: what agrees with the SparseCores."""
        if len(self._trace.devices) > 1:
            return plural
        return {"are": "is", "do": "does", "their": "its"}.get(plural, f"{plural}s")

    @property
    def _is_busy(self) -> bool:
        return busy_share(self._trace, self.engine) >= DEVICE_BOUND_SHARE

    @property
    def _busy(self) -> str:
        return rounded_share(busy_share(self._trace, self.engine))

    @property
    def brief(self) -> str:
        if self.engine == "interconnect":
            return f"time in {self.name} without computing"
        return f"waiting for {self.name}"

    @property
    def in_short(self) -> str:
        """Why, as a clause that follows `name`."""
        match self.engine, self.cause:
            case "sparse_core", "late":
                return f", which {self._verb('get')} {self._verb('their')} work too late"
            case "sparse_core", "bottleneck" if self._is_busy:
                return f", which {self._verb('are')} busy {self._busy} of the time"
            case "sparse_core", "dependent":
                return ", which cannot start earlier"
            case "sparse_core", "order":
                return f", which {self._verb('do')} other work first"
            case "sparse_core", "not_traced":
                return ", which the capture does not show"
            case "interconnect", "late":
                return ", launched too late"
            case "interconnect", "peer":
                return ", which one core begins later"
            case "other_slice", "peer":
                return ", which the other slice sends late"
            case "other_slice", "slack" | "bandwidth":
                return ", which take longer than the program leaves for them"
        return ""

    @property
    def reason(self) -> Sentence | str:
        """Why, as a sentence; empty if that is not known."""
        rows = [
            row
            for row in async_ops_report(self._trace)
            if row["engine"] == self.engine and row["cause"] == self.cause
        ]
        if not rows or self.cause is None:
            return ""
        transfer = transfers_by_op(self._trace).get(rows[0]["op"]) if self.engine == "other_slice" else None
        name = transfer["transfer"] if transfer else short_op_name(rows[0]["op"])
        return reason_of_wait(self._trace, rows[0], name, cores=len(self._trace.devices) > 1)

    @property
    def advice(self) -> str:
        kinds = {device.kind for device in self._trace.devices}
        names = [self.name] if self.name == "collectives" else self.named_ops
        if self.engine == "sparse_core":
            names = [*map(kind_of, names)]
        return advice_on_waits(self.engine, self.cause, names, kinds)

    def windows(self) -> Iterable[ShownWindow]:
        """The longest waits of each device."""
        for device, times in zip(self._trace.devices, self.times, strict=True):
            longest = np.argsort(times.start_ps - times.end_ps, kind="stable")[:MAX_WINDOWS]
            for start, end in zip(
                times.start_ps[longest].tolist(), times.end_ps[longest].tolist(), strict=True
            ):
                yield ShownWindow(start, end, device.id)


def _transfer_text(row: SliceTransfer) -> str:
    """`all-reduce.7 (step/backward)`"""
    return row["transfer"] if row["annotation"] is None else f"{row['transfer']} ({row['annotation']})"


_WAITS: Mapping[Engine, str] = {
    "sparse_core": "for SparseCores",
    "interconnect": "in collectives",
    "host_memory": "for copies between device and host memory",
    "other_slice": "for transfers between slices",
    "other": "in asynchronous ops",
}
"""How a device waits for each engine, after `waits`."""
