"""What tells a compiled graph from the nearest one that was there before it. (docs/definitions.md, "Recompilation")"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import program_of
from tb_xla_insights.errors import InputError
from tb_xla_insights.files.source import Source, open_source
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.programs import UNNAMED
from tb_xla_insights.xplane.hlo import read_module, shape_text
from tb_xla_insights.xplane.hlo_code import ProgramDigests, digest_program
from tb_xla_insights.xplane.read import PROGRAMS

if TYPE_CHECKING:
    from tb_xla_insights.xplane.proto.hlo_pb2 import HloModule

Change = Literal[
    "same_hlo", "constants", "code", "grows", "shrinks", "shape", "dtype", "parameters", "other_graph"
]  # fmt: skip
"""What a graph has that the nearest one has not: nothing at all; other values of constants; other code; dimensions that
are all larger, all smaller, or neither; other types; more or fewer parameters. `other_graph`: no graph is near."""

MAX_COMPARED_PROGRAMS = 64
"""Programs of a name that one graph is compared with, the latest ones."""

_MOST_ALIGNED = 500
"""Parameters up to which those that one graph has and the other lacks are looked for."""

_MOST_UNLIKE = 4
"""Programs without common parameters whose instructions are compared."""

_COUNTED_UP = re.compile(r"\.\d+$|(?<=[A-Za-z])_\d+(?=__XlaMustCompile)")
"""What is another number in each graph of a function: XLA's behind its name, TensorFlow's behind the function's."""
_SHAPE = re.compile(r"(\w+)\[((?:\d{1,18},?)*)\]", re.ASCII)


@dataclass(frozen=True)
class Difference:
    """A parameter that differs: its shape (`s64[4,16]`) in the nearest graph and in the compiled one, None where one
    has no such parameter. `index`: its place in the compiled graph, of one that is gone in the nearest."""

    index: int
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Nearest:
    """The graph of the same name with the fewest other parameters, of those that were there before: `differences` and
    how many parameters are the `same`."""

    module: str
    program_id: int
    differences: list[Difference]
    same: int


@dataclass(frozen=True)
class GraphDiff:
    """What is new in a compiled graph. Without `nearest` the change is `other_graph`, or None where the file has not
    the graph's HLO."""

    change: Change | None = None
    nearest: Nearest | None = None


@memoised
def find_graph_diffs(trace: Trace) -> list[GraphDiff]:
    """What is new in the graph of each of the trace's compilations.

    A graph is compared with those of the same name, but for the numbers that XLA and TensorFlow put into it, that the
    file has and that were compiled earlier or before the capture. Near each other are graphs that have half of their
    parameters in common, or the same instructions: those of a function of one argument differ in no other.
    """
    names = _program_names(trace)
    ids = _made(trace, names)
    order = {made_id: number for number, made_id in enumerate(ids) if made_id is not None}
    families: dict[str, list[int]] = defaultdict(list)
    for known in sorted(names, key=lambda it: (order.get(it, -1), it), reverse=True):
        families[_COUNTED_UP.sub("", names[known])].append(known)
    found = [GraphDiff()] * len(ids)
    with _open(trace) as read:
        for number, id_ in enumerate(ids):
            if read is not None and id_ is not None and id_ in names:
                family = families[_COUNTED_UP.sub("", names[id_])]
                earlier = [other for other in family if order.get(other, -1) < number and other != id_]
                found[number] = _diff(read, names, id_, earlier[:MAX_COMPARED_PROGRAMS])
    return found


def _made(trace: Trace, names: dict[int, str]) -> list[int | None]:
    """The id of the program that each compilation made, None where nothing tells.

    Where runs do not tell their program (JAX 0.6 on a CPU), ids do, which count up: of the programs of a name that the
    file has, those compiled in the capture are the latest ones. What did not finish is none of them, or nobody knows.
    """
    compiles, programs = find_compilations(trace), find_launches(trace).programs
    told = [programs[it][1] if it >= 0 else "" for it in compiles.program.tolist()]
    ids = [int(id_) % 2**64 if id_ else None for id_ in told]
    if compiles.cut.any() or any(name != UNNAMED for name, _ in programs):
        return ids
    for module in set(compiles.module):
        its = [number for number, name in enumerate(compiles.module) if name == module]
        known = sorted(id_ for id_, name in names.items() if name == module)
        if len(known) >= len(its):
            for number, id_ in zip(its, known[-len(its) :], strict=True):
                ids[number] = id_
    return ids


def _program_names(trace: Trace) -> dict[int, str]:
    """The modules of the programs that the file has, by program id."""
    planes = {plane.index for plane in trace.planes if plane.name == PROGRAMS}
    texts = (
        trace.strings[text]
        for plane, text in zip(trace.metadata.plane, trace.metadata.name, strict=True)
        if plane in planes
    )
    found = {int(id_) % 2**64: name for name, id_ in map(program_of, texts) if id_}
    return {id_: name for id_, name in found.items() if id_ in trace.programs}


