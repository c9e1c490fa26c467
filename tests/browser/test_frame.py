"""The frame around the views: header, tabs, link state, loading, errors and empty states."""

from __future__ import annotations

import json
import re
from typing import Any

from browser.driver import HeldRequests, Xi
from playwright.sync_api import Page, Route, expect


def answer(page: Page, route: str, *bodies: object, status: int = 200) -> None:
    """Answers a route of the plugin with these documents in turn, then lets requests through."""
    remaining = list(bodies)

    def fulfil(request: Route) -> None:
        if remaining:
            request.fulfill(status=status, content_type="application/json", body=json.dumps(remaining.pop(0)))
        else:
            request.continue_()

    page.route(f"**/data/{route}*", fulfil)


def test_the_first_view_requests_three_routes(xi: Xi, page: Page, case_study: str) -> None:
    routes: list[str] = []
    page.on(
        "request",
        lambda request: routes.append(request.url) if "/xla_insights/data/" in request.url else None,
    )
    xi.open(case_study, v="")
    requested = [url.split("/data/")[-1].split("?")[0] for url in routes]
    # While files are read, the page requests `session` repeatedly.
    assert list(dict.fromkeys(requested)) == ["sessions", "session", "overview"]
    assert requested.count("sessions") == requested.count("overview") == 1


def test_a_logdir_opens_on_its_newest_session_with_its_description(
    page: Page, tensorboard: str, case_study: str
) -> None:
    page.goto(f"{tensorboard}/data/plugin_entry.html?name=xla_insights")
    expect(page.get_by_test_id("session-select")).to_have_value(case_study)
    expect(page.get_by_test_id("description")).to_contain_text("See the gap of 72.143 ms in step 1206")
    expect(page.get_by_test_id("synthetic")).to_be_visible()


def test_a_session_that_becomes_the_newest_does_not_replace_the_open_one(
    xi: Xi, page: Page, tensorboard: str, case_study: str, baseline: str
) -> None:
    page.goto(f"{tensorboard}/data/plugin_entry.html?name=xla_insights#xla_insights&p.xla_insights.v=gaps")
    xi.ready()

    def put_first(route: Route) -> None:
        body = route.fetch().json()
        body["sessions"].sort(key=lambda session: session["name"] != baseline)
        route.fulfill(content_type="application/json", body=json.dumps(body))

    page.route("**/data/sessions*", put_first)
    page.evaluate("dispatchEvent(new Event('focus'))")
    select = page.get_by_test_id("session-select")
    expect(select.locator("option").first).to_have_text(baseline)
    expect(select).to_have_value(case_study)
    page.get_by_test_id("copy-link").click()
    expect(page.get_by_test_id("copy-link")).to_have_text("Copied")
    assert f"p.xla_insights.s={case_study}" in page.evaluate("navigator.clipboard.readText()")
    page.get_by_test_id("gap-list").get_by_role("button", name="Show").first.click()
    xi.ready()
    expect(page.get_by_test_id("gap-parts")).to_be_visible()
    assert xi.text("environment") == "PyTorch/XLA · XRT · 8 TPU v3 cores"
    select.select_option(baseline)
    page.wait_for_function("document.querySelector('[data-testid=environment]').textContent.includes('CPU')")
    xi.ready()
    assert xi.link() == {"v": "timeline", "s": baseline}


def test_views_share_the_requests_about_a_session(xi: Xi, page: Page, baseline: str) -> None:
    requested: list[str] = []
    page.on(
        "request",
        lambda request: requested.append(request.url.partition("/data/plugin/")[2].partition("?")[0]),
    )
    xi.open(baseline)
    for view in ("overview", "gaps", "timeline"):
        page.get_by_test_id(f"tab-{view}").click()
        xi.ready()
    for route in ("overview", "gaps"):
        assert sum(url.endswith(f"data/{route}") for url in requested) == 1, requested


def test_tabs_have_counts_before_their_views_are_opened(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline)
    expect(page.get_by_test_id("tab-executions")).to_have_text(re.compile(r"^Executions\d+$"))
    tabs = page.get_by_role("tab").all_text_contents()
    assert [re.sub(r"[\d,]+( lost)?$", "", tab) for tab in tabs][:4] == [
        "Overview",
        "Timeline",
        "Gaps",
        "Executions",
    ]
    assert "Compiles0" in tabs
    expect(page.get_by_role("tab", selected=True)).to_have_text("Timeline")


def test_unchosen_devices_have_no_rows(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study)
    page.get_by_test_id("device-select").click()
    page.get_by_label("TPU:0").uncheck()
    rows = xi.drawn("rows")
    assert not any(row["label"] == "TPU:0" for row in rows)
    assert any(row["label"] == "TPU:1" for row in rows)
    assert xi.text("device-select") == "7 of 8"
    assert "TPU:0" not in xi.link()["d"]


