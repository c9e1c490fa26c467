"""The header: its choices, menus, help and explained terms."""

from __future__ import annotations

from browser.conftest import session_named
from browser.driver import Xi
from playwright.sync_api import Page, Route, expect


def test_the_header_names_session_environment_and_devices(
    xi: Xi, page: Page, case_study: str, baseline: str
) -> None:
    xi.open(case_study, f="cause:compile,pat:0", q="XRT", o="-start")
    expect(page.get_by_test_id("session-select")).to_have_value(case_study)
    expect(page.get_by_test_id("synthetic")).to_be_visible()
    assert xi.text("environment") == "PyTorch/XLA · XRT · 8 TPU v3 cores"
    assert xi.text("device-select") == "8 of 8"
    page.get_by_test_id("session-select").select_option(baseline)
    page.wait_for_function("document.querySelector('[data-testid=environment]').textContent.includes('CPU')")
    xi.ready()
    expect(page.get_by_test_id("synthetic")).to_be_hidden()
    assert xi.link() == {"v": "timeline", "s": baseline}, (
        "selections of a session do not apply to another one"
    )


def test_a_menu_keeps_the_focus_and_closes_by_escape_and_by_a_click_elsewhere(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.open(case_study, v="timeline")
    devices = page.get_by_test_id("device-select")
    devices.focus()
    page.keyboard.press("Enter")
    box = page.get_by_label("TPU:3")
    box.focus()
    page.keyboard.press("Space")
    expect(devices).to_have_text("7 of 8")
    expect(box).to_be_focused()
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    expect(devices).to_be_focused()
    devices.click()
    expect(box).to_be_visible()
    page.get_by_text("XLA Insights", exact=True).click()
    expect(box).to_be_hidden()


def test_choices_in_the_header_are_as_wide_as_their_text_and_whole_beside_a_long_one(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.open(case_study, v="overview")
    compare_box = page.get_by_test_id("compare-select").bounding_box()
    assert compare_box is not None
    assert compare_box["width"] < 80
    choices = [page.get_by_test_id(name) for name in ("host-select", "device-select", "compare-select")]
    widths = [choice.evaluate("element => element.offsetWidth") for choice in choices]
    page.set_viewport_size({"width": 1200, "height": 800})
    assert [choice.evaluate("element => element.offsetWidth") for choice in choices] == widths


def test_in_narrow_windows_the_second_session_is_chosen_in_compare(
    xi: Xi, page: Page, case_study: str, baseline: str
) -> None:
    page.set_viewport_size({"width": 1000, "height": 700})
    xi.open(case_study, v="overview")
    select = page.get_by_test_id("compare-select")
    expect(select).to_be_hidden()
    page.get_by_test_id("tab-compare").click()
    expect(page.get_by_text("compare with", exact=True)).to_be_visible()
    select.select_option(baseline)
    page.get_by_test_id("tab-overview").click()
    expect(select).to_be_visible()


def test_a_session_that_is_no_longer_listed_can_be_compared_with_the_only_other_one(
    xi: Xi, page: Page, case_study: str, baseline: str
) -> None:
    def keep_one(route: Route) -> None:
        answer = route.fetch().json()
        sessions = [session for session in answer["sessions"] if session["name"] == baseline]
        route.fulfill(json=answer | {"sessions": sessions})

    xi.open(case_study, v="overview")
    page.route("**/data/sessions*", keep_one)
    with page.expect_response("**/data/sessions*"):
        page.evaluate("dispatchEvent(new Event('focus'))")
    xi.idle()
    page.get_by_test_id("tab-compare").click()
    select = page.get_by_test_id("compare-select")
    expect(select).to_be_visible()
    assert select.locator("option").all_text_contents() == ["none", baseline]


def test_names_of_two_chosen_hosts_do_not_reorder_the_header(xi: Xi, page: Page) -> None:
    def reverse_a_name(route: Route) -> None:
        text = route.fetch().text()
        route.fulfill(content_type="application/json", body=text.replace('-w-3"', '-w-\\u202e3"'))

    for name in ("session", "overview"):
        page.route(f"**/data/{name}?*", reverse_a_name)
    xi.open(session_named("synthetic_pod_16_hosts"), v="overview", h="3,5")
    expect(page.get_by_test_id("host-select")).to_have_text("2 of 16: w-\\u202e3, w-5")


def test_help_lists_the_keys_and_returns_the_focus(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline)
    page.get_by_test_id("help-button").focus()
    page.keyboard.press("Enter")
    sheet = page.get_by_test_id("help-sheet")
    expect(sheet).to_be_visible()
    expect(sheet).to_contain_text("back to the whole session")
    expect(sheet.get_by_test_id("help-words")).to_contain_text("starvedNothing was queued when the gap began")
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(page.get_by_test_id("help-button")).to_be_focused()
    # On a German keyboard the question mark is on another key.
    page.evaluate("dispatchEvent(new KeyboardEvent('keydown', { key: '?', code: 'Minus', shiftKey: true }))")
    expect(sheet).to_be_visible()


def test_mere_notes_are_counted_in_the_header_and_listed_on_demand(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline, sel="gap:nowhere@1.5")
    button, notes = page.get_by_test_id("notes-button"), page.get_by_test_id("notes-list")
    expect(button).to_have_text("1\u00a0note")
    expect(notes).to_be_hidden()
    lines = page.get_by_test_id("diagnostics").locator(".diagnostic")
    assert lines.evaluate_all("lines => lines.map(line => line.dataset.testid)") == [
        "diagnostic-stale-timeline"
    ]
    button.click()
    expect(notes.get_by_test_id("diagnostic-no_device_plane")).to_contain_text("No device plane, as on a CPU")
    button.press("Escape")
    expect(notes).to_be_hidden()
    expect(button).to_have_text("1\u00a0note")
    button.press("Enter")
    notes.get_by_role("button", name="Dismiss").click()
    expect(button).to_be_hidden()
    expect(lines).to_have_count(1)
