"""Prints the report as one screen: the verdict, one step, what to do, and the table that the verdict needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from tb_xla_insights.cli.layout import NO_BREAK_SPACE, wrap
from tb_xla_insights.cli.screen_table import table_lines
from tb_xla_insights.cli.step_bars import step_lines
from tb_xla_insights.report.condensed import device_row
from tb_xla_insights.report.duty import devices_agree
from tb_xla_insights.report.figures import step_count_text, steps_in_mean
from tb_xla_insights.report.finding_text import Gain, finding_groups, gain_of, tag_of
from tb_xla_insights.report.needed_table import needed_table
from tb_xla_insights.report.one_step import one_step
from tb_xla_insights.report.throughput import throughput_text
from tb_xla_insights.text import units
from tb_xla_insights.text.english import plural, upper_first

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]

MAX_LINES, MAX_WIDTH = 40, 80

_MIN_TABLE_LINES, _MAX_TABLE_LINES = 6, 12
_MAX_WARNINGS = 2
_BODY = "     "
"""The indent below the head of a finding."""


def print_screen(out: Console, document: Document, duty: str = "ops") -> None:
    """Prints a session's report in at most MAX_LINES lines of at most MAX_WIDTH columns, fewer on a narrow terminal.
    `duty` is the definition of busy for the devices."""
    width, is_unicode = min(MAX_WIDTH, out.width), out.encoding.lower().startswith("utf")
    step = one_step(document)
    headline = wrap(document["verdict"]["headline"], width)
    for line in headline:
        out.print(line, style="bold")
    blocks = [
        wrap(document["verdict"]["details"], width) if document["verdict"]["details"] else [],
        _warnings(document, width),
        _facts(document, width),
        step_lines(step, width, is_unicode) if step else [],
    ]
    last = _last_lines(document, duty, width)
    used = len(headline) + sum(len(block) + 1 for block in blocks if block)
    table = needed_table(document, step)
    free = MAX_LINES - used - len(last)
    findings = _findings(document, width, free - 1 - (_MIN_TABLE_LINES if table else 0))
    rows = table_lines(table, min(free - len(findings) - 1, _MAX_TABLE_LINES), width) if table else []
    for n, block in enumerate([*blocks, findings, [*rows, *last]]):
        if block and n:
            out.print()
        for line_number, line in enumerate(block):
            out.print(line, style="bold" if n > 2 and not line_number and len(block) > 1 else None)


def _warnings(document: Document, width: int) -> list[str]:
    """The diagnostics that limit the analysis."""
    rows = [row for row in document["diagnostics"] if row["severity"] != "info"]
    lines: list[str] = []
    for row in rows[:_MAX_WARNINGS]:
        host = f" ({row['host']})" if "host" in row else ""
        lines += wrap(f"{row['severity'].capitalize()}{host}: {row['message']}", width, hanging="   ")
    more = len(rows) - _MAX_WARNINGS
    return [*lines, f"{plural(more, 'more warning')}: --full"] if more > 0 else lines


def _facts(document: Document, width: int) -> list[str]:
    """The session, the system, the steps and the time recorded, in one line where they fit."""
    session, environment = document["session"], document["environment"]
    facts = [session["name"], *environment["label"].split(" · ")]
    facts += ["synthetic"] if environment["synthetic"] else []
    facts += [plural(len(session["hosts"]), "host")] if len(session["hosts"]) > 1 else []
    steps = steps_in_mean(document["step_idle"], document["hosts"])
    facts += [step_count_text(steps)] if steps else []
    facts.append(units.brief_time(session["duration_ps"]))
    lines = wrap(" · ".join(fact.replace(" ", NO_BREAK_SPACE) for fact in facts), width, hanging="  ")
    return lines + (
        wrap(f"Throughput: {throughput_text(document['throughput'])}.", width)
        if document["throughput"]
        else []
    )


@dataclass(frozen=True)
class _Item:
    """A finding in the list: how much of it is shown is decided by the space."""

    number: int
    tag: str
    gain: Gain
    finding: Mapping[str, Any]
    after: int | None

    def lines(self, level: int, gain_width: int, width: int) -> list[str]:
        """Level 0 is one line: number, tag, gain and title; 1 adds what to do, 2 the evidence."""
        title, share = self.finding["title"], self.gain.share or units.MISSING
        head = f"{self.number:>2} {self.tag:<9} {share:>{gain_width}}"
        body = []
        if cell_len(head) + 2 + cell_len(title) <= width:
            head = f"{head}  {title}"
        else:
            body.append(title)
        if not level:
            return [head, *(wrap(title, width, _BODY, _BODY) if body else [])]
        note = "" if self.gain.share else self.gain.basis
        if level > 1 and self.gain.share:
            note = self.gain.change
        if self.after is not None:
            note = f"{note}, after {self.after}" if note else f"after {self.after}"
        evidence = [f"{upper_first(text)}." for text in (*body, note) if text]
        advice = f"Do: {self.finding['advice']}"
        texts = [" ".join([*evidence, advice])]
        if level > 1:
            texts = [" ".join([*evidence, self.finding["detail"]]), advice]
        return [head, *(line for text in texts for line in wrap(text, width, _BODY, _BODY))]


def _findings(document: Document, width: int, max_lines: int) -> list[str]:
    """The findings in their order, with as much of each as fits: first what to do, then the evidence, from the first
    one on."""
    items = [*_items(document)]
    if not items:
        return ["No findings."]
    gain_width = max(cell_len(item.gain.share or units.MISSING) for item in items)
    usual_ps = document["mistakes"]["usual_step_ps"]
    whole = f"a step of {units.time_text(usual_ps, 1)}" if usual_ps else "the devices' time"
    heading = f"What to do (shares of {whole})"

    def lines(levels: Sequence[int]) -> list[str]:
        shown = [item.lines(level, gain_width, width) for item, level in zip(items, levels, strict=False)]
        more = len(items) - len(levels)
        rest = [f"   {plural(more, 'more finding')}: --full"] if more else []
        return [heading, *(line for item in shown for line in item), *rest]

    levels = [0] * len(items)
    while len(levels) > 1 and len(lines(levels)) > max_lines:
        levels.pop()
    # What gains nothing can wait for the whole report.
    gaining = [n for n in range(len(levels)) if items[n].gain.share or items[n].tag not in ("fix", "note")]
    for level in (1, 2):
        for n in gaining or range(len(levels)):
            raised = [*levels[:n], level, *levels[n + 1 :]]
            if len(lines(raised)) <= max_lines:
                levels = raised
    return lines(levels)


def _items(document: Document) -> Iterator[_Item]:
    numbers = {finding["id"]: n for n, finding in enumerate(document["findings"], start=1)}
    for group in finding_groups(document):
        for finding in group.findings:
            tag = tag_of(finding, group, document)
            yield _Item(
                numbers[finding["id"]],
                "FIX FIRST" if tag == "fix first" else tag,
                gain_of(finding, document),
                finding,
                numbers.get(finding["after"]),
            )


def _last_lines(document: Document, duty: str, width: int) -> list[str]:
    """How busy the cores are, and how to see everything."""
    return wrap(f"{_cores_text(document, duty)}{'All tables: --full'.replace(' ', NO_BREAK_SPACE)}", width)


def _cores_text(document: Document, duty: str) -> str:
    shares = [device_row(device, duty)["duty_cycle"] for device in document["devices"]]
    if len(shares) < 2:
        return ""
    cores = f"{units.count(len(shares))} {'cores' if document['devices'][0]['kind'] == 'tpu' else 'devices'}"
    low, high = min(shares), max(shares)
    if devices_agree(shares):
        return f"{cores} agree: each is busy for {units.share(sum(shares) / len(shares))} of its span. "
    return f"{cores} are busy for {units.share(low)} to {units.share(high)} of their spans. "
