"""The answer of `data/memory`."""

from __future__ import annotations

from tb_xla_insights.schema.memory import AnnotationMemory, MemorySums
from tb_xla_insights.schema.route_parts import PartialAnswer


class MemoryNode(AnnotationMemory):
    """One annotation with all inside it. One that has nothing of its own has no row, unless it has several inside; one
    around all others stands beside these, with what is its own."""

    name: str
    """Its name below the row around it."""
    depth: int
    """Number of rows around it."""
    own_parameter_bytes: int
    """`parameter_bytes` without those inside."""
    own_bytes: int
    """`bytes` without those inside."""
    own_gradient_bytes: int
    """`gradient_bytes` without those inside."""


class MemoryProgram(MemorySums):
    """One program."""

    runs: int
    """Number of its runs."""


class MemoryAnswer(PartialAnswer):
    """`data/memory`: what fills the memory of a device at the peak of a program."""

    headline: str
    """The peak in a sentence; empty without programs."""
    details: str
    """What can be done."""
    programs: list[MemoryProgram]
    """The programs that ran, the highest peak first."""
    program: str | None
    """Name of the shown program; `null` without programs."""
    stale: bool
    """Whether the first program is shown because the session does not have the one requested."""
    tree: list[MemoryNode]
    """What is alive at its peak, outer annotations before inner ones, the largest first; empty if the peak is not
    known. At most 300 rows; further ones count for the row around them."""
