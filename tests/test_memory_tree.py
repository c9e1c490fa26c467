"""What is alive at the peak, as a tree of annotations and in sentences."""

from __future__ import annotations

from typing import Any

import pytest

from tb_xla_insights.report.memory_text import memory_details, memory_headline, waited_for_memory_ps
from tb_xla_insights.report.memory_tree import KINDS, MAX_NODES, memory_tree

GB = 10**9


def row(path: str | None, activations: int, parameters: int = 0, gradients: int = 0) -> dict[str, Any]:
    return {
        "path": path, "parameter_bytes": parameters, "bytes": activations, "gradient_bytes": gradients,
    }  # fmt: skip


def drawn(*rows: dict[str, Any]) -> list[tuple[str, int, int]]:
    """The name of each node below its depth, its bytes with all inside, and its own ones."""
    return [
        ("  " * node["depth"] + node["name"], node["bytes"], node["own_bytes"]) for node in memory_tree(rows)
    ]


class TestTree:
    def test_the_largest_come_first_and_what_has_no_annotation_last(self) -> None:
        assert drawn(row("a", 1), row("b", 2), row(None, 9)) == [
            ("b", 2, 2), ("a", 1, 1), ("no annotation", 9, 9),
        ]  # fmt: skip

    def test_an_annotation_around_several_has_a_row(self) -> None:
        assert drawn(row("a/x", 1), row("a/y", 2), row("b", 1)) == [
            ("a", 3, 0), ("  y", 2, 2), ("  x", 1, 1), ("b", 1, 1),
        ]  # fmt: skip

    def test_one_around_a_single_one_has_none(self) -> None:
        assert drawn(row("a/x", 1), row("b", 2)) == [("b", 2, 2), ("a/x", 1, 1)]

    def test_one_around_all_has_none(self) -> None:
        assert drawn(row("step/a", 1), row("step/b", 2)) == [("b", 2, 2), ("a", 1, 1)]

    def test_what_is_its_own_stands_beside_the_others(self) -> None:
        assert drawn(row("step", 1), row("step/a", 5)) == [("a", 5, 5), ("the rest of step", 1, 1)]

    def test_parts_are_added_each(self) -> None:
        (outer, *_) = memory_tree([row("a", 1, 2, 3), row("a/b", 10, 20, 30), row("c", 0)])
        assert [outer[kind] for kind in KINDS] == [22, 11, 33]  # type: ignore[literal-required]

    def test_of_many_the_smallest_count_for_those_around(self) -> None:
        rows = [row(f"a{i % 3}/b{i}", i) for i in range(2000)]
        nodes = memory_tree(rows)
        assert len(nodes) <= MAX_NODES
        assert sum(node["own_bytes"] for node in nodes) == sum(range(2000))
        assert sum(node["bytes"] for node in nodes if not node["depth"]) == sum(range(2000))

    def test_nothing_alive_is_no_tree(self) -> None:
        assert memory_tree([]) == []


def program(
    peak: int, capacity: int | None = None, other: int | None = None, exact: bool = True
) -> dict[str, Any]:
    return {
        "program": "jit_f", "peak_bytes": peak, "total_bytes": peak + GB, "exact": exact, "peak_at": "dot.1",
        "capacity_bytes": capacity, "other_bytes": other,
    }  # fmt: skip


class TestSentences:
    TREE = memory_tree([row("jit(f)/loss", 2 * GB, gradients=GB), row("jit(f)/embedding", GB)])

    @pytest.mark.parametrize(
        ("memory", "text"),
        [
            (program(4 * GB), "jit_f needs 4.0 GB of memory at its peak, most of it for loss."),
            (
                program(4 * GB, 16 * GB, GB),
                "Memory is not the limit: at the peak of jit_f, 5.0 GB of 16.0 GB are in use, most of it for loss.",
            ),
            (
                program(4 * GB, 8 * GB, 3 * GB),
                "Memory is nearly full: at the peak of jit_f, 7.0 GB of 8.0 GB are in use.",
            ),
        ],
    )
    def test_the_headline_has_the_peak_and_what_it_is_of(self, memory: dict[str, Any], text: str) -> None:
        assert memory_headline(memory, self.TREE).replace("\u202f", " ") == text

    @pytest.mark.parametrize(
        ("memory", "start"),
        [
            (program(4 * GB, 16 * GB, GB), "Nothing to fix: 11.0 GB are free. If memory gets tight, "),
            (program(4 * GB, 5 * GB), "If memory gets tight, "),
            (program(4 * GB), "If memory gets tight, "),
        ],
    )
    def test_the_details_say_where_to_begin(self, memory: dict[str, Any], start: str) -> None:
        assert memory_details(memory, self.TREE).replace("\u202f", " ") == (
            f"{start}begin with loss: 2.0 GB of activations and 1.0 GB of gradients are alive at dot.1, the peak."
        )

    def test_a_wait_for_memory_comes_first(self) -> None:
        memory = program(4 * GB, 16 * GB, GB)
        headline = memory_headline(memory, [], waited_ps=2 * 10**12).replace("\u202f", " ")
        assert headline.startswith(
            "The device waited 2.00 s while its memory was defragmented: at the peak of jit_f, "
        )
        assert memory_details(memory, [], waited_ps=2 * 10**12).replace("\u202f", " ") == "11.0 GB are free."

    def test_a_wait_is_the_mean_of_the_devices(self) -> None:
        findings = [{"evidence": {"defragmenting_ps": 8}}, {"evidence": {}}]
        assert waited_for_memory_ps({"findings": findings, "devices": [{}] * 4}) == 2

    def test_an_annotation_has_the_names_around_it(self) -> None:
        tree = memory_tree([row("loss/logits", 3 * GB), row("loss/mean", GB), row("norm", 1)])
        assert "begin with loss/logits: " in memory_details(program(4 * GB), tree)

    def test_without_a_heap_trace_the_bounds_are_said(self) -> None:
        memory = program(4 * GB, exact=False)
        headline = memory_headline(memory, []).replace("\u202f", " ")
        assert headline == "jit_f needs between 4.0 GB and 5.0 GB of memory at its peak."
        assert memory_details(memory, []).startswith("The capture lacks the order")
