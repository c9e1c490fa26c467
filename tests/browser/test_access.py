"""Whoever hears the page, works it by keyboard, reads it large or without motion has all of it, in both themes."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from browser.conftest import ROOT, session_named
from browser.driver import Xi

POD = session_named("synthetic_pod_16_hosts")
CASE = session_named("synthetic_case_study")
LAZY = session_named("synthetic_dynamo_issue_lazy")
DYNAMO = session_named("synthetic_dynamo_issue_dynamo")
BASELINE = session_named("torch_xla_baseline")
TRANSFORMER = session_named("synthetic_transformer")

VIEWS: dict[str, tuple[str, dict[str, str]]] = {
    "overview": (CASE, {}),
    "timeline": (CASE, {}),
    "gaps": (CASE, {}),
    "executions": (LAZY, {"c": DYNAMO}),
    "propagation": (CASE, {}),
    "compiles": (session_named("torch_xla_dynamic_shapes"), {}),
    "hosts": (POD, {}),
    "device": (TRANSFORMER, {}),
    "compare": (LAZY, {"c": DYNAMO}),
}
"""A session of the demo that fills each view."""

OPENED: dict[str, tuple[str, str, str]] = {
    "help": (CASE, "overview", "help-button"),
    "capture": (CASE, "overview", "capture-button"),
    "devices": (CASE, "overview", "device-select"),
    "notes": (BASELINE, "overview", "notes-button"),
    "steps as table": (CASE, "overview", "steps-as-table"),
    "a gap": (CASE, "timeline", "gap-next"),
    "timeline as table": (CASE, "timeline", "timeline-as-table"),
    "host picker": (POD, "hosts", "host-select"),
    "hosts as table": (POD, "hosts", "heat-as-table"),
}
"""What is not there at first: the session, the view, and what opens it."""


@pytest.fixture(scope="module")
def axe() -> str:
    """The checker, which runs within the page."""
    return (ROOT / "node_modules/axe-core/axe.min.js").read_text()


def faults(xi: Xi, axe: str) -> list[str]:
    """What axe finds wrong in what the page shows: theme, rule, place, and how to mend it. The dark theme differs in
    colours only."""
    page = xi.page
    # As high as all of it: of what is scrolled away, axe cannot tell the ground that a text stands on.
    page.set_viewport_size({"width": 1440, "height": 2600})
    page.evaluate(f"window.axe || void (() => {{ {axe} }})()")
    return found(xi, "light", {}) + found(xi, "dark", {"runOnly": ["color-contrast"]})


def found(xi: Xi, theme: Literal["light", "dark"], options: dict[str, Any]) -> list[str]:
    """The faults in one theme. A check that failed on the page has found nothing, and counts as one."""
    # Else colours are taken on their way from one theme to the other.
    xi.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    xi.idle()
    places: list[list[str]] = xi.page.evaluate(
        """options => axe.run(document, options).then(({ violations, incomplete }) => {
            const failed = incomplete.map(rule => (
                { ...rule, nodes: rule.nodes.filter(({ none }) => none.some(({ id }) => id === 'error-occurred')) }));
            return [...violations, ...failed].flatMap(({ id, nodes }) => (
                nodes.map(({ target, failureSummary }) => [id, target.at(-1), failureSummary])));
        })""",
        options,
    )
    return [": ".join([theme, *place]) for place in places]


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_wrong_in_a_view(xi: Xi, axe: str, view: str) -> None:
    session, state = VIEWS[view]
    xi.open(session, True, v=view, **state)
    assert faults(xi, axe) == []


@pytest.mark.parametrize("opened", OPENED)
def test_axe_finds_nothing_wrong_in_what_opens(xi: Xi, axe: str, opened: str) -> None:
    session, view, opener = OPENED[opened]
    xi.open(session, v=view)
    xi.page.get_by_test_id(opener).focus()
    xi.press("Enter")
    assert faults(xi, axe) == []


@pytest.mark.parametrize("view", VIEWS)
def test_at_200_percent_all_of_a_view_can_be_reached(xi: Xi, view: str) -> None:
    session, state = VIEWS[view]
    xi.page.set_viewport_size({"width": 720, "height": 450})
    xi.open(session, True, v=view, **state)
    # Only time needs its width: what does not fit is scrolled to, the lanes by the page, a wide table in its card.
    width = xi.page.evaluate("document.scrollingElement.scrollWidth")
    assert width == (900 if view == "timeline" else 720)
    # Slices of a picture may be too thin to be seen.
    unreached = xi.page.evaluate(
        """() => [...document.querySelectorAll('button:not(.skip, .run), select, input, [tabindex="0"]')].filter(it => {
            if (!it.checkVisibility() || it.closest('details:not([open]) > .menu')) return false;
            it.scrollIntoView({ block: 'nearest', inline: 'nearest' });
            const { left, top, right, bottom } = it.getBoundingClientRect();
            const middle = (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2;
            const seen = document.elementFromPoint((left + right) / 2, middle);
            return !seen || !(it.contains(seen) || seen.contains(it));
        }).map(it => it.outerHTML.slice(0, 160))"""
    )
    assert unreached == []
