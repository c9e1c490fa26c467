"""The columns of one host's collectives, the input of the comparison of hosts. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int16, Int32, Int64
from tb_xla_insights.pod.groups import Groups


@dataclass(frozen=True)
class Instruction:
    """A collective in a program, identified the same way on all hosts.

    `program`: the program's name without its id. `name`: the instruction's name; of an asynchronous collective, the
    name of its start. `kind`: one of `opcodes.COLLECTIVE_KINDS`. `groups`: the cores that take part together, as an
    index into `HostCollectives.groups`; None if the capture does not record them.
    """

    program: str
    name: str
    kind: str
    groups: int | None


class TimesOfSteps(NamedTuple):
    """Times in the steps from `first_step` on; they are 0 in other steps."""

    first_step: int
    times_ps: Int64

    def total_ps(self, steps: NDArray[np.intp]) -> int:
        """Returns the sum over some steps."""
        index = steps - self.first_step
        return int(self.times_ps[index[(index >= 0) & (index < len(self.times_ps))]].sum())


@dataclass(frozen=True)
class HostCollectives:
    """The collectives of one host. Times are picoseconds on its own clock, from `base_unix_ns` (0: not recorded).

    Cores: `cores` are the ids of the devices, `ordinals` their numbers among the devices of all hosts (-1: not
    recorded).

    Runs of programs, which all cores execute together: `run_program` (index into `programs`), `run_id` (0: not
    recorded), `run_step` (index into the host's steps, -1: none), `run_start_ps`.

    One row per core and execution of a collective: `instruction` (index into `instructions`), `run`, `repetition`
    (index among the executions of that instruction in the run), `core`, `begin_ps` (the core joins), `wait_start_ps`
    (it starts to wait: its `begin_ps`, or the start of an asynchronous collective's `done`), `end_ps`, `exposed_ps`
    (the time that no computation hides), and `point_to_point_ps` (how long the core has been in exposed point-to-point
    collectives before the row, in total: time in which it waits for data from one other core). `recorded_count`: the
    number of rows before `limit_rows` removed some.

    Steps: `step_numbers` (-1: not numbered); `step_work_ps`: per step and core, how long the core computed for it;
    `annotation_times`: by the path of annotations, their time in each step.
    """

    base_unix_ns: int
    cores: tuple[str, ...]
    ordinals: tuple[int, ...]
    programs: tuple[str, ...]
    groups: tuple[Groups, ...]
    instructions: tuple[Instruction, ...]
    run_program: Int32
    run_id: Int64
    run_step: Int32
    run_start_ps: Int64
    instruction: Int32
    run: Int32
    repetition: Int32
    core: Int16
    begin_ps: Int64
    wait_start_ps: Int64
    end_ps: Int64
    exposed_ps: Int64
    point_to_point_ps: Int64
    step_numbers: Int64
    step_work_ps: Int64
    annotation_times: Mapping[str, TimesOfSteps]
    recorded_count: int

    def __len__(self) -> int:
        return len(self.run)

    def select(self, rows: NDArray[np.bool_]) -> HostCollectives:
        """Returns the same host with only the rows where `rows` is true."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _ROW_COLUMNS})


_ROW_COLUMNS = (
    "instruction",
    "run",
    "repetition",
    "core",
    "begin_ps",
    "wait_start_ps",
    "end_ps",
    "exposed_ps",
    "point_to_point_ps",
)


def occurrence_index(*columns: NDArray[np.integer] | NDArray[np.bool_]) -> Int64:
    """Returns, per row, how many rows before it have the same values in all columns; equal rows must be adjacent."""
    if not len(columns[0]):
        return np.zeros(0, np.int64)
    is_first = np.zeros(len(columns[0]), np.bool_)
    is_first[0] = True
    for column in columns:
        is_first[1:] |= column[1:] != column[:-1]
    first = np.flatnonzero(is_first)
    return np.arange(len(is_first)) - np.repeat(first, np.diff(np.append(first, len(is_first))))