def test_a_link_to_unknown_devices_shows_all(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="overview", d="nowhere", h="nobody")
    assert xi.text("device-select") == "8 of 8"
    expect(page.get_by_test_id("duty-one")).to_contain_text("8 cores agree")
    page.get_by_test_id("device-select").click()
    expect(page.get_by_label("TPU:3")).to_be_checked()


def test_arrows_move_between_tabs(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="timeline")
    page.get_by_test_id("tab-timeline").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_test_id("tab-overview")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_test_id("tab-compare")).to_have_attribute("aria-selected", "true")


def test_copied_link_names_the_session(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, w="520+380", sel="win:715.08+72.143")
    page.get_by_test_id("copy-link").click()
    expect(page.get_by_test_id("copy-link")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert f"p.xla_insights.s={case_study}" in copied
    assert "p.xla_insights.w=520+380" in copied
    assert "p.xla_insights.sel=win:715.08+72.143" in copied


def test_a_term_is_explained_on_hover_and_on_focus(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="gaps")
    tip = page.get_by_test_id("term-tip")
    page.get_by_test_id("gap-list").get_by_text("starved").first.hover()
    expect(tip).to_contain_text("Nothing was queued when the gap began")
    page.mouse.move(0, 0)
    expect(tip).to_be_hidden()
    head = page.get_by_test_id("gap-list").get_by_role("button", name="Cause")
    head.focus()
    expect(tip).to_contain_text("the class with most time until the next run was enqueued")
    expect(head).to_have_attribute("aria-describedby", "term-tip")
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_the_severity_of_a_note_is_not_explained_as_that_of_a_finding(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.open(case_study, v="timeline", w="99999999+1")
    page.get_by_test_id("diagnostic-stale-times").locator(".tag").hover()
    expect(page.get_by_test_id("term-tip")).to_be_hidden()


def test_without_tensorboard_the_theme_follows_the_system(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline)
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(244, 245, 247)"
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector(":root[data-theme=dark]")
    assert page.evaluate(background) == "rgb(17, 21, 26)"


def test_reading_shows_progress_and_stops_on_demand(
    xi: Xi, page: Page, baseline: str, complaints: list[str]
) -> None:
    refusal = "start TensorBoard with --xla_insights_hosts=lab.example"
    requested: list[Any] = []
    stopped: list[str] = []
    hosts = [
        {"name": "w-0", "state": "ready", "bytes_read": 400_000_000, "bytes": 400_000_000, "message": None},
        {"name": "w-1", "state": "reading", "bytes_read": 12_000_000, "bytes": 804_000_000, "message": None},
    ]
    loading = {
        "state": "loading",
        "bytes_read": 412_000_000,
        "bytes": 1_204_000_000,
        "seconds_left": 6.1,
        "hosts": hosts,
        "stage": "reading",
        "done_share": 0.12,
    }

    def session(route: Route) -> None:
        if stopped:
            route.continue_()
        else:
            route.fulfill(content_type="application/json", body=json.dumps(loading))

    def stop(route: Route) -> None:
        requested.append(route.request.post_data_json)
        if len(requested) == 1:
            route.fulfill(status=403, content_type="application/json", body=json.dumps({"error": refusal}))
            return
        stopped.append(route.request.url)
        route.fulfill(content_type="application/json", body='{"stopped": true}')

    page.route("**/data/session?*", session)
    page.route("**/data/stop", stop)
    xi.open(baseline, wait=False)
    progress = page.get_by_test_id("progress")
    expect(progress).to_contain_text("about 6\u202fs left")
    assert "Reading 2 hosts · 412 of 1 204 MB" in xi.text("progress")
    expect(page.get_by_test_id("meter")).to_have_attribute("aria-valuenow", "12")
    loading |= {"stage": "drawing", "done_share": 0.55}
    expect(progress).to_contain_text("Preparing the timeline · about 6\u202fs left")
    expect(page.get_by_test_id("meter")).to_have_attribute("aria-valuenow", "55")
    assert page.locator("main").get_attribute("data-state") == "loading"
    progress.get_by_role("button", name="Stop").click()
    expect(page.get_by_test_id("diagnostic-stop")).to_contain_text(refusal)
    assert "403" in complaints.pop()
    progress.get_by_role("button", name="Stop").click()
    xi.ready()
    assert requested == [{"session": baseline}] * 2


def test_the_timeline_is_available_while_findings_are_computed(xi: Xi, page: Page, baseline: str) -> None:
    held = HeldRequests(page, "**/data/overview?*")
    xi.open(baseline, wait=False, v="overview")
    card = page.get_by_test_id("analysing")
    expect(card).to_contain_text("causes and findings follow")
    bar = card.get_by_test_id("meter")
    before = int(bar.get_attribute("aria-valuenow") or 0)
    assert 50 <= before < 100
    card.get_by_role("button", name="Show the timeline meanwhile").click()
    page.wait_for_selector("main[data-state=ready][data-testid=view-timeline]")
    held.release()
    page.get_by_test_id("tab-overview").click()
    expect(page.get_by_test_id("verdict")).to_be_visible()
    expect(card).to_have_count(0)


def test_an_error_says_what_to_do_and_can_be_tried_again(xi: Xi, page: Page, baseline: str) -> None:
    message = "vm.xplane.pb: cut at byte 88; copy the file again"
    answer(page, "session?", {"state": "error", "message": message, "hosts": []})
    xi.open(baseline, wait=False)
    expect(page.get_by_test_id("error")).to_contain_text(message)
    expect(page.get_by_role("alert")).to_have_text(message)
    page.get_by_test_id("try-again").click()
    xi.ready()
    expect(page.get_by_test_id("error")).to_have_count(0)


def test_views_and_notes_of_the_former_session_stay_hidden_if_the_next_one_cannot_be_read(
    xi: Xi, page: Page, case_study: str, baseline: str
) -> None:
    xi.open(case_study, v="overview")
    expect(page.get_by_test_id("notes-button")).to_be_visible()
    answer(page, "session?", {"state": "error", "message": "cannot be read", "hosts": []})
    page.get_by_test_id("session-select").select_option(baseline)
    expect(page.get_by_test_id("error")).to_contain_text("cannot be read")
    expect(page.get_by_test_id("notes-button")).to_be_hidden()
    expect(page.get_by_test_id("diagnostics").locator("p")).to_have_count(0)
    expect(page.get_by_test_id("environment")).to_have_text("")
    expect(page.get_by_test_id("tab-gaps")).to_have_text("Gaps")
    for choice in ("synthetic", "device-select", "compare-select"):
        expect(page.get_by_test_id(choice)).to_be_hidden()
    page.get_by_test_id("tab-gaps").click()
    expect(page.get_by_test_id("tab-gaps")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_test_id("error")).to_be_visible()
    page.go_back()
    page.go_back()
    xi.ready()
    expect(page.get_by_test_id("session-select")).to_have_value(case_study)
    assert xi.text("environment") == "PyTorch/XLA · XRT · 8 TPU v3 cores"
    expect(page.get_by_test_id("device-select")).to_be_visible()


def test_an_empty_logdir_says_how_to_capture(xi: Xi, page: Page, baseline: str) -> None:
    empty = {"logdir": "logs", "sessions": [], "message": "No profile under this logdir: logs."}
    refused = {"logdir": "s3://b", "sessions": [], "message": "s3://b: access denied; check the credentials"}
    answer(page, "sessions", empty, refused)
    xi.open(baseline, wait=False)
    card = page.get_by_test_id("no-sessions")
    expect(card).to_contain_text("No profile under this logdir: logs.")
    expect(card).to_contain_text("xp.start_server(3294)")
    assert page.locator("main").get_attribute("data-state") == "empty"
    card.get_by_role("button", name="Look again").click()
    expect(card).to_contain_text("s3://b: access denied; check the credentials")
    expect(card).not_to_contain_text("No profile")
    card.get_by_role("button", name="Look again").click()
    xi.ready()


def test_a_stale_link_shows_what_still_fits(xi: Xi, page: Page, baseline: str, complaints: list[str]) -> None:
    xi.open("nowhere/gone")
    expect(page.get_by_test_id("diagnostic-stale")).to_contain_text(
        "The linked session nowhere/gone is not in this logdir"
    )
    xi.open(baseline, sel="ev:h0.t0@1.234567891")
    expect(page.get_by_test_id("diagnostic-stale-timeline")).to_contain_text(
        "The linked event is not in this session."
    )
    assert xi.drawn("selection") is None
    assert complaints == ["Failed to load resource: the server responded with a status of 400 (BAD REQUEST)"]
    complaints.clear()
    page.get_by_test_id("diagnostic-stale-timeline").get_by_role("button", name="Dismiss").click()
    expect(page.get_by_test_id("diagnostic-stale-timeline")).to_have_count(0)


def test_names_of_a_trace_are_shown_as_text(xi: Xi, page: Page, baseline: str) -> None:
    evil = "<img src=x onerror=alert(1)>"

    def poison(route: Route) -> None:
        body = route.fetch().json()
        body.update(name=evil, thread=evil, stats=[{"name": evil, "value": evil, "kind": "text"}])
        route.fulfill(content_type="application/json", body=json.dumps(body))

    page.route("**/data/event?*", poison)
    xi.open(baseline)
    xi.click(xi.slices(row="h0.ann", depth=0)[0])
    expect(page.get_by_test_id("event-stats")).to_contain_text(evil)
    assert page.locator("img").count() == 0
