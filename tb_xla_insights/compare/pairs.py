"""Builds the speed-up table of many pairs of sessions from a CSV file.

The file has a header line and one pair per line. With columns `a` and `b`, each of these cells is the path of a session
(relative to the file's directory, or to the working directory if the file is a pipe) or a step time in milliseconds;
`column` names the column of the table (`speed-up` without it), and the first other column names the model (`a / b`
without one). Without `a` and `b`, the first column names the model, and every other one holds speed-ups:

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

from tb_xla_insights.analysis.steps.step_table import steps_report
from tb_xla_insights.compare.measures import judgement
from tb_xla_insights.compare.significance import StepSample, median_test
from tb_xla_insights.errors import InputError
from tb_xla_insights.files.texts import TextError, read_text
from tb_xla_insights.report.sidecar_files import read_sidecars
from tb_xla_insights.report.throughput import recorded_samples
from tb_xla_insights.text.units import PS_PER
from tb_xla_insights.trace.model import SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.schema.speedups import PairRow, Pairs, PairValue

_NUMBER = re.compile(r"[+-]?(\d{1,40}\.?\d{0,40}|\.\d{1,40})(e[+-]?\d\d?)?", re.ASCII | re.IGNORECASE)
"""A number, with the same syntax as on the page. Anything else, also `1/2`, may be a path."""

_MAX_PATH_LENGTH = 4096

_MAX_SHOWN_CHARACTERS = 40
"""Characters of a cell that a message quotes at most."""


class SessionSteps(NamedTuple):
    """The report's `steps` of a session, at least one, and the number of samples per step if it was recorded."""

    steps: Sequence[Mapping[str, Any]]
    samples: float | None = None


StepReader = Callable[[str], SessionSteps]
"""Returns the steps of the session at a path; raises InputError."""

_Row = tuple[int, list[str]]
"""A line's number and its cells."""


class _Speedup(NamedTuple):
    """A speed-up and its pair; None where the file has the speed-up itself."""

    value: Fraction
    pair: PairValue | None


_Speedups = Mapping[tuple[str, str], _Speedup]
"""Speed-ups by model and column."""


def read_pairs(path: str, read_steps: StepReader) -> Pairs:
    """Returns the speed-up table of a file.

    `columns` are names. `rows` have `model` and per column `speedups` (A's time / B's, None if the file has none) and
    `pairs` (`{a, b, a_ps, b_ps, steps, p, verdict}`, None if the file has the speed-up itself). `means` are the
    arithmetic means of the columns over `counts` numbers each, computed exactly and rounded once. `p` and `verdict` are
    those of a comparison of the median step (see `measures.judgement`), None unless both are sessions. Raises
    InputError.
    """
    head, rows = _read_rows(path)
    positions = {name.lower(): index for index, name in enumerate(head)}
    if "a" in positions and "b" in positions:
        return _table(*_read_session_pairs(path, positions, rows, read_steps))
    if head[0].lower() in ("a", "b", "column"):
        raise InputError(
            f"{path}, line 1: {head[0]} is not a column of models, and pairs need both columns a and b; add the "
            "missing one"
        )
    if len(head) < 2:
        raise InputError(f"{path}, line 1: no column of speed-ups and no columns a and b; add them")
    speedups: dict[tuple[str, str], _Speedup] = {}
    for line, (model, *cells) in rows:
        for column, cell in zip(head[1:], cells, strict=True):
            if cell not in ("", "-", "–"):
                _check_unique(path, line, speedups, model, column)
                speedups[model, column] = _Speedup(_parse_speedup(path, line, cell), None)
    return _table([cells[0] for _, cells in rows], head[1:], speedups)


def _read_rows(path: str) -> tuple[list[str], list[_Row]]:
    """Returns the cells of the header and of the other lines, at least one. Raises InputError."""
    try:
        reader = csv.reader(StringIO(read_text(path), newline=""), strict=True)
        lines = [(reader.line_num, line) for line in reader if any(map(str.strip, line))]
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: {error}; write CSV, and close every quote"
        ) from error
    except (OSError, TextError) as error:
        reason = f": {error.strerror}" if isinstance(error, OSError) else f"{error.at}: {error}"
        raise InputError(f"{path}{reason}; give a CSV file of pairs") from error
    if len(lines) < 2:
        raise InputError(f"{path}: no pairs; give a header line and one pair per line")
    head = [name.strip() for name in lines[0][1]]
    if len(head) == 1 and (separator := re.search(r"[;\t|]", head[0])):
        raise InputError(f"{path}, line 1: no commas, but {separator[0]!r}; separate cells by commas")
    for number, line in lines[1:]:
        if len(line) != len(head):
            raise InputError(
                f"{path}, line {number}: {len(line)} cells under {len(head)} headings; quote cells with commas"
            )
    return head, [(number, [cell.strip() for cell in line]) for number, line in lines[1:]]


