"""Builds the report's keys `ops` and `device_work` from rows of ops, steps and peaks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from tb_xla_insights.analysis.propagation.path_names import with_outer_paths
from tb_xla_insights.device_work.merged_rows import OpRows, add_known
from tb_xla_insights.device_work.peaks import merge_peaks
from tb_xla_insights.device_work.roofline import (
    BOUNDS,
    Roof,
    bound_of,
    common_roof,
    main_bound,
    peak_share,
    roof_time,
)

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Annotation
    from tb_xla_insights.schema.parts import WorkKeys
    from tb_xla_insights.schema.report import Report

Row = dict[str, Any]

TIMES = ("self_ps", "in_steps_ps", "work_ps", "flops_known_ps", "bytes_known_ps")
STEP_TIMES = ("self_ps", "work_ps", "flops_known_ps", "bytes_known_ps")
AMOUNTS = ("flops", "model_flops", "bytes", "hbm_bytes")
"""Keys that are summed: of rows of ops, TIMES and AMOUNTS; of steps, STEP_TIMES and AMOUNTS."""

_MAX_OPS_WITHOUT_FLOPS = 100
"""The maximum number of listed ops without a FLOP count."""


def work_document(
    rows: Sequence[Mapping[str, Any]],
    steps: Sequence[Mapping[str, Any]],
    devices: Iterable[Mapping[str, Any]],
    annotations: Iterable[Mapping[str, Any]],
    user_peaks: tuple[float, float] | None = None,
) -> Row:
    """Returns `ops` (the rows with their shares of the peaks and their bounds) and `device_work` (the peaks, and sums).

    `rows`: from `op_rows`. `steps`: from `step_sums`. `devices`: from `peaks_of`. `annotations`: the report's.
    `user_peaks`: FLOP/s and bytes/s of a device that override those of `devices`. Applied to its own result, it changes
    nothing unless the peaks differ.
    """
    devices = merge_peaks(devices)
    roof = Roof(*user_peaks) if user_peaks else common_roof(devices)
    ops = [_with_shares(row, roof) for row in rows]
    sums_of_annotation: dict[str | None, _Sums] = {}
    total = _Sums()
    for row in ops:
        sums_of_annotation.setdefault(row["annotation"], _Sums()).add(row)
    for sums in sums_of_annotation.values():
        total.add_all(sums)
    total_ps = sum(row["self_ps"] for row in ops)
    return {
        "ops": ops,
        "device_work": {
            "peaks": _peaks(devices, roof, user_peaks is not None),
            "total": total.row(roof, total_ps),
            "annotations": _annotation_rows(sums_of_annotation, annotations, roof, total_ps),
            "steps": [_step_row(step, roof) for step in steps],
            "mean_step": _mean_step(steps, roof),
            "ops_without_flops": _ops_without_flops(ops, total_ps),
        },
    }


def with_peaks(document: Report, user_peaks: tuple[float, float]) -> Report:
    """Returns a report with other peaks: FLOP/s and bytes/s of one device."""
    work = document["device_work"]
    devices, annotations = work["peaks"]["devices"], document["annotations"]
    keys = work_document(document["ops"], work["steps"], devices, annotations, user_peaks)
    return {**document, **_as_work_keys(keys)}


class WorkMerger:
    """Merges the keys `ops` and `device_work` of many hosts."""

    def __init__(self) -> None:
        self._rows = OpRows()
        self._hosts: list[tuple[Any, Row]] = []

    def add(self, host: Any, rows: Iterable[Mapping[str, Any]], work: Mapping[str, Any]) -> None:
        """Adds a host's rows of ops, and the `steps` and `peaks` of its `device_work`; hosts are sorted by `host`."""
        for row in rows:
            self._rows.add(row)
        self._hosts.append((host, {"steps": work["steps"], "devices": work["peaks"]["devices"]}))

    def document(
        self, annotations: Iterable[Annotation], user_peaks: tuple[float, float] | None = None
    ) -> WorkKeys:
        """Returns both keys; `annotations` is the report's, `user_peaks` override those of the devices."""
        steps: list[Row] = []
        devices: list[Row] = []
        for _, host in sorted(self._hosts, key=lambda item: item[0]):
            steps += [step | {"index": len(steps) + index} for index, step in enumerate(host["steps"])]
            devices += host["devices"]
        return _as_work_keys(work_document(self._rows.rows(), steps, devices, annotations, user_peaks))


