"""The finding about steps with many small executions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.delays.early_executions import find_early_executions
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import Finding
from tb_xla_insights.analysis.findings.logged_reasons import main_reason
from tb_xla_insights.analysis.findings.markers import advise_one_sync
from tb_xla_insights.analysis.idle.idle_time import QUEUED, find_gaps
from tb_xla_insights.analysis.launches.executions import find_run_times, fixed_cost
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.names import has_tag, number_distinct
from tb_xla_insights.analysis.opcodes import is_container, is_element_wise
from tb_xla_insights.analysis.propagation.columns import runs_of_ops
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.thresholds import MIN_LAUNCHES_PER_STEP, SMALL_LAUNCHES_SHARE
from tb_xla_insights.arrays import Int64
from tb_xla_insights.text.english import Phrase, Sentence, sentences
from tb_xla_insights.text.units import brief_time
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_enclosing

LAUNCHING_CLASSES = ("sync_prepare", "dispatch", "program_load")
"""The classes of host work that launches a graph."""

_FEWEST_OF_SERVER = 8
"""As MIN_LAUNCHES_PER_STEP, in an iteration of a server: forward, choice of rows, logits, sampling and what prepares
them are up to seven programs, which are apart for a reason."""

_CONTAINER, _ELEMENT_WISE, _OTHER = range(3)
"""Kinds of ops."""


@dataclass(frozen=True)
class _SmallLaunches:
    """The small launches of one host. A launch is small if the device's work takes less time than the idle time before
    it or than the launch's overhead, or if it is a single element-wise op.

    Indices of launches: `in_steps`, all launches in steps, except early executions and launches of unknown programs;
    `small`; `small_by_work`, those that are small regardless of the idle time before them; `single_op`, those of a
    single element-wise op; `chained`, those of `single_op` that are next to one of another program or function in the
    same step. `runs` and the times are sums over `small`.
    """

    in_steps: NDArray[np.intp]
    small: NDArray[np.intp]
    small_by_work: NDArray[np.intp]
    single_op: NDArray[np.intp]
    chained: NDArray[np.intp]
    runs: int
    idle_ps: int
    device_ps: int
    overhead_ps: int


def _find_small_launches(facts: Facts) -> _SmallLaunches:
    trace, ledger = facts.trace, facts.ledger
    launches, times = find_launches(trace), find_run_times(trace)
    overhead, device = launches.sums(times.overhead_ps), launches.sums(times.device_ps)
    runs = launches.sums(np.ones(len(launches.runs), np.int64))
    idle = np.zeros(len(launches) + 1, np.int64)
    is_before_launch = ledger.before != ledger.after  # a gap inside a run is not idle time before a launch
    np.add.at(idle, ledger.after[is_before_launch], (ledger.end_ps - ledger.start_ps)[is_before_launch])
    idle = idle[:-1]
    is_counted = (launches.step >= 0) & (launches.program >= 0)
    is_counted[find_early_executions(trace).launch] = False
    is_single_op = _is_single_op(trace) & is_counted
    small_by_work = is_counted & ((overhead > device) | is_single_op)
    small = np.flatnonzero(small_by_work | (is_counted & (idle > device)))
    sums = (int(column[small].sum()) for column in (runs, idle, device, overhead))
    return _SmallLaunches(
        np.flatnonzero(is_counted),
        small,
        np.flatnonzero(small_by_work),
        np.flatnonzero(is_single_op),
        _chained_launches(trace, is_single_op),
        *sums,
    )


def _is_single_op(trace: Trace) -> NDArray[np.bool_]:
    """Per launch, whether each of its runs is a single element-wise op; containers of ops (`call`) do not count. If
    devices record no ops, the name of the function that JAX jitted decides."""
    launches = find_launches(trace)
    runs = launches.runs
    if not any(len(device.ops) for device in trace.devices):
        is_element_wise_call = np.array(
            [is_element_wise(name) for name in _jitted_functions(trace)], np.bool_
        )
        return is_element_wise_call & (launches.sums(np.ones(len(runs), np.int64)) > 0)
    element_wise_ops, other_ops = np.zeros(len(runs), np.int64), np.zeros(len(runs), np.int64)
    for index, device in enumerate(trace.devices):
        run, kind = runs_of_ops(trace, index), trace.map_texts(device.ops.name, _op_kind)
        for counts, op_kind in ((element_wise_ops, _ELEMENT_WISE), (other_ops, _OTHER)):
            counts += np.bincount(run[(run >= 0) & (kind == op_kind)], minlength=len(runs))
    is_single_run = (element_wise_ops == 1) & (other_ops == 0)
    single_runs, other_runs = (
        launches.sums(column.astype(np.int64)) for column in (is_single_run, ~is_single_run)
    )
    is_single: NDArray[np.bool_] = (single_runs > 0) & (other_runs == 0)
    return is_single


def _op_kind(op: str) -> int:
    return _CONTAINER if is_container(op) else _ELEMENT_WISE if is_element_wise(op) else _OTHER


def _jitted_functions(trace: Trace) -> list[str]:
    """Per launch, the function in the name of the innermost jitted call around it: `multiply` for
    `PjitFunction(multiply)`, which is how JAX runs a single operation; empty without such a call."""
    rows = trace.rows_with_metadata(has_tag(trace, "jitted_call"))
    calls = nearest_enclosing(trace.parent, find_launches(trace).origin, rows)
    names = [trace.name(row) if row >= 0 else "" for row in calls.tolist()]
    return [name.partition("(")[2].removesuffix(")") for name in names]


def _chained_launches(trace: Trace, is_single_op: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Launches of a single op, next to a launch of a single op of another program or function in the same step."""
    launches = find_launches(trace)
    programs = np.append(number_distinct(name for name, _ in launches.programs), -1)[launches.program]
    name = number_distinct(zip(programs.tolist(), _jitted_functions(trace), strict=True))
    step = launches.step
    linked = is_single_op[:-1] & is_single_op[1:] & (step[:-1] == step[1:]) & (name[:-1] != name[1:])
    first = np.flatnonzero(linked)
    return np.union1d(first, first + 1)


