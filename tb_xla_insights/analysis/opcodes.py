"""Classifies device ops by their names: names of HLO instructions (`copy-done.3`), their text (`%copy-done.3 = …`), or
names of GPU kernels."""

from __future__ import annotations

import re

COLLECTIVE_KINDS = (
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "collective-broadcast",
    "send", "recv", "collective",
)  # fmt: skip
"""Kinds of collectives. `collective`: a kernel whose name does not say more."""

_OPCODE = re.compile(r"%?([A-Za-z_](?:[\w.-]*-)?\w*)(?:\.[\w.]*)?$")
_CONTAINER = re.compile(r"%?(while|call|conditional|async-\w+)(?:[. ]|$)")
_COLLECTIVE = re.compile(
    r"%?(all-reduce-scatter|all-reduce|all-gather|reduce-scatter|ragged-all-to-all|all-to-all|collective-permute|"
    r"collective-broadcast|send|recv)(?:-start|-done)?(?:[. ]|$)"
)
_HOST_CATEGORY = re.compile("host[-_ ]", re.IGNORECASE)
_ELEMENT_WISE = frozenset(
    (
        "abs", "add", "and", "atan2", "broadcast", "cbrt", "ceil", "clamp", "compare", "convert", "cosine", "divide",
        "erf", "exponential", "exponential-minus-one", "floor", "is-finite", "log", "log-plus-one", "logistic",
        "maximum", "minimum", "multiply", "negate", "not", "or", "power", "remainder", "round-nearest-afz",
        "round-nearest-even", "rsqrt", "select", "shift-left", "shift-right-arithmetic", "shift-right-logical", "sign",
        "sine", "sqrt", "subtract", "tan", "tanh", "xor",
    )
)  # fmt: skip
_FUSION_WORDS = frozenset(("fusion", "wrapped", "loop"))
"""Words that XLA adds to the opcodes of a fusion's instructions to name it: `loop_add_tanh_fusion`,
`wrapped_subtract`."""

_ALIASES = {"all-reduce-scatter": "reduce-scatter", "ragged-all-to-all": "all-to-all"}
_COLLECTIVE_KERNEL = re.compile(
    r"(?:void )?(?:nccl|rccl)\w*?_?(AllReduce|AllGather|ReduceScatter|AllToAll|SendRecv|Broadcast)?(?:_|\W|$)",
    re.IGNORECASE,
)
_KIND_OF_KERNEL = {
    "allreduce": "all-reduce", "allgather": "all-gather", "reducescatter": "reduce-scatter", "alltoall": "all-to-all",
    "sendrecv": "collective-permute", "broadcast": "collective-broadcast",
}  # fmt: skip


def instruction_name(name: str) -> str:
    """The instruction's name: `copy-done.3` for `%copy-done.3 = …`."""
    return name.split(" = ", 1)[0].lstrip("%")


def opcode(name: str) -> str:
    """The opcode: `copy-done` for `%copy-done.3 = …`; empty if the name cannot be an instruction's."""
    match = _OPCODE.match(name.split(" ", 1)[0])
    return match[1] if match else ""


def is_wait(name: str) -> bool:
    """Whether an op only waits for an asynchronous op."""
    return opcode(name).lower().endswith(("-done", "_done"))


def is_host_transfer(category: str) -> bool:
    """Whether an op of this category (`host send`, `host recv-done`) exchanges data with the host."""
    return _HOST_CATEGORY.match(category) is not None


def is_container(name: str) -> bool:
    """Whether an op may contain other ops."""
    return _CONTAINER.match(name) is not None


def is_element_wise(name: str) -> bool:
    """Whether an op's name shows that it works element by element. XLA names a fusion after the opcodes in it, and the
    kernel of `loop_add_fusion.1` is `loop_add_fusion_1`."""
    words = opcode(name).lower().split("_")
    opcodes = {word for word in words if not word.isdigit()} - _FUSION_WORDS
    return bool(opcodes) and opcodes <= _ELEMENT_WISE


def collective_kind(name: str) -> str | None:
    """The kind of collective (one of COLLECTIVE_KINDS) by an op's name or category (`all-reduce fusion`); None if it is
    no collective."""
    match = _COLLECTIVE.match(name)
    if match:
        return _ALIASES.get(match[1], match[1])
    kernel = _COLLECTIVE_KERNEL.match(name)
    return _KIND_OF_KERNEL.get((kernel[1] or "").lower(), "collective") if kernel else None
