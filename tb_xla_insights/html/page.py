"""A session's report as one standalone page, without a server, a script or the network."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from tb_xla_insights import units
from tb_xla_insights.html import device_cards, time_cards, work_cards
from tb_xla_insights.html.markup import (
    Child,
    Row,
    card,
    defined_table,
    element,
)
from tb_xla_insights.html.style import style
from tb_xla_insights.report.condensed import CONDENSED_FROM
from tb_xla_insights.report.figures import headline_figures
from tb_xla_insights.report.finding_text import FindingGroup, Gain, Tag, finding_groups, gain_of
from tb_xla_insights.tables.devices import FILES

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Whatever a capture contains, the page makes no request and runs no script."""

_CARDS = (
    time_cards.devices_card,
    time_cards.hosts_card,
    time_cards.idle_card,
    time_cards.steps_card,
    time_cards.patterns_card,
    time_cards.gaps_card,
    work_cards.executions_card,
    work_cards.compiles_card,
    work_cards.annotations_card,
    device_cards.annotation_work_card,
    device_cards.op_work_card,
    work_cards.transfers_card,
    work_cards.collectives_card,
    work_cards.metrics_card,
)


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
    cards = (build_card(document) for build_card in _CARDS)
    main = element("main", findings_card(document), cards, _files_card(document))
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


def findings_card(document: Row) -> Markup:
    """The findings, in their groups."""
    groups = [_group(group, document) for group in finding_groups(document)]
    return card("Findings", None, groups or element("p", "No findings."), wide=True)


def _group(group: FindingGroup, document: Row) -> Markup:
    note, gain = element("small", group.note), element("small", group.gain, class_="gain")
    head = element("h3", group.title, note, gain, class_="group")
    items = (_finding(finding, group.tag, document) for finding in group.findings)
    return element("div", head, element("ol", items, class_="findings"))


def _finding(finding: Row, tag: Tag, document: Row) -> Markup:
    severity = finding["severity"]
    return element(
        "li",
        element(
            "h3",
            element("span", severity, class_=f"tag {severity}"),
            element("span", tag, class_=f"tag {tag}"),
            element("span", finding["title"]),
        ),
        element("span", *_gain(gain_of(finding, document)), class_="gain"),
        element("p", finding["detail"]),
        element("p", element("b", "Do: "), finding["advice"], class_="do"),
    )


def _gain(gain: Gain) -> tuple[Child, ...]:
    if not gain.share:
        return (element("small", gain.basis),)
    return element("b", gain.share), f" {gain.basis} ", element("small", gain.change)


def _files_card(document: Row) -> Markup:
    """The diagnostics, and the hosts with their files."""
    hosts = defined_table(FILES, document["session"]["hosts"])
    notes = (
        element(
            "p",
            element("span", row["severity"], class_=f"tag {row['severity']}"),
            f" {_host_prefix(row)}{row['message']}",
        )
        for row in document["diagnostics"]
    )
    count = len(document["session"]["hosts"])
    if count >= CONDENSED_FROM:
        hosts = element("details", element("summary", f"{units.count(count)} hosts and their files"), hosts)
    return card("Hosts, and what to know about the capture", None, notes, hosts, wide=True)


def _host_prefix(diagnostic: Row) -> str:
    return f"{diagnostic['host']}: " if diagnostic.get("host") else ""
