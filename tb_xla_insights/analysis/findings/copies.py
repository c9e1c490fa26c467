"""The finding about copies on the device of arguments that are not donated."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import (
    MAX_WINDOWS,
    Finding,
    ShownWindow,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.opcodes import opcode
from tb_xla_insights.analysis.propagation.ops import Ops, find_ops
from tb_xla_insights.analysis.propagation.programs import module_names
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.thresholds import INFO_SHARE, WARNING_SHARE
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.arrays import Int64
from tb_xla_insights.text.english import join_words, plural, sentences
from tb_xla_insights.text.units import brief_times, share
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.xplane.hlo_copies import ParameterCopy

_ARGUMENT = re.compile(r"\w+")
_MAX_NAMES = 2


@dataclass(frozen=True)
class _Copies:
    """Copies that some distinct ops make: `is_copy`, a mask of Ops; the `program` (its id) with most of their time, and
    its ops that copy (`keys`), the longest first; the time of these, `program_copies_ps`, and of all ops of that
    program, `program_ps`."""

    is_copy: NDArray[np.bool_]
    copy_ps: int
    program: str
    keys: list[int]
    program_copies_ps: int
    program_ps: int


def device_copies(facts: Facts) -> Finding | None:
    """Copies of arguments that a program could overwrite if they were donated; where the file lacks the programs,
    copies whose reason it cannot show."""
    ops = find_ops(facts.trace)
    total_ps = int(ops.totals.op_ps.sum())
    undonated = [
        name in ops.undonated_copies.get(program, {})
        for program, name in zip(ops.program, ops.name, strict=True)
    ]
    copies = _copies_of(ops, np.array(undonated, np.bool_))
    if copies and copies.copy_ps >= INFO_SHARE * total_ps:
        return _undonated(facts, ops, copies)
    unexplained = [
        not known and opcode(name) == "copy" for known, name in zip(ops.in_program, ops.name, strict=True)
    ]
    copies = _copies_of(ops, np.array(unexplained, np.bool_))
    if copies and copies.copy_ps >= WARNING_SHARE * total_ps:
        return _unexplained(facts, ops, copies)
    return None


def _copies_of(ops: Ops, is_copy: NDArray[np.bool_]) -> _Copies | None:
    op_ps = ops.totals.op_ps
    times: Counter[str] = Counter()
    for key in np.flatnonzero(is_copy).tolist():
        times[ops.program[key]] += int(op_ps[key])
    if not times.total():
        return None
    program = times.most_common(1)[0][0]
    of_program = np.array([id_ == program for id_ in ops.program], np.bool_)
    keys = sorted(np.flatnonzero(is_copy & of_program).tolist(), key=lambda key: (-int(op_ps[key]), key))
    return _Copies(is_copy, times.total(), program, keys, times[program], int(op_ps[of_program].sum()))


def _undonated(facts: Facts, ops: Ops, copies: _Copies) -> Finding:
    trace = facts.trace
    program = module_names(trace).get(copies.program, copies.program)
    parameters = [ops.undonated_copies[copies.program][ops.name[key]] for key in copies.keys]
    is_jax = facts.framework == "jax"
    names = _names(parameters) if is_jax else []
    copied = join_words(names) if 0 < len(names) <= _MAX_NAMES else plural(len(parameters), "argument")
    is_one = len(names) == 1 or len(parameters) == 1
    reason = f"{'is' if is_one else 'are'} not donated" if is_jax else "it may not overwrite"
    title = first_fitting_title(
        f"{program} copies {copied}, which {reason}",
        f"{program} copies arguments, which {'are not donated' if is_jax else reason}",
        f"A program copies {copied}, which {reason}",
        "A program copies its arguments",
    )
    times = [_intervals(trace, index, copies) for index in range(len(trace.devices))]
    frequency = facts.frequency_of_times(times)
    shapes = list(dict.fromkeys(parameter.shape for parameter in parameters))
    rows = [
        {"op": ops.name[key], "argument": parameter.name or None, "shape": parameter.shape}
        | {"duration_ps": int(ops.totals.op_ps[key])}
        for key, parameter in zip(copies.keys, parameters, strict=True)
    ]
    return Finding(
        "device_copies",
        title,
        f"copies of {copied} in {program}",
        sentences(
            f"{facts.core_subject} copies {copied} ({join_words(shapes[:_MAX_NAMES])}"
            f"{', …' if len(shapes) > _MAX_NAMES else ''}) for {facts.mean_of_times(times, frequency)}, "
            f"{share(copies.program_copies_ps / copies.program_ps)} of the time in {program}",
            "the program has an output of the same shape, and may not write it into the argument",
        ),
        _advice(facts, names, copies),
        copies.copy_ps,
        {"program": program, "program_ps": copies.program_ps, "has_hlo": True, "copies": rows[:MAX_WINDOWS]},
        _windows(trace, times),
        frequency,
        Fix(device_ps=_copy_ps_of_runs(trace, ops, copies)),
    )


def _unexplained(facts: Facts, ops: Ops, copies: _Copies) -> Finding:
    """Copies in programs that the file lacks. They have no fix, as they may be changes of layout."""
    trace = facts.trace
    program = module_names(trace).get(copies.program, copies.program)
    copy_time, program_time = brief_times(copies.program_copies_ps, copies.program_ps)
    times = [_intervals(trace, index, copies) for index in range(len(trace.devices))]
    name = ops.name[copies.keys[0]]
    option = " (jax.profiler.ProfileOptions: enable_hlo_proto)" if facts.framework == "jax" else ""
    return Finding(
        "device_copies",
        first_fitting_title(
            f"Copies take {share(copies.program_copies_ps / copies.program_ps)} of {program}", "Copies"
        ),
        f"copies in {program}",
        sentences(
            f"copies such as {name} take {copy_time} of {program_time} in {program}",
            "the capture lacks the program, so it does not show whether they copy arguments that are not donated, or "
            "change a layout",
        ),
        f"Capture again with the programs{option}: the copied arguments are then named.",
        0,
        {"program": program, "program_ps": copies.program_ps, "has_hlo": False}
        | {
            "copies": [
                {"op": ops.name[key], "duration_ps": int(ops.totals.op_ps[key])}
                for key in copies.keys[:MAX_WINDOWS]
            ]
        },
        _windows(trace, times),
        facts.frequency_of_times(times),
    )


def _names(parameters: list[ParameterCopy]) -> list[str]:
    """The distinct arguments by name, those of one structure as one: `params` for `params['layer']['w']`. Empty if one
    has no name."""
    matches = [_ARGUMENT.match(parameter.name) for parameter in parameters]
    return list(dict.fromkeys(match[0] for match in matches if match)) if all(matches) else []


def _advice(facts: Facts, names: list[str], copies: _Copies) -> str:
    if facts.framework == "jax":
        subject = join_words(names) if 0 < len(names) <= _MAX_NAMES else "them"
        return (
            f"Donate {subject} (donate_argnums or donate_argnames of jax.jit), if the caller needs no old value "
            "afterwards: the program then writes in place."
        )
    if facts.framework == "torch_xla":
        in_place = "Update the tensors in place (copy_, index_copy_): PyTorch/XLA then reuses their buffers."
        launches = find_launches(facts.trace)
        runs = launches.runs
        ids = [str(int(id_) % 2**64) if id_ else "" for _, id_ in launches.programs]
        of_program = [ids[program] == copies.program for program in runs.program.tolist()]
        launch = runs.launch[np.array(of_program, np.bool_) & (runs.launch >= 0)]
        if (launches.kind[launch] == DYNAMO_KIND).any():
            in_place += (
                " In a function that torch.compile compiles, also mark them: "
                "torch.ops.xla.dynamo_set_buffer_donor_(tensor, True)."
            )
        return in_place
    return "Let the program overwrite these arguments, if the caller needs no old values afterwards."


def _intervals(trace: Trace, device: int, copies: _Copies) -> Intervals:
    """When a device copies."""
    intervals = trace.devices[device].ops
    return union(intervals.start_ps, intervals.end_ps, copies.is_copy[find_ops(trace).devices[device].key])


def _windows(trace: Trace, times: list[Intervals]) -> list[ShownWindow]:
    return longest_windows(
        ShownWindow(start, end, device.id)
        for device, intervals in zip(trace.devices, times, strict=True)
        for start, end in zip(intervals.start_ps.tolist(), intervals.end_ps.tolist(), strict=True)
    )


def _copy_ps_of_runs(trace: Trace, ops: Ops, copies: _Copies) -> Int64:
    """Per run of Launches.runs, the time of its copies."""
    copy_ps = np.zeros(len(find_launches(trace).runs), np.int64)
    for device in ops.devices:
        counted = copies.is_copy[device.key] & (device.run >= 0)
        np.add.at(copy_ps, device.run[counted], device.own_ps[counted])
    return copy_ps
