"""Accessibility in both themes: screen readers, keyboard, 200 percent zoom, reduced motion."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from browser.conftest import session_named
from browser.driver import HeldRequests, Xi
from playwright.sync_api import expect

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
"""Each view with a session of the demo that fills it, and the link state that this needs."""

OPENERS: dict[str, tuple[str, str, list[str]]] = {
    "overview": (CASE, "overview", ["steps-as-table", "device-select", "help-button", "capture-button"]),
    "notes": (BASELINE, "overview", ["notes-button"]),
    "timeline": (CASE, "timeline", ["gap-next", "timeline-as-table"]),
    "hosts": (POD, "hosts", ["heat-as-table", "host-select"]),
}
"""What opens on demand: the session, the view, and the test ids of the controls that open it, one after another."""


MAX_TAB_STOPS = 160
"""The limit of a view's tab stops, which keyboard users go through one by one."""


def faults_in_both_themes(xi: Xi, axe: str) -> list[str]:
    """The faults that axe finds in the page: theme, rule, element and fix. The dark theme is checked for contrast only,
    as it differs only in colours."""
    page = xi.page
    # High enough for a whole view: axe cannot determine the background of text that is scrolled out of sight.
    page.set_viewport_size({"width": 1440, "height": 2600})
    page.evaluate(f"window.axe || void (() => {{ {axe} }})()")
    return find_faults(xi, "light", {}) + find_faults(xi, "dark", {"runOnly": ["color-contrast"]})


def find_faults(xi: Xi, theme: Literal["light", "dark"], options: dict[str, Any]) -> list[str]:
    """The faults in one theme. A rule that axe could not check because of an error counts as one."""
    # Without motion, as colours would otherwise be measured during the transition between the themes.
    xi.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    xi.idle()
    elements: list[list[str]] = xi.page.evaluate(
        """options => axe.run(document, options).then(({ violations, incomplete }) => {
            const failed = incomplete.map(rule => (
                { ...rule, nodes: rule.nodes.filter(({ none }) => none.some(({ id }) => id === 'error-occurred')) }));
            return [...violations, ...failed].flatMap(({ id, nodes }) => (
                nodes.map(({ target, failureSummary }) => [id, target.at(-1), failureSummary])));
        })""",
        {"resultTypes": ["violations", "incomplete"], **options},
    )
    return [": ".join([theme, *element]) for element in elements]


def views_by_session() -> list[list[str]]:
    """The views that one session fills, for each session."""
    views: dict[str, list[str]] = {}
    for view, (session, _) in VIEWS.items():
        views.setdefault(session, []).append(view)
    return list(views.values())


@pytest.mark.parametrize("views", views_by_session(), ids="-".join)
def test_views_are_accessible(xi: Xi, axe: str, views: list[str]) -> None:
    for view in views:
        session, state = VIEWS[view]
        xi.page.set_viewport_size({"width": 1440, "height": 900})
        xi.follow(session, v=view, **state)
        check_tab_stops(xi)
        assert faults_in_both_themes(xi, axe) == [], view
        check_controls_at_200_percent(xi, view)