def _read_session_pairs(
    path: str, positions: Mapping[str, int], rows: Sequence[_Row], read_steps: StepReader
) -> tuple[list[str], list[str], _Speedups]:
    """Returns the models, the columns, and the speed-ups of a file with columns `a` and `b`. `positions`: the index of
    each column by its name."""
    speedups: dict[tuple[str, str], _Speedup] = {}
    # `<(…)` and /dev/stdin are pipes.
    is_pipe = path.startswith(("/dev/fd/", "/dev/std")) or not os.path.isfile(path)
    directory = Path() if is_pipe else Path(path).parent

    def step_time(line: int, cell: str) -> tuple[int, SessionSteps | None]:
        if _NUMBER.fullmatch(cell):
            return round(Fraction(cell) * PS_PER["ms"]), None
        if not cell.isprintable() or not 0 < len(cell) <= _MAX_PATH_LENGTH:
            shown = cell[:_MAX_SHOWN_CHARACTERS]
            raise InputError(f"{path}, line {line}: {shown!r} is not a session; give a path or a time in ms")
        try:
            session = read_steps(cell if "://" in cell else str(directory / os.path.expanduser(cell)))
            return median_low(step["duration_ps"] for step in session.steps), session
        except InputError as error:
            raise InputError(f"{path}, line {line}: {error}") from error

    model_position = next(
        (index for name, index in positions.items() if name not in ("a", "b", "column")), None
    )
    for line, cells in rows:
        a, b = cells[positions["a"]], cells[positions["b"]]
        model = cells[model_position] if model_position is not None else f"{a} / {b}"
        column = cells[positions["column"]] if "column" in positions else "speed-up"
        (a_ps, session_a), (b_ps, session_b) = step_time(line, a), step_time(line, b)
        if a_ps <= 0 or b_ps <= 0:
            raise InputError(f"{path}, line {line}: a step takes no time; give times above 0")
        _check_unique(path, line, speedups, model, column)
        pair = _pair_value((a, b), (a_ps, b_ps), (session_a, session_b))
        speedups[model, column] = _Speedup(Fraction(a_ps, b_ps), pair)
    return [model for model, _ in speedups], [column for _, column in speedups], speedups


def _pair_value(
    cells: tuple[str, str],
    times_ps: tuple[int, int],
    sessions: tuple[SessionSteps | None, SessionSteps | None],
) -> PairValue:
    """Returns a pair with the number of its steps and its judgement; steps that differ in size are not judged."""
    (a_ps, b_ps), (a, b) = times_ps, sessions
    result = None
    if a and b:
        sample_a, sample_b = (StepSample.without_compiles(session.steps) for session in (a, b))
        result = median_test(sample_a, sample_b, b_ps - a_ps)
    differ_in_size = a and b and a.samples and b.samples and a.samples != b.samples
    judged = judgement(a_ps, b_ps, None if differ_in_size else "lower", result)
    return {
        "a": cells[0],
        "b": cells[1],
        "a_ps": a_ps,
        "b_ps": b_ps,
        "steps": [len(session.steps) if session else None for session in sessions] if a or b else None,
        "p": judged["p"],
        "verdict": judged["verdict"],
    }


def _check_unique(path: str, line: int, speedups: _Speedups, model: str, column: str) -> None:
    if (model, column) in speedups:
        raise InputError(f"{path}, line {line}: {model} occurs twice in {column}; rename one of the two")


def _parse_speedup(path: str, line: int, cell: str) -> Fraction:
    text = cell[:-1] if cell.endswith(("x", "×")) else cell
    value = Fraction(text) if _NUMBER.fullmatch(text) else Fraction(0)
    if value <= 0:
        shown = cell[:_MAX_SHOWN_CHARACTERS]
        raise InputError(f"{path}, line {line}: {shown!r} is not a speed-up; write numbers like 1.344")
    return value


def _table(models: Sequence[str], columns: Sequence[str], speedups: _Speedups) -> Pairs:
    """Returns the table; repeated models and columns are merged."""
    columns, models = list(dict.fromkeys(columns)), list(dict.fromkeys(models))
    rows: list[PairRow] = []
    for model in models:
        cells = [speedups.get((model, column)) for column in columns]
        rows.append(
            {
                "model": model,
                "speedups": [float(cell.value) if cell else None for cell in cells],
                "pairs": [cell.pair if cell else None for cell in cells],
            }
        )
    values_of_columns = [
        [speedups[model, column].value for model in models if (model, column) in speedups]
        for column in columns
    ]
    return {
        "columns": columns,
        "rows": rows,
        "means": [float(sum(values) / len(values)) if values else None for values in values_of_columns],
        "counts": [len(values) for values in values_of_columns],
    }


def session_steps(session: SessionTrace) -> SessionSteps:
    """Returns the steps of a session in memory. Raises InputError if it has none."""
    steps = [row for trace in session.traces for row in steps_report(trace)]
    recorded = (read_sidecars(trace).recorded for trace in session.traces)
    return report_steps(session.path, steps, next(filter(None, recorded), None))


def report_steps(path: str, steps: Sequence[Mapping[str, Any]], recorded: Any) -> SessionSteps:
    """Returns the steps of a report whose keys `steps` and `recorded` are given. Raises InputError if it has none;
    `path` is the session's, for the message."""
    if not steps:
        raise InputError(f"{path}: no steps to take a time from; give a step time in milliseconds instead")
    return SessionSteps(steps, recorded_samples(recorded))
