"""The finding about steps of many small executions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.device.opcodes import contains, element_wise
from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    index_mask,
    mean_text,
)
from tb_xla_insights.analysis.findings.markers import sync_once
from tb_xla_insights.analysis.launches.early_executions import find_early_executions
from tb_xla_insights.analysis.launches.executions import find_costs, fixed_cost
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.propagation.columns import runs_of_ops
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.thresholds import MIN_LAUNCHES_PER_STEP, SMALL_LAUNCHES_SHARE
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import climb
from tb_xla_insights.units import brief_time

LAUNCHING = ("sync_prepare", "dispatch", "program_load")

_CONTAINER, _ELEMENT_WISE, _OTHER = range(3)


@dataclass(frozen=True)
class _Small:
    """Launches in steps of one host, early executions left out (`all`), and those among them that are small: the
    device worked for less time than it had idled before, or than the launch took the host, or it ran a single
    element-wise op (`single`). `chained`: those of a single op beside which another such program was launched. Sums
    over the small ones.
    """

    all: NDArray[np.intp]
    small: NDArray[np.intp]
    single: NDArray[np.intp]
    chained: NDArray[np.intp]
    idle_ps: int
    device_ps: int
    overhead_ps: int


def _small(facts: Facts) -> _Small:
    trace, ledger = facts.trace, facts.ledger
    launches, costs = find_launches(trace), find_costs(trace)
    overhead, device = launches.sums(costs.overhead_ps), launches.sums(costs.device_ps)
    idle = np.zeros(len(launches) + 1, np.int64)
    apart = ledger.before != ledger.after  # a gap inside a run is none before it
    np.add.at(idle, ledger.after[apart], (ledger.end_ps - ledger.start_ps)[apart])
    idle = idle[:-1]
    counted = (launches.step >= 0) & (launches.program >= 0)
    counted[find_early_executions(trace).launch] = False
    single = _single(trace) & counted
    small = np.flatnonzero(counted & ((idle > device) | (overhead > device) | single))
    sums = (int(column[small].sum()) for column in (idle, device, overhead))
    return _Small(np.flatnonzero(counted), small, np.flatnonzero(single), _chained(trace, single), *sums)


def _single(trace: Trace) -> NDArray[np.bool_]:
    """Per launch, whether each of its runs is a single element-wise op; what only contains it (`call`) is none. Where
    devices record no ops, the function tells that JAX calls to run one."""
    launches = find_launches(trace)
    runs = launches.runs
    if not any(len(device.ops) for device in trace.devices):
        called = np.array([element_wise(name) for name in _functions(trace)], np.bool_)
        return called & (launches.sums(np.ones(len(runs), np.int64)) > 0)
    plain, others = np.zeros(len(runs), np.int64), np.zeros(len(runs), np.int64)
    for number, device in enumerate(trace.devices):
        run, kind = runs_of_ops(trace, number), trace.told(device.ops.name, _kind)
        for counts, which in ((plain, _ELEMENT_WISE), (others, _OTHER)):
            counts += np.bincount(run[(run >= 0) & (kind == which)], minlength=len(runs))
    alone = (plain == 1) & (others == 0)
    each, without = (launches.sums(column.astype(np.int64)) for column in (alone, ~alone))
    found: NDArray[np.bool_] = (each > 0) & (without == 0)
    return found


def _kind(op: str) -> int:
    return _CONTAINER if contains(op) else _ELEMENT_WISE if element_wise(op) else _OTHER


def _functions(trace: Trace) -> list[str]:
    """Per launch the function that the innermost jitted call around it names: `multiply` of `PjitFunction(multiply)`,
    as JAX calls each operation that it runs on its own; empty where there is none."""
    rows = trace.rows_of(has_tag(trace, "jitted_call"))
    calls = climb(trace.parent, find_launches(trace).origin, rows)
    names = [trace.name(row) if row >= 0 else "" for row in calls.tolist()]
    return [name.partition("(")[2].removesuffix(")") for name in names]


def _chained(trace: Trace, single: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Those launches of a single op that have one of another program or function directly before or behind them in
    their step."""
    launches = find_launches(trace)
    programs = np.append(np.array([name for name, _ in launches.programs], np.str_), "")[launches.program]
    functions = np.array(_functions(trace), np.str_)
    name = np.unique(np.char.add(np.char.add(programs, " "), functions), return_inverse=True)[1]
    step = launches.step
    linked = single[:-1] & single[1:] & (step[:-1] == step[1:]) & (name[:-1] != name[1:])
    first = np.flatnonzero(linked)
    return np.union1d(first, first + 1)


