"""What the text of an op says about an asynchronous op: whether it starts or ends one, which engine executes it, and
which ops it takes its input from. (docs/definitions.md, "Engines")"""

from __future__ import annotations

import re
from typing import get_args

from tb_xla_insights.analysis.opcodes import collective_kind, instruction_name, opcode
from tb_xla_insights.schema.engines import Engine

ENGINES: tuple[Engine, ...] = get_args(Engine)

_SPARSE_CORE_THREAD = re.compile(r'async_execution_thread="sparsecore"')
_OFFLOADED = re.compile(r"\.call-(?:start|done)$")
"""The end of the names that the compiler gives to ops that it moves to a SparseCore."""

_MEGASCALE = "_xla_megascale"
_HOST_MEMORY = re.compile(r"S\(5\)")
"""The host's memory space in a shape."""

_POINT_TO_POINT = re.compile(r"(send|recv)(-done)?$")
_START = re.compile(r"[-_]start$")
_OPERAND = re.compile(r"[(\])}] ?%([\w.-]+)")
"""An operand follows a parenthesis or its type; attributes name computations after an equals sign."""

_AT_HAND = re.compile(r"(?:param(?:eter)?|constant|Arg_\d+|p\d+)(?:[._]|$)")
"""Names of values that exist when a program begins."""


def is_start(name: str) -> bool:
    """Whether an op starts an asynchronous one, by its instruction's name."""
    code = opcode(name).lower()
    return bool(_START.search(code)) or code in ("send", "recv")


def engine_of(text: str, category: str) -> Engine:
    """The engine of an asynchronous op, by the text and the category of its start or done op."""
    name = instruction_name(text)
    if _SPARSE_CORE_THREAD.search(text) or (
        category.lower().startswith("async") and _OFFLOADED.search(opcode(name) or name)
    ):
        return "sparse_core"
    if _POINT_TO_POINT.match(opcode(name)):
        if _MEGASCALE in text:
            return "other_slice"
        return "host_memory" if category.lower().startswith("host") else "interconnect"
    if collective_kind(text):
        return "interconnect"
    return "host_memory" if _HOST_MEMORY.search(text) else "other"


def operands(text: str) -> list[str]:
    """The names of an op's operands; empty if the text is only a name."""
    _, _, expression = text.partition(" = ")
    return _OPERAND.findall(expression)


def is_at_hand(name: str) -> bool:
    """Whether a value exists when its program begins: a parameter, a constant."""
    return _AT_HAND.match(name) is not None


def started_by(done: str) -> str:
    """The name of the op that started the asynchronous op which this one ends: its operand, else its own name with
    another ending."""
    name = instruction_name(done)
    if found := operands(done):
        return found[-1]
    return re.sub(r"^(send|recv)-done|([-_])done(?=[.\d]*$)", lambda m: m[1] or f"{m[2]}start", name)


def short_op_name(name: str) -> str:
    """The name of an asynchronous op without what tells its start from its end, and without what the compiler adds when
    it moves the op to another engine: `all-gather.5` for `all-gather.5.cloned.1.call-start`."""
    return re.sub(r"(?:\.cloned[.\d]*)?(?:\.call)?[-_](?:start|done)(?=[.\d]*$)", "", name)


def kind_of(name: str) -> str:
    """What an asynchronous op does, by its name: `all-gather` for `all-gather.5.cloned.1.call-start`."""
    return collective_kind(name) or re.split(r"[.\d]", short_op_name(name), maxsplit=1)[0] or name
