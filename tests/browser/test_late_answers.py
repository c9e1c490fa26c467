"""Answers that arrive after another session was opened or after another selection, and invalid ones."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from browser.conftest import session_named
from browser.driver import HeldRequests, Xi
from playwright.sync_api import Page, expect


def switch(page: Page, session: str, verdict: re.Pattern[str] | None = None) -> None:
    """Opens another session and waits until it is announced, by its `verdict` if there is one."""
    page.get_by_test_id("session-select").select_option(session)
    expect(page.get_by_test_id("live")).to_have_text(verdict or f"{session} is open.")
    page.wait_for_selector("main[data-state=ready]")


def has_no_selection(xi: Xi) -> bool:
    return xi.drawn("selection") is None and "sel" not in xi.link()


def test_a_neighbor_of_another_session_is_not_selected(
    xi: Xi, page: Page, case_study: str, baseline: str
) -> None:
    xi.open(baseline)
    held = HeldRequests(page, "**/data/neighbor?*")
    held.press(".")
    switch(page, case_study)
    held.release()
    assert has_no_selection(xi)


def test_a_neighbor_does_not_replace_a_newer_selection(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study)
    page.wait_for_selector("[data-testid=gap-index]:visible")
    held = HeldRequests(page, "**/data/neighbor?*")
    held.press(".")
    page.keyboard.press("]")
    held.release()
    assert xi.drawn("selection")["kind"] == "gap"


def test_an_invalid_answer_for_a_neighbor_is_reported(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study)
    page.route(
        "**/data/neighbor?*", lambda route: route.fulfill(content_type="application/json", body="null")
    )
    xi.press(".")
    expect(page.get_by_test_id("diagnostic-timeline")).to_contain_text("data/neighbor")


def test_a_chain_s_event_of_another_session_is_not_selected(
    xi: Xi, page: Page, case_study: str, baseline: str
) -> None:
    xi.open(baseline)
    page.wait_for_selector("[data-testid=gap-index]:visible")
    xi.press("]")
    held = HeldRequests(page, "**/data/event?*")
    page.get_by_test_id("gap-chain").locator("tbody button").first.focus()
    held.press("Enter")
    switch(page, case_study)
    held.release()
    assert has_no_selection(xi)


def test_hits_of_another_session_are_not_counted(xi: Xi, page: Page, case_study: str, baseline: str) -> None:
    xi.open(baseline)
    held = HeldRequests(page, "**/data/search?*")
    with page.expect_request("**/data/search?*"):
        page.get_by_test_id("timeline-search").fill("StepMarker")
    switch(page, case_study)
    held.release()
    expect(page.get_by_test_id("timeline-search")).to_have_value("")
    expect(page.get_by_test_id("search-count")).to_have_text("")


def test_the_step_that_was_left_does_not_come_back(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="executions")
    step = page.get_by_test_id("execution-step")
    before = step.text_content()
    held = HeldRequests(page, "**/data/executions?*")
    with page.expect_request("**/data/executions?*"):
        page.get_by_role("button", name="Next step").click()
    page.go_back()
    page.wait_for_function("!location.hash.includes('insights.st=')")
    held.release()
    expect(step).to_have_text(before or "")


def test_hosts_of_another_session_are_not_shown(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(session_named("synthetic_pod_16_hosts"), v="hosts")
    held = HeldRequests(page, "**/data/host_steps?*")
    page.get_by_test_id("host-worst-step").click()
    with page.expect_request("**/data/host_steps?*"):
        page.get_by_test_id("hosts-timeline").click()
    switch(page, case_study, re.compile("^One host: there are no others to wait for."))
    held.release()
    assert xi.link()["v"] == "hosts"


def test_back_leads_to_the_former_session_while_another_one_is_read(
    xi: Xi, page: Page, case_study: str, baseline: str
) -> None:
    xi.open(case_study, v="overview")
    held = HeldRequests(page, re.compile("/data/session[?].*" + re.escape(quote(baseline, safe=""))))
    select = page.get_by_test_id("session-select")
    with page.expect_request("**/data/session?*"):
        select.select_option(baseline)
    page.go_back()
    expect(select).to_have_value(case_study)
    held.release()
    xi.ready()
    assert xi.text("environment") == "PyTorch/XLA · XRT · 8 TPU v3 cores"
    expect(select).to_have_value(case_study)


def test_the_host_picker_closes_once_another_session_opens(xi: Xi, page: Page, case_study: str) -> None:
    pod = session_named("synthetic_pod_16_hosts")
    xi.open(case_study, v="overview")
    page.get_by_test_id("session-select").select_option(pod)
    expect(page.get_by_test_id("host-select")).to_have_text("16 of 16")
    page.get_by_test_id("host-select").click()
    expect(page.get_by_test_id("host-picker")).to_be_visible()
    page.go_back()
    expect(page.get_by_test_id("host-picker")).to_have_count(0)
    xi.ready()
    assert xi.link() == {"s": case_study, "v": "overview"}


def test_back_within_a_session_closes_the_host_picker(xi: Xi, page: Page) -> None:
    xi.open(session_named("synthetic_pod_16_hosts"), v="overview")
    page.get_by_test_id("tab-gaps").click()
    page.get_by_test_id("host-select").click()
    expect(page.get_by_test_id("host-picker")).to_be_visible()
    page.go_back()
    expect(page.get_by_test_id("host-picker")).to_have_count(0)
    assert xi.link()["v"] == "overview"


def test_two_clicks_before_its_script_arrives_open_one_host_picker(xi: Xi, page: Page) -> None:
    script = re.compile(r"/hosts(/view)?\.js")
    held = HeldRequests(page, script)
    with page.expect_request(script):
        xi.open(session_named("synthetic_pod_16_hosts"), v="overview")
        page.get_by_test_id("host-select").click()
    page.get_by_test_id("host-select").click()
    held.release()
    expect(page.get_by_test_id("host-picker").first).to_be_visible()
    xi.idle()
    expect(page.get_by_test_id("host-picker")).to_have_count(1)


@pytest.mark.parametrize(("view", "key", "value"), [("device", "op", "fusion.7"), ("hosts", "st", "1207")])
def test_keys_of_a_view_change_nothing_before_its_document_has_arrived(
    xi: Xi, page: Page, case_study: str, view: str, key: str, value: str
) -> None:
    held = HeldRequests(page, f"**/data/{view}?*")
    with page.expect_request(f"**/data/{view}?*"):
        xi.open(case_study, wait=False, v=view, **{key: value})
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Period")
    assert xi.link() == {"v": view, "s": case_study, key: value}
    held.release()
    xi.ready()


def test_a_session_that_is_being_left_does_not_write_into_the_link_of_the_next(
    xi: Xi, page: Page, case_study: str, baseline: str
) -> None:
    """Its view stays until the next session is read, but a gap or a filter chosen there is none of that session."""
    xi.open(case_study)
    page.wait_for_selector("[data-testid=gap-index]:visible")
    held = HeldRequests(page, "**/data/session?*")
    xi.press("w")  # whose window is written after a moment
    with page.expect_request("**/data/session?*"):
        page.get_by_test_id("session-select").select_option(baseline)
    page.get_by_test_id("timeline-canvas").focus()
    for key in ("w", "BracketRight", "3"):
        page.keyboard.press(key)
    assert page.get_by_test_id("device-select").locator("xpath=ancestor::*[@inert]").count() == 1
    expect(page.get_by_test_id("tab-gaps")).to_have_attribute("aria-selected", "true")
    assert xi.link() == {"v": "gaps", "s": baseline}
    held.release()
    expect(page.get_by_test_id("live")).to_have_text(f"{baseline} is open.")
    xi.ready()
    assert xi.link() == {"v": "gaps", "s": baseline}
    assert page.get_by_test_id("device-select").locator("xpath=ancestor::*[@inert]").count() == 0


def test_executions_of_a_second_session_are_requested_once_it_is_read(
    xi: Xi, page: Page, case_study: str, baseline: str
) -> None:
    """While it is being read, the answer would cover some of its hosts."""
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    held = HeldRequests(page, "**/data/compare?*")
    with page.expect_request("**/data/compare?*"):
        xi.open(baseline, v="executions", c=case_study, wait=False)
    page.get_by_test_id("overhead-table").wait_for()
    expect(page.get_by_test_id("overhead-table")).not_to_contain_text(case_study)
    assert sum("/data/executions?" in url for url in requested) == 1
    held.release()
    expect(page.get_by_test_id("overhead-table")).to_contain_text(case_study)
    assert sum("/data/executions?" in url for url in requested) == 2
