"""The origins of a compiled program's instructions: their scopes from their own op names, from the computations that
they call, or from their neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from tb_xla_insights.analysis.scope_names import scope_in_op_name, scope_position
from tb_xla_insights.catalog.frames import Frame
from tb_xla_insights.xplane.hlo_amounts import (
    UNKNOWN_AMOUNTS,
    InstructionAmounts,
    ProgramAmounts,
    instruction_shape,
)

if TYPE_CHECKING:
    from tb_xla_insights.schema.propagation_route import OriginWords
    from tb_xla_insights.xplane.proto.hlo_pb2 import HloComputation, HloModule

STATES = ("direct", "recovered", "bare", "none")
DIRECT, RECOVERED, BARE, NONE = range(4)
"""States of an op. DIRECT: its own op name has a scope. RECOVERED: it has no op name, but the computations that it
calls or its neighbours have a scope. BARE: its op name has no scope, or it has no op name, and those in the
computations that it calls have no scope. NONE: nothing is known. (docs/definitions.md, "Propagation")"""


def state_words(sums: Mapping[str, Any]) -> OriginWords:
    """What users read for each state, by the work that mostly has it. `sums`: the capture's ops or their time by state,
    as in `Coverage`. Without any scope, an op without one is not of the backward pass; without any name, not of the
    compiler."""
    has_scopes = bool(sums["direct_ps"] or sums["recovered_ps"])
    return {
        "direct": "named",
        "recovered": "inferred",
        "bare": "backward" if has_scopes else "unnamed",
        "none": "compiler" if has_scopes or sums["bare_ps"] else "unnamed",
    }


_WEIGHTLESS = frozenset(("parameter", "constant", "bitcast", "tuple", "get-tuple-element"))
"""Instructions that do no work. They do not count in the scopes of the instruction that calls them."""

_CONTAINERS = frozenset(("call", "while", "conditional"))
"""Instructions that call other ops. Only their own time, without that of these ops, is attributed to them."""

_COMBINING = frozenset(
    (
        "all-reduce", "all-reduce-start", "map", "reduce", "reduce-scatter", "reduce-window", "scatter",
        "select-and-scatter", "sort",
    )
)  # fmt: skip
"""Instructions whose called computation says how two values become one, or are compared. It is no part of their work:
several of them may share it, and its op name is that of the first one."""

_WITHOUT_CALLS = _WEIGHTLESS | frozenset(
    (
        "add", "and", "broadcast", "compare", "concatenate", "convert", "convolution", "copy", "copy-done",
        "copy-start", "divide", "dot", "dynamic-slice", "dynamic-update-slice", "exponential", "gather", "iota",
        "log", "maximum", "minimum", "multiply", "negate", "pad", "reshape", "rsqrt", "select", "slice",
        "subtract", "tanh", "transpose",
    )
)  # fmt: skip
"""Frequent instructions that never call computations. Not reading their calls halves the time of reading."""

_MOVES = frozenset(
    (
        "async-done", "async-start", "async-update", "bitcast", "bitcast-convert", "convert", "copy", "copy-done",
        "copy-start", "get-tuple-element", "reshape", "transpose", "tuple",
    )
)  # fmt: skip
"""Instructions that the compiler adds to move data. They belong to the instructions that produce or use the data."""

_MAX_NEIGHBOURS = 128
"""The maximum number of operands and users followed by a search among neighbours. Without it, the searches from n
copies into one tuple would take time quadratic in n."""

_MAX_SCOPES = 64
_MAX_COUNT = 1 << 40
"""Limits of a called computation: the number of scopes (those with most instructions are kept) and the count per scope.
Without them, n computations that call each other could take memory quadratic in n and reach counts of 2^n."""

ScopeCounts = dict[str, int]
"""The number of instructions by scope, such as `step.1/forward.2`; the empty text counts those without a scope."""


@dataclass(slots=True)
class Origin:
    """The origin of an op: its `state`; its `parts`, the scopes to which its time is attributed with their weights, in
    host order; and `unscoped_share`, the share of its instructions without a scope (these get no time if others have a
    scope). `op_name`: the op name in its own metadata; `source`: file and line there; `frame_id`: its `stack_frame_id`,
    0: none. `in_program`: whether the program has the op. `amounts`: what it computes and moves according to the shapes
    in the program; `shape`: the shape of its result."""

    state: int = NONE
    parts: list[tuple[str, int]] = field(default_factory=list)
    unscoped_share: float = 0.0
    op_name: str = ""
    opcode: str = ""
    source: Frame | None = None
    frame_id: int = 0
    in_program: bool = False
    amounts: InstructionAmounts = UNKNOWN_AMOUNTS
    shape: str = ""


def origin_of_name(op_name: str, names: frozenset[str]) -> Origin:
    """The origin of an op, from its op name alone."""
    scope = scope_in_op_name(op_name, names) if op_name else ""
    state = DIRECT if scope else BARE if op_name else NONE
    return Origin(state, [(scope, 1)] if scope else [], op_name=op_name)


class ProgramOrigins:
    """One module, and the origins of its instructions. `names`: the names of the user's annotations; `with_shapes`:
    whether origins include shapes and bytes; `buffers`: the program's encoded assignment of buffers.

    `damaged` becomes true if computations call each other in a cycle or call one that does not exist. Such calls are
    ignored.
    """

    def __init__(
        self,
        module: HloModule,
        names: frozenset[str] = frozenset(),
        with_shapes: bool = True,
        buffers: bytes = b"",
    ) -> None:
        self.damaged = False
        self.module, self.buffers = module, buffers
        self._names = names
        self._bodies = {computation.id: _body(computation) for computation in module.computations}
        self._computations = {computation.id: computation for computation in module.computations}
        self._computation_of: dict[str, int] = {}
        for id_, body in self._bodies.items():
            self._computation_of.update(dict.fromkeys(body.names, id_))
        self._positions: dict[int, dict[str, int]] = {}
        self._scope_of_op_name: dict[str, str] = {}
        self._counts: dict[int, ScopeCounts] = {}  # by computation
        self._neighbours: dict[int, _Neighbours] = {}
        self._amounts = ProgramAmounts(module, {id_: body.opcodes for id_, body in self._bodies.items()})
        self._with_shapes = with_shapes

    def __contains__(self, name: str) -> bool:
        return name in self._computation_of

    def origin(self, name: str) -> Origin:
        """The origin of the op with a name; an empty origin if the module does not have it."""
        if name not in self._computation_of:
            return Origin()
        computation = self._computation_of[name]
        if computation not in self._positions:
            names = self._bodies[computation].names
            self._positions[computation] = dict(zip(names, range(len(names)), strict=True))
        position = self._positions[computation][name]
        body = self._bodies[computation]
        opcode, op_name, calls = body.opcodes[position], body.op_names[position], body.calls[position]
        instruction = self._computations[computation].instructions[position]
        metadata = instruction.metadata
        source = Frame("", file, metadata.source_line) if (file := metadata.source_file) else None
        origin = Origin(NONE, [], 0.0, op_name, opcode, source, metadata.stack_frame_id, True)
        origin.amounts = self._amounts.of_instruction(instruction, opcode, computation, self._with_shapes)
        if self._with_shapes:
            origin.shape = instruction_shape(instruction)
        own_scope = self._scope(op_name)
        inner = self._counts_of_calls(calls) if calls and not (op_name and opcode in _COMBINING) else {}
        scope_counts = {scope: count for scope, count in inner.items() if scope}
        if own_scope:
            origin.state = DIRECT
            if opcode in _CONTAINERS or not scope_counts:
                scope_counts = {own_scope: 1}
            else:
                scope_counts.setdefault(own_scope, 1)
        elif op_name:
            origin.state = BARE
        elif scope_counts:
            origin.state = RECOVERED
        elif inner:
            origin.state = BARE
        elif opcode in _MOVES and (neighbour := self._scope_of_neighbours(computation, instruction.id)):
            origin.state, scope_counts = RECOVERED, {neighbour: 1}
        if origin.state in (DIRECT, RECOVERED):
            origin.parts = list(scope_counts.items())
            if len(scope_counts) > 1:
                origin.parts.sort(key=lambda part: _host_order(part[0]))
        if inner:
            origin.unscoped_share = inner.get("", 0) / sum(inner.values())
        return origin

    def scope_of_value(self, name: str) -> str:
        """The scope to which an instruction's value belongs: its own, else that of most instructions of which it
        consists; empty without one."""
        origin = self.origin(name)
        own_scope = self._scope(origin.op_name)
        return own_scope or max(origin.parts, key=lambda part: part[1], default=("", 0))[0]

    def working_scopes(self) -> set[str]:
        """The scopes of the instructions that do work."""
        return {
            scope
            for body in self._bodies.values()
            for opcode, op_name in zip(body.opcodes, body.op_names, strict=True)
            if opcode not in _WEIGHTLESS and (scope := self._scope(op_name))
        }

    def containers(self, names: Iterable[str]) -> dict[str, str]:
        """Maps each of some instructions to the one among them that calls its computation, directly or through others;
        to the nearest one if several do. Instructions in no called computation are left out."""
        candidates = dict.fromkeys(names)
        caller: dict[int, str] = {}
        for body in self._bodies.values():
            for name, calls in zip(body.names, body.calls, strict=True):
                for called in calls:
                    if called not in caller or name in candidates:
                        caller[called] = name
        nearest: dict[int, str | None] = {}  # by computation
        containers = {}
        for name in candidates:
            if name not in self._computation_of:
                continue
            visited: list[int] = []
            computation = self._computation_of[name]
            container: str | None = None
            while computation not in nearest:
                nearest[computation] = None  # ends the loop for a computation that calls itself
                visited.append(computation)
                container = caller.get(computation)
                if container is None or container in candidates:
                    break
                computation = self._computation_of[container]
            else:
                container = nearest[computation]
            nearest.update(dict.fromkeys(visited, container))
            if container is not None and container != name:
                containers[name] = container
        return containers

    def _scope(self, op_name: str) -> str:
        if not op_name:
            return ""
        if op_name not in self._scope_of_op_name:
            self._scope_of_op_name[op_name] = scope_in_op_name(op_name, self._names)
        return self._scope_of_op_name[op_name]

    def _counts_of_calls(self, calls: Iterable[int]) -> ScopeCounts:
        """The number of instructions by scope in called computations, including nested calls."""
        total: ScopeCounts = {}
        for called in calls:
            for scope, count in self._counts_of_computation(called).items():
                total[scope] = total.get(scope, 0) + count
        return _limit(total)

    def _counts_of_computation(self, computation: int) -> ScopeCounts:
        """The number of a computation's instructions by scope, including nested calls. Iterative: a damaged module may
        nest deeply."""
        if computation not in self._counts and computation in self._bodies:
            body = self._bodies[computation]
            if not body.callees:  # as in most fusions
                self._counts[computation] = self._count_scopes(body)
        if computation in self._counts:
            return self._counts[computation]
        pending, in_progress = [computation], set[int]()
        while pending:
            current = pending[-1]
            if current in self._counts:
                pending.pop()
                continue
            if current not in self._bodies:
                self.damaged = True
                self._counts[current] = {}
                continue
            body = self._bodies[current]
            unvisited = []
            if current not in in_progress:
                in_progress.add(current)
                unvisited = [inner for inner in body.callees if inner not in self._counts]
                if any(inner in in_progress for inner in unvisited):
                    self.damaged = True
                    unvisited = [inner for inner in unvisited if inner not in in_progress]
            if unvisited:
                pending += unvisited
            else:
                self._counts[current] = self._count_scopes(body)
        return self._counts[computation]

    def _count_scopes(self, body: _Body) -> ScopeCounts:
        """The number of a computation's instructions by scope; those of the computations that it calls must be in
        `_counts`."""
        total: ScopeCounts = {}
        for opcode, op_name, calls in zip(body.opcodes, body.op_names, body.calls, strict=True):
            if opcode in _WEIGHTLESS:
                continue
            if not calls or (op_name and opcode in _COMBINING):
                if op_name:
                    scope = self._scope(op_name)
                    total[scope] = total.get(scope, 0) + 1
                continue
            inner: ScopeCounts = {}
            for called in calls:
                for scope, count in self._counts.get(called, {}).items():
                    inner[scope] = inner.get(scope, 0) + count
            if not inner and op_name:
                inner = {self._scope(op_name): 1}
            for scope, count in inner.items():
                total[scope] = total.get(scope, 0) + count
        return _limit(total)

    def _scope_of_neighbours(self, computation: int, id_: int) -> str:
        """The scope of the nearest instruction that produces or uses the data of this one, across other moves without
        an op name. At equal distance, producers come before users."""
        if computation not in self._neighbours:
            self._neighbours[computation] = _Neighbours(self._computations[computation])
        neighbours = self._neighbours[computation]
        visited, level, max_candidates = {id_}, [id_], _MAX_NEIGHBOURS
        while level and max_candidates:
            adjacent = (
                edges.get(instruction, ())
                for edges in (neighbours.operands, neighbours.users)
                for instruction in level
            )
            candidates = list(islice(chain.from_iterable(adjacent), max_candidates))
            max_candidates -= len(candidates)
            level = []
            for candidate in candidates:
                if candidate in visited or candidate not in neighbours.position:
                    continue
                visited.add(candidate)
                position, body = neighbours.position[candidate], self._bodies[computation]
                if scope := self._scope(body.op_names[position]):
                    return scope
                inner = self._counts_of_calls(body.calls[position])
                if scope_counts := {scope: count for scope, count in inner.items() if scope}:
                    return max(scope_counts, key=lambda scope: (scope_counts[scope], scope))
                if body.opcodes[position] in _MOVES and not body.op_names[position]:
                    level.append(candidate)
        return ""


def _limit(counts: ScopeCounts) -> ScopeCounts:
    """The counts cut to _MAX_SCOPES and _MAX_COUNT, in their order."""
    if len(counts) > _MAX_SCOPES:
        min_count = sorted((count for scope, count in counts.items() if scope), reverse=True)[_MAX_SCOPES - 1]
        scopes = [scope for scope, count in counts.items() if not scope or count > min_count]
        scopes += [scope for scope, count in counts.items() if scope and count == min_count]
        included = set(scopes[:_MAX_SCOPES])
        counts = {scope: count for scope, count in counts.items() if scope in included}
    if counts and max(counts.values()) > _MAX_COUNT:
        return {scope: min(count, _MAX_COUNT) for scope, count in counts.items()}
    return counts


class _Body(NamedTuple):
    """The instructions of one computation as columns. Each field is read once, because reading takes most of the time;
    a few long lists cause less garbage collection than many small objects. `calls`: the ids of the computations that
    each instruction calls; `callees`: those of all instructions in one list."""

    names: list[str]
    opcodes: list[str]
    op_names: list[str]
    calls: list[tuple[int, ...]]
    callees: list[int]


def _body(computation: HloComputation) -> _Body:
    body = _Body([], [], [], [], [])
    for instruction in computation.instructions:
        opcode = instruction.opcode
        calls = () if opcode in _WITHOUT_CALLS else tuple(instruction.called_computation_ids)
        body.names.append(instruction.name)
        body.opcodes.append(opcode)
        body.op_names.append(instruction.metadata.op_name)
        body.calls.append(calls)
        body.callees.extend(calls)
    return body


class _Neighbours:
    """The operands, users and positions of the instructions of one computation, by instruction id."""

    def __init__(self, computation: HloComputation) -> None:
        self.position: dict[int, int] = {}
        self.operands: dict[int, tuple[int, ...]] = {}
        self.users: dict[int, list[int]] = {}
        for position, instruction in enumerate(computation.instructions):
            id_, operands = instruction.id, tuple(instruction.operand_ids)
            self.position[id_] = position
            self.operands[id_] = operands
            for operand in operands:
                self.users.setdefault(operand, []).append(id_)


def _host_order(scope: str) -> list[tuple[int, str]]:
    """The sort key of scopes by their positions, which follow the order on the host."""
    return [(scope_position(segment), segment) for segment in scope.split("/")]
