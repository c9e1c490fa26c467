"""Sections on the devices' time: collectives, stalls, annotations, and work by annotation and op."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tb_xla_insights.analysis.engines.device_rows import merge_stalls
from tb_xla_insights.analysis.propagation.hlo_scopes import state_words
from tb_xla_insights.analysis.propagation.lost import ADVICE
from tb_xla_insights.analysis.propagation.path_names import name_and_depth, path_text, short_names
from tb_xla_insights.report.origins_text import origins_text
from tb_xla_insights.report.work_tables import WorkTable, peaks_note, work_by_annotation, work_by_op
from tb_xla_insights.sections.blocks import Block, Detail, Paragraph, Row, Section, SectionTable, noted
from tb_xla_insights.tables.annotations import ANNOTATIONS, PHASES, SHARED_OPS, UNANNOTATED_OPS
from tb_xla_insights.tables.definition import Definition
from tb_xla_insights.tables.devices import COLLECTIVES, STALLS
from tb_xla_insights.tables.engines import ASYNC_OPS, ENGINES, SLICE_TRANSFERS
from tb_xla_insights.text import units


def collectives(report: Row, detail: Detail) -> Section | None:
    """Collectives, the longest first."""
    rows = report["collectives"]
    if not rows:
        return None
    exposed = "exposed: the core computes nothing meanwhile"
    return Section([_longest(noted(COLLECTIVES, COLLECTIVES.note, exposed), rows, detail)], narrow=True)


def stalls(report: Row, detail: Detail) -> Section | None:
    """The ops that only wait, of all devices; none where the asynchronous ops that they end are known."""
    rows = [] if report["async_ops"] else merge_stalls(report["devices"])
    return Section([_longest(STALLS, rows, detail)], narrow=True) if rows else None


def async_ops(report: Row, detail: Detail) -> Section | None:
    """Asynchronous ops and SparseCores, most waiting first."""
    if not report["async_ops"]:
        return None
    hidden = "hidden: the core computes meanwhile"
    waits = _longest(noted(ASYNC_OPS, ASYNC_OPS.note, hidden), report["async_ops"], detail)
    cores = [SectionTable(ENGINES, report["engines"])] if report["engines"] else []
    return Section([waits, *cores])


def slice_transfers(report: Row, detail: Detail) -> Section | None:
    """Transfers between slices, most waiting first."""
    rows = report["slice_transfers"]
    table = _longest(SLICE_TRANSFERS, rows, detail)
    return Section([replace(table, cells={"peers": _peers_text})]) if rows else None


def _peers_text(row: Row) -> str:
    peers = row["peers"]
    more = [units.MISSING] if not peers else ["…"] if len(peers) > _MAX_PEERS else []
    return ", ".join([*map(str, peers[:_MAX_PEERS]), *more])


_MAX_PEERS = 4
"""How many slices are named."""


def _longest(definition: Definition, rows: Sequence[Row], detail: Detail) -> SectionTable:
    cut = units.longest_note(detail.rows, len(rows))
    return SectionTable(noted(definition, definition.note, cut), rows[: detail.rows])


def annotation_tree(report: Row, detail: Detail) -> Section | None:
    """The costs of annotations as a tree, the origins of the devices' time, and why annotations are lost."""
    rows, propagation = report["annotations"], report["propagation"]
    if not rows:
        return None
    paths = {row["path"] for row in rows}
    shown_rows: list[Row] = []
    for row in rows[: detail.annotations]:
        name, depth = name_and_depth(row["path"], paths)
        texts = {"path": "  " * depth + name, "thread": row["thread"] or "", "lost": row["lost"] or ""}
        shown_rows.append({**row, **texts})
    if len(rows) > detail.annotations:
        shown_rows.append({"path": f"… {units.count(len(rows) - detail.annotations)} more"})
    unannotated_ps = propagation["bare_ps"] + propagation["none_ps"]
    shown_rows.append({"path": "no annotation", "device_ps": unannotated_ps})
    sums = {"path": "all ops", "device_ps": propagation["device_ps"]}
    blocks: list[Block] = [SectionTable(ANNOTATIONS, shown_rows, sums=sums)]
    if propagation["device_ps"]:
        blocks.append(Paragraph(origins_text(propagation)))
    return Section([*blocks, *_lost_annotations(rows, detail)])


def _lost_annotations(rows: Sequence[Row], detail: Detail) -> list[Paragraph]:
    """A text per reason: the names of annotations lost for it, and the remedy."""
    names = short_names({row["path"] for row in rows})
    texts = []
    for reason in dict.fromkeys(row["lost"] for row in rows if row["lost"]):
        lost_names = list(dict.fromkeys(names[row["path"]] for row in rows if row["lost"] == reason))
        more = len(lost_names) - detail.rows
        listed = [*lost_names[: detail.rows], *([f"{units.count(more)} more"] if more > 0 else [])]
        texts.append(f"Lost, {reason}: {', '.join(listed)}. {ADVICE[reason]}")
    return [Paragraph(text) for text in texts]


def phases(report: Row, detail: Detail) -> Section | None:
    """The order of annotations on the device."""
    rows = [program for program in report["propagation"]["programs"] if program["phases"]]
    if not rows or not _has_device_time(report):
        return None
    definition = noted(PHASES, PHASES.note, units.cut_note(detail.rows, len(rows)))
    return Section([SectionTable(definition, rows[: detail.rows])])


def unannotated_ops(report: Row, detail: Detail) -> Section | None:
    return _ops(UNANNOTATED_OPS, report["propagation"]["unannotated_ops"], report, detail)


def shared_ops(report: Row, detail: Detail) -> Section | None:
    """Ops of several annotations."""
    return _ops(SHARED_OPS, report["propagation"]["shared_ops"], report, detail)


def _has_device_time(report: Row) -> bool:
    return bool(report["annotations"] and report["propagation"]["device_ps"])


def _ops(definition: Definition, rows: Sequence[Row], report: Row, detail: Detail) -> Section | None:
    if not rows or not _has_device_time(report):
        return None
    names = short_names({row["path"] for row in report["annotations"]})
    words = dict[str, str](**state_words(report["propagation"]))
    cells = {
        "op": lambda row: units.cut_middle(row.get("name") or row["op"]),
        "state": lambda row: words[row["state"]],
        "parts": lambda row: _parts_text(row["parts"], names),
    }
    note = noted(definition, "all cores", units.longest_note(detail.ops, len(rows)))
    return Section([SectionTable(note, rows[: detail.ops], cells)])


def _parts_text(parts: Sequence[Row], names: Mapping[str, str]) -> str:
    return ", ".join(
        f"{names.get(part['path']) or path_text(part['path'])} {units.share(part['share'])}" for part in parts
    )


def work_of_annotations(report: Row, detail: Detail) -> Section | None:
    """The devices' work by annotation."""
    work = report["device_work"]
    return Section([_work(work_by_annotation(work, detail.ops))]) if work["total"]["self_ps"] else None


def work_of_ops(report: Row, detail: Detail) -> Section | None:
    """The devices' work by op, and the peaks."""
    work = report["device_work"]
    if not work["total"]["self_ps"]:
        return None
    return Section([_work(work_by_op(report["ops"], work, detail.ops)), Paragraph(peaks_note(work))])


def _work(table: WorkTable) -> SectionTable:
    cells = {"op": lambda row: units.cut_middle(row["op"])}
    return SectionTable(table.definition, table.rows, cells, sums=table.total)
