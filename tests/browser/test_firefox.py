"""Firefox draws every view without an error, follows the theme of the system, and the keyboard works as in Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Literal

import pytest
from browser.conftest import watch
from browser.driver import Xi
from browser.test_access import CASE, VIEWS, find_faults
from playwright.sync_api import Browser, Page, Playwright, expect


@pytest.fixture(scope="module")
def theme(request: pytest.FixtureRequest) -> Literal["light", "dark"]:
    """The theme of the system that Firefox runs on: light, unless a test names another."""
    return "dark" if getattr(request, "param", "light") == "dark" else "light"


@pytest.fixture(scope="module")
def firefox(playwright: Playwright, theme: str) -> Iterator[Browser]:
    """The system's Firefox, driven by WebDriver BiDi instead of a build by Playwright. BiDi cannot change the theme; a
    preference does."""
    path = os.environ.get("FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
    if not path:
        pytest.skip("no Firefox here; set FIREFOX to its path")
    browser = playwright.firefox.launch(
        channel="moz-firefox",
        executable_path=path,
        firefox_user_prefs={"layout.css.prefers-color-scheme.content-override": int(theme == "light")},
    )
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def firefox_page(firefox: Browser) -> Page:
    # High enough for a whole view: axe cannot determine the background of text that is scrolled out of sight.
    return firefox.new_page(viewport={"width": 1440, "height": 2600})


@pytest.fixture
def page(firefox_page: Page, origins: list[str], complaints: list[str]) -> Iterator[Page]:
    """Firefox's page in place of Chromium's: its test fails on an error as well."""
    with watch(firefox_page, origins, complaints):
        yield firefox_page
    assert not complaints


@pytest.mark.parametrize("theme", ["light"], indirect=True, scope="module")
def test_every_view_is_drawn(xi: Xi) -> None:
    for view, (session, state) in VIEWS.items():
        xi.follow(session, v=view, **state)
        expect(xi.page.get_by_test_id(f"tab-{view}")).to_have_attribute("aria-selected", "true")
        expect(xi.page.get_by_role("tabpanel")).not_to_be_empty()


@pytest.mark.parametrize("theme", ["light", "dark"], indirect=True, scope="module")
def test_the_theme_is_that_of_the_system_and_text_stands_out(
    xi: Xi, axe: str, theme: Literal["light", "dark"]
) -> None:
    """Of one view: all take their colours from the same properties, and Chromium measures the contrast of each."""
    xi.open(CASE, v="overview")
    expect(xi.page.locator("html")).to_have_attribute("data-theme", theme)
    xi.page.evaluate(f"window.axe || void (() => {{ {axe} }})()")
    assert find_faults(xi, theme, {"runOnly": ["color-contrast"]}) == []


@pytest.mark.parametrize("theme", ["light"], indirect=True, scope="module")
def test_the_keyboard_goes_from_gap_to_gap_and_along_the_slices(xi: Xi) -> None:
    xi.open(CASE)
    assert xi.slices()
    xi.press("]")
    first = xi.link()["sel"]
    xi.press("]")
    assert first.startswith("gap:")
    assert xi.link()["sel"].startswith("gap:")
    assert xi.link()["sel"] != first
    expect(xi.page.get_by_test_id("selection-panel").get_by_role("heading", level=2)).to_contain_text(
        "Gap of"
    )

    xi.page.get_by_test_id("timeline-canvas").focus()
    xi.press("ArrowDown")
    xi.press("ArrowRight")
    cursor = xi.drawn("cursor")
    xi.press("ArrowRight")
    assert xi.drawn("cursor") != cursor
