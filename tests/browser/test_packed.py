"""That all these tests look at the page as users get it, packed, and how its further scripts come or fail to."""

from __future__ import annotations

import pytest
from browser.conftest import ROOT
from browser.driver import Xi
from playwright.sync_api import Page, Response, Route, expect

# What a browser has once got counts here.
pytestmark = pytest.mark.usefixtures("page_of_its_own")

FIRST = {"index.js", "index.css"}


@pytest.fixture
def answers(page: Page) -> list[Response]:
    """What the page got of its own files, in order."""
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer) if "/static/" in answer.url else None)
    return answers


def name(answer: Response) -> str:
    return answer.url.rpartition("/")[2]


def refused(page: Page) -> list[str]:
    """Has scripts of views fail as at an upgrade while the page is open, and tells which were asked for."""
    urls: list[str] = []

    def refuse(route: Route) -> None:
        urls.append(route.request.url.rpartition("/")[2])
        route.fulfill(status=404, body="{}")

    page.route(lambda url: "/packed/" in url and not url.endswith(("index.js", "index.css")), refuse)
    return urls


def test_the_first_view_takes_one_script_and_one_style_sheet(
    xi: Xi, case_study: str, answers: list[Response]
) -> None:
    # The others come ahead only once this view is there.
    xi.page.add_init_script("window.requestIdleCallback = () => 0")
    xi.open(case_study, v="overview")
    assert sorted(map(name, answers)) == sorted(FIRST)
    assert {answer.headers["content-encoding"] for answer in answers} == {"br"}
    assert "/packed/" in answers[0].url


def test_a_linked_view_s_script_is_asked_for_before_the_session_is_there(
    xi: Xi, case_study: str, answers: list[Response]
) -> None:
    order: list[str] = []
    xi.page.on("request", lambda request: order.append(request.url.rpartition("/")[2].partition("?")[0]))
    xi.open(case_study, v="gaps")
    assert order.index("gaps.js") < order.index("session")
    assert {answer.headers["content-encoding"] for answer in answers} == {"br"}


def test_further_views_come_ahead_and_open_without_another_request(
    xi: Xi, case_study: str, answers: list[Response]
) -> None:
    views = [path.parent.name for path in (ROOT / "frontend").glob("*/view.js")]
    others = {f"{view}.js" for view in views if view != "overview"}
    xi.open(case_study, v="overview")
    for _ in range(600):
        if others <= set(map(name, answers)):
            break
        xi.page.wait_for_timeout(50)
    assert others <= set(map(name, answers))
    before = len(answers)
    for view in views:
        xi.page.get_by_test_id(f"tab-{view}").click()
        expect(xi.page.get_by_test_id(f"view-{view}")).to_have_attribute(
            "data-state", "ready" if view != "compare" else "empty"
        )
    assert len(answers) == before


def test_a_script_that_does_not_come_is_told_and_retry_loads_the_page_anew(
    xi: Xi, case_study: str, complaints: list[str]
) -> None:
    page = xi.page
    urls = refused(page)
    xi.open(case_study, v="overview")
    page.get_by_test_id("tab-gaps").click()
    main = page.get_by_test_id("view-gaps")
    expect(main).to_have_attribute("data-state", "error")
    expect(main.get_by_role("heading")).to_have_text("Gaps cannot be shown")
    expect(main).to_contain_text("The page’s files have changed since it was opened")
    assert "gaps.js" in urls
    page.get_by_test_id("tab-overview").click()
    expect(page.get_by_test_id("verdict")).to_be_visible()
    page.get_by_test_id("tab-gaps").click()
    page.unroute_all(behavior="wait")
    page.get_by_role("button", name="Retry").click()
    expect(main).to_have_attribute("data-state", "ready")
    assert xi.link()["v"] == "gaps"
    assert complaints
    assert all("404" in complaint or "dynamically imported module" in complaint for complaint in complaints)
    complaints.clear()


def test_a_stopped_tensorboard_is_named_as_the_reason(xi: Xi, case_study: str, complaints: list[str]) -> None:
    page = xi.page
    page.add_init_script("window.requestIdleCallback = () => 0")
    xi.open(case_study, v="overview")
    page.route("**/*", lambda route: route.abort("connectionrefused"))
    page.get_by_test_id("tab-compiles").click()
    main = page.get_by_test_id("view-compiles")
    expect(main).to_contain_text("The server cannot be reached. Check that TensorBoard still runs.")
    page.get_by_role("button", name="Retry").click()
    xi.idle()
    expect(main).to_contain_text("The server cannot be reached.")  # and the page is still there
    page.unroute("**/*")
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_test_id("view-compiles")).to_have_attribute("data-state", "ready")
    assert all(
        "ERR_CONNECTION_REFUSED" in complaint or "dynamically imported module" in complaint
        for complaint in complaints
    )
    complaints.clear()
