"""The collectives of one host as all hosts know them: what is sent to where they are compared.

(docs/definitions.md, "Pods")
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.groups import Groups
from tb_xla_insights.trace.model import Int16, Int32, Int64


@dataclass(frozen=True)
class Instruction:
    """A collective in a program, as all hosts know it: the program's name without its id, the instruction's own name
    (that of its start, where it is asynchronous), its kind (one of `opcodes.COLLECTIVES`), and who takes part together
    (None: nothing tells; else indices into `HostCollectives.groups`)."""

    program: str
    name: str
    kind: str
    groups: int | None


@dataclass(frozen=True)
class HostCollectives:
    """The collectives of one host. Times are picoseconds on its own clock, from `base_unix_ns` on (0: not recorded).

    `cores`: ids of the devices, `ordinals` their numbers among those of all hosts (-1: not recorded). Per run of a
    program, which the cores do together: `run_program` (index into `programs`), `run_id` (0: not recorded), `run_step`
    (index into the host's steps, -1: none), `run_start_ps`. Per core and execution of a collective a row: `instruction`
    (index into `instructions`), `run`, `repetition` (which one within its run), `core`, and `begin_ps`, when the core
    takes part; `wait_ps`, from when on it waits (the begin of an asynchronous one's `done`); `end_ps`; and how much of
    its time no computing hides, `exposed_ps`; `handed_ps`: how long the core has been in exposed point-to-point ones by
    then, in all: it waits for what one other core sends. `recorded`: how many rows there were before some were left
    out.

    `step_numbers`: of the host's steps (-1: none); `step_work_ps`: per step and core, how long the core computed for
    it.
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
    wait_ps: Int64
    end_ps: Int64
    exposed_ps: Int64
    handed_ps: Int64
    step_numbers: Int64
    step_work_ps: Int64
    recorded: int

    def __len__(self) -> int:
        return len(self.run)

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in vars(self).values() if isinstance(column, np.ndarray))

    def chosen(self, rows: NDArray[np.bool_]) -> HostCollectives:
        """Only some of the rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _ROWS})


_ROWS = (
    "instruction",
    "run",
    "repetition",
    "core",
    "begin_ps",
    "wait_ps",
    "end_ps",
    "exposed_ps",
    "handed_ps",
)


def counted(*columns: NDArray[np.integer] | NDArray[np.bool_]) -> Int64:
    """Per row, how many rows before it have the same values; equal ones stand together."""
    if not len(columns[0]):
        return np.zeros(0, np.int64)
    new = np.zeros(len(columns[0]), np.bool_)
    new[0] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    first = np.flatnonzero(new)
    return np.arange(len(new)) - np.repeat(first, np.diff(np.append(first, len(new))))
