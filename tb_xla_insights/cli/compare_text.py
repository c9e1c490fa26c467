"""A comparison as text: the verdict first, then the figures of both sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.catalog.classes import SHORT_GAPS, label
from tb_xla_insights.cli import elements
from tb_xla_insights.compare.measures import sum_of_times
from tb_xla_insights.compare.sentences import (
    PAIR_VERDICT_TEXTS,
    PRESENCE_TEXTS,
    VERDICT_TEXTS,
    op_names_text,
    ratio_text,
)
from tb_xla_insights.tables.comparison import (
    ANNOTATION_DIFFERENCES,
    BETWEEN_EXECUTIONS,
    CLASS_DIFFERENCES,
    COMPILE_DIFFERENCES,
    IDLE_DIFFERENCES,
    LAZY_DYNAMO_EXECUTIONS,
    LAZY_DYNAMO_STEPS,
    MEASURES,
    OP_DIFFERENCES,
    OVERHEAD_DIFFERENCES,
    PHASE_DIFFERENCES,
    PREDICTIONS,
    RUN_DIFFERENCES,
    pair_table,
)
from tb_xla_insights.tables.definition import Definition
from tb_xla_insights.text import units
from tb_xla_insights.text.english import plural

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]

_MIN_SHARE = 0.001
"""The share of a step below which a difference is not listed first."""


def print_comparison(out: Console, document: Document) -> None:
    """Prints the parts of a comparison that the document has: two sessions, a table of pairs, or both."""
    if "a" in document:
        _print_sessions(out, document)
    if "pairs" in document:
        _print_pairs(out, document["pairs"])


def _print_sessions(out: Console, document: Document) -> None:
    from tb_xla_insights.analysis.propagation.path_names import short_names

    elements.print_paragraph(out, document["verdict"]["text"], style="bold")
    out.print()
    has_same_name = document["a"]["session"]["name"] == document["b"]["session"]["name"]
    for letter in "ab":
        side, name = document[letter], "path" if has_same_name else "name"
        counts = [plural(side[f"{noun}s"], noun) for noun in ("step", "device")]
        elements.print_paragraph(
            out, f"{letter.upper()}  {side['session'][name]}: {', '.join(counts)}, {side['launched_by']}"
        )
    if document["chance"]["text"]:
        elements.print_paragraph(out, document["chance"]["text"])
    out.print()
    if document["predictions"]:
        out.print(elements.table(PREDICTIONS, document["predictions"]))
    _print_measures(out, document["measures"])
    classes = [(label(row["class"]), row) for row in document["classes"]]
    _print_differences(out, CLASS_DIFFERENCES, classes, summed=True)
    annotations = document["annotations"]
    paths = {row["path"] for row in annotations}
    names = short_names(paths)
    phases = [(names[row["path"]], row["host"]) for row in annotations if row["phase"]]
    _print_differences(out, PHASE_DIFFERENCES, phases)
    unit = "run" if document["verdict"]["program"] else "step"
    _print_device_work(out, document["device_work"], names, unit)
    gaps = document["gaps"]
    idle = [(label(row["class"]), row) for row in gaps["classes"]] + [(SHORT_GAPS, gaps["small"])]
    _print_differences(out, IDLE_DIFFERENCES, idle, summed=True)
    programs = document["programs"]
    if document["verdict"]["program"]:
        _print_differences(out, RUN_DIFFERENCES, _program_rows(programs, "device"))
    _print_differences(out, OVERHEAD_DIFFERENCES, _program_rows(programs, "overhead"))
    _print_differences(out, COMPILE_DIFFERENCES, [(row["module"], row) for row in document["compiles"]])
    if document["lazy_dynamo"]:
        _print_lazy_dynamo(out, document["lazy_dynamo"])


def _print_device_work(out: Console, work: Document, names: Mapping[str, str], unit: str) -> None:
    """Prints device time per `unit`, by annotation and by op: notable differences first, then the largest others.
    `names`: short ones of annotations, by path."""
    from tb_xla_insights.analysis.propagation.path_names import path_text

    def name_of(path: str | None) -> str:
        return "no annotation" if path is None else names.get(path) or path_text(path)

    cells = {"path": lambda row: "no annotation" if row["path"] is None else path_text(row["path"])}
    _print_work_differences(out, ANNOTATION_DIFFERENCES, work["annotations"], cells, unit)
    cells = {
        "name": lambda row: units.cut_middle(op_names_text(row)),
        "annotation": lambda row: name_of(row["annotation"]),
    }
    _print_work_differences(out, OP_DIFFERENCES, work["ops"], cells, unit)


def _print_work_differences(
    out: Console,
    definition: Definition,
    rows: Sequence[Document],
    cells: Mapping[str, Callable[[Any], str]],
    unit: str,
) -> None:
    differing_rows = [row for row in rows if row["difference_ps"]]
    if not differing_rows:
        return
    shown_rows = sorted(differing_rows, key=lambda row: not _is_notable(row))[: elements.MAX_ROWS]
    count_note = (
        f"; {elements.MAX_ROWS} of {units.count(len(differing_rows))}"
        if len(differing_rows) > elements.MAX_ROWS
        else ""
    )
    cells = {
        **cells,
        **_CELLS,
        "of_step": _share_text,
        "presence": lambda row: PRESENCE_TEXTS[row["presence"]],
    }
    title = definition.title.format(unit=unit) + count_note
    out.print(elements.table(definition, shown_rows, cells, title=title))


def _share_text(row: Document) -> str:
    share = units.share(abs(row["of_step"]))
    if not share[0].isdigit():  # a share shown as `<` has no sign
        return share
    return f"{'+' if row['of_step'] > 0 else '−'}{share}"


def _is_notable(row: Document) -> bool:
    """Whether the difference is significant and large enough to matter."""
    return row["verdict"] in ("worse", "better") and abs(row["of_step"]) >= _MIN_SHARE


def _program_rows(rows: Sequence[Document], key: str) -> list[tuple[str, Document]]:
    """Returns the time `key` of a run of each program, and its names."""
    return [
        (row["program"] if row["match"] != "base" else f"{row['program']} / {row['program_b']}", row[key])
        for row in rows
    ]


def _print_measures(out: Console, rows: Sequence[Document]) -> None:
    cells = {"a": lambda row: _value_text(row, "a"), "b": lambda row: _value_text(row, "b"), **_CELLS}
    out.print(elements.table(MEASURES, rows, cells))


def _value_text(row: Document, letter: str) -> str:
    if row["unit"] == "ps":
        return units.time_text(row[f"{letter}_ps"])
    value = row[letter]
    if row["unit"] == "share":
        return units.share(value)
    if row["unit"] == "rate":
        return units.rate(value)
    return units.MISSING if value is None else f"{value:.2f}" if value % 1 else units.count(int(value))


def _ratio_text(value: float | None) -> str:
    return units.MISSING if value is None else ratio_text(value)


def _verdict_text(row: Document) -> str:
    return VERDICT_TEXTS.get(row.get("verdict") or "", "")


_CELLS: Mapping[str, Callable[[Any], str]] = {
    "ratio": lambda row: _ratio_text(row["ratio"]),
    "verdict": _verdict_text,
}


def _print_differences(
    out: Console, definition: Definition, rows: Sequence[tuple[str, Document]], summed: bool = False
) -> None:
    """Prints A, B, B - A and B / A of times with their verdicts; with a total if the rows are parts of a whole."""
    named_rows = [{**row, "name": name} for name, row in rows if row["a_ps"] or row["b_ps"]]
    if not named_rows:
        return
    shown_rows = named_rows if summed else named_rows[: elements.MAX_ROWS]
    cut_note = "" if summed else units.cut_note(elements.MAX_ROWS, len(named_rows))
    sums = {"name": "all", **sum_of_times(named_rows)} if summed else None
    out.print(
        elements.table(
            definition,
            shown_rows,
            _CELLS,
            title="; ".join(filter(None, (definition.title, cut_note))),
            sums=sums,
        )
    )


def _print_lazy_dynamo(out: Console, document: Document) -> None:
    kinds = ("lazy", "dynamo")
    steps: list[Document] = []
    for kind in kinds:
        row = document["step"][document[kind]]
        steps.append({**row, "kind": kind, "executions": _number_text(row["executions"], 2)})
    ratios = {f"{key}_ps": _ratio_text(ratio) for key, ratio in document["speedup"].items()}
    out.print(elements.table(LAZY_DYNAMO_STEPS, steps, sums={"kind": "lazy / dynamo", **ratios}))
    executions = [
        {**row, "program": f"{kind}: {row['program']}", "per_step": _number_text(row["per_step"], 6)}
        for kind in kinds
        for row in document["executions"][document[kind]]
    ]
    cells = {"device_ps": lambda row: _precise_ms(row["device_ps"])}
    out.print(elements.table(LAZY_DYNAMO_EXECUTIONS, executions, cells))
    between = [
        {**gap, "before": f"{kind}: {gap['before']}"}
        for kind in kinds
        for gap in document["between"][document[kind]][: elements.MAX_ROWS]
    ]
    is_cut = any(len(gaps) > elements.MAX_ROWS for gaps in document["between"].values())
    cut_note = f"; the {elements.MAX_ROWS} pairs with most time of each session" if is_cut else ""
    if between:
        out.print(elements.table(BETWEEN_EXECUTIONS, between, title=BETWEEN_EXECUTIONS.title + cut_note))


def _number_text(value: float | None, decimals: int) -> str:
    return units.MISSING if value is None else f"{round(value, decimals):g}"


def _precise_ms(ps: int | None) -> str:
    return units.MISSING if ps is None else units.time_in(ps, "ms", 5)


def _print_pairs(out: Console, pairs: Document) -> None:
    """Prints the table of pairs. Each column of speed-ups is followed by one of verdicts, left out if empty."""
    definition = pair_table(pairs["columns"])
    rows = [
        {
            "model": row["model"],
            **{f"speedup_{index}": _speedup_text(value) for index, value in enumerate(row["speedups"])},
            **{
                f"verdict_{index}": PAIR_VERDICT_TEXTS.get(pair["verdict"], "") if pair else ""
                for index, pair in enumerate(row["pairs"])
            },
        }
        for row in pairs["rows"]
    ]
    least, most = min(pairs["counts"], default=0), max(pairs["counts"], default=0)
    name = f"mean of {least}" if least == most else f"mean of {least}–{most}"
    means = {f"speedup_{index}": _speedup_text(mean) for index, mean in enumerate(pairs["means"])}
    out.print(elements.table(definition, rows, sums={"model": name, **means}))


def _speedup_text(value: float | None) -> str:
    return units.MISSING if value is None else ratio_text(value, 3)
