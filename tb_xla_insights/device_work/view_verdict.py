"""The sentence at the top of the view Device: what the device is busy with, and how efficiently."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tb_xla_insights.analysis.propagation.path_names import outer_path, short_names
from tb_xla_insights.device_work.peaks_text import missing_peaks_text
from tb_xla_insights.device_work.roofline import NEAR_ROOF_SHARE
from tb_xla_insights.text import units
from tb_xla_insights.text.english import Bold
from tb_xla_insights.text.units import share

Row = Mapping[str, Any]

_BOUND_TEXTS = {
    "memory": "bound by memory",
    "compute": "bound by compute",
    "link": "bound by links between devices",
    "wait": "most of it waits",
    "neither": "below half of both roofs",
    "mixed": "with no single bound",
    "unknown": "with an unknown bound",
}
_NEARLY_ALL_SHARE = 0.9
"""An annotation with this share of the time says little: the largest row without nested ones is named instead."""
_MIN_NAMED_SHARE = 0.1
"""The minimum share of the time of such a row, and of an op that is named beside an annotation."""
_MIN_KNOWN_SHARE = 0.5
"""The minimum share of work with known rates for a statement about all work."""


@dataclass(frozen=True)
class BelowRoof:
    """The annotation `path` whose own work has most time beyond what its FLOPs and bytes take at the peaks
    (`below_ps`), with its largest op, or one of the ops that repeat with most time (`op`, an index; None: not listed).
    `roof_share`: the share of `known_ps`, the time of all ops with a known roof, that they would take at the peaks."""

    path: str | None
    below_ps: int
    op: int | None
    known_ps: int
    roof_share: float

    @property
    def is_near(self) -> bool:
        """Whether the ops run near the roof."""
        return self.roof_share >= NEAR_ROOF_SHARE


def find_below_roof(ops: Sequence[Row], repeated: Mapping[int, Row], listed_count: int) -> BelowRoof | None:
    """The annotation farthest below its roof; None if nothing is known of any op. `listed_count`: how many of the ops
    can be named."""
    below_ps: dict[str | None, int] = {}
    known_ps = roofline_ps = 0
    for row in ops:
        if row["roof_ps"] is None:
            continue
        roof_ps = min(row["roof_ps"], row["self_ps"])  # amounts of a capture may be rounded up
        known_ps += row["self_ps"]
        roofline_ps += roof_ps
        below_ps[row["annotation"]] = below_ps.get(row["annotation"], 0) + row["self_ps"] - roof_ps
    if not known_ps:
        return None
    path = max(below_ps, key=lambda path: below_ps[path])
    op = max(
        (index for index, row in enumerate(ops[:listed_count]) if row["annotation"] == path),
        key=lambda index: repeated[index]["self_ps"] if index in repeated else ops[index]["self_ps"],
        default=None,
    )
    return BelowRoof(path, below_ps[path], op, known_ps, roofline_ps / known_ps)


@dataclass(frozen=True)
class Chosen:
    """The work that is shown: `steps` is `all`, `mean` or a step; sums are divided by `core_steps`."""

    steps: str
    category: str | None
    cores: int
    core_steps: int


@dataclass(frozen=True)
class _TreeRow:
    """An annotation with those below it; a leaf has none, or is the own time of an annotation, or of none (`path`)."""

    path: str | None
    depth: int
    is_leaf: bool
    is_own_time: bool
    sums: Row

    @property
    def self_ps(self) -> int:
        return int(self.sums["self_ps"])

    def contains(self, path: str | None) -> bool:
        """Whether ops with this path belong to the row."""
        if path is None or self.path is None:
            return path == self.path
        return path == self.path or (not self.is_own_time and path.startswith(f"{self.path}/"))


@dataclass(frozen=True)
class _Ops:
    """An op in all of its annotations, or ops that repeat."""

    name: str
    are_several: bool
    self_ps: int
    flops_share: float | None
    bytes_share: float | None


@dataclass(frozen=True)
class VerdictSentence:
    """Composes the sentence. `ops`: rows, most time first; `work`: the report's `device_work` of these; `category_ps`:
    of all categories, most time first; `repeated`: ops that repeat, by the index of each of their rows."""

    chosen: Chosen
    ops: Sequence[Row]
    work: Row
    category_ps: Mapping[str, int]
    repeated: Mapping[int, Row]
    below: BelowRoof | None

    def pieces(self) -> Iterable[str]:
        """The sentence; what is emphasised is `Bold`."""
        if not self.ops:
            return [self._no_ops()]
        return self._waiting() or self._working()

    def _no_ops(self) -> str:
        steps, category = self.chosen.steps, self.chosen.category
        op = "No op" if category is None else f"No op of {category}"
        step = "" if steps == "all" else "of a whole step " if steps == "mean" else "of this step "
        return f"{op} {step}was recorded on {'these devices' if self.chosen.cores > 1 else 'this device'}."

    def _waiting(self) -> list[str]:
        """If the device mostly waits or exchanges data; else empty."""
        callbacks = any(row["kind"] == "callback" for row in self.ops)
        waits = f"only waits for {'callbacks or' if callbacks else 'copies or other'} asynchronous ops"
        for bound, text in (("wait", waits), ("link", "is collectives and transfers")):
            rows = [index for index, row in enumerate(self.ops) if row["bound_by"] == bound]
            bound_ps = sum(self.ops[index]["self_ps"] for index in rows)
            if 2 * bound_ps > self._total_ps:
                longest = self._merged(rows)[0]
                rest = (
                    [" The other ops run at ", Bold(share(self.below.roof_share)), " of the roofline."]
                    if self.below and self._known_share >= _MIN_KNOWN_SHARE
                    else []
                )
                return [
                    Bold(self._part(bound_ps)),
                    f" of {self._whole} {text}; {self._time_clause(longest, longest.name)}.",
                    *rest,
                ]
        return []

    def _working(self) -> list[str]:
        below, largest = self.below, self._main_row
        if below is None:
            return self._without_roof(largest)
        farthest = next((row for row in self._tree if row.is_leaf and row.path == below.path), largest)
        mostly_unknown = self._known_share < _MIN_KNOWN_SHARE and (farthest is not largest or below.is_near)
        known = [
            *self._main_clause(largest),
            f". FLOPs and bytes are known for {self._part(below.known_ps)} of all {self._time_name}",
        ]
        roof_share = Bold(share(below.roof_share))
        if below.is_near and mostly_unknown:
            return [*known, "; those ops run at ", roof_share, " of the roofline."]
        if below.is_near:
            bound = _BOUND_TEXTS[largest.sums["bound_by"]]
            return [
                "The ops run at ",
                roof_share,
                " of the roofline; ",
                Bold(self._name(largest)),
                f", {bound}, takes {self._share_text(largest)} of {self._whole}.",
            ]
        rates = _rates_text(farthest.sums)
        if mostly_unknown:
            return [
                *known,
                "; most time beyond the roofline is in ",
                Bold(self._name(farthest)),
                f": {self._share_text(farthest)} of the {self._time_name}{f', at {rates}' if rates else ''}.",
            ]
        op = self._merged([below.op])[0] if below.op is not None else None
        return [
            *self._main_clause(farthest),
            f"{f' at {rates}' if rates else ''}: {_BOUND_TEXTS[farthest.sums['bound_by']]}.",
            self._op_sentence(op) if op else "",
        ]

    def _without_roof(self, largest: _TreeRow) -> list[str]:
        if largest.sums["bound_by"] == "memory" and largest.sums["bytes_share"]:
            rate = Bold(share(largest.sums["bytes_share"]))
            return [*self._main_clause(largest), " at ", rate, " of HBM bandwidth: bound by memory."]
        rows = [
            index
            for index, row in enumerate(self.ops)
            if largest.contains(row["path"])
            and (not self._names_category(largest) or row["category"] == self._largest_category)
        ]
        ops = self._merged(rows)
        is_named = ops and ops[0].self_ps >= _MIN_NAMED_SHARE * largest.self_ps
        op = self._op_sentence(ops[0]) if is_named else ""
        unknown = f"How near that is to the roofline is unknown: {self._unknown_reason()}."
        return [*self._main_clause(largest), f".{op} {unknown}"]

    def _unknown_reason(self) -> str:
        if text := missing_peaks_text(self.work["peaks"]):
            return text
        if any(row["flops"] for row in self.ops):
            return "no op has both FLOPs and bytes"
        subject = "the capture has" if self.chosen.category is None else "these ops have"
        has_bytes = any(row["hbm_bytes"] is not None for row in self.ops)
        return f"{subject} no FLOP{'' if has_bytes else ' or byte'} counts"

    @cached_property
    def _total_ps(self) -> int:
        return int(self.work["total"]["self_ps"])

    @cached_property
    def _known_share(self) -> float:
        """The share of work with a known roof."""
        return self.below.known_ps / max(1, self.work["total"]["work_ps"]) if self.below else 0.0

    @cached_property
    def _time_name(self) -> str:
        category = self.chosen.category
        return "op time" if category is None else f"time in {category}"

    @cached_property
    def _whole(self) -> str:
        """`the step’s op time`, `a step’s time in loop fusion`."""
        owner = {"all": "the session", "mean": "a step"}.get(self.chosen.steps, "the step")
        return f"{owner}’s {self._time_name}"

    @cached_property
    def _largest_category(self) -> str:
        return next(iter(self.category_ps))

    @cached_property
    def _tree(self) -> list[_TreeRow]:
        """The annotations, parents first; an annotation's own time follows its nested annotations."""
        paths = {row["path"] for row in self.work["annotations"]}
        nested: dict[str, list[Row]] = {}
        for row in self.work["annotations"]:
            if row["path"] is not None:
                nested.setdefault(outer_path(row["path"], paths), []).append(row)

        def rows_in(outer: str, depth: int) -> Iterable[_TreeRow]:
            for row in nested.get(outer, []):
                path = row["path"]
                has_nested = path in nested
                yield _TreeRow(path, depth, not has_nested, is_own_time=False, sums=row)
                yield from rows_in(path, depth + 1)
                if has_nested and row["own"]["self_ps"]:
                    yield _TreeRow(path, depth + 1, is_leaf=True, is_own_time=True, sums=row["own"])

        unannotated = (row for row in self.work["annotations"] if row["path"] is None)
        return [
            *rows_in("", 0),
            *(_TreeRow(None, 0, is_leaf=True, is_own_time=True, sums=row) for row in unannotated),
        ]

    @cached_property
    def _shares(self) -> dict[int, float]:
        """The shares that the tree prints, by the identity of its rows: those of leaves add up."""
        leaves = [row for row in self._tree if row.is_leaf]
        total_ps = max(1, sum(row.self_ps for row in leaves))
        tenths = units.rounded_parts([1000 * row.self_ps for row in leaves], 1000 * total_ps, total_ps)
        rounded = {id(leaf): tenth / total_ps / 1000 for leaf, tenth in zip(leaves, tenths, strict=True)}
        for row in self._tree:
            if not row.is_leaf:
                rounded[id(row)] = round(
                    sum(rounded[id(leaf)] for leaf in leaves if row.contains(leaf.path)), 3
                )
        return rounded

    def _share_text(self, row: _TreeRow) -> str:
        rounded = self._shares[id(row)]
        return share(rounded) if rounded else self._part(row.self_ps)

    def _part(self, time_ps: int) -> str:
        """The time as a share of all op time."""
        return share(time_ps / self._total_ps if self._total_ps else None)

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return short_names([row["path"] for row in self.work["annotations"] if row["path"] is not None])

    def _name(self, row: _TreeRow) -> str:
        return "work without an annotation" if row.path is None else self._names[row.path]

    @cached_property
    def _main_row(self) -> _TreeRow:
        """The innermost annotation with half of the time, otherwise the largest outermost one. If it has nearly all of
        the time, the largest leaf takes its place, unless that one has less than a tenth."""

        def largest(is_chosen: Callable[[_TreeRow], bool]) -> _TreeRow:
            return max(filter(is_chosen, self._tree), key=lambda row: row.self_ps)

        large = [row for row in self._tree if 2 * row.self_ps >= self._total_ps]
        row = (
            max(large, key=lambda row: row.depth) if large else largest(lambda candidate: not candidate.depth)
        )
        leaf = largest(lambda candidate: candidate.is_leaf)
        is_nearly_all = row.self_ps >= _NEARLY_ALL_SHARE * self._total_ps
        return leaf if is_nearly_all and leaf.self_ps >= _MIN_NAMED_SHARE * self._total_ps else row

    def _names_category(self, row: _TreeRow) -> bool:
        """Whether the category of the work is more informative than the row: without annotations."""
        return (
            row is self._main_row
            and row.path is None
            and row.self_ps >= _NEARLY_ALL_SHARE * self._total_ps
            and self.chosen.category is None
        )

    def _main_clause(self, row: _TreeRow) -> list[str]:
        """What takes which share of the time."""
        if self._names_category(row):
            part = "nearly all of " if row.self_ps < self._total_ps else ""
            category = self._largest_category
            return [
                Bold(f"{category} ops"),
                " take ",
                Bold(self._part(self.category_ps[category])),
                f" of {self._whole}, {part}which has no annotation",
            ]
        name = "Work without an annotation" if row.path is None else self._name(row)
        return [Bold(name), " takes ", Bold(self._share_text(row)), f" of {self._whole}"]

    def _merged(self, indices: Iterable[int]) -> list[_Ops]:
        """The rows of each op, and of ops that repeat, as one; most time first. Rows without a program are not merged:
        they may be different kernels of one name."""
        groups: dict[Any, _Ops] = {}
        for index in indices:
            row, repeated = self.ops[index], self.repeated.get(index)
            if repeated is not None:
                shares = repeated["flops_share"], repeated["bytes_share"]
                groups[id(repeated)] = _Ops(repeated["name"], True, repeated["self_ps"], *shares)
                continue
            key = (row["op"], row["program"]) if row["program"] else index
            first = groups.get(key)
            groups[key] = _Ops(
                row["op"],
                False,
                row["self_ps"] + (first.self_ps if first else 0),
                first.flops_share if first else row["flops_share"],
                first.bytes_share if first else row["bytes_share"],
            )
        return sorted(groups.values(), key=lambda ops: -ops.self_ps)

    def _time_clause(self, ops: _Ops, name: str) -> str:
        """`dot.1 alone is 30.000 ms`, `64 × dot take 30.000 ms`."""
        time_ps = round(ops.self_ps / max(1, self.chosen.core_steps))
        return f"{name} {'take' if ops.are_several else 'alone is'} {units.time_text(time_ps)}"

    def _op_sentence(self, ops: _Ops) -> str:
        return f" {self._time_clause(ops, units.cut_middle(ops.name))}{_roof_share_text(ops)}."


def _roof_share_text(ops: _Ops) -> str:
    """The share of their roof that ops reach: `, at 93 % of HBM bandwidth`; empty if that is not known, as for a slice
    without FLOPs."""
    if not ops.flops_share and ops.bytes_share is None:
        return ""
    if (ops.bytes_share or 0) >= (ops.flops_share or 0):
        return f", at {share(ops.bytes_share)} of HBM bandwidth"
    return f", at {share(ops.flops_share)} of peak FLOP/s"


def _rates_text(sums: Row) -> str:
    """`17 % of peak FLOP/s and 48 % of HBM bandwidth`, as far as known."""
    rates = ((sums["flops_share"], "peak FLOP/s"), (sums["bytes_share"], "HBM bandwidth"))
    return " and ".join(f"{share(rate)} of {peak}" for rate, peak in rates if rate is not None)
