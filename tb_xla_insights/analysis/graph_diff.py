"""What tells a graph from the nearest other one of the same name: the shapes of its parameters."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.compiles import find_compiles
from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.analysis.launches import find_launches
from tb_xla_insights.errors import InputError
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.xplane.hlo import read_module
from tb_xla_insights.xplane.source import open_source

if TYPE_CHECKING:
    from tb_xla_insights.xplane.proto.hlo_pb2 import Shape

MOST_PROGRAMS = 64
"""Programs whose parameters are read from a file."""

_MOST_DIFFERENCES = 20
_COUNTED_UP = re.compile(r"\.\d+$")
# XLA's PrimitiveType, by number.
_TYPES = (
    "?", "pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "tuple", "opaque", "c64",
    "bf16", "token", "c128", "f8e5m2", "f8e4m3fn", "s4", "u4",
)  # fmt: skip


@kept
def parameter_shapes(trace: Trace) -> dict[int, list[str]]:
    """The shapes of the parameters (`f32[96,48]`) by program (index into Launches.programs), for programs that share a
    name with a compiled one but for the number that XLA puts after it. Empty where the file does not tell."""
    families: dict[str, list[int]] = defaultdict(list)
    programs = find_launches(trace).programs
    for number, (name, _) in enumerate(programs):
        families[_COUNTED_UP.sub("", name)].append(number)
    compiled = set(find_compiles(trace).program.tolist())
    wanted = [its for its in families.values() if len(its) > 1 and compiled & set(its)]
    places = {
        number: trace.programs[int(programs[number][1]) % 2**64]
        for its in wanted
        for number in its
        if programs[number][1] and int(programs[number][1]) % 2**64 in trace.programs
    }
    found: dict[int, list[str]] = {}
    try:
        with open_source(trace.path) as source:
            if source.fingerprint != trace.fingerprint:
                return {}
            for number, place in list(places.items())[:MOST_PROGRAMS]:
                module = read_module(source, place)
                if module.HasField("host_program_shape"):
                    found[number] = [_text(it) for it in module.host_program_shape.parameters]
    except InputError:
        return found  # scopes of these programs are missing too, and a diagnostic says so
    return found


def nearest(trace: Trace, program: int) -> dict[str, Any] | None:
    """The graph of the same name with the fewest other parameters: `program` (index into Launches.programs), the first
    `parameters` that differ (`index`, `before` there, `after` here, None where one has fewer), how many `differ` and
    how many are the `same`. None where no such graph is known."""
    shapes, programs = parameter_shapes(trace), find_launches(trace).programs
    if program not in shapes:
        return None
    family = _COUNTED_UP.sub("", programs[program][0])
    others = [it for it in shapes if it != program and _COUNTED_UP.sub("", programs[it][0]) == family]
    differences = {it: _differences(shapes[it], shapes[program]) for it in others}
    if not differences:
        return None
    other = min(differences, key=lambda it: len(differences[it]))
    return {
        "program": other,
        "parameters": differences[other][:_MOST_DIFFERENCES],
        "differ": len(differences[other]),
        "same": max(len(shapes[other]), len(shapes[program])) - len(differences[other]),
    }


def _differences(before: list[str], after: list[str]) -> list[dict[str, Any]]:
    pairs = enumerate(zip_longest(before, after))
    return [
        {"index": index, "before": there, "after": here} for index, (there, here) in pairs if there != here
    ]


def _text(shape: Shape) -> str:
    if shape.tuple_shapes:
        return f"({', '.join(map(_text, shape.tuple_shapes))})"
    kind = _TYPES[shape.element_type] if 0 <= shape.element_type < len(_TYPES) else "?"
    return f"{kind}[{','.join(map(str, shape.dimensions))}]"
