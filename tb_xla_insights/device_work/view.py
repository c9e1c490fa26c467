"""The document of the page's view Device: the work of chosen devices, with shares of their peaks.

Times (picoseconds) and amounts are sums over all chosen cores and steps. Divided by `core_steps` they are means per
core, and per step unless the whole session is shown.

    schema        1
    chosen        {dd, st, category}  as a link writes it: a core `31.2` (host's place and core), a host `31`, or `all`;
                  a step's number, `mean` (of all whole steps) or `all` (the session); null for any category
    stale         something was asked for that the session does not have; usual things are shown
    steps         [text]        the steps of the (first) host as links write them, 2,000 at most, around the one shown
    whole_steps   how many it has
    cores, core_steps
    hosts         {shown: [place], of}  whose work this is; with `dd` `all` not always that of all hosts
    categories    [text]        of all chosen ops, that with most time first; `category_ps`: the time of each
    peaks         as the report's `device_work.peaks`
    total         sums: self_ps = counted_ps + uncounted_ps + other_ps (work with a FLOP count, without one, and what is
                  no work: collectives, transfers, waits), flops_share, mfu, bytes_share (null: not known), bound_by
                  (roofline.BOUNDS or `mixed`), kinds (rows of ops), executions (of all hosts, those of an
                  op of several annotations count for each)
    paths         [path]        annotations that `tree`, `ops`, `rest` and `verdict` are about, by index (-1: none)
    tree          columns, a path each before those inside of it; at last what has none (path -1): path, self_ps, own_ps
                  (outside of the paths inside), flops_share, bytes_share, bound_by, own_flops_share, own_bytes_share,
                  own_bound_by, first_ps, last_ps (from its first op to the end of its last one; null but for one step
                  of devices in memory). All `own_ps` add up to `total.self_ps`. Of more than 300 paths those with most
                  time; the others count as their own part of what encloses them
    ops           columns, those with most time first: op, program (index into `programs`), category (into
                  `categories`), path, shape, source (into `sources`, -1: not recorded), executions, self_ps, flops,
                  hbm_bytes, flops_share, bytes_share (null: not known), bound_by, kind (activity.Kind), run: [row,
                  start_ps, depth, duration_ps] of the longest run (row indexes `rows`), null where its host is not in
                  memory
    rest          [{path, bound_by, kinds, executions, self_ps}]: sums of the ops that are not listed
    uncounted     [{op, self_ps}]: work without a FLOP count, that with most time first, 20 at most
    verdict       {path, reached, known_ps, below_ps, op}: the path in whose own work most time lies beyond what its
                  FLOPs and bytes take at the peaks, how much that is, and its largest op (index into `ops`, -1: not
                  listed); `reached`: the share of all such work's time, `known_ps`, that it would take. null: nothing
                  is known to compare
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tb_xla_insights.analysis.propagation.tree import capture_rows
from tb_xla_insights.device_work.activity import categories, executions
from tb_xla_insights.device_work.document import work_document
from tb_xla_insights.device_work.joined_rows import OpRows
from tb_xla_insights.device_work.occurrences import Key, Occurrence, occurrences
from tb_xla_insights.device_work.peaks import peaks_of
from tb_xla_insights.device_work.rows import op_rows
from tb_xla_insights.device_work.selection import ALL, MEAN, Selection, choose
from tb_xla_insights.trace.model import SessionTrace

SCHEMA = 1

MOST_OPS = 400
MOST_PATHS = 300
_MOST_STEPS = 2000
_MOST_UNCOUNTED = 20

Row = dict[str, Any]
Peaks = tuple[float, float]


@dataclass(frozen=True)
class _Work:
    """Input of the document: rows of ops, peaks of their devices, kinds of annotations by path; for hosts in memory
    also where ops ran (`places`) and numbers of executions by category (`runs`). `placed`: the work is of one step, so
    annotations have a place in time."""

    rows: Sequence[Row]
    devices: Iterable[Row]
    kinds: Mapping[str, str]
    places: Mapping[Key, Occurrence] = field(default_factory=dict)
    runs: Mapping[str, int] | None = None
    placed: bool = False


@dataclass(frozen=True)
class _Wish:
    category: str | None
    own_peaks: Peaks | None
    whole: bool


def device_view(
    session: SessionTrace,
    dd: str | None = None,
    st: str | None = None,
    *,
    usual: int = 0,
    category: str | None = None,
    own_peaks: Peaks | None = None,
    whole: bool = False,
    report: Mapping[str, Any] | None = None,
) -> Row:
    """The document of what a link chooses (see `selection.choose`). `category`: only these ops; `own_peaks`: FLOP/s and
    bytes/s of a device in place of those known of it; `whole`: all ops are listed. `report`: that of all hosts, where
    `session` has not all of them in memory."""
    chosen, wish = choose(session, dd, st, usual), _Wish(category, own_peaks, whole)
    if report is not None and (chosen.dd, chosen.st) == (ALL, ALL):
        count, cores = len(report["session"]["hosts"]), len(report["devices"])
        hosts, core_steps, work = list(range(count)), cores, _of_report(report)
    else:
        count = len(session.numbers) if report is None else len(report["session"]["hosts"])
        hosts, cores, core_steps = [part.place for part in chosen.parts], chosen.cores, chosen.core_steps
        work = _of_parts(chosen)
    head = {"cores": cores, "core_steps": core_steps, "hosts": {"shown": hosts, "of": count}}
    return _head(chosen, category) | head | _body(work, wish)


def _of_parts(chosen: Selection) -> _Work:
    found, places, devices, kinds = OpRows(), {}, [], {}  # type: OpRows, dict[Key, Occurrence], list[Row], dict[str, str]
    runs: Counter[str] = Counter()
    for part in chosen.parts:
        for row in op_rows(part.trace, part.ops):
            found.add(row)
        for key, place in occurrences(part).items():
            places[key] = max(places.get(key, place), place, key=lambda it: it.duration_ps)
        for category, count in zip(
            categories(part.trace), executions(part.trace, part.ops).tolist(), strict=True
        ):
            runs[category] += count
        devices += peaks_of(part.trace)
        kinds |= {row.path: row.kind for row in capture_rows(part.trace)}
    placed = chosen.st not in (ALL, MEAN) and len(chosen.parts) == 1
    return _Work(found.rows(), devices, kinds, places, runs, placed)


def _of_report(report: Mapping[str, Any]) -> _Work:
    """All devices over the whole session, which the report of all hosts tells."""
    kinds = {row["path"]: row["kind"] for row in report["annotations"]}
    return _Work(report["ops"], report["device_work"]["peaks"]["devices"], kinds)


def _head(chosen: Selection, category: str | None) -> Row:
    at = chosen.step or 0
    first = max(0, min(at - _MOST_STEPS // 2, len(chosen.steps) - _MOST_STEPS))
    return {
        "schema": SCHEMA,
        "chosen": {"dd": chosen.dd, "st": chosen.st, "category": category},
        "stale": chosen.stale,
        "steps": chosen.steps[first : first + _MOST_STEPS],
        "whole_steps": len(chosen.steps),
    }


def _body(work: _Work, wish: _Wish) -> Row:
    times: Counter[str] = Counter()
    for row in work.rows:
        times[row["category"]] += row["self_ps"]
    names = sorted(times, key=lambda it: (-times[it], it))
    rows = [row for row in work.rows if wish.category in (None, row["category"])]
    outer = _shown_paths(rows)
    made = work_document(
        [row | {"annotation": outer.get(row["annotation"]), "path": row["annotation"]} for row in rows],
        [], work.devices, [{"path": path, "kind": kind} for path, kind in work.kinds.items()], wish.own_peaks,
    )  # fmt: skip
    told, sums = made["ops"], made["device_work"]
    listed = told if wish.whole else told[:MOST_OPS]
    paths = [row["path"] for row in sums["annotations"] if row["path"] is not None]
    paths += sorted({row["path"] for row in listed if row["path"] is not None} - set(paths))
    number: dict[str | None, int] = {path: at for at, path in enumerate(paths)} | {None: -1}
    total = sums["total"]
    if work.runs is None:
        runs = sum(row["executions"] for row in told)
    else:
        runs = work.runs[wish.category] if wish.category else sum(work.runs.values())
    return {
        "categories": names,
        "category_ps": [times[name] for name in names],
        "peaks": sums["peaks"],
        "total": {
            "self_ps": total["self_ps"],
            "counted_ps": total["counted_ps"],
            "uncounted_ps": total["work_ps"] - total["counted_ps"],
            "other_ps": total["self_ps"] - total["work_ps"],
            **{name: total[name] for name in ("flops_share", "mfu", "bytes_share", "bound_by")},
            "kinds": len(told),
            "executions": runs,
        },
        "paths": paths,
        "tree": _tree(sums["annotations"], number, _extents(told, work.places) if work.placed else {}),
        **_ops(listed, names, number, work.places),
        "rest": _rest(told[len(listed) :], number),
        "uncounted": [
            {"op": row["op"], "self_ps": row["self_ps"]} for row in sums["uncounted"][:_MOST_UNCOUNTED]
        ],
        "verdict": _verdict(told, len(listed), number),
    }


def _around(path: str | None) -> Iterable[str]:
    """A path and those that enclose it, from the inside."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _shown_paths(rows: Iterable[Row]) -> dict[str | None, str | None]:
    """Maps each path to the path under which the tree shows it: itself, or beyond MOST_PATHS the nearest enclosing one
    among those with most time; None where there is none."""
    inside: Counter[str] = Counter()
    every = set()
    for row in rows:
        every.add(row["annotation"])
        for path in _around(row["annotation"]):
            inside[path] += row["self_ps"]
    kept = set(sorted(inside, key=lambda it: (-inside[it], it.count("/"), it))[:MOST_PATHS])
    return {own: next((path for path in _around(own) if path in kept), None) for own in every}


