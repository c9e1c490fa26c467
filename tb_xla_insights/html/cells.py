"""Sessions and tables as cells of a notebook, in the colours of its theme, without a script or a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from markupsafe import Markup, escape

from tb_xla_insights.catalog.classes import CLASSES, label
from tb_xla_insights.html.cards import card
from tb_xla_insights.html.markup import Child, HtmlColumn, Row, element, table
from tb_xla_insights.html.page import DETAIL, figure_list, report_html, verdict_paragraph
from tb_xla_insights.report.figures import headline_figures
from tb_xla_insights.sections import report_sections
from tb_xla_insights.text import units
from tb_xla_insights.text.english import plural

_MAX_ROWS = 20
_MAX_TIMES = 3
"""The most times by class in a cell."""
_MAX_CELL_CHARS = 48
"""The most characters of a cell; the whole text is its title."""

_SHARE_SUFFIXES = ("share", "duty_cycle", "gain", "gain_at_worst", "mfu")
"""Suffixes of keys of shares, in which 1 is 100 %."""

_IDENTIFIER_SUFFIXES = ("number", "index", "step")
"""Suffixes of keys of integers that identify something and count nothing, unless they end in `per_step`."""

_STYLE = """
.xla-insights{font:12px/16px -apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;font-variant-numeric:tabular-nums;
--line:color-mix(in srgb,currentColor 20%,transparent);--faint:color-mix(in srgb,currentColor 7%,transparent);
--ink-2:color-mix(in srgb,currentColor 78%,transparent)}
.xla-insights,.xla-insights section{display:grid;grid-template-columns:minmax(0,1fr);gap:8px}
.xla-insights :is(p,h2,h3,ol,dl,dt,dd){margin:0;padding:0;font-size:12px;line-height:16px}
.xla-insights p.lead{font-size:16px;line-height:22px}
.xla-insights :is(small,dt,th,p.note){font-weight:400;font-size:11px;color:var(--ink-2)}
.xla-insights h2 small{margin-left:8px}
.xla-insights span+span:not(.tag)::before{content:" · "}
.xla-insights dl{display:flex;flex-wrap:wrap;gap:8px 24px}
.xla-insights dl>div{display:flex;flex-direction:column-reverse}
.xla-insights :is(dt,dd){float:none;width:auto}
.xla-insights dd{font-size:16px;line-height:20px;font-weight:600}
.xla-insights h2{font-weight:600}
.xla-insights h3{display:flex;flex-wrap:wrap;gap:4px 8px;align-items:baseline;font-weight:600}
.xla-insights h3 span+span::before,.xla-insights h3+.gain::before{content:none!important}
.xla-insights .group{padding:4px 8px;background:var(--faint)}
.xla-insights .group .gain{margin-left:auto}
.xla-insights ol{list-style:none}
.xla-insights li{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:3px 16px;padding:6px 8px;
border-bottom:1px solid var(--line)}
.xla-insights li p{grid-column:1/-1;max-width:800px}
.xla-insights .tag{padding:0 6px;border-radius:3px;font-weight:400;background:var(--faint)}
.xla-insights .critical{background:#d336}
.xla-insights .warning{background:#c804}
.xla-insights .info{background:#37c4}
.xla-insights .once{background:none;border:1px dashed var(--line)}
.xla-insights .scroll{overflow-x:auto}
.xla-insights table{border-collapse:collapse;margin:0}
.xla-insights :is(th,td){padding:3px 8px;text-align:left;white-space:nowrap;border:0;font-size:12px;
border-bottom:1px solid var(--line)}
.xla-insights th{font-size:11px;font-weight:400}
.xla-insights .num{text-align:right}
.xla-insights .bar{height:8px;width:84px;background:var(--line)}
.xla-insights .bar i{display:block;height:8px;background:var(--ink-2)}
.xla-insights iframe{display:block;width:100%;border:1px solid var(--line);border-radius:4px}
""".replace(".xla-insights", ".xla-insights" * 3)
"""Selectors repeat the class, because JupyterLab's rules for outputs (`:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon
td`) take precedence over those with one class."""


def session_cell(document: Row) -> Markup:
    """A session's summary from its report: verdict, figures, findings, devices."""
    session, environment = document["session"], document["environment"]
    about = (session["name"], environment["label"], units.time_text(session["duration_ps"]))
    synthetic = element("span", "synthetic", class_="tag warning") if environment["synthetic"] else None
    return _cell(
        element("p", (element("span", item) for item in about), " ", synthetic, class_="meta"),
        verdict_paragraph(document["verdict"], class_="lead"),
        element("p", session["description"]) if session["description"] else None,
        figure_list(headline_figures(document)),
        *(card(section) for section in report_sections(document, DETAIL) if section.brief),
    )


def table_cell(rows: Sequence[Row]) -> Markup:
    """The first rows of a table, and the number of all rows. Times are in the unit that fits the largest of their
    column."""
    if not rows:
        return _cell(element("p", "No rows."))
    first_rows = list(islice(rows, _MAX_ROWS))
    keys = dict.fromkeys(key for row in first_rows for key in row)
    note = f"The first {_MAX_ROWS} of {units.count(len(rows))} rows." if len(rows) > len(first_rows) else None
    return _cell(
        table(first_rows, *(_column(key, [row.get(key) for row in first_rows]) for key in keys)),
        element("p", note, class_="note") if note else None,
    )


def page_cell(document: Row, height: int) -> Markup:
    """The whole report in a frame of `height` pixels, which separates its style from the notebook's."""
    page = escape(str(report_html(document)))
    title = f"Report of {document['session']['name']}"
    return _cell(element("iframe", sandbox="", srcdoc=page, title=title, height=height))


def _cell(*children: Child) -> Markup:
    return element("div", element("style", Markup(_STYLE)), *children, class_="xla-insights")


def _column(key: str, values: Sequence[Any]) -> HtmlColumn:
    """The column of a key; the key itself is the title of the heading."""
    words = key.removesuffix("_ps").replace("_", " ")
    present = [value for value in values if value is not None]
    if key.endswith("_ps") and all(isinstance(value, int) for value in present):
        unit = units.column_unit(present) if any(present) else "ms"
        return HtmlColumn(_heading(f"{words}, {unit}", key), lambda row: _time(row.get(key), unit))
    if present and all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return HtmlColumn(_heading(words, key), lambda row: _number(key, row.get(key)))
    return HtmlColumn(_heading(words, key), lambda row: _shorten(_text(key, row.get(key))), left=True)


def _heading(text: str, key: str) -> Markup:
    return element("span", text, title=key)


def _time(value: int | None, unit: str) -> str:
    return units.MISSING if value is None else units.time_in(value, unit)


def _number(key: str, value: float | None) -> str:
    if key.endswith(_SHARE_SUFFIXES):
        return units.share(value)
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 9_999.5 else units.count(round(value))
    if key.endswith(_IDENTIFIER_SUFFIXES) and not key.endswith("per_step"):
        return units.MISSING if value is None else str(value)
    return units.count(value)


def _text(key: str, value: Any) -> str:
    """The text of a value that is not a number: the largest of times by class, by device or by finding, the length of a
    list of rows."""
    if value is None or value in ("", [], {}):
        return units.MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return _largest_times(value) if key.endswith("_ps") else plural(len(value), "key")
    if isinstance(value, list) and not isinstance(value[0], str):
        return plural(len(value), "row")
    return ", ".join(value) if isinstance(value, list) else str(value)


def _largest_times(times: Mapping[str, int]) -> str:
    """The largest times by class, by device or by finding."""
    largest = sorted(times, key=lambda name: -times[name])[:_MAX_TIMES]
    text = ", ".join(
        f"{label(name) if name in CLASSES else name} {units.time_text(times[name])}" for name in largest
    )
    return f"{text}, …" if len(times) > len(largest) else text


def _shorten(text: str) -> Child:
    if len(text) <= _MAX_CELL_CHARS:
        return text
    return element("span", f"{text[: _MAX_CELL_CHARS - 1]}…", title=text)