def _as_work_keys(document: Row) -> WorkKeys:
    """Casts a document: the type checker does not know the keys of sums over TIMES and AMOUNTS."""
    return cast("WorkKeys", document)


def _peaks(devices: Sequence[Mapping[str, Any]], roof: Roof, has_user_peaks: bool) -> Row:
    sources = {row["source"] for row in devices}
    source = "user" if has_user_peaks else sources.pop() if len(sources) == 1 else None
    return {
        "flops_per_s": roof.flops_per_s,
        "bytes_per_s": roof.bytes_per_s,
        "source": source if any(roof) else None,
        "devices": list(devices),
    }


def _shares(row: Mapping[str, Any], roof: Roof) -> Row:
    """Returns the shares of one device's peaks that the row's amounts reach while it works; MFU in all of its time."""
    return {
        "flops_share": peak_share(row["flops"], roof.flops_per_s, row["work_ps"]),
        "mfu": peak_share(row["model_flops"], roof.flops_per_s, row["self_ps"] if row["work_ps"] else 0),
        "bytes_share": peak_share(row["hbm_bytes"], roof.bytes_per_s, row["work_ps"]),
    }


def _with_shares(row: Mapping[str, Any], roof: Roof) -> Row:
    is_work, bound = row["kind"] == "work", bound_of(row, roof)
    return {
        **row,
        **_shares(row, roof),
        "bound": bound if bound in ("compute", "memory") else None,
        "bound_by": bound,
        "roof_ps": roof_time(row, roof) if is_work else None,
    }


def _without_unknown(sums: Mapping[str, Any]) -> Row:
    """Returns sums with None for amounts that are not known: if the ops with a count have 0 FLOPs, as copies do, and
    other ops have no count, the total is not known."""
    is_complete = {
        name: sums["flops_known_ps" if "flops" in name else "bytes_known_ps"] == sums["work_ps"]
        for name in AMOUNTS
    }
    return {**sums, **{name: sums[name] if sums[name] or is_complete[name] else None for name in AMOUNTS}}


def sum_rows(rows: Iterable[Mapping[str, Any]], roof: Roof, total_ps: int) -> Row:
    """Returns the sums of some rows of `ops`, with their share of all time, `total_ps`."""
    sums = _Sums()
    for row in rows:
        sums.add(row)
    return sums.row(roof, total_ps)


class _Sums:
    """Sums of rows: their times, FLOPs and bytes of work, and time by bound."""

    def __init__(self) -> None:
        self._times: Row = dict.fromkeys(TIMES, 0)
        self._amounts: Row = dict.fromkeys(AMOUNTS)
        self._bound_ps: dict[str, int] = dict.fromkeys(BOUNDS, 0)

    def add(self, row: Mapping[str, Any]) -> None:
        for name in TIMES:
            self._times[name] += row[name]
        if row["kind"] == "work":
            for name in AMOUNTS:
                self._amounts[name] = add_known(self._amounts[name], row[name])
        self._bound_ps[row["bound_by"]] += row["self_ps"]

    def add_all(self, sums: _Sums) -> None:
        for name in TIMES:
            self._times[name] += sums._times[name]
        for name in AMOUNTS:
            self._amounts[name] = add_known(self._amounts[name], sums._amounts[name])
        for name in BOUNDS:
            self._bound_ps[name] += sums._bound_ps[name]

    def row(self, roof: Roof, total_ps: int) -> Row:
        """Returns the sums with their share of all time, shares of the peaks, and the bound of most of their time."""
        bound_ps = {name: time for name, time in self._bound_ps.items() if time}
        sums, self_ps = _without_unknown(self._times | self._amounts), self._times["self_ps"]
        return {
            **sums,
            "share": self_ps / total_ps if total_ps else 0.0,
            **_shares(sums, roof),
            "bound_by": main_bound(bound_ps, self_ps),
            "bound_ps": bound_ps,
        }


