"""A session's report as one page that needs nothing else: no server, no script, no network."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from tb_xla_insights import units
from tb_xla_insights.html import device_cards, time_cards, work_cards
from tb_xla_insights.html.markup import Child, Row, card, code, element, number, table, text
from tb_xla_insights.html.markup import Column as Col
from tb_xla_insights.html.style import style
from tb_xla_insights.report.condensed import CONDENSED_FROM
from tb_xla_insights.report.figures import headline_figures
from tb_xla_insights.report.finding_text import FindingGroup, Gain, finding_groups, gain_of

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Whatever is in a capture, the page asks for nothing and runs nothing."""

_SECTIONS = (
    time_cards.devices,
    time_cards.hosts,
    time_cards.idle,
    time_cards.steps,
    time_cards.patterns,
    time_cards.gaps,
    work_cards.executions,
    work_cards.compiles,
    work_cards.annotated,
    device_cards.by_annotation,
    device_cards.by_op,
    work_cards.transfers,
    work_cards.collectives,
    work_cards.metrics,
)


def report_html(document: Row) -> str:
    """The page of a session's report; it has the gaps that the document has."""
    head = document["session"]
    metas = (
        {"charset": "utf-8"},
        {"name": "viewport", "content": "width=device-width"},
        {"name": "color-scheme", "content": "light dark"},
        {"http_equiv": "Content-Security-Policy", "content": _POLICY},
    )
    title = element("title", f"{head['name']} – XLA Insights")
    about = element("head", (element("meta", **it) for it in metas), title, element("style", Markup(style())))
    description = element("p", head["description"], class_="description") if head["description"] else None
    verdict = element(
        "div",
        element("p", document["verdict"]["text"]),
        figure_list(headline_figures(document)),
        description,
        class_="verdict",
    )
    parts = (section(document) for section in _SECTIONS)
    main = element("main", findings(document), parts, _files(document))
    return Markup("<!doctype html>\n") + element(
        "html", about, element("body", _header(document), verdict, main), lang="en"
    )


def _header(document: Row) -> Markup:
    session, environment = document["session"], document["environment"]
    start = int(session["start_unix_ns"])
    synthetic = element("span", "synthetic", class_="tag warning") if environment.get("synthetic") else None
    about: Sequence[Child] = (
        session["name"],
        environment["label"],
        f"{units.moment(start)} UTC" if start else None,
        units.time_text(session["duration_ps"]),
    )
    return element(
        "header", element("h1", "XLA Insights"), (element("span", it) for it in about if it), synthetic
    )


def figure_list(rows: Sequence[Row]) -> Markup:
    """The four figures, each with its meaning."""
    return element(
        "dl",
        (element("div", element("dt", it["meaning"]), element("dd", it["text"])) for it in rows),
    )


def findings(document: Row) -> Markup:
    """The findings, in their groups."""
    found = [_group(group, document) for group in finding_groups(document)]
    return card("Findings", None, found or element("p", "No findings."), wide=True)


def _group(group: FindingGroup, document: Row) -> Markup:
    note, gain = element("small", group.note), element("small", group.gain, class_="gain")
    head = element("h3", group.title, note, gain, class_="group") if group.title else None
    items = element("ol", (_finding(finding, document) for finding in group.findings), class_="findings")
    return element("div", head, items)


def _finding(finding: Row, document: Row) -> Markup:
    severity = finding["severity"]
    return element(
        "li",
        element(
            "h3",
            element("span", severity, class_=f"tag {severity}"),
            element("span", "once", class_="tag once") if finding["recurs"] == "once" else None,
            element("span", finding["title"]),
        ),
        element("span", *_gain(gain_of(finding, document)), class_="gain"),
        element("p", finding["detail"]),
        element("p", element("b", "Do: "), finding["advice"], class_="do"),
    )


def _gain(gain: Gain) -> tuple[Child, ...]:
    if not gain.share:
        return (element("small", gain.of),)
    return element("b", gain.share), f" {gain.of} ", element("small", gain.change)


def _files(document: Row) -> Markup:
    hosts = table(
        document["session"]["hosts"],
        text("Host", "name"),
        Col("Size", lambda it: units.byte_size(it["bytes"])),
        number("Events", "events"),
        code("File", "file"),
    )
    notes = (
        element(
            "p", element("span", it["severity"], class_=f"tag {it['severity']}"), f" {_of(it)}{it['message']}"
        )
        for it in document["diagnostics"]
    )
    count = len(document["session"]["hosts"])
    if count >= CONDENSED_FROM:
        hosts = element("details", element("summary", f"{units.count(count)} hosts and their files"), hosts)
    return card("Hosts, and what to know about the capture", None, notes, hosts, wide=True)


def _of(diagnostic: Row) -> str:
    return f"{diagnostic['host']}: " if diagnostic.get("host") else ""
