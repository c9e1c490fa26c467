"""The packed page, as users get it: which scripts it loads first, which later, and what it shows if one fails."""

from __future__ import annotations

import pytest
from browser.conftest import ROOT
from browser.driver import Xi
from playwright.sync_api import Page, Response, Route, expect

# A reused page would have the scripts in its cache.
pytestmark = pytest.mark.usefixtures("fresh_page")

FIRST_FILES = {"index.js", "index.css"}


@pytest.fixture
def answers(page: Page) -> list[Response]:
    """The answers with the page's files, in order."""
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer) if "/static/" in answer.url else None)
    return answers


def file_name(answer: Response) -> str:
    return answer.url.rpartition("/")[2]


def refuse_view_scripts(page: Page) -> list[str]:
    """Refuses the scripts of views, as after an upgrade while the page is open. Returns a list to which each request
    adds the script's name."""
    names: list[str] = []

    def refuse(route: Route) -> None:
        names.append(route.request.url.rpartition("/")[2])
        route.fulfill(status=404, body="{}")

    page.route(lambda url: "/packed/" in url and not url.endswith(("index.js", "index.css")), refuse)
    return names


def test_the_first_view_takes_one_script_and_one_style_sheet(
    xi: Xi, case_study: str, answers: list[Response]
) -> None:
    # Without idle time, the scripts of other views are not preloaded.
    xi.page.add_init_script("window.requestIdleCallback = () => 0")
    xi.open(case_study, v="overview")
    assert sorted(map(file_name, answers)) == sorted(FIRST_FILES)
    assert {answer.headers["content-encoding"] for answer in answers} == {"br"}
    assert "/packed/" in answers[0].url


def test_the_script_of_a_linked_view_is_requested_before_the_session(
    xi: Xi, case_study: str, answers: list[Response]
) -> None:
    order: list[str] = []
    xi.page.on("request", lambda request: order.append(request.url.rpartition("/")[2].partition("?")[0]))
    xi.open(case_study, v="gaps")
    assert order.index("gaps.js") < order.index("session")
    assert {answer.headers["content-encoding"] for answer in answers} == {"br"}


def test_other_views_are_preloaded_and_open_without_another_request(
    xi: Xi, case_study: str, answers: list[Response]
) -> None:
    views = [path.parent.name for path in (ROOT / "frontend").glob("*/view.js")]
    preloaded = sorted(f"{view}.js" for view in views if view != "overview")
    xi.open(case_study, v="overview")
    xi.page.wait_for_function(
        """names => {
            const loaded = performance.getEntriesByType('resource').map(entry => entry.name.split('/').at(-1));
            return names.every(name => loaded.includes(name));
        }""",
        arg=preloaded,
    )
    assert set(preloaded) <= set(map(file_name, answers))
    before = len(answers)
    for view in views:
        xi.page.get_by_test_id(f"tab-{view}").click()
        expect(xi.page.get_by_test_id(f"view-{view}")).to_have_attribute(
            "data-state", "empty" if view in ("compare", "iterations") else "ready"
        )
    assert len(answers) == before


def test_a_missing_script_is_reported_and_retry_reloads_the_page(
    xi: Xi, case_study: str, complaints: list[str]
) -> None:
    page = xi.page
    names = refuse_view_scripts(page)
    xi.open(case_study, v="overview")
    page.get_by_test_id("tab-gaps").click()
    main = page.get_by_test_id("view-gaps")
    expect(main).to_have_attribute("data-state", "error")
    expect(main.get_by_role("heading")).to_have_text("Gaps cannot be shown")
    expect(main).to_contain_text("The page’s files may have changed since it was opened")
    assert "gaps.js" in names
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
    expect(main).to_contain_text(
        "The server cannot be reached."
    )  # the page itself is not reloaded from the stopped server
    page.unroute("**/*")
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_test_id("view-compiles")).to_have_attribute("data-state", "ready")
    assert all(
        "ERR_CONNECTION_REFUSED" in complaint or "dynamically imported module" in complaint
        for complaint in complaints
    )
    complaints.clear()
