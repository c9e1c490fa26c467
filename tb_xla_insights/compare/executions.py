"""The executions of a program in two sessions. They test the times of programs, and sessions without steps are compared
by those of one program. (docs/definitions.md, "Comparison")"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from statistics import median_low
from typing import TYPE_CHECKING

from tb_xla_insights.arrays import Float64
from tb_xla_insights.compare.significance import PermutationResult, PermutationTest

if TYPE_CHECKING:
    from tb_xla_insights.compare.session_totals import Row, SessionTotals


class ExecutionPair:
    """The executions of a program in A and in B; `program` and `program_b` are its names there."""

    def __init__(self, a: SessionTotals, b: SessionTotals, program: str, program_b: str) -> None:
        self.program, self.program_b = program, program_b
        self.a, self.b = a.executions_of(program), b.executions_of(program_b)
        self._test = PermutationTest(self.a.sample, self.b.sample)

    def test_device_time(self) -> PermutationResult:
        return self._test.test_means(self.a.device_ps.tolist(), self.b.device_ps.tolist())

    @property
    def overheads_ps(self) -> tuple[Float64, Float64] | None:
        """None if overhead is not known in both sessions."""
        a, b = self.a.overhead_ps, self.b.overhead_ps
        return None if a is None or b is None else (a, b)

    def test_overhead(self) -> PermutationResult | None:
        """None if overhead is not known in both sessions."""
        if self.overheads_ps is None:
            return None
        a, b = self.overheads_ps
        return self._test.test_means(a.tolist(), b.tolist())

    @cached_property
    def times_ps(self) -> tuple[list[float], list[float]]:
        """The time of each execution without its queue time, which is the host's lead: device time, and overhead if it
        is known in both sessions."""
        a, b = self.a.device_ps, self.b.device_ps
        if self.overheads_ps is not None:
            a, b = a + self.overheads_ps[0], b + self.overheads_ps[1]
        return a.tolist(), b.tolist()

    @cached_property
    def medians_ps(self) -> tuple[int, int]:
        """The lower medians of `times_ps`."""
        a, b = self.times_ps
        return round(median_low(a)), round(median_low(b))

    def test_median(self) -> PermutationResult:
        return self._test.test_medians(*self.times_ps)

    def test_mean(self) -> PermutationResult:
        return self._test.test_means(*self.times_ps)


def main_pair(a: SessionTotals, b: SessionTotals, programs: Sequence[Row]) -> ExecutionPair | None:
    """Returns the pair by which sessions are compared if one of them has no steps: of the programs that both run, the
    one with most device time. None if both have steps, or run no program in common. `programs`: the rows of
    `match_programs`."""
    if a.steps and b.steps:
        return None
    row = next((row for row in programs if row["match"]), None)
    return ExecutionPair(a, b, row["program"], row["program_b"]) if row else None