def many_small_executions(facts: Facts) -> Finding | None:
    """Steps of many launches of which most are small. They cost what it takes to launch the small ones while
    the device idles; early executions count on their own."""
    trace, launches, found = facts.trace, find_launches(facts.trace), _small(facts)
    count, small = len(found.all), len(found.small)
    each = count / facts.steps if facts.steps else 0.0
    if each < MIN_LAUNCHES_PER_STEP or small < SMALL_LAUNCHES_SHARE * count:
        return None
    before_small = index_mask(len(launches) + 1, found.small)[facts.ledger.after]
    taken = facts.ledger.take((*LAUNCHING, "wait"), before_small)
    cost, idle = int(taken.sum()), found.idle_ps
    dynamo = int((launches.kind[found.all] == DYNAMO_KIND).sum())
    markers = int((launches.marker[found.all] >= 0).sum())
    pending = len(np.intersect1d(find_early_executions(trace).input_syncs, found.all))
    single, chained = len(found.single), len(found.chained)
    fixed = fixed_cost(facts.session)
    each_small = small * max(1, len(trace.devices))
    work = brief_time(found.device_ps // each_small)
    does = f"take less time ({work} on average) than {'the idle time before them or ' if idle else ''}their launch"
    if single == small:
        does = f"run a single element-wise op each ({work} on average)"
    elif single:
        does += ", or run a single element-wise op"
    costs = "No device waits for their launches"
    if cost:
        costs = f"{facts.idle_text(taken, 'every_step')} while they are launched"
    return Finding(
        "many_small_executions",
        f"{mean_text(each)} executions a step, most of them small",
        f"{mean_text(each)} mostly small executions a step",
        f"{small} of {count} executions {does}. {costs}"
        + (", and nothing is fused across programs" if chained else "")
        + f"{_pending_inputs(pending, facts.steps)}.",
        _merge(facts, dynamo, markers),
        cost,
        {
            "executions_per_step": each,
            "executions": count,
            "small": small,
            "single_op": single,
            "op_by_op": chained,
            "small_idle_ps": idle,
            "small_device_ps": found.device_ps,
            "small_overhead_ps": found.overhead_ps,
            "step_markers_per_step": markers / facts.steps,
            "dynamo": dynamo,
            "input_syncs": pending,
            "fixed_ps": fixed["fixed_ps"] if fixed else None,
        },
        facts.gap_windows(taken),
        "every_step",
        _one_program(facts, found),
    )


def _pending_inputs(syncs: int, steps: int) -> str:
    """How many executions are none of the program's own, but bring inputs of torch.compile's graphs up to date."""
    if not syncs:
        return ""
    return f"; {mean_text(syncs / steps)} a step only bring{'s' if syncs == steps else ''} pending inputs up to date"


def _merge(facts: Facts, dynamo: int, markers: int) -> str:
    """How to launch more at once, by who launches."""
    if dynamo:
        return (
            "Compile more at once: one torch.compile around forward, loss, backward and optimizer, so that no lazy "
            "work is left between the graphs."
        )
    if markers >= (MIN_LAUNCHES_PER_STEP - 1) * facts.steps:
        return sync_once(facts, markers / facts.steps)
    return facts.words.one_graph


def _one_program(facts: Facts, found: _Small) -> Fix:
    """The small launches become part of what is launched behind them. At best, element-wise ops that ran one by one are
    fused into what makes or needs their values; and a function that JAX compiled runs no Python again."""
    again = ("python",) if facts.framework == "jax" else ()
    return Fix(
        (*LAUNCHING, "wait", *again),
        before=found.small,
        merged=found.small,
        unknown=found.chained,
        moved=("sync_prepare", *again),
    )
