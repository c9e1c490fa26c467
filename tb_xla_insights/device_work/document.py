"""The report's keys `ops` and `device_work`, from rows of ops, steps and peaks: shares, bounds, sums by annotation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from tb_xla_insights.device_work.joined_rows import OpRows, plus
from tb_xla_insights.device_work.peaks import together
from tb_xla_insights.device_work.roofline import (
    BOUNDS,
    Roof,
    bound_of,
    common_roof,
    most_of,
    roof_time,
    share_of,
)

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Annotation
    from tb_xla_insights.schema.parts import WorkKeys
    from tb_xla_insights.schema.report import Report

Row = dict[str, Any]

TIMES = ("self_ps", "in_steps_ps", "work_ps", "counted_ps", "sized_ps")
STEP_TIMES = ("self_ps", "work_ps", "counted_ps", "sized_ps")
AMOUNTS = ("flops", "model_flops", "bytes", "hbm_bytes")
_MOST_UNCOUNTED = 100


def work_document(
    rows: Sequence[Mapping[str, Any]],
    steps: Sequence[Mapping[str, Any]],
    devices: Iterable[Mapping[str, Any]],
    annotations: Iterable[Mapping[str, Any]],
    own_peaks: tuple[float, float] | None = None,
) -> Row:
    """`ops`: the rows with their shares of the peaks and what bounds them. `device_work`: the peaks, and sums.

    `steps` as `steps.step_sums` gives them, `annotations` the report's, `own_peaks` FLOP/s and bytes/s of a device that
    come before those of `devices`. Calling it with what it returned changes nothing but for other peaks.
    """
    devices = together(devices)
    roof = Roof(*own_peaks) if own_peaks else common_roof(devices)
    told = [_with_shares(row, roof) for row in rows]
    own: dict[str | None, _Sums] = {}
    whole = _Sums()
    for row in told:
        own.setdefault(row["annotation"], _Sums()).add(row)
    for sums in own.values():
        whole.add_all(sums)
    whole_ps = sum(row["self_ps"] for row in told)
    return {
        "ops": told,
        "device_work": {
            "peaks": _peaks(devices, roof, own_peaks is not None),
            "total": whole.row(roof, whole_ps),
            "annotations": _tree(own, annotations, roof, whole_ps),
            "steps": [_of_step(step, roof) for step in steps],
            "mean_step": _mean_step(steps, roof),
            "uncounted": _uncounted(told, whole_ps),
        },
    }


def with_peaks(document: Report, own_peaks: tuple[float, float]) -> Report:
    """A report with other peaks: FLOP/s and bytes/s of one device."""
    work = document["device_work"]
    devices, annotations = work["peaks"]["devices"], document["annotations"]
    return {
        **document,
        **_typed(work_document(document["ops"], work["steps"], devices, annotations, own_peaks)),
    }


class WorkTogether:
    """Joins many hosts' keys `ops` and `device_work`."""

    def __init__(self) -> None:
        self._rows = OpRows()
        self._hosts: list[tuple[Any, Row]] = []

    def add(self, host: Any, rows: Iterable[Mapping[str, Any]], work: Mapping[str, Any]) -> None:
        """Adds a host's rows of ops, and the `steps` and `peaks` of its `device_work`; hosts are sorted by `host`."""
        for row in rows:
            self._rows.add(row)
        self._hosts.append((host, {"steps": work["steps"], "devices": work["peaks"]["devices"]}))

    def document(
        self, annotations: Iterable[Annotation], own_peaks: tuple[float, float] | None = None
    ) -> WorkKeys:
        """Both keys; `annotations` is the report's, `own_peaks` come before those of the devices."""
        steps: list[Row] = []
        devices: list[Row] = []
        for _, host in sorted(self._hosts, key=lambda it: it[0]):
            steps += [step | {"index": len(steps) + place} for place, step in enumerate(host["steps"])]
            devices += host["devices"]
        return _typed(work_document(self._rows.rows(), steps, devices, annotations, own_peaks))


def _typed(document: Row) -> WorkKeys:
    """The keys of rows that have all of an op's: sums over the columns that TIMES and AMOUNTS name have no types."""
    return cast("WorkKeys", document)


def _peaks(devices: Sequence[Mapping[str, Any]], roof: Roof, own: bool) -> Row:
    sources = {row["source"] for row in devices}
    source = "user" if own else sources.pop() if len(sources) == 1 else None
    return {
        "flops_per_s": roof.flops_per_s,
        "bytes_per_s": roof.bytes_per_s,
        "source": source if any(roof) else None,
        "devices": list(devices),
    }


def _shares(row: Mapping[str, Any], roof: Roof, ps: int) -> Row:
    """Shares of the peaks in some time of one device."""
    return {
        "flops_share": share_of(row["flops"], roof.flops_per_s, ps),
        "mfu": share_of(row["model_flops"], roof.flops_per_s, ps),
        "bytes_share": share_of(row["hbm_bytes"], roof.bytes_per_s, ps),
    }


def _with_shares(row: Mapping[str, Any], roof: Roof) -> Row:
    works = row["kind"] == "work"
    bound = bound_of(row, roof)
    shares = _shares(row, roof, row["self_ps"] if works else 0)
    roof_ps = roof_time(row, roof) if works else None
    told = {"bound": bound if bound in ("compute", "memory") else None, "bound_by": bound, "roof_ps": roof_ps}
    return {**row, **shares, **told}