class _Reader:
    """What programs of a file take and compute, each read once."""

    def __init__(self, trace: Trace, source: Source) -> None:
        self._trace, self._source = trace, source
        self._shapes: dict[int, list[str] | None] = {}
        self._codes: dict[int, ProgramDigests] = {}

    def shapes(self, id_: int) -> list[str] | None:
        """Of the parameters; None where the file does not tell."""
        if id_ not in self._shapes:
            module = self._module(id_)
            told = module.host_program_shape if module and module.HasField("host_program_shape") else None
            self._shapes[id_] = None if told is None else [shape_text(it) for it in told.parameters]
        return self._shapes[id_]

    def code(self, id_: int) -> ProgramDigests:
        if id_ not in self._codes:
            module = self._module(id_)
            self._codes[id_] = digest_program(module) if module is not None else ProgramDigests(b"", b"", b"")
        return self._codes[id_]

    def _module(self, id_: int) -> HloModule | None:
        try:
            return read_module(self._source, self._trace.programs[id_])
        except InputError:
            return None  # scopes of this program are missing too, and a diagnostic says so


@contextmanager
def _open(trace: Trace) -> Iterator[_Reader | None]:
    try:
        source = open_source(trace.path)
    except InputError:
        yield None
        return
    with source:
        yield _Reader(trace, source) if source.fingerprint == trace.fingerprint else None


def _diff(read: _Reader, names: dict[int, str], id_: int, others: Sequence[int]) -> GraphDiff:
    after = read.shapes(id_)
    if after is None:
        return GraphDiff()
    known = ((other, before) for other in others if (before := read.shapes(other)) is not None)
    against = [(other, before, differences_of(before, after)) for other, before in known]
    near = [(other, its) for other, before, its in against if 2 * len(its) <= max(len(before), len(after))]
    if not near:
        same_size = [(other, its) for other, before, its in against if len(before) == len(after)]
        near = [
            it for it in same_size[:_MOST_UNLIKE] if read.code(it[0]).structure == read.code(id_).structure
        ]
    if not near:
        return GraphDiff("other_graph")
    fewest = min(len(its) for _, its in near)
    near = [it for it in near if len(it[1]) == fewest]
    changes = [_change(its) if its else _code_change(read.code(other), read.code(id_)) for other, its in near]
    number = min(range(len(near)), key=lambda it: _CODE_CHANGES.index(changes[it]) if not fewest else 0)
    other, differences = near[number]
    same = len(after) - sum(it.after is not None for it in differences)
    return GraphDiff(changes[number], Nearest(names[other], other, differences, same))


_CODE_CHANGES: tuple[Change, ...] = ("same_hlo", "constants", "code")
"""What may differ where no parameter does, the least first."""


def _code_change(before: ProgramDigests, after: ProgramDigests) -> Change:
    if before.whole == after.whole:
        return "same_hlo"
    return "constants" if before.formula == after.formula else "code"


def differences_of(before: Sequence[str], after: Sequence[str]) -> list[Difference]:
    """Where two graphs' parameters differ: by their place where both have as many, else those that one lacks are left
    out of it."""
    if len(before) == len(after) or max(len(before), len(after)) > _MOST_ALIGNED:
        pairs = enumerate(zip_longest(before, after))
        return [Difference(index, there, here) for index, (there, here) in pairs if there != here]
    found: list[Difference] = []
    for what, i, i_end, j, j_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what != "equal":
            for step, (there, here) in enumerate(zip_longest(before[i:i_end], after[j:j_end])):
                found.append(Difference(i + step if here is None else j + step, there, here))
    return found


def _change(differences: Sequence[Difference]) -> Change:
    shapes = [(_parts(it.before), _parts(it.after)) for it in differences]
    if any(before is None or after is None for before, after in shapes):
        lacks = any(it.before is None or it.after is None for it in differences)
        return "parameters" if lacks else "shape"
    known = [(before, after) for before, after in shapes if before and after]
    if all(before[1] == after[1] for before, after in known):
        return "dtype"
    if any(before[0] != after[0] or len(before[1]) != len(after[1]) for before, after in known):
        return "shape"
    sizes = [size for before, after in known for size in zip(before[1], after[1], strict=True)]
    if all(there <= here for there, here in sizes):
        return "grows"
    return "shrinks" if all(there >= here for there, here in sizes) else "shape"


def _parts(shape: str | None) -> tuple[str, list[int]] | None:
    """Type and dimensions; None of a tuple."""
    match = _SHAPE.fullmatch(shape or "")
    return (match[1], [int(size) for size in match[2].split(",") if size]) if match else None
