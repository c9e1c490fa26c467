"""Where the instructions of a compiled program come from: their own names, those of what they call, or their
neighbours'."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tb_xla_insights.analysis.propagation.scopes import number_of, scope_of
from tb_xla_insights.xplane.hlo_amounts import (
    UNKNOWN_AMOUNTS,
    InstructionAmounts,
    ProgramAmounts,
    instruction_shape,
)

if TYPE_CHECKING:
    from tb_xla_insights.xplane.proto.hlo_pb2 import HloComputation, HloModule

STATES = ("direct", "recovered", "bare", "none")
DIRECT, RECOVERED, BARE, NONE = range(4)

_WEIGHTLESS = frozenset(("parameter", "constant", "bitcast", "tuple", "get-tuple-element"))
"""Instructions that do no work: they are no parts of what holds them."""

_CONTAINERS = frozenset(("call", "while", "conditional"))
"""Their parts are ops of their own; what is left of them is theirs."""

_CALL_NOTHING = _WEIGHTLESS | frozenset(
    (
        "add", "and", "broadcast", "compare", "concatenate", "convert", "convolution", "copy", "copy-done",
        "copy-start", "divide", "dot", "dynamic-slice", "dynamic-update-slice", "exponential", "gather", "iota",
        "log", "maximum", "minimum", "multiply", "negate", "pad", "reshape", "rsqrt", "select", "slice",
        "subtract", "tanh", "transpose",
    )
)  # fmt: skip
"""The most frequent instructions that have no computations to call: asking them takes half of the time of reading."""

_MOVES = frozenset(
    (
        "async-done", "async-start", "async-update", "bitcast", "bitcast-convert", "convert", "copy", "copy-done",
        "copy-start", "get-tuple-element", "reshape", "transpose", "tuple",
    )
)  # fmt: skip
"""Instructions that the compiler adds to move data: they belong to what makes or needs the data."""

_FAR = 64
"""Instructions that a search among neighbours looks at."""

_MOST_SCOPES = 64
_MOST_OF_ONE = 1 << 40
"""A called computation tells so many scopes at most, those of most instructions, and counts so many of one: else n
computations that call each other could take memory by the square of n, and count to 2^n."""

Parts = dict[str, int]
"""Instructions by scope as recorded; those without a scope under the empty text."""


@dataclass(slots=True)
class Origin:
    """Where an op comes from: its state, the scopes its time goes to with their weights, in host order, and the share
    of its parts that has no scope (which gets no time where others have one, but is shown). `op_name` is its own name
    or, without one, the most frequent one of its parts. `amounts`: what it computes and moves by the shapes in
    the program, `shape` that of what it makes. `found` is False where the program does not know the op."""

    state: int = NONE
    parts: list[tuple[str, int]] = field(default_factory=list)
    unscoped: float = 0.0
    op_name: str = ""
    opcode: str = ""
    source: str = ""
    frame: int = 0
    found: bool = False
    amounts: InstructionAmounts = UNKNOWN_AMOUNTS
    shape: str = ""

    @property
    def mixed(self) -> bool:
        return len(self.parts) > 1


def origin_of_name(op_name: str, names: frozenset[str]) -> Origin:
    """The origin of an op of which only its own op name is known."""
    scope = scope_of(op_name, names) if op_name else ""
    state = DIRECT if scope else BARE if op_name else NONE
    return Origin(state, [(scope, 1)] if scope else [], op_name=op_name)


class Program:
    """One module, and the origins of its instructions. `names` are those of the user's annotations; `by_shapes` asks
    for the shapes and bytes of instructions.

    `damaged` becomes true when computations call each other in a circle or call one that does not exist: then only
    what can be told is.
    """

    def __init__(
        self, module: HloModule, names: frozenset[str] = frozenset(), by_shapes: bool = True
    ) -> None:
        self.damaged = False
        self.module = module
        self._names = names
        self._bodies = {computation.id: _body(computation) for computation in module.computations}
        self._computations = {it.id: it for it in module.computations}
        self._inside: dict[str, int] = {}
        for id_, body in self._bodies.items():
            self._inside.update(dict.fromkeys(body.names, id_))
        self._position: dict[int, dict[str, int]] = {}
        self._scopes: dict[str, str] = {}
        self._parts: dict[int, Parts] = {}
        self._neighbours: dict[int, _Neighbours] = {}
        self._amounts = ProgramAmounts(module, {id_: body.opcodes for id_, body in self._bodies.items()})
        self._by_shapes = by_shapes

    def __contains__(self, name: str) -> bool:
        return name in self._inside

    def origin(self, name: str) -> Origin:
        """Where the op of that name comes from; one that the module does not have comes from nowhere."""
        if name not in self._inside:
            return Origin()
        computation = self._inside[name]
        if computation not in self._position:
            names = self._bodies[computation].names
            self._position[computation] = dict(zip(names, range(len(names)), strict=True))
        at = self._position[computation][name]
        body = self._bodies[computation]
        opcode, op_name, calls = body.opcodes[at], body.op_names[at], body.calls[at]
        it = self._computations[computation].instructions[at]
        metadata = it.metadata
        source = f"{metadata.source_file}:{metadata.source_line}" if metadata.source_file else ""
        found = Origin(NONE, [], 0.0, op_name, opcode, source, metadata.stack_frame_id, True)
        found.amounts = self._amounts.of_instruction(it, opcode, computation, self._by_shapes)
        if self._by_shapes:
            found.shape = instruction_shape(it)
        own = self._scope(op_name)
        inner = self._parts_of(calls) if calls else {}
        scoped = {scope: count for scope, count in inner.items() if scope}
        if own:
            found.state = DIRECT
            if opcode in _CONTAINERS or not scoped:
                scoped = {own: 1}
            else:
                scoped.setdefault(own, 1)
        elif op_name:
            found.state = BARE
        elif scoped:
            found.state = RECOVERED
        elif inner:
            found.state = BARE
        elif opcode in _MOVES and (near := self._near(computation, it.id)):
            found.state, scoped = RECOVERED, {near: 1}
        if found.state in (DIRECT, RECOVERED):
            found.parts = list(scoped.items())
            if len(scoped) > 1:
                found.parts.sort(key=lambda part: _order(part[0]))
        if inner:
            found.unscoped = inner.get("", 0) / sum(inner.values())
        return found

    def scopes(self) -> tuple[set[str], set[str]]:
        """All scopes that the module names: those of instructions that do work, and those of any."""
        working: set[str] = set()
        any_: set[str] = set()
        for body in self._bodies.values():
            for opcode, op_name in zip(body.opcodes, body.op_names, strict=True):
                if scope := self._scope(op_name):
                    any_.add(scope)
                    if opcode not in _WEIGHTLESS:
                        working.add(scope)
        return working, any_

    def holders(self, names: Iterable[str]) -> dict[str, str]:
        """For those of the given instructions that lie in a computation called by another of them, that one, the
        nearest one."""
        chosen = dict.fromkeys(names)
        caller: dict[int, str] = {}
        for body in self._bodies.values():
            for name, calls in zip(body.names, body.calls, strict=True):
                for called in calls:
                    if called not in caller or name in chosen:
                        caller[called] = name
        nearest: dict[int, str | None] = {}  # by computation
        found = {}
        for name in chosen:
            if name not in self._inside:
                continue
            way: list[int] = []
            at = self._inside[name]
            above: str | None = None
            while at not in nearest:
                nearest[at] = None  # also for one that calls itself
                way.append(at)
                above = caller.get(at)
                if above is None or above in chosen:
                    break
                at = self._inside[above]
            else:
                above = nearest[at]
            nearest.update(dict.fromkeys(way, above))
            if above is not None and above != name:
                found[name] = above
        return found

    def _scope(self, op_name: str) -> str:
        if not op_name:
            return ""
        if op_name not in self._scopes:
            self._scopes[op_name] = scope_of(op_name, self._names)
        return self._scopes[op_name]

    def _parts_of(self, calls: Iterable[int]) -> Parts:
        """The scopes of the instructions in called computations, and in those that these call."""
        total: Parts = {}
        for called in calls:
            for scope, count in self._parts_in(called).items():
                total[scope] = total.get(scope, 0) + count
        return _most(total)

    def _parts_in(self, computation: int) -> Parts:
        """Computations called further down come first; no recursion, as a damaged module may nest without end."""
        if computation not in self._parts and computation in self._bodies:
            body = self._bodies[computation]
            if not body.called:  # the usual fusion
                self._parts[computation] = self._sum(body)
        if computation in self._parts:
            return self._parts[computation]
        pending, open_ = [computation], set[int]()
        while pending:
            now = pending[-1]
            if now in self._parts:
                pending.pop()
                continue
            if now not in self._bodies:
                self.damaged = True
                self._parts[now] = {}
                continue
            body = self._bodies[now]
            missing = []
            if now not in open_:
                open_.add(now)
                missing = [inner for inner in body.called if inner not in self._parts]
                if any(inner in open_ for inner in missing):
                    self.damaged = True
                    missing = [inner for inner in missing if inner not in open_]
            if missing:
                pending += missing
            else:
                self._parts[now] = self._sum(body)
        return self._parts[computation]

    def _sum(self, body: _Body) -> Parts:
        total: Parts = {}
        for opcode, op_name, calls in zip(body.opcodes, body.op_names, body.calls, strict=True):
            if opcode in _WEIGHTLESS:
                continue
            if not calls:
                if op_name:
                    scope = self._scope(op_name)
                    total[scope] = total.get(scope, 0) + 1
                continue
            inner: Parts = {}
            for called in calls:
                for scope, count in self._parts.get(called, {}).items():
                    inner[scope] = inner.get(scope, 0) + count
            if not inner and op_name:
                inner = {self._scope(op_name): 1}
            for scope, count in inner.items():
                total[scope] = total.get(scope, 0) + count
        return _most(total)

    def _near(self, computation: int, id_: int) -> str:
        """The scope of the nearest instruction that makes or needs what this one moves, across other moves without a
        name of their own; makers before users where both are as near."""
        if computation not in self._neighbours:
            self._neighbours[computation] = _Neighbours(self._computations[computation])
        known = self._neighbours[computation]
        seen, level = {id_}, [id_]
        while level and len(seen) < _FAR:
            near = [n for way in (known.operands, known.users) for it in level for n in way.get(it, ())]
            level = []
            for number in near:
                if number in seen or number not in known.position:
                    continue
                seen.add(number)
                at, body = known.position[number], self._bodies[computation]
                if scope := self._scope(body.op_names[at]):
                    return scope
                inner = self._parts_of(body.calls[at])
                if scoped := {scope: count for scope, count in inner.items() if scope}:
                    return max(scoped, key=lambda scope: (scoped[scope], scope))
                if body.opcodes[at] in _MOVES and not body.op_names[at]:
                    level.append(number)
        return ""


def _most(parts: Parts) -> Parts:
    """As many of some parts as are told, in their order."""
    if len(parts) > _MOST_SCOPES:
        least = sorted((count for scope, count in parts.items() if scope), reverse=True)[_MOST_SCOPES - 1]
        kept = [scope for scope, count in parts.items() if not scope or count > least]
        kept += [scope for scope, count in parts.items() if scope and count == least]
        chosen = set(kept[:_MOST_SCOPES])
        parts = {scope: count for scope, count in parts.items() if scope in chosen}
    if parts and max(parts.values()) > _MOST_OF_ONE:
        return {scope: min(count, _MOST_OF_ONE) for scope, count in parts.items()}
    return parts


class _Body(NamedTuple):
    """The instructions of one computation as columns; each is asked for its fields once, which takes most of the time,
    and a few long lists keep Python's collection of garbage away."""

    names: list[str]
    opcodes: list[str]
    op_names: list[str]
    calls: list[tuple[int, ...]]
    called: list[int]


def _body(computation: HloComputation) -> _Body:
    body = _Body([], [], [], [], [])
    for it in computation.instructions:
        opcode = it.opcode
        calls = () if opcode in _CALL_NOTHING else tuple(it.called_computation_ids)
        body.names.append(it.name)
        body.opcodes.append(opcode)
        body.op_names.append(it.metadata.op_name)
        body.calls.append(calls)
        body.called.extend(calls)
    return body


class _Neighbours:
    """What the instructions of one computation read, who reads them, and where they stand, by instruction id."""

    def __init__(self, computation: HloComputation) -> None:
        self.position: dict[int, int] = {}
        self.operands: dict[int, tuple[int, ...]] = {}
        self.users: dict[int, list[int]] = {}
        for at, it in enumerate(computation.instructions):
            id_, operands = it.id, tuple(it.operand_ids)
            self.position[id_] = at
            self.operands[id_] = operands
            for operand in operands:
                self.users.setdefault(operand, []).append(id_)


def _order(scope: str) -> list[tuple[int, str]]:
    """Scopes in the order of their positions, which is the host's."""
    return [(number_of(segment), segment) for segment in scope.split("/")]