def check_tab_stops(xi: Xi) -> None:
    """Checks that the Tab key reaches all controls of the view, which then have a visible outline."""
    page = xi.page
    page.evaluate(
        "document.querySelectorAll('[data-reached]').forEach(({ dataset }) => delete dataset.reached)"
    )
    for _ in range(MAX_TAB_STOPS):
        page.keyboard.press("Tab")
        without_outline = page.evaluate(
            """() => {
                const focused = document.activeElement;
                if (focused === document.body) return ''; // after the last control, before the first one
                if ('reached' in focused.dataset) return null;
                focused.dataset.reached = '';
                const outlined = [focused, focused.closest('.field')]
                    .some(element => element && getComputedStyle(element).outlineStyle !== 'none');
                return outlined ? '' : focused.outerHTML.slice(0, 160);
            }"""
        )
        if without_outline is None:
            break
        assert without_outline == ""
    missed = page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, summary, [tabindex]')].filter(element => (
            element.checkVisibility() && element.tabIndex >= 0 && !element.disabled && !('reached' in element.dataset)
        )).map(element => element.outerHTML.slice(0, 160))"""
    )
    assert missed == []


def check_controls_at_200_percent(xi: Xi, view: str) -> None:
    """Checks that no control is out of reach at 200 percent zoom, which halves the window."""
    xi.page.set_viewport_size({"width": 720, "height": 450})
    xi.idle()
    # Only the timeline has a minimum width, to which the page scrolls; a wide table scrolls in its card.
    width = xi.page.evaluate("document.scrollingElement.scrollWidth")
    assert width == (900 if view == "timeline" else 720)
    # `.run`, a slice of a picture, may be too thin to be hit.
    unreached = xi.page.evaluate(
        """() => {
            const controls = document.querySelectorAll('button:not(.skip, .run), select, input, [tabindex="0"]');
            return [...controls].filter(element => {
                if (!element.checkVisibility() || element.closest('details:not([open]) > .menu')) return false;
                element.scrollIntoView({ block: 'nearest', inline: 'nearest' });
                const { left, top, right, bottom } = element.getBoundingClientRect();
                const middle = (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2;
                const hit = document.elementFromPoint((left + right) / 2, middle);
                return !hit || !(element.contains(hit) || hit.contains(element));
            }).map(element => element.outerHTML.slice(0, 160));
        }"""
    )
    assert unreached == []


@pytest.mark.parametrize("name", OPENERS)
def test_axe_finds_nothing_wrong_in_what_opens(xi: Xi, axe: str, name: str) -> None:
    session, view, openers = OPENERS[name]
    xi.open(session, v=view)
    for opener in openers:
        xi.page.get_by_test_id(opener).focus()
        xi.press("Enter")
        assert faults_in_both_themes(xi, axe) == [], opener
        xi.press("Escape")


def test_the_verdict_and_the_selection_are_announced(xi: Xi) -> None:
    live = xi.page.get_by_test_id("live")
    xi.open(CASE, v="overview")
    expect(live).to_contain_text("8 TPU cores work 60")
    findings = xi.page.get_by_role("region", name="Findings")
    expect(findings.get_by_role("heading", level=3, name="is compiled in step 1209")).to_be_visible()
    xi.press("2")
    xi.press("]")
    expect(live).to_contain_text("Gap of")
    xi.page.get_by_test_id("timeline-canvas").focus()
    xi.press("ArrowRight")
    expect(live).to_contain_text("ms, at ")


def test_a_table_has_one_tab_stop_and_arrows_move_in_it(xi: Xi) -> None:
    xi.open(CASE, v="timeline")
    xi.page.get_by_test_id("timeline-as-table").focus()
    xi.press("Enter")
    rows = xi.page.get_by_test_id("timeline-table").locator("tbody tr[data-index]")
    expect(rows.first).to_be_focused()
    xi.press("ArrowDown")
    expect(rows.nth(1)).to_be_focused()
    expect(rows.nth(0)).to_have_attribute("tabindex", "-1")
    xi.press("Tab")
    expect(rows.nth(1).get_by_role("button")).to_be_focused()
    xi.press("Tab")
    assert not rows.evaluate_all("rows => rows.some(row => row.contains(document.activeElement))")


def test_nothing_moves_with_reduced_motion(xi: Xi) -> None:
    xi.page.emulate_media(reduced_motion="reduce")
    xi.open(CASE, v="overview")
    moving = """() => [...document.querySelectorAll('*')].filter(element => {
        const { transitionDuration, animationName } = getComputedStyle(element);
        return parseFloat(transitionDuration) > 0 || !['none', 'more'].includes(animationName);
    }).map(element => element.outerHTML.slice(0, 160))"""
    # The edge of a wide table follows only its own scrolling.
    assert xi.page.evaluate(moving) == []


def test_controls_keep_the_focus_when_the_view_is_drawn_again(xi: Xi) -> None:
    for view, name, key in (
        ("executions", "execution-next", "Enter"),
        ("executions", "execution-device", "ArrowDown"),
        ("propagation", "propagation-step", "ArrowDown"),
        ("propagation", "propagation-device", "ArrowDown"),
        ("device", "device-pick", "ArrowDown"),
        ("device", "device-step", "ArrowDown"),
        ("device", "device-category", "ArrowDown"),
    ):
        xi.follow(CASE, v=view)
        control = xi.page.get_by_test_id(name)
        control.focus()
        before = xi.page.url, control.evaluate("control => control.value")
        for _ in range(2):
            xi.press(key)
            expect(control).to_be_focused()
            after = xi.page.url, control.evaluate("control => control.value")
            assert after != before, name
            before = after


def test_swapping_the_compared_sessions_keeps_the_focus(xi: Xi) -> None:
    """Also if the comparison takes a while, and its button is gone meanwhile."""
    xi.open(LAZY, v="compare", c=DYNAMO)
    held = HeldRequests(xi.page, "**/data/compare?*")
    xi.page.get_by_test_id("compare-swap").focus()
    held.press("Enter")
    xi.page.get_by_test_id("analysing").wait_for()
    held.release()
    expect(xi.page.get_by_test_id("session-select")).to_have_value(DYNAMO)
    expect(xi.page.get_by_test_id("compare-swap")).to_be_focused()


def test_the_focus_stays_in_the_page_if_the_focused_button_vanishes(xi: Xi, complaints: list[str]) -> None:
    for view, control, state, successor in (
        ("overview", "finding-show", {}, "panel"),
        ("gaps", "gap-clear", {"f": "cause:compile"}, "export-csv"),
        ("gaps", "off-pat", {"f": "cause:compile", "sel": "pat:1"}, "gap-clear"),
        ("executions", "execution-next", {"st": "1212"}, "execution-previous"),
        ("timeline", "diagnostic-stale-timeline", {"sel": "ev:h0.t0@1.2"}, "panel"),
    ):
        xi.follow(CASE, v=view, **state)
        place = xi.page.get_by_test_id(control).first
        place.or_(place.get_by_role("button")).last.focus()
        xi.press("Enter")
        focused = xi.page.evaluate("document.activeElement.dataset.testid ?? document.activeElement.id")
        assert focused == successor, control
    complaints.clear()


def test_a_click_on_a_button_that_vanishes_moves_no_focus(xi: Xi) -> None:
    """In a menu, the keys of the view would do nothing."""
    xi.open(CASE, v="gaps", f="cause:compile")
    xi.page.get_by_test_id("gap-clear").click()
    expect(xi.page.get_by_test_id("gap-clear")).to_have_count(0)
    xi.idle()
    assert xi.page.evaluate("document.activeElement === document.body")


def test_the_focus_stays_on_try_again_until_the_request_succeeds(xi: Xi, complaints: list[str]) -> None:
    page = xi.page
    page.route("**/data/gaps?*", lambda route: route.fulfill(status=500, json={"error": "a bug"}))
    xi.open(CASE, wait=False, v="gaps")
    again = page.get_by_test_id("try-again")
    again.focus()
    xi.press("Enter")
    expect(again).to_be_focused()
    page.unroute_all()
    xi.press("Enter")
    expect(page.get_by_role("tabpanel", name="Gaps")).to_be_focused()
    complaints.clear()


def test_forced_colours_keep_the_mark_of_a_selected_row_and_the_tones_of_a_scale(xi: Xi) -> None:
    page = xi.page
    page.emulate_media(forced_colors="active")
    xi.open(POD, v="hosts")
    mark = "cell => getComputedStyle(cell).borderLeftStyle"
    rows = page.get_by_test_id("hosts-table").locator("tbody tr[data-index]")
    assert [row.locator("td").first.evaluate(mark) for row in rows.all()[:2]] == ["solid", "none"]
    assert "gradient" in page.locator(".tones").evaluate("tones => getComputedStyle(tones).backgroundImage")