def _extents(rows: Iterable[Row], places: Mapping[Key, Occurrence]) -> dict[str | None, list[int]]:
    """From the first to the last op of each path."""
    found: dict[str | None, list[int]] = {}
    for row in rows:
        place = places[row["program"], row["op"], row["path"]]
        around: list[str | None] = [*_around(row["annotation"])]
        for path in around or [None]:
            known = found.setdefault(path, [place.first_ps, place.last_ps])
            known[:] = min(known[0], place.first_ps), max(known[1], place.last_ps)
    return found


def _tree(
    rows: Sequence[Row], number: Mapping[str | None, int], extents: Mapping[str | None, list[int]]
) -> Row:
    shares = ("flops_share", "bytes_share", "bound_by")
    return {
        "path": [number[row["path"]] for row in rows],
        "self_ps": [row["self_ps"] for row in rows],
        "own_ps": [row["own"]["self_ps"] for row in rows],
        **{name: [_short(row[name]) for row in rows] for name in shares},
        **{f"own_{name}": [_short(row["own"][name]) for row in rows] for name in shares},
        "first_ps": [extents.get(row["path"], [None, None])[0] for row in rows],
        "last_ps": [extents.get(row["path"], [None, None])[1] for row in rows],
    }


def _short(value: Any) -> Any:
    """Shares need no more than six digits."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _ops(
    rows: Sequence[Row],
    names: Sequence[str],
    number: Mapping[str | None, int],
    places: Mapping[Key, Occurrence],
) -> Row:
    tables: dict[str, dict[Any, int]] = {"programs": {}, "sources": {}, "rows": {}}

    def index(table: str, text: str) -> int:
        return tables[table].setdefault(text, len(tables[table]))

    order = {name: at for at, name in enumerate(names)}
    runs = []
    for row in rows:
        it = places.get((row["program"], row["op"], row["path"]))
        runs.append(it and [index("rows", it.row), it.start_ps, it.depth, it.duration_ps])
    columns = ("op", "shape", "executions", "self_ps", "flops", "hbm_bytes", "bound_by", "kind")
    ops = {
        **{name: [row[name] for row in rows] for name in columns},
        **{name: [_short(row[name]) for row in rows] for name in ("flops_share", "bytes_share")},
        "program": [index("programs", row["program"]) for row in rows],
        "category": [order[row["category"]] for row in rows],
        "path": [number[row["path"]] for row in rows],
        "source": [index("sources", row["source"]) if row["source"] else -1 for row in rows],
        "run": runs,
    }
    return {"ops": ops, **{name: list(table) for name, table in tables.items()}}


def _rest(rows: Iterable[Row], number: Mapping[str | None, int]) -> list[Row]:
    found: dict[tuple[int, str], Row] = {}
    for row in rows:
        path, bound = number.get(row["annotation"], -1), row["bound_by"]
        known = found.setdefault(
            (path, bound), {"path": path, "bound_by": bound, "kinds": 0, "executions": 0, "self_ps": 0}
        )
        known["kinds"] += 1
        known["executions"] += row["executions"]
        known["self_ps"] += row["self_ps"]
    return list(found.values())


def _verdict(rows: Sequence[Row], listed: int, number: Mapping[str | None, int]) -> Row | None:
    below: dict[str | None, int] = {}
    whole = reached = 0
    for row in rows:
        if row["roof_ps"] is None:
            continue
        roof = min(row["roof_ps"], row["self_ps"])  # amounts of a capture may be rounded up
        whole += row["self_ps"]
        reached += roof
        below[row["annotation"]] = below.get(row["annotation"], 0) + row["self_ps"] - roof
    if not whole:
        return None
    path = max(below, key=lambda it: below[it])
    at = next((at for at, row in enumerate(rows[:listed]) if row["annotation"] == path), -1)
    return {
        "path": number[path],
        "reached": _short(reached / whole),
        "known_ps": whole,
        "below_ps": below[path],
        "op": at,
    }
