"""The shape of a single step: its phases on the main thread, and its executions."""

from dataclasses import dataclass
from typing import Literal

from synthetic.device_program import Program
from synthetic.times import ms


@dataclass(frozen=True)
class Execution:
    """One execute call and its run. With a tail, the call ends that long after the run; without one, shortly before the
    run begins. `host_ps`: the host time of the execution, from the call's start to the run's end, plus the tail."""

    name: str
    kind: Literal["lazy", "dynamo"]
    program: Program
    call_start_ps: int
    host_ps: int
    tail_ps: int = 0

    @property
    def device_ps(self) -> int:
        return self.program.duration_ps

    @property
    def run_end_ps(self) -> int:
        return self.call_start_ps + self.host_ps - self.tail_ps

    @property
    def run_start_ps(self) -> int:
        return self.run_end_ps - self.device_ps

    @property
    def call_end_ps(self) -> int:
        """After the run if the call has a tail, else shortly before the run begins."""
        return self.call_start_ps + self.host_ps if self.tail_ps else self.instant_ps(940)

    def instant_ps(self, per_mille: int) -> int:
        """The instant after this share of the time from the call to the run's start, in whole nanoseconds from the
        call."""
        return (
            self.call_start_ps + (self.run_start_ps - self.call_start_ps) // 1000 * per_mille // 1000 * 1000
        )


@dataclass(frozen=True)
class StepPlan:
    """A step; phases follow each other without a pause, given by name and end in milliseconds from its start."""

    number: int
    start_ps: int
    phases: tuple[tuple[str, float], ...]
    executions: tuple[Execution, ...]

    @property
    def end_ps(self) -> int:
        return self.start_ps + ms(self.phases[-1][1])