def _annotation_rows(
    sums_of_annotation: dict[str | None, _Sums],
    annotations: Iterable[Mapping[str, Any]],
    roof: Roof,
    total_ps: int,
) -> list[Row]:
    """Returns a row per annotation with device time, parents before children, and at the end one for ops without an
    annotation. Sums include children; those in `own` do not, and add up to the total."""
    inclusive_sums: dict[str, _Sums] = {}
    kinds = {row["path"]: row["kind"] for row in annotations}
    for path, sums in sums_of_annotation.items():
        for around in with_outer_paths(path, kinds):
            inclusive_sums.setdefault(around, _Sums()).add_all(sums)
    rows = [
        {
            "path": path,
            "kind": kind,
            **inclusive_sums[path].row(roof, total_ps),
            "own": sums_of_annotation.get(path, _Sums()).row(roof, total_ps),
        }
        for path, kind in kinds.items()
        if path in inclusive_sums
    ]
    if None in sums_of_annotation:
        unannotated = sums_of_annotation[None].row(roof, total_ps)
        rows.append({"path": None, "kind": None, **unannotated, "own": unannotated})
    return rows


def _step_row(step: Mapping[str, Any], roof: Roof) -> Row:
    """Returns a step with its shares: `mfu` in the time of its ops, `mfu_of_step` in the duration of the step on all
    cores."""
    cores_ps, sums = step["duration_ps"] * step["cores"], _without_unknown(step)
    return sums | _shares(sums, roof) | {
        "mfu_of_step": peak_share(sums["model_flops"], roof.flops_per_s, cores_ps)
    }  # fmt: skip


def _mean_step(steps: Sequence[Mapping[str, Any]], roof: Roof) -> Row | None:
    """Returns the mean step per core, and the number of `steps`, those of hosts with cores; None without steps."""
    steps = [step for step in steps if step["cores"]]
    core_steps = sum(step["cores"] for step in steps)
    if not core_steps:
        return None
    cores_ps = sum(step["duration_ps"] * step["cores"] for step in steps)
    sums: Row = dict.fromkeys(AMOUNTS) | dict.fromkeys(STEP_TIMES, 0)
    for step in steps:
        for name in sums:
            sums[name] = add_known(sums[name], step[name])
    sums = _without_unknown(sums)
    means = {name: None if value is None else value // core_steps for name, value in sums.items()}
    return {
        "steps": len(steps),
        "duration_ps": cores_ps // core_steps,
        **means,
        **_shares(sums, roof),
        "mfu_of_step": peak_share(sums["model_flops"], roof.flops_per_s, cores_ps),
    }


def _ops_without_flops(rows: Sequence[Row], total_ps: int) -> list[Row]:
    """Returns the ops whose work has no FLOP count, merged over annotations, those with most time first."""
    ops: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row["kind"] == "work" and row["flops"] is None:
            properties = {name: row[name] for name in ("program", "op", "category")}
            op = ops.setdefault((row["program"], row["op"]), properties | {"self_ps": 0})
            op["self_ps"] += row["self_ps"]
    ordered = sorted(ops.values(), key=lambda op: (-op["self_ps"], op["program"], op["op"]))
    return [
        op | {"share": op["self_ps"] / total_ps if total_ps else 0.0}
        for op in ordered[:_MAX_OPS_WITHOUT_FLOPS]
    ]
