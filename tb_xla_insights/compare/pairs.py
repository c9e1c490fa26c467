"""The speed-up table of many pairs, from a file.

The file is CSV with a head, one pair per line. With columns `a` and `b` a line is a pair: each a path of a session
(from the file's folder on), or a step time in milliseconds; `column` names the table's column it belongs to. Without
them every column after the first one holds speed-ups as they are:

    model,column,a,b                      model,first,second
    resnet50,second,lazy/r50,dynamo/r50   resnet50,0.758,0.937
    vgg16,second,41.2,55.5                vgg16,0.712,0.742
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from io import StringIO
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Any, NamedTuple

from tb_xla_insights.analysis.steps.table import steps_report
from tb_xla_insights.compare.measures import judgement
from tb_xla_insights.compare.significance import Steps, median_test
from tb_xla_insights.errors import InputError
from tb_xla_insights.files.texts import TextError, read_text
from tb_xla_insights.report.sidecars import read_sidecars
from tb_xla_insights.report.throughput import recorded_samples
from tb_xla_insights.trace.model import SessionTrace
from tb_xla_insights.units import PS_PER

if TYPE_CHECKING:
    from tb_xla_insights.schema.speedups import PairRow, Pairs, PairValue

_NUMBER = re.compile(r"[+-]?(\d{1,40}\.?\d{0,40}|\.\d{1,40})(e[+-]?\d\d?)?", re.ASCII | re.IGNORECASE)
"""A number, as the page reads it, too; anything else, also `1/2`, may be a path."""
_LONGEST_PATH = 4096
_SHOWN = 40
"""Letters of a cell that a message tells."""


class Timed(NamedTuple):
    """The report's `steps` of a session, at least one, and how many samples a step takes, where that was recorded."""

    steps: Sequence[Mapping[str, Any]]
    samples: float | None = None


StepsOf = Callable[[str], Timed]
"""The steps of the session that a path means; raises InputError."""


def read_pairs(path: str, read_steps: StepsOf) -> Pairs:
    """The speed-up table of a file.

    `columns` are names; `rows` have `model` and per column `speedups` (A's time / B's, None where the file has none)
    and `pairs` (`{a, b, a_ps, b_ps, steps, p, verdict}`, None where the file has the speed-up itself); `means` are the
    arithmetic means of the columns, over `counts` numbers each, free of rounding on the way. `p` and `verdict` are
    those of a comparison of the median step (see `measures.judged`), None unless both are sessions. Raises InputError.
    """
    try:
        reader = csv.reader(StringIO(read_text(path), newline=""), strict=True)
        lines = [(reader.line_num, line) for line in reader if any(map(str.strip, line))]
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: {error}; write CSV, its quotes in pairs"
        ) from error
    except (OSError, TextError) as error:
        reason = f": {error.strerror}" if isinstance(error, OSError) else f"{error.at}: {error}"
        raise InputError(f"{path}{reason}; give a CSV file of pairs") from error
    if len(lines) < 2:
        raise InputError(f"{path}: no pairs; give a head and one pair per line")
    head = [name.strip() for name in lines[0][1]]
    if len(head) == 1 and (other := re.search(r"[;\t|]", head[0])):
        raise InputError(f"{path}, line 1: no commas, but {other[0]!r}; separate cells by commas")
    for number, line in lines[1:]:
        if len(line) != len(head):
            raise InputError(
                f"{path}, line {number}: {len(line)} cells under {len(head)} heads; quote cells with commas"
            )
    rows = [(number, [cell.strip() for cell in line]) for number, line in lines[1:]]
    places = {name.lower(): index for index, name in enumerate(head)}
    if "a" in places and "b" in places:
        return _table(*_of_pairs(path, places, rows, read_steps))
    if head[0].lower() in ("a", "b", "column"):
        raise InputError(
            f"{path}, line 1: {head[0]} is no column of models, and pairs need both a and b; add what is missing"
        )
    if len(head) < 2:
        raise InputError(f"{path}, line 1: no column of speed-ups and no columns a and b; add them")
    cells: dict[tuple[str, str], tuple[Fraction, PairValue | None]] = {}
    for number, row in rows:
        for name, cell in zip(head[1:], row[1:], strict=True):
            if cell not in ("", "-", "–"):
                _only_one(path, number, cells, row[0], name)
                cells[row[0], name] = _number(path, number, cell), None
    return _table([row[0] for _, row in rows], head[1:], cells)


_Cells = Mapping[tuple[str, str], "tuple[Fraction, PairValue | None]"]


