"""The difference between a compiled graph and the nearest earlier graph. (docs/definitions.md, "Recompilation")"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.compiles.parameter_diff import (
    ParameterChange,
    ParameterDifference,
    differences_of,
    parameter_change,
)
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.program_files import ProgramFiles, open_programs
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import parse_program_name
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.programs import UNNAMED
from tb_xla_insights.xplane.program_digests import NO_DIGESTS, ProgramDigests, digest_program
from tb_xla_insights.xplane.read_xspace import PROGRAM_PLANE

Change = Literal["same_hlo", "placement", "constants", "slices", "code", "other_graph"] | ParameterChange
"""How a graph differs from the nearest one: not at all; in the placement of its values; in values of constants; in the
bounds of slices (and values of constants); in its code; in its parameters. `other_graph`: no graph is near."""

MAX_COMPARED_PROGRAMS = 64
"""Programs of the same name with which a graph is compared, the latest ones."""

_MAX_CODE_COMPARISONS = 4
"""Programs whose instructions are compared if fewer than half of the parameters are the same."""

_NAME_COUNTER = re.compile(r"\.\d+$|(?<=[A-Za-z])_\d+(?=__XlaMustCompile)")
"""A number that differs in each graph of a function: XLA appends it to the graph's name, TensorFlow to the
function's."""


@dataclass(frozen=True)
class Nearest:
    """The earlier graph of the same name with the fewest different parameters: its `differences`, and the number of
    equal parameters (`equal_count`). `slices`: the bounds of the slices that differ, before and after, if only these
    do."""

    module: str
    program_id: int
    differences: list[ParameterDifference]
    equal_count: int
    slices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class GraphDiff:
    """What is new in a compiled graph. Without `nearest`, the change is `other_graph`, or None if its program is not
    known, or its HLO is not in the file or cannot be read."""

    change: Change | None = None
    nearest: Nearest | None = None


@memoised
def find_graph_diffs(trace: Trace) -> list[GraphDiff]:
    """Returns what is new in the graph of each of the trace's compilations.

    A graph is compared with the graphs of the same name that the file has and that were compiled earlier or before the
    capture; numbers that XLA and TensorFlow put into the name are ignored. Two graphs are near each other if half of
    their parameters are the same, or if their instructions are: functions of one argument have no other parameters to
    share.
    """
    names = _program_names(trace)
    compiled_ids = _compiled_ids(trace, names)
    order = {id_: index for index, id_ in enumerate(compiled_ids) if id_ is not None}
    families: dict[str, list[int]] = defaultdict(list)
    for id_ in sorted(names, key=lambda id_: (order.get(id_, -1), id_), reverse=True):
        families[_NAME_COUNTER.sub("", names[id_])].append(id_)
    diffs = [GraphDiff()] * len(compiled_ids)
    with open_programs(trace) as files:
        programs = _Programs(files) if files else None
        for index, compiled_id in enumerate(compiled_ids):
            if programs is not None and compiled_id is not None and compiled_id in names:
                family = families[_NAME_COUNTER.sub("", names[compiled_id])]
                earlier = [id_ for id_ in family if order.get(id_, -1) < index and id_ != compiled_id]
                diffs[index] = _diff(programs, names, compiled_id, earlier[:MAX_COMPARED_PROGRAMS])
    return diffs


def _compiled_ids(trace: Trace, names: dict[int, str]) -> list[int | None]:
    """Returns the id of the program that each compilation built, None if unknown.

    If runs do not record their program (JAX 0.6 on a CPU), ids decide, which count up: of the file's programs of one
    name, those compiled in the capture are the latest. If the capture's edge cuts a compilation, all ids are unknown
    then.
    """
    compilations, programs = find_compilations(trace), find_launches(trace).programs
    texts = [programs[index].id if index >= 0 else "" for index in compilations.program.tolist()]
    ids = [int(text) % 2**64 if text else None for text in texts]
    if compilations.cut.any() or any(name != UNNAMED for name, _ in programs):
        return ids
    for module in set(compilations.module):
        indices = [index for index, name in enumerate(compilations.module) if name == module]
        module_ids = sorted(id_ for id_, name in names.items() if name == module)
        if len(module_ids) >= len(indices):
            for index, id_ in zip(indices, module_ids[-len(indices) :], strict=True):
                ids[index] = id_
    return ids


