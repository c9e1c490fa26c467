"""A session's report as one standalone page, without a server, a script or the network."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from tb_xla_insights.html.cards import card
from tb_xla_insights.html.markup import Child, Row, element
from tb_xla_insights.html.style import style
from tb_xla_insights.report.figures import headline_figures
from tb_xla_insights.sections import report_sections
from tb_xla_insights.sections.blocks import Detail
from tb_xla_insights.text import units

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Whatever a capture contains, the page makes no request and runs no script."""

DETAIL = Detail(rows=200, annotations=200, ops=40, gaps=None, chains=30, counters=200, wide=True)


def report_html(document: Row) -> str:
    """The page of a session's report, with the gaps that the document lists."""
    session = document["session"]
    meta_attributes = (
        {"charset": "utf-8"},
        {"name": "viewport", "content": "width=device-width"},
        {"name": "color-scheme", "content": "light dark"},
        {"http_equiv": "Content-Security-Policy", "content": _POLICY},
    )
    title = element("title", f"{session['name']} – XLA Insights")
    head = element(
        "head",
        (element("meta", **attributes) for attributes in meta_attributes),
        title,
        element("style", Markup(style())),
    )
    description = (
        element("p", session["description"], class_="description") if session["description"] else None
    )
    verdict = element(
        "div",
        verdict_paragraph(document["verdict"]),
        figure_list(headline_figures(document)),
        description,
        class_="verdict",
    )
    main = element("main", map(card, report_sections(document, DETAIL)))
    return Markup("<!doctype html>\n") + element(
        "html", head, element("body", _header(document), verdict, main), lang="en"
    )


def _header(document: Row) -> Markup:
    session, environment = document["session"], document["environment"]
    start = int(session["start_unix_ns"])
    synthetic = element("span", "synthetic", class_="tag warning") if environment.get("synthetic") else None
    about: Sequence[Child] = (
        session["name"],
        environment["label"],
        f"{units.utc_text(start)} UTC" if start else None,
        units.time_text(session["duration_ps"]),
    )
    return element(
        "header", element("h1", "XLA Insights"), (element("span", item) for item in about if item), synthetic
    )


def verdict_paragraph(verdict: Row, class_: str | None = None) -> Markup:
    """The headline in bold, and the details."""
    return element("p", element("b", verdict["headline"]), " ", verdict["details"], class_=class_)


def figure_list(rows: Sequence[Row]) -> Markup:
    """The four figures, each with its meaning."""
    return element(
        "dl",
        (element("div", element("dt", row["meaning"]), element("dd", row["text"])) for row in rows),
    )
