"""The report's `memory`: what fills the memory of a device."""

from __future__ import annotations

import operator
from typing import Annotated

from typing_extensions import TypedDict

from tb_xla_insights.columns.head import Head
from tb_xla_insights.columns.rules import Rule, first, key


class AnnotationMemory(TypedDict):
    """The buffers of one annotation that are alive at the peak, without those of annotations inside it."""

    path: Annotated[str | None, Head("Annotation")]
    """Path of the annotation, as in `annotations`; `null`: buffers without one."""
    parameter_bytes: Annotated[int, Head("Parameters")]
    """Parameters that are named like the annotation: `params['attention']['w']` like `attention`."""
    bytes: Annotated[int, Head("Activations")]
    """Values that its ops compute."""
    gradient_bytes: Annotated[int, Head("Gradients")]
    """Values that its backward pass computes, where JAX names it: `transpose(jvp(attention))`."""


_of_peak = Rule(min, lambda value, row, at: (-row["peak_bytes"], at, value), operator.itemgetter(2))
"""That of the host, or of the program of the same name, with the highest peak. Sums of a row stay exact."""


class MemorySums(TypedDict):
    """The memory that one program needs on each device."""

    program: Annotated[str, key, Head("Program", "code")]
    """Name of the program; of several of one name, the one with the highest peak."""
    peak_bytes: Annotated[int, _of_peak, Head("Peak")]
    """The most bytes that its buffers need at once. If not `exact`, the least that this can be; the most is
    `total_bytes`."""
    total_bytes: Annotated[int, _of_peak, Head("Reserved")]
    """Bytes of all its allocations. What is more than the peak is fragmentation."""
    exact: Annotated[bool, _of_peak]
    """Whether the peak is known: the capture has the order in which the compiler allocates and frees."""
    peak_at: Annotated[str | None, _of_peak, Head("Peak at", "code", priority=2)]
    """Name of the instruction at which the peak is first reached; `null` if it is not known, or if the use never
    changes."""
    capacity_bytes: Annotated[int | None, first, Head("Capacity", priority=1)]
    """Memory of one device that programs can use, as its allocator reports it; `null` if the capture has no event of
    it."""
    other_bytes: Annotated[int | None, _of_peak, Head("Other buffers", priority=3)]
    """The most that anything else had allocated on one device from a launch of the program to its end, such as other
    programs and the next batch; `null` if the capture has no such event."""
    parameters_bytes: Annotated[int, _of_peak, Head("Parameters")]
    """Bytes of its parameters."""
    padding_bytes: Annotated[int | None, _of_peak, Head("Padding", priority=4)]
    """The part of the peak that pads values to the device's tiles, without parameters, constants and outputs; `null` if
    the peak is not known."""


class ProgramMemory(MemorySums):
    """The memory that one program needs on each device. If it is `exact`, `peak_bytes` is the sum of all
    `parameter_bytes`, `bytes` and `gradient_bytes` in `by_annotation`."""

    by_annotation: Annotated[list[AnnotationMemory], _of_peak]
    """What is alive at the peak, by annotation, the largest first; empty if the peak is not known."""
