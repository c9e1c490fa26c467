"""The peak of a program's memory in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tb_xla_insights.analysis.thresholds import TIGHT_MEMORY_SHARE
from tb_xla_insights.report.memory_tree import KINDS
from tb_xla_insights.text.units import brief_time, byte_size

Row = Mapping[str, Any]


def waited_for_memory_ps(report: Row) -> int:
    """How long a device waits while the runtime makes room in its memory, as the mean of all devices."""
    total_ps = sum(finding["evidence"].get("defragmenting_ps", 0) for finding in report["findings"])
    return int(total_ps // max(1, len(report["devices"])))


def memory_headline(row: Row, tree: Sequence[Row], waited_ps: int = 0) -> str:
    """How much memory the device needs at the peak, and for what most of it. `tree`: see `memory_tree`; `waited_ps`:
    see `waited_for_memory_ps`."""
    peak_bytes, capacity_bytes, program = row["peak_bytes"], row["capacity_bytes"], row["program"]
    if not row["exact"]:
        bounds = f"between {byte_size(peak_bytes)} and {byte_size(row['total_bytes'])}"
        return f"{program} needs {bounds} of memory at its peak."
    used_bytes = peak_bytes + (row["other_bytes"] or 0)
    largest = _largest_half(tree, used_bytes if capacity_bytes else peak_bytes)
    purpose = f", most of it for {largest}" if largest else ""
    if not capacity_bytes:
        return f"{program} needs {byte_size(peak_bytes)} of memory at its peak{purpose}."
    state = "Memory is nearly full" if _is_tight(row) else "Memory is not the limit"
    if waited_ps:
        state = f"The device waited {brief_time(waited_ps)} while its memory was defragmented"
    return (
        f"{state}: at the peak of {program}, {byte_size(used_bytes)} of {byte_size(capacity_bytes)} "
        f"are in use{purpose}."
    )


def memory_details(row: Row, tree: Sequence[Row], waited_ps: int = 0) -> str:
    """How much is free, and where to begin if it gets tight."""
    if not row["exact"]:
        return (
            "The capture lacks the order in which the compiler allocates and frees: "
            "the peak is not known more closely."
        )
    sentences = []
    if row["capacity_bytes"] and not _is_tight(row):
        free_bytes = row["capacity_bytes"] - row["peak_bytes"] - (row["other_bytes"] or 0)
        sentences.append(f"{'' if waited_ps else 'Nothing to fix: '}{byte_size(free_bytes)} are free.")
    values = [node for node in tree if node["own_bytes"] + node["own_gradient_bytes"]]
    if values:
        largest = max(values, key=lambda node: node["own_bytes"] + node["own_gradient_bytes"])
        parts = [
            f"{byte_size(largest[key])} of {name}"
            for key, name in (("own_bytes", "activations"), ("own_gradient_bytes", "gradients"))
            if largest[key]
        ]
        begin = (
            f"begin with {_full_name(largest, tree)}"
            if largest["path"]
            else "the most is of ops without an annotation"
        )
        at = f"at {row['peak_at']}, the peak" if row["peak_at"] else "at the peak"
        sentences.append(f"If memory gets tight, {begin}: {' and '.join(parts)} are alive {at}.")
    return " ".join(sentences)


def _is_tight(row: Row) -> bool:
    used_bytes = row["peak_bytes"] + (row["other_bytes"] or 0)
    return bool(used_bytes >= TIGHT_MEMORY_SHARE * row["capacity_bytes"])


def _largest_half(tree: Sequence[Row], used_bytes: int) -> str:
    """The name of the innermost annotation with at least half of the bytes; empty without one."""
    halves = [node for node in tree if node["path"] and 2 * sum(node[kind] for kind in KINDS) >= used_bytes]
    return _full_name(max(halves, key=lambda node: node["depth"]), tree) if halves else ""


def _full_name(node: Row, tree: Sequence[Row]) -> str:
    """The name of a node below those around it."""
    names, depth = [node["name"]], node["depth"]
    for outer in reversed(tree[: tree.index(node)]):
        if outer["depth"] < depth:
            names.append(outer["name"])
            depth = outer["depth"]
    return "/".join(reversed(names))