def many_small_executions(facts: Facts) -> Finding | None:
    """Steps with many launches, most of them small. They cost the idle time before the small ones, and between the
    kernels of a small one on a GPU, in which the host launches or waits; early executions are a finding of their
    own."""
    trace, all_launches, small_launches = facts.trace, find_launches(facts.trace), _find_small_launches(facts)
    count, small = len(small_launches.in_steps), len(small_launches.small)
    per_step = facts.usual_count(all_launches.step[small_launches.in_steps])
    fewest = _FEWEST_OF_SERVER if facts.words.is_server else MIN_LAUNCHES_PER_STEP
    if per_step < fewest or small < SMALL_LAUNCHES_SHARE * count:
        return None
    before_small = np.isin(facts.ledger.after, small_launches.small)
    taken_ps = facts.ledger.take((*LAUNCHING_CLASSES, "wait"), before_small)
    cost, idle = int(taken_ps.sum()), small_launches.idle_ps
    dynamo = int((all_launches.kind[small_launches.in_steps] == DYNAMO_KIND).sum())
    is_marker = all_launches.marker[small_launches.in_steps] >= 0
    markers = facts.usual_count(all_launches.step[small_launches.in_steps[is_marker]])
    input_syncs = np.intersect1d(find_early_executions(trace).input_syncs, small_launches.in_steps)
    single_op, chained = len(small_launches.single_op), len(small_launches.chained)
    fixed = fixed_cost(trace)
    work = brief_time(small_launches.device_ps // small_launches.runs)
    description = (
        f"take less time ({work} on average) than "
        f"{'the idle time before them or ' if idle else ''}their launch"
    )
    if single_op == small:
        description = f"run a single element-wise op each ({work} on average)"
    elif single_op:
        description += ", or run a single element-wise op"
    costs = _idle_text(facts, taken_ps)
    return Finding(
        "many_small_executions",
        f"{per_step} executions a step, most of them small",
        f"{per_step} mostly small executions a step",
        sentences(
            f"{small} of {count} executions {description}",
            f"{costs}{_pending_inputs_text(facts.usual_count(all_launches.step[input_syncs]))}",
            main_reason(facts),
        ),
        _advice(facts, dynamo, markers),
        cost,
        {
            "executions_per_step": per_step,
            "executions": count,
            "small": small,
            "single_op": single_op,
            "op_by_op": chained,
            "small_idle_ps": idle,
            "small_device_ps": small_launches.device_ps,
            "small_overhead_ps": small_launches.overhead_ps,
            "step_markers_per_step": markers,
            "dynamo": dynamo,
            "input_syncs": len(input_syncs),
            "fixed_ps": fixed["fixed_ps"] if fixed else None,
        },
        facts.gap_windows(taken_ps),
        "every_step",
        _merging_fix(facts, small_launches),
        waits_for=Phrase("the host", ", which launches many small programs"),
    )


def _idle_text(facts: Facts, taken_ps: Int64) -> str:
    """How long devices idle while small executions are launched; if it is longer, also how long they idle between
    executions although the next one is launched already, which is no cost of the host's work. Waiting for another core
    at the start of a run is not counted: what comes before it may not be launched yet."""
    gaps = find_gaps(facts.trace)
    is_launched = (gaps.kind == QUEUED) & ~gaps.inside & (2 * gaps.barrier_ps <= gaps.duration_ps)
    queued_ps = np.where(is_launched, gaps.duration_ps - gaps.barrier_ps, 0)
    queued = facts.mean_of_gaps(queued_ps, gaps.start_ps, gaps.end_ps, "every_step")
    launching = facts.mean_per_core(taken_ps, "every_step")
    if queued.ps <= launching.ps:
        idle = facts.idle_text(taken_ps, "every_step")
        return f"{idle} while they are launched" if taken_ps.any() else "no device waits for their launches"
    where = f"{queued} between programs, though the next is launched already"
    if not launching.ps:
        return f"{facts.core_subject} idles {where}"
    return f"{facts.core_subject} idles {launching} while they are launched, and {where}"


def _pending_inputs_text(per_step: int) -> str:
    """How many executions of a step only bring the inputs of torch.compile's graphs up to date."""
    return (
        f"; {per_step} a step only compute{'s' if per_step == 1 else ''} pending inputs" if per_step else ""
    )


def _advice(facts: Facts, dynamo: int, markers: int) -> str:
    """Advice to launch more work at once, by the source of the launches; `markers`: those that launch in a step."""
    if dynamo:
        return (
            "Compile more at once: one torch.compile around the whole step (in training: forward, loss, backward and "
            "optimizer), so that no lazy work is left between the graphs."
        )
    if markers > 1:
        return advise_one_sync(facts, markers)
    return str(Sentence(facts.words.one_graph))


def _merging_fix(facts: Facts, small_launches: _SmallLaunches) -> Fix:
    """The fix that merges the small launches into the launches after them.

    At best, element-wise ops that ran alone take no device time, because they are fused into the ops that produce or
    use their values, and a function that JAX compiles as a whole runs no Python. Python before launches that are small
    only because of the idle time before them remains, because it may be the reason for that time.
    """
    python = ("python",) if facts.framework == "jax" else ()
    return Fix(
        (*LAUNCHING_CLASSES, "wait", *python),
        before_launches=small_launches.small,
        python_before_launches=small_launches.small_by_work,
        merged_launches=small_launches.small,
        unknown_launches=small_launches.single_op,
        moved_classes=("sync_prepare", *python),
    )