def _of_pairs(
    path: str, places: Mapping[str, int], rows: Sequence[tuple[int, list[str]]], read_steps: StepsOf
) -> tuple[list[str], list[str], _Cells]:
    cells: dict[tuple[str, str], tuple[Fraction, PairValue | None]] = {}
    folder = Path(path).parent

    def time(number: int, cell: str) -> tuple[int, Timed | None]:
        if _NUMBER.fullmatch(cell):
            return round(Fraction(cell) * PS_PER["ms"]), None
        if not cell.isprintable() or not 0 < len(cell) <= _LONGEST_PATH:
            raise InputError(
                f"{path}, line {number}: {cell[:_SHOWN]!r} is no session; give a path or a time in ms"
            )
        try:
            steps = read_steps(cell if "://" in cell else str(folder / os.path.expanduser(cell)))
            return median_low(step["duration_ps"] for step in steps.steps), steps
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from error

    model = next((index for name, index in places.items() if name not in ("a", "b", "column")), None)
    for number, row in rows:
        a, b = row[places["a"]], row[places["b"]]
        name = row[model] if model is not None else f"{a} / {b}"
        column = row[places["column"]] if "column" in places else "speed-up"
        (a_ps, a_steps), (b_ps, b_steps) = time(number, a), time(number, b)
        if a_ps <= 0 or b_ps <= 0:
            raise InputError(f"{path}, line {number}: a step takes no time; give times above 0")
        _only_one(path, number, cells, name, column)
        cells[name, column] = (
            Fraction(a_ps, b_ps),
            _value((a, b), (a_ps, b_ps), (a_steps, b_steps)),
        )
    return [name for name, _ in cells], [column for _, column in cells], cells


def _value(
    cells: tuple[str, str], times_ps: tuple[int, int], sessions: tuple[Timed | None, Timed | None]
) -> PairValue:
    """A pair, how many steps are behind it, and what may be chance; steps of different sizes are not judged."""
    (a_ps, b_ps), (a, b) = times_ps, sessions
    tested = median_test(Steps.usual(a.steps), Steps.usual(b.steps), b_ps - a_ps) if a and b else None
    other_size = a and b and a.samples and b.samples and a.samples != b.samples
    said = judgement(a_ps, b_ps, None if other_size else "lower", tested)
    return {
        "a": cells[0],
        "b": cells[1],
        "a_ps": a_ps,
        "b_ps": b_ps,
        "steps": [len(it.steps) if it else None for it in sessions] if a or b else None,
        "p": said["p"],
        "verdict": said["verdict"],
    }


def _only_one(path: str, line: int, cells: _Cells, model: str, column: str) -> None:
    if (model, column) in cells:
        raise InputError(f"{path}, line {line}: {model} has a pair in {column} already; name another column")


def _number(path: str, line: int, cell: str) -> Fraction:
    text = cell[:-1] if cell.endswith(("x", "×")) else cell
    value = Fraction(text) if _NUMBER.fullmatch(text) else Fraction(0)
    if value <= 0:
        raise InputError(f"{path}, line {line}: {cell[:_SHOWN]!r} is no speed-up; write numbers like 1.344")
    return value


def _speedup(cells: _Cells, model: str, column: str) -> float | None:
    cell = cells.get((model, column))
    return float(cell[0]) if cell else None


def _table(models: Sequence[str], columns: Sequence[str], cells: _Cells) -> Pairs:
    names, models = list(dict.fromkeys(columns)), list(dict.fromkeys(models))
    rows: list[PairRow] = [
        {
            "model": model,
            "speedups": [_speedup(cells, model, name) for name in names],
            "pairs": [cells[model, name][1] if (model, name) in cells else None for name in names],
        }
        for model in models
    ]
    present = [[cells[model, name][0] for model in models if (model, name) in cells] for name in names]
    return {
        "columns": names,
        "rows": rows,
        "means": [float(sum(its) / len(its)) if its else None for its in present],
        "counts": [len(its) for its in present],
    }


def steps_to_time(session: SessionTrace) -> Timed:
    """A session's steps. Raises InputError where it has none."""
    return parse_steps(session.path, steps_report(session), read_sidecars(session).recorded)


def parse_steps(path: str, steps: Sequence[Mapping[str, Any]], recorded: Any) -> Timed:
    """The same of a report's `steps` and `recorded`."""
    if not steps:
        raise InputError(f"{path}: no steps to take a time from; give a step time in milliseconds instead")
    return Timed(steps, recorded_samples(recorded))
