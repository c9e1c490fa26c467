"""A session whose files change while it is open."""

from __future__ import annotations

import json

from browser.driver import Xi
from playwright.sync_api import Page, Route, expect


def test_a_host_that_appears_later_is_noted_when_the_page_gets_the_focus(
    xi: Xi, page: Page, baseline: str
) -> None:
    xi.open(baseline, v="hosts")
    expect(page.get_by_test_id("diagnostic-changed")).to_have_count(0)

    def add_host(route: Route) -> None:
        body = route.fetch().json()
        listed = next(session for session in body["sessions"] if session["name"] == baseline)
        listed["hosts"].append({**listed["hosts"][0], "name": "later"})
        route.fulfill(content_type="application/json", body=json.dumps(body))

    def answer_changed(route: Route) -> None:
        body = {**route.fetch().json(), "changed": True}
        route.fulfill(content_type="application/json", body=json.dumps(body))

    page.route("**/data/sessions*", add_host)
    page.route("**/data/session?*", answer_changed)
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.get_by_test_id("diagnostic-changed")).to_contain_text("Read again")
    expect(page.get_by_test_id("diagnostics").get_by_text("1 of 2 hosts read.")).to_have_count(1)
    xi.idle()

    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    with page.expect_response("**/data/sessions*"):
        page.evaluate("dispatchEvent(new Event('focus'))")
    xi.idle()
    assert [url for url in requests if "/data/session?" in url] == [], "it is noted once"