def _program_names(trace: Trace) -> dict[int, str]:
    """Returns the module names of the programs in the file, by program id."""
    planes = {plane.index for plane in trace.planes if plane.name == PROGRAM_PLANE}
    texts = (
        trace.strings[text_index]
        for plane, text_index in zip(trace.metadata.plane, trace.metadata.name, strict=True)
        if plane in planes
    )
    names = {int(id_) % 2**64: name for name, id_ in map(parse_program_name, texts) if id_}
    return {id_: name for id_, name in names.items() if id_ in trace.programs}


class _Programs:
    """Parameters and code of the file's programs, each read once."""

    def __init__(self, files: ProgramFiles) -> None:
        self.shapes = files.shapes
        self._files = files
        self._codes: dict[int, ProgramDigests] = {}

    def code(self, id_: int) -> ProgramDigests:
        if id_ not in self._codes:
            module = self._files.module(id_)
            self._codes[id_] = digest_program(module) if module is not None else NO_DIGESTS
        return self._codes[id_]


def _diff(programs: _Programs, names: dict[int, str], id_: int, earlier: Sequence[int]) -> GraphDiff:
    """Compares a graph with earlier ones, the latest of them first."""
    after = programs.shapes(id_)
    if after is None:
        return GraphDiff()
    candidates = [
        (earlier_id, before, differences_of(before, after))
        for earlier_id in earlier
        if (before := programs.shapes(earlier_id)) is not None
    ]
    near_graphs = [
        (earlier_id, differences)
        for earlier_id, before, differences in candidates
        if 2 * len(differences) <= max(len(before), len(after))
    ]
    if not near_graphs:
        same_count = [
            (earlier_id, differences)
            for earlier_id, before, differences in candidates
            if len(before) == len(after)
        ]
        near_graphs = [
            (earlier_id, differences)
            for earlier_id, differences in same_count[:_MAX_CODE_COMPARISONS]
            if programs.code(earlier_id).structure == programs.code(id_).structure
        ]
    if not near_graphs:
        return GraphDiff("other_graph")
    min_differences = min(len(differences) for _, differences in near_graphs)
    near_graphs = [
        (earlier_id, differences)
        for earlier_id, differences in near_graphs
        if len(differences) == min_differences
    ]
    changes = [
        parameter_change(differences)
        if differences
        else _code_change(programs.code(earlier_id), programs.code(id_))
        for earlier_id, differences in near_graphs
    ]
    # Without different parameters, the nearest graph is the one with the least change; else the latest one.
    best = (
        0
        if min_differences
        else min(range(len(near_graphs)), key=lambda index: _CODE_CHANGES.index(changes[index]))
    )
    nearest_id, differences = near_graphs[best]
    equal_count = len(after) - sum(difference.after is not None for difference in differences)
    slices = (
        _different_slices(programs.code(nearest_id), programs.code(id_)) if changes[best] == "slices" else ()
    )
    return GraphDiff(changes[best], Nearest(names[nearest_id], nearest_id, differences, equal_count, slices))


_CODE_CHANGES: tuple[Change, ...] = ("same_hlo", "placement", "constants", "slices", "code")
"""Possible changes if no parameter differs, the least first."""


def _code_change(before: ProgramDigests, after: ProgramDigests) -> Change:
    if before.whole == after.whole:
        return "same_hlo"
    if before.unplaced == after.unplaced:
        return "placement"
    if before.without_constants == after.without_constants:
        return "constants"
    return "slices" if before.formula == after.formula else "code"


def _different_slices(before: ProgramDigests, after: ProgramDigests) -> tuple[tuple[str, str], ...]:
    """Returns the different bounds of slices in two programs that have the same slices, each pair of bounds once."""
    pairs = zip(before.slices, after.slices, strict=True)
    return tuple(dict.fromkeys((old, new) for old, new in pairs if old != new))
