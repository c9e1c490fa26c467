"""A comparison as text: the verdict first, then the figures of both sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.catalog.classes import label
from tb_xla_insights.cli import common
from tb_xla_insights.compare.sentences import PRESENCE_TEXTS, VERDICT_TEXTS, op_names_text, ratio_text
from tb_xla_insights.compare.session_totals import EXECUTION_TIMES

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]

_MIN_SHARE = 0.001
"""The share of a step below which a difference is not listed first."""


def print_comparison(out: Console, document: Document) -> None:
    """Prints the parts of a comparison that the document has: two sessions, a table of pairs, or both."""
    if "a" in document:
        _sessions(out, document)
    if "pairs" in document:
        _pairs(out, document["pairs"])


def _sessions(out: Console, document: Document) -> None:
    common.print_paragraph(out, document["verdict"]["text"], style="bold")
    out.print()
    same = document["a"]["session"]["name"] == document["b"]["session"]["name"]
    for letter in "ab":
        side, name = document[letter], "path" if same else "name"
        counts = [
            f"{units.count(side[noun])} {noun if side[noun] != 1 else noun[:-1]}"
            for noun in ("steps", "devices")
        ]
        common.print_paragraph(
            out, f"{letter.upper()}  {side['session'][name]}: {', '.join(counts)}, {side['launched_by']}"
        )
    if document["chance"]["text"]:
        common.print_paragraph(out, document["chance"]["text"])
    out.print()
    _measures(out, document["measures"])
    classes = [(label(row["class"]), row) for row in document["classes"]]
    _differences(out, "Host time per step", "Class", classes, summed=True)
    phases = [
        (row["path"].rpartition("/")[2], row["host"]) for row in document["annotations"] if row["phase"]
    ]
    _differences(out, "Phases, host time per step", "Phase", phases)
    _device_work(out, document["device_work"])
    gaps = document["gaps"]
    idle = [(label(row["class"]), row) for row in gaps["classes"]] + [("in gaps under 10 µs", gaps["small"])]
    _differences(out, "Idle time per step and core, by what the host did", "Class", idle, summed=True)
    _differences(out, "Overhead of a run", "Program", _programs(document["programs"]))
    _differences(out, "Compilations", "Module", [(row["module"], row) for row in document["compiles"]])
    if document["lazy_dynamo"]:
        _lazy_dynamo(out, document["lazy_dynamo"])


def _device_work(out: Console, work: Document) -> None:
    """Prints device time by annotation and by op: notable differences first, then the largest others."""
    paths = [row["path"] or "no annotation" for row in work["annotations"]]
    _step_differences(
        out,
        "Device time per step and core, by annotation",
        ("Annotation",),
        [(path,) for path in paths],
        work["annotations"],
    )
    names = [
        (units.cut_middle(op_names_text(row)), (row["annotation"] or "no annotation").rpartition("/")[2])
        for row in work["ops"]
    ]
    _step_differences(out, "Device time per step and core, by op", ("Op", "Annotation"), names, work["ops"])


def _step_differences(
    out: Console, title: str, heads: Sequence[str], names: Sequence[Sequence[str]], rows: Sequence[Document]
) -> None:
    listed = [(name, row) for name, row in zip(names, rows, strict=True) if row["difference_ps"]]
    if not listed:
        return
    shown = sorted(listed, key=lambda item: not _is_notable(item[1]))[: common.ROWS]
    unit = units.column_unit([row[key] for _, row in shown for key in ("a_ps", "b_ps")])
    more = f"; {common.ROWS} of {units.count(len(listed))}" if len(listed) > common.ROWS else ""
    numbers = (f"A, {unit}", f"B, {unit}", f"B − A, {unit}", "Of A’s step", "B / A", "In", "")
    table = common.table(
        title + more, *heads, *numbers, left=(*range(len(heads)), len(heads) + 5, len(heads) + 6)
    )
    for name, row in shown:
        step = units.share(abs(row["of_step"]))
        if step[0].isdigit():  # a share shown as `<` has no sign
            step = f"{'+' if row['of_step'] > 0 else '−'}{step}"
        verdict = VERDICT_TEXTS.get(row["verdict"] or "", "")
        table.add_row(
            *name, *_cells(row, unit), step, _ratio(row["ratio"]), PRESENCE_TEXTS[row["found"]], verdict
        )
    out.print(table)


def _is_notable(row: Document) -> bool:
    """Whether the difference is significant and large enough to matter."""
    return row["verdict"] in ("worse", "better") and abs(row["of_step"]) >= _MIN_SHARE


def _programs(rows: Sequence[Document]) -> list[tuple[str, Document]]:
    return [
        (
            row["program"] if row["match"] != "base" else f"{row['program']} / {row['program_b']}",
            row["overhead"],
        )
        for row in rows
    ]


def _measures(out: Console, rows: Sequence[Document]) -> None:
    table = common.table("Differences", "Measure", "A", "B", "B / A", "", left=(0, 4))
    for row in rows:
        table.add_row(
            row["label"],
            *(_value(row, letter) for letter in "ab"),
            _ratio(row["ratio"]),
            VERDICT_TEXTS.get(row["verdict"], ""),
        )
    out.print(table)


def _value(row: Document, letter: str) -> str:
    if row["unit"] == "ps":
        return units.time_text(row[f"{letter}_ps"])
    value = row[letter]
    if row["unit"] == "share":
        return units.share(value)
    if row["unit"] == "rate":
        return units.rate(value)
    return units.MISSING if value is None else f"{value:.2f}" if value % 1 else units.count(int(value))


def _ratio(value: float | None) -> str:
    return units.MISSING if value is None else ratio_text(value)


def _differences(
    out: Console, title: str, head: str, rows: Sequence[tuple[str, Document]], summed: bool = False
) -> None:
    """Prints A, B, B - A and B / A of times with their verdicts; with a total if the rows are parts of a whole."""
    rows = [(name, row) for name, row in rows if row["a_ps"] or row["b_ps"]]
    if not rows:
        return
    unit = units.column_unit([row[key] or 0 for _, row in rows for key in ("a_ps", "b_ps")])
    heads = (f"A, {unit}", f"B, {unit}", f"B − A, {unit}", "B / A", "")
    more = f"; the first {common.ROWS} of {len(rows)}" if len(rows) > common.ROWS and not summed else ""
    table = common.table(title + more, head, *heads, left=(0, 5))
    for name, row in rows if summed else rows[: common.ROWS]:
        table.add_row(
            name, *_cells(row, unit), _ratio(row["ratio"]), VERDICT_TEXTS.get(row.get("verdict") or "", "")
        )
    if summed:
        a, b = (sum(row[key] or 0 for _, row in rows) for key in ("a_ps", "b_ps"))
        whole = {"a_ps": a, "b_ps": b, "difference_ps": b - a}
        table.add_row("all", *_cells(whole, unit), _ratio(b / a if a else None), "")
    out.print(table)


def _cells(row: Document, unit: str) -> list[str]:
    cells = []
    for key in ("a_ps", "b_ps", "difference_ps"):
        sign = "+" if key == "difference_ps" and (row[key] or 0) > 0 else ""
        cells.append(units.MISSING if row[key] is None else sign + units.time_in(row[key], unit))
    return cells


def _lazy_dynamo(out: Console, document: Document) -> None:
    steps = document["step"]
    heads = ("Steps", "Tracing, ms", "Device, ms", "Wall, ms", "Executions")
    table = common.table("Lazy against dynamo, per step (device: the runs’ time on a core)", "", *heads)
    keys = ("tracing", "device", "wall")
    for kind in ("lazy", "dynamo"):
        row = steps[document[kind]]
        cells = (_ms(row[f"{key}_ps"]) for key in keys)
        table.add_row(kind, units.count(row["steps"]), *cells, f"{round(row['executions'] or 0, 2):g}")
    table.add_row("lazy / dynamo", "", *(_ratio(document["speedup"][key]) for key in keys), "")
    out.print(table)
    costs = ("Kind", "Per step", "Host, ms", "Device, ms", "Queue, ms", "Overhead, ms")
    table = common.table(
        "Executions in the order of the device, means of a run", "Program", *costs, left=(0, 1)
    )
    between = common.table(
        "Between executions on a core", "Before", "After", "Count", "Mean, ms", left=(0, 1)
    )
    for kind in ("lazy", "dynamo"):
        for row in document["executions"][document[kind]]:
            cells = (_ms(row[f"{key}_ps"], 5 if key == "device" else 3) for key in EXECUTION_TIMES)
            table.add_row(f"{kind}: {row['program']}", row["kind"], f"{row['per_step'] or 0:g}", *cells)
        for gap in document["between"][document[kind]][: common.ROWS]:
            between.add_row(
                f"{kind}: {gap['before']}", gap["after"], units.count(gap["count"]), _ms(gap["mean_ps"])
            )
    out.print(table)
    if between.row_count:
        out.print(between)


def _ms(ps: int | None, decimals: int = 3) -> str:
    return units.MISSING if ps is None else units.time_in(ps, "ms", decimals)


def _pairs(out: Console, pairs: Document) -> None:
    """Prints the table of pairs. Each column of speed-ups is followed by one of verdicts, left out if empty."""
    heads = [head for name in pairs["columns"] for head in (name, "")]
    left = (0, *range(2, len(heads) + 1, 2))
    table = common.table("Speed-up over pairs, A / B", "Model", *heads, left=left)
    for row in pairs["rows"]:
        verdicts = [VERDICT_TEXTS.get(pair["verdict"], "") if pair else "" for pair in row["pairs"]]
        pairs_of_row = zip(row["speedups"], verdicts, strict=True)
        cells = [cell for value, verdict in pairs_of_row for cell in (_speedup(value), verdict)]
        table.add_row(row["model"], *cells)
    counts = sorted(set(pairs["counts"]))
    name = f"mean of {'–'.join(map(str, counts[:: max(1, len(counts) - 1)]))}"
    table.add_row(name, *(cell for mean in pairs["means"] for cell in (_speedup(mean), "")))
    out.print(table)


def _speedup(value: float | None) -> str:
    return units.MISSING if value is None else ratio_text(value, 3)
