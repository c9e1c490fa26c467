"""The iterations of a server's loop, and their kinds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.host.servers import iteration_marks, requests_of
from tb_xla_insights.analysis.host.templates import numbers_in, template_of
from tb_xla_insights.analysis.idle.no_requests import no_requests
from tb_xla_insights.analysis.iterations.buckets import find_buckets
from tb_xla_insights.analysis.iterations.parts import begins_iteration
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog import without_encoded_stats
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import outermost_rows

if TYPE_CHECKING:
    from tb_xla_insights.schema.iterations import BatchKind


@dataclass(frozen=True)
class Iterations:
    """The whole iterations of a host, in order of time. `mark`: the annotation that names each. It lasts from
    `start_ps` to `end_ps`, where the next one begins. `work_ps`: when the server's thread begins to work at it, which
    may have had no request before. `kind`: what its batch consists of; `bucket`: the length to which that is
    padded, if the name does not tell the kind (see `find_buckets`). `numbers`: those in its name."""

    mark: Int32
    work_ps: Int64
    start_ps: Int64
    end_ps: Int64
    kind: list[BatchKind]
    bucket: list[int | None]
    template: list[str]
    numbers: list[dict[str, int]]

    def __len__(self) -> int:
        return len(self.mark)


@memoised
def find_iterations(trace: Trace) -> Iterations:
    """The iterations, from each mark to the next; what prepares an iteration before its mark belongs to it, as does the
    time without a request before it."""
    marks = iteration_marks(trace)
    work_ps = _starts(trace, marks)
    start_ps, times = work_ps.copy(), no_requests(trace)
    start_ps[np.searchsorted(trace.start_ps[marks], times.end_ps)] = times.start_ps
    whole = marks[:-1]
    names = [iteration_name(trace, row) for row in whole.tolist()]
    numbers = _without_counter([numbers_in(name) for name in names])
    kinds = _kinds(trace, whole, names)
    return Iterations(
        whole,
        work_ps[:-1],
        start_ps[:-1],
        start_ps[1:],
        kinds,
        find_buckets(trace, start_ps[:-1]) if "iteration" in kinds else [None] * len(kinds),
        [*map(template_of, names)],
        numbers,
    )


def iteration_name(trace: Trace, row: int) -> str:
    """The name of an iteration's mark, with numbers."""
    return without_encoded_stats(trace.strings[trace.metadata.name[trace.metadata_index[row]]])


def _starts(trace: Trace, marks: Int32) -> Int64:
    """When the server's thread begins to work at each iteration: at the first of the annotations in a row before its
    mark that prepare it."""
    if not len(marks):
        return np.zeros(0, np.int64)
    rows = trace.annotations[trace.lines_of(trace.annotations) == trace.lines_of(marks[:1])[0]]
    rows = outermost_rows(trace.parent, rows)
    rows = rows[np.argsort(trace.start_ps[rows], kind="stable")]
    begins = begins_iteration(trace, rows) & ~np.isin(rows, marks)
    last_other = np.maximum.accumulate(np.where(begins, -1, np.arange(len(rows))))
    before = np.append(-1, last_other)[np.flatnonzero(np.isin(rows, marks))]
    starts_ps: Int64 = trace.start_ps[rows[before + 1]]
    return starts_ps


def _without_counter(numbers: list[dict[str, int]]) -> list[dict[str, int]]:
    """The numbers without those that grow by one from iteration to iteration, which only count these."""
    counters = {
        key
        for key in (numbers[0] if numbers else ())
        if len(numbers) > 1 and all(b.get(key) == a.get(key, -1) + 1 for a, b in pairwise(numbers))
    }
    return [{key: value for key, value in row.items() if key not in counters} for row in numbers]


_MAX_READ = 2_000
"""The most iterations whose requests are read from the file."""


def _kinds(trace: Trace, marks: Int32, names: list[str]) -> list[BatchKind]:
    """What the batch of each iteration consists of, as far as its name tells; whether prompts are alone, the ids of its
    requests tell."""
    sizes = [_sizes(name) for name in names]
    ratios = [tokens / requests if requests else 0.0 for requests, tokens in sizes]
    several = {ratio for ratio in ratios if ratio > 1 and 2 * ratios.count(ratio) > len(ratios)}
    kinds: list[BatchKind] = []
    for name, ratio in zip(names, ratios, strict=True):
        if ratio == 1 or name == "generate":
            kinds.append("decode")
        elif ratio in several:
            kinds.append("speculative")
        else:
            kinds.append("prefill" if name == "prefill" else "with_prefill" if ratio else "iteration")
    with_prefill = [at for at, kind in enumerate(kinds) if kind == "with_prefill"]
    for at in with_prefill[:_MAX_READ]:
        ids, before = (requests_of(trace, int(row)) for row in (marks[at], marks[at - 1]))
        if ids and at:
            kinds[at] = "mixed" if ids & before else "prefill"
    if kinds[:1] == ["with_prefill"]:  # what was before it is not recorded
        known: tuple[BatchKind, ...] = "mixed", "prefill", "with_prefill"
        kinds[0] = max(known, key=lambda kind: kinds.count(kind))
    return kinds


def _sizes(name: str) -> tuple[int, int]:
    """The numbers of requests and tokens in the name of an iteration; zeros without both."""
    numbers = numbers_in(name)
    return (numbers["reqs"], numbers["toks"]) if {"reqs", "toks"} <= numbers.keys() else (0, 0)
