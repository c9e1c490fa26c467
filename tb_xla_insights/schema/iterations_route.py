"""The answer of `data/iterations`."""

from __future__ import annotations

from typing_extensions import TypedDict

from tb_xla_insights.schema.iterations import IterationKind, Part, Scheduling, SlotRange
from tb_xla_insights.schema.route_parts import PartialAnswer


class IterationColumns(TypedDict):
    """Iterations in order of time, a value per iteration."""

    start_ps: list[int]
    """When each begins."""
    wall_ps: list[int]
    """Time until the next one begins."""
    device_ps: list[int]
    """Time in which a device works, the mean of the host's devices."""
    part: list[Part | None]
    """What the server's thread does longest while devices wait; `null` if they never do."""
    kind: list[int]
    """Index of its kind in `kinds`."""
    name: list[str]
    """Name of its annotation, with numbers."""
    host: list[str]
    """Its host."""


class PartRow(TypedDict):
    """A part of an iteration, the mean of one kind."""

    part: Part
    """What the server's thread does."""
    exposed_ps: int
    """Time in which the device waits meanwhile."""
    hidden_ps: int
    """Time in which it works meanwhile."""


class KindRow(IterationKind):
    """Iterations of one kind."""

    parts: list[PartRow]
    """Their parts, in the order of the loop."""
    host_ps: int
    """The server's own work in an iteration, hidden or not: below this, no iteration gets by scheduling ahead."""
    name: str
    """The kind in words, with what tells it from the other rows: its bucket, its annotation."""
    note: str
    """How much the device waits, and what its work hides of the server's."""


class Template(TypedDict):
    """Annotations whose names differ only in numbers."""

    name: str
    """The name, with `{}` in place of numbers."""
    count: int
    """Number of annotations."""
    texts: int
    """Number of different names."""
    slots: dict[str, SlotRange]
    """The numbers in the different names, by the word after each; `#` without one."""


class IterationsAnswer(PartialAnswer):
    """`data/iterations`: the loop of a server that decodes."""

    headline: str
    """What the device waits for in a sentence; empty if no host serves."""
    details: str
    """What to do about it, as in the verdict."""
    scheduling: Scheduling | None
    """How far the server schedules ahead; `null` if that is not known."""
    kinds: list[KindRow]
    """The iterations by kind, the most frequent first."""
    main: int | None
    """Index of the kind in which devices wait longest for the server's work; `null` without kinds."""
    count: int
    """Number of iterations."""
    iterations: IterationColumns
    """The first 2,000 of them."""
    templates: list[Template]
    """Names that stand for at least two, the most frequent first; at most ten."""
