"""The finding about what devices wait for while a program runs: SparseCores, collectives, copies, other slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

import numpy as np

from tb_xla_insights.analysis.delays.collectives import find_collectives
from tb_xla_insights.analysis.engines.op_texts import ENGINES, short_op_name
from tb_xla_insights.analysis.engines.report import async_ops_report, busy_share
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
from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import NO_INTERVALS, Intervals, union_all
from tb_xla_insights.arrays import Int64
from tb_xla_insights.schema.engines import Engine, WaitCause
from tb_xla_insights.text.english import Phrase, Sentence, join_words, sentences, upper_first
from tb_xla_insights.text.units import brief_times, rounded_share, share
from tb_xla_insights.trace.device import DeviceKind, device_name
from tb_xla_insights.trace.model import Trace

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
    return Finding(
        "device_waits",
        waits.title,
        waits.brief,
        sentences(
            f"{facts.core_subject} waits {waits.mean(facts, frequency)} {_WAITS[waits.engine]}, "
            f"{share(cost / busy_ps)} of its busy time, above all in {join_words(waits.named_ops)}"
            + (f"; and {join_words(others)}" if others else ""),
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
        Fix(device_ps=waits.of_runs),
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
            synchronous = exposed[index].without(stalls(trace, device))
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
        """What these waits consist of, with times in ps: kinds of collectives, else names of ops."""
        times = Counter[str]()
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
        return cause if ps >= _MAIN_SHARE * self.by_engine[self.engine] else None

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
            case "sparse_core", "bottleneck":
                return upper_first(f"{self.name} {self._verb('are')} the bottleneck: {self._busy} busy")
        device = "device waits" if len(self._trace.devices) == 1 else "devices wait"
        return first_fitting_title(f"The {device} for {self.name}", f"The {device} for other engines")

    def _verb(self, plural: str) -> str:
        """`get` or `gets`, `are` or `is`, `their` or `its`: what agrees with the SparseCores."""
        if len(self._trace.devices) > 1:
            return plural
        return {"are": "is", "do": "does", "their": "its"}.get(plural, f"{plural}s")

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
            case "sparse_core", "bottleneck":
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
        longest = rows[0]
        name, count = short_op_name(longest["op"]), longest["count"]
        match self.cause:
            case "bottleneck":
                subject = (
                    f"{self.name} {self._verb('are')} busy"
                    if self.engine == "sparse_core"
                    else "such transfers are under way"
                )
                return f"{subject} {self._busy} of the time, so starting them earlier cannot help"
            case "late":
                ready, hideable = brief_times(
                    (longest["ready_before_ps"] or 0) // count, (longest["hideable_ps"] or 0) // count
                )
                text = (
                    f"{name} starts {ready} after its input is ready; {hideable} of its wait would be hidden"
                )
                return Sentence(text, begins_with_name=True)
            case "dependent":
                text = f"{name} cannot start earlier: what it needs is computed just before"
                return Sentence(text, begins_with_name=True)
            case "order":
                return f"{self.name} {self._verb('do')} other work before {name}"
            case "peer":
                of_op = [row for row in async_ops_report(self._trace) if row["op"] == longest["op"]]
                last = device_name(min(of_op, key=lambda row: row["wait_ps"])["device"])
                return Sentence(f"{last} begins {name} later; the others wait for it", begins_with_name=True)
            case "not_traced":
                return f"what {self.name} {self._verb('do')} meanwhile is not in the capture"

    @property
    def advice(self) -> str:
        match self.engine:
            case "host_memory":
                return _MOVE_LESS
            case "other_slice":
                return "Send less between slices, or earlier, so that computation hides it."
            case "interconnect" if self.cause not in ("late", "peer"):
                return _advise_hiding(self.name, {device.kind for device in self._trace.devices})
            case "other" if self.named_ops[0].startswith(("copy", "slice", "dynamic")):
                return _MOVE_LESS
        return _ADVICE[self.cause]

    def windows(self) -> Iterable[ShownWindow]:
        """The longest waits of each device."""
        for device, times in zip(self._trace.devices, self.times, strict=True):
            longest = np.argsort(times.start_ps - times.end_ps, kind="stable")[:MAX_WINDOWS]
            for start, end in zip(
                times.start_ps[longest].tolist(), times.end_ps[longest].tolist(), strict=True
            ):
                yield ShownWindow(start, end, device.id)


_MAIN_SHARE = 0.5
"""Of the wait: how much its cause must explain."""

_WAITS: Mapping[Engine, str] = {
    "sparse_core": "for SparseCores",
    "interconnect": "in collectives",
    "host_memory": "for copies between device and host memory",
    "other_slice": "for transfers between slices",
    "other": "in asynchronous ops",
}
"""How a device waits for each engine, after `waits`."""

_MOVE_LESS = (
    "Move less between host and device memory, or earlier: offload fewer buffers, prefetch further ahead, keep on the "
    "device what is needed again soon."
)

_ADVICE: Mapping[WaitCause | None, str] = {
    "bottleneck": "Give the engine less work: fewer or smaller lookups and collectives on a SparseCore, or more "
    "SparseCores. Launching earlier cannot help.",
    "late": "Start the op as soon as its input is ready: place it before the work that does not need its result. The "
    "compiler does so with a higher --xla_tpu_sparse_core_…_latency_multiplier, which costs memory.",
    "dependent": "Let work that does not need the result run between start and end, as far as the program has some, or "
    "split the transfer, so that its first part starts earlier.",
    "order": "Start first what is needed first.",
    "peer": "Balance the cores: find what the core that comes last does before.",
    "not_traced": "Capture with the SparseCores: set tpu_num_sparse_cores_to_trace in the profiler's options.",
    None: "Start the awaited ops earlier, or let work that needs none of them run between their start and end.",
}


def _advise_hiding(name: str, kinds: Collection[DeviceKind]) -> str:
    """Advice to hide collectives on devices of some kinds."""
    if kinds == {"cpu"}:
        return (
            f"Measure {name} on an accelerator: CPU devices share the machine's processors, and in a collective "
            "each waits for the last one."
        )
    flags = _SCHEDULER_FLAGS.get(join_words(sorted(kinds)), "")
    return (
        f"Overlap {name} with computation (latency-hiding scheduler{flags}, gradients "
        "reduced in buckets during backward), or send less (bfloat16, sharding)."
    )


_SCHEDULER_FLAGS = {"tpu": " by --xla_tpu_… flags", "gpu": " by --xla_gpu_… flags"}
"""The flags that enable the latency-hiding scheduler, by kind of device."""
