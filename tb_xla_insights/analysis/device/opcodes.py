"""What the name of a device op says about it: an HLO instruction's (`copy-done.3`, or its text, `%copy-done.3 = …`) or
that of a GPU's kernel."""

from __future__ import annotations

import re

COLLECTIVE_KINDS = (
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "collective-broadcast",
    "send", "recv", "collective",
)  # fmt: skip
"""Kinds of collectives. `collective`: a kernel whose name does not say more."""

_OPCODE = re.compile(r"%?([A-Za-z_][\w.-]*?)(\.[\w.]*)?$")
_CONTAINER = re.compile(r"%?(while|call|conditional|async-\w+)(?:[. ]|$)")
_COLLECTIVE = re.compile(
    r"%?(all-reduce-scatter|all-reduce|all-gather|reduce-scatter|ragged-all-to-all|all-to-all|collective-permute|"
    r"collective-broadcast|send|recv)(?:-start|-done)?(?:[. ]|$)"
)
_ELEMENT_WISE = frozenset(
    (
        "abs", "add", "and", "atan2", "broadcast", "cbrt", "ceil", "clamp", "compare", "convert", "cosine", "divide",
        "erf", "exponential", "exponential-minus-one", "floor", "is-finite", "log", "log-plus-one", "logistic",
        "maximum", "minimum", "multiply", "negate", "not", "or", "power", "remainder", "round-nearest-afz",
        "round-nearest-even", "rsqrt", "select", "shift-left", "shift-right-arithmetic", "shift-right-logical", "sign",
        "sine", "sqrt", "subtract", "tan", "tanh", "xor",
    )
)  # fmt: skip
_OF_FUSIONS = frozenset(("fusion", "wrapped", "loop"))
"""What XLA adds to the opcodes of a fusion's parts for its name: `loop_add_tanh_fusion`, `wrapped_subtract`."""

_OTHER_NAMES = {"all-reduce-scatter": "reduce-scatter", "ragged-all-to-all": "all-to-all"}
_KERNEL = re.compile(
    r"(?:void )?(?:nccl|rccl)\w*?_?(AllReduce|AllGather|ReduceScatter|AllToAll|SendRecv|Broadcast)?(?:_|\W|$)",
    re.IGNORECASE,
)
_OF_KERNEL = {
    "allreduce": "all-reduce", "allgather": "all-gather", "reducescatter": "reduce-scatter", "alltoall": "all-to-all",
    "sendrecv": "collective-permute", "broadcast": "collective-broadcast",
}  # fmt: skip


def instruction_name(name: str) -> str:
    """The instruction's own name: `copy-done.3` of `%copy-done.3 = …`."""
    return name.split(" = ", 1)[0].lstrip("%")


def opcode(name: str) -> str:
    """What an instruction does: `copy-done` of `%copy-done.3 = …`; empty for what is no instruction's name."""
    match = _OPCODE.match(name.split(" ", 1)[0])
    return match[1] if match else ""


def is_wait(name: str) -> bool:
    """Whether an op only waits for an asynchronous one."""
    return opcode(name).lower().endswith(("-done", "_done"))


def is_container(name: str) -> bool:
    """Whether an op may have others as its parts."""
    return _CONTAINER.match(name) is not None


def is_element_wise(name: str) -> bool:
    """Whether an op works on its operands element by element, and its name tells so: XLA names a fusion after the
    opcodes in it."""
    parts = set(opcode(name).lower().split("_")) - _OF_FUSIONS
    return bool(parts) and parts <= _ELEMENT_WISE


def collective_kind(name: str) -> str | None:
    """Which of COLLECTIVES an op's name, or its category (`all-reduce fusion`), means; None for all others."""
    match = _COLLECTIVE.match(name)
    if match:
        return _OTHER_NAMES.get(match[1], match[1])
    kernel = _KERNEL.match(name)
    return _OF_KERNEL.get((kernel[1] or "").lower(), "collective") if kernel else None
