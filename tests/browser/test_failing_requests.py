"""Failing requests: each view shows the error and a button that repeats the request, and its data after a success."""

from __future__ import annotations

import pytest
from browser.conftest import session_named
from browser.driver import Xi
from playwright.sync_api import Download, Page, Route, expect

FAULT = "data/x: ValueError, a bug in the plugin; see TensorBoard's output"
MESSAGES = "main, [data-testid=diagnostics]"
"""Where errors are shown: in the view, or in the lines above the timeline, which remains visible."""
POD = "synthetic_pod_16_hosts"
CHANGED = "the files of this session were read again; ask again"


def open_view(xi: Xi, view: str) -> None:
    run = POD if view == "hosts" else "synthetic_case_study"
    xi.open(session_named(run), wait=False, v=view, c=session_named("torch_xla_baseline"))


def assert_page_caught(complaints: list[str]) -> None:
    """Asserts that only the browser reported the errors, which no page can prevent, and removes its messages."""
    assert complaints
    assert [complaint for complaint in complaints if "Failed to load resource" not in complaint] == []
    complaints.clear()


@pytest.mark.parametrize(
    "views",
    [
        ["overview"], ["timeline"], ["hosts"],
        ["gaps", "executions", "propagation", "compiles", "device", "compare"],
    ],
    ids="-".join,
)  # fmt: skip
def test_a_failed_request_is_reported_and_repeated_on_demand(
    xi: Xi, page: Page, complaints: list[str], views: list[str]
) -> None:
    """The first view opens with the page, others by their tabs. All hosts of the pod are read before, as the page asks
    again by itself while some are missing."""
    if views == ["hosts"]:
        xi.open(session_named(POD), v="hosts")
    for view in views:
        check_failures(xi, page, view, is_first=view == views[0])
        assert_page_caught(complaints)


def check_failures(xi: Xi, page: Page, view: str, is_first: bool) -> None:
    """Checks the errors of a request that the server, the network and a proxy fail, and the view after a success."""
    pattern = f"**/data/{view}?*"
    page.route(pattern, lambda route: route.fulfill(status=500, json={"error": FAULT}))
    if is_first:
        open_view(xi, view)
    else:
        page.get_by_test_id(f"tab-{view}").click()
    main = page.locator(MESSAGES)
    again = main.get_by_role("button", name="Try again")
    expect(main.get_by_text(FAULT)).to_be_visible()

    page.route(pattern, lambda route: route.abort("connectionrefused"))
    again.click()
    unreachable = main.get_by_text("The server cannot be reached. Check that TensorBoard still runs.")
    expect(unreachable).to_be_visible()

    page.route(pattern, lambda route: route.fulfill(status=403, body="Forbidden"))  # as a proxy answers
    again.click()
    refused = main.get_by_text(f"The server answered 403 to data/{view}.")
    expect(refused).to_be_visible()

    page.unroute(pattern)
    again.click()
    xi.ready()
    expect(again).to_have_count(0)
    expect(refused).to_have_count(0)


def test_ops_are_not_exported_if_some_of_them_cannot_be_loaded(
    xi: Xi, page: Page, complaints: list[str]
) -> None:
    xi.open(session_named("synthetic_case_study"), v="device", dd="0.0", st="all")
    page.route("**/data/device?*whole=1*", lambda route: route.fulfill(status=500, json={"error": FAULT}))
    downloads: list[Download] = []
    page.on("download", lambda download: downloads.append(download))
    page.get_by_test_id("export-csv").click()
    expect(page.get_by_test_id("diagnostic-ops")).to_contain_text(FAULT)
    xi.idle()
    assert downloads == []
    assert_page_caught(complaints)


def test_a_piece_of_a_chain_whose_event_cannot_be_read_is_not_called_unrecorded(
    xi: Xi, page: Page, complaints: list[str]
) -> None:
    xi.open(session_named("synthetic_case_study"), v="timeline")
    page.get_by_test_id("gap-longest").click()
    page.route("**/data/event?*", lambda route: route.fulfill(status=500, json={"error": FAULT}))
    page.get_by_test_id("gap-chain").locator("tbody tr").first.click()
    expect(page.get_by_test_id("diagnostic-timeline")).to_contain_text(FAULT)
    expect(page.get_by_test_id("live")).not_to_contain_text("Nothing is recorded")
    assert_page_caught(complaints)


# One function sends the requests of all views and finds that a session was read again.
@pytest.mark.parametrize("view", ["overview", "timeline", "hosts", "compare"])
def test_a_session_that_was_read_again_is_opened_again(
    xi: Xi, page: Page, complaints: list[str], view: str
) -> None:
    refused: list[str] = []

    def refuse(route: Route) -> None:
        refused.append(route.request.url)
        route.fulfill(status=409, json={"error": CHANGED})

    def stop_refusing(route: Route) -> None:
        if refused:
            page.unroute(pattern)
        route.continue_()

    pattern = f"**/data/{view}?*"
    page.route(pattern, refuse)  # also a second request, which replaces the first one
    page.route("**/data/session?*", stop_refusing)
    with page.expect_request(lambda request: "/data/session?" in request.url and bool(refused)):
        open_view(xi, view)
    xi.ready()
    expect(page.locator(MESSAGES).get_by_text(CHANGED)).to_have_count(0)
    assert_page_caught(complaints)