def _known(sums: Mapping[str, Any]) -> Row:
    """Sums of work without those that say nothing: where the ops with a count have 0 FLOPs, as copies, and others have
    no count, it is not known how many there are."""
    whole = {
        name: sums["counted_ps" if "flops" in name else "sized_ps"] == sums["work_ps"] for name in AMOUNTS
    }
    return {**sums, **{name: sums[name] if sums[name] or whole[name] else None for name in AMOUNTS}}


class _Sums:
    """Sums of rows: their times, FLOPs and bytes of work, and time by bound."""

    def __init__(self) -> None:
        self._times: Row = dict.fromkeys(TIMES, 0)
        self._amounts: Row = dict.fromkeys(AMOUNTS)
        self._bound_ps: dict[str, int] = dict.fromkeys(BOUNDS, 0)

    def add(self, row: Row) -> None:
        for name in TIMES:
            self._times[name] += row[name]
        if row["kind"] == "work":
            for name in AMOUNTS:
                self._amounts[name] = plus(self._amounts[name], row[name])
        self._bound_ps[row["bound_by"]] += row["self_ps"]

    def add_all(self, other: _Sums) -> None:
        for name in TIMES:
            self._times[name] += other._times[name]
        for name in AMOUNTS:
            self._amounts[name] = plus(self._amounts[name], other._amounts[name])
        for name in BOUNDS:
            self._bound_ps[name] += other._bound_ps[name]

    def row(self, roof: Roof, whole_ps: int) -> Row:
        """With their share of all time, shares of the peaks, and what bounds most of it."""
        bound_ps = {name: ps for name, ps in self._bound_ps.items() if ps}
        sums, self_ps = _known(self._times | self._amounts), self._times["self_ps"]
        return {
            **sums,
            "share": self_ps / whole_ps if whole_ps else 0.0,
            **_shares(sums, roof, self_ps),
            "bound_by": most_of(bound_ps, self_ps),
            "bound_ps": bound_ps,
        }


def _tree(
    own: dict[str | None, _Sums], annotations: Iterable[Mapping[str, Any]], roof: Roof, whole_ps: int
) -> list[Row]:
    """A row per annotation that has device time, each before those inside of it, and at last that of no annotation:
    sums with those inside, and `own` without. The `own` ones add up to the whole."""
    inside: dict[str, _Sums] = {}
    for path, sums in own.items():
        around = path
        while around:
            inside.setdefault(around, _Sums()).add_all(sums)
            around = around.rpartition("/")[0]
    kinds = {row["path"]: row["kind"] for row in annotations}
    found = [
        {
            "path": path,
            "kind": kind,
            **inside[path].row(roof, whole_ps),
            "own": own.get(path, _Sums()).row(roof, whole_ps),
        }
        for path, kind in kinds.items()
        if path in inside
    ]
    if None in own:
        rest = own[None].row(roof, whole_ps)
        found.append({"path": None, "kind": None, **rest, "own": rest})
    return found


def _of_step(step: Mapping[str, Any], roof: Roof) -> Row:
    """A step with its shares: `mfu` in the time of its ops, `mfu_of_step` in the time that the step takes on all
    cores."""
    cores_ps, sums = step["duration_ps"] * step["cores"], _known(step)
    return sums | _shares(sums, roof, step["self_ps"]) | {
        "mfu_of_step": share_of(sums["model_flops"], roof.flops_per_s, cores_ps)
    }  # fmt: skip


def _mean_step(steps: Sequence[Mapping[str, Any]], roof: Roof) -> Row | None:
    """The mean step, per core: `steps` is how many it is of; None without steps."""
    cores = sum(step["cores"] for step in steps)
    if not cores:
        return None
    cores_ps = sum(step["duration_ps"] * step["cores"] for step in steps)
    sums: Row = dict.fromkeys(AMOUNTS) | dict.fromkeys(STEP_TIMES, 0)
    for step in steps:
        for name in sums:
            sums[name] = plus(sums[name], step[name])
    sums = _known(sums)
    means = {name: None if value is None else value // cores for name, value in sums.items()}
    return {
        "steps": len(steps),
        "duration_ps": cores_ps // cores,
        **means,
        **_shares(sums, roof, sums["self_ps"]),
        "mfu_of_step": share_of(sums["model_flops"], roof.flops_per_s, cores_ps),
    }


def _uncounted(rows: Sequence[Row], whole_ps: int) -> list[Row]:
    """Ops whose work has no FLOP count, together for all annotations, those with most time first."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row["kind"] == "work" and row["flops"] is None:
            key = row["program"], row["op"]
            known = found.setdefault(
                key, {name: row[name] for name in ("program", "op", "category")} | {"self_ps": 0}
            )
            known["self_ps"] += row["self_ps"]
    ordered = sorted(found.values(), key=lambda it: (-it["self_ps"], it["program"], it["op"]))
    return [
        row | {"share": row["self_ps"] / whole_ps if whole_ps else 0.0} for row in ordered[:_MOST_UNCOUNTED]
    ]
