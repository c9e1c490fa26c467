"""Capturing from the tab: a new capture opens in it, and errors stay in the dialog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.conftest import serving
from helpers import refusing_port
from playwright.sync_api import Locator, Page, Route, expect


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logdir of the tests that make no capture."""
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(scope="module")
def tensorboard(logdir: Path) -> Iterator[str]:
    with serving(logdir) as address:
        yield address


@pytest.fixture
def dialog(page: Page, tensorboard: str) -> Locator:
    return open_dialog(page, tensorboard)


def open_dialog(page: Page, tensorboard: str) -> Locator:
    """Opens the page of a TensorBoard over an empty logdir, and in it the dialog."""
    page.goto(f"{tensorboard}/data/plugin_entry.html?name=xla_insights")
    expect(page.get_by_test_id("no-sessions")).to_be_visible()
    page.get_by_test_id("capture-button").click()
    return page.get_by_test_id("capture-dialog")


@pytest.fixture
def refused_ports() -> Iterator[tuple[int, int]]:
    with refusing_port() as first, refusing_port() as second:
        yield first, second


@pytest.fixture
def own_tensorboard(tmp_path: Path, origins: list[str]) -> Iterator[str]:
    """A TensorBoard over the test's folder. Must be requested before `page`, which it has to outlast."""
    with serving(tmp_path) as address:
        origins.append(address)
        yield address


def test_a_capture_made_in_the_tab_opens_in_the_tab(
    own_tensorboard: str, page: Page, tmp_path: Path, profiler_server: str
) -> None:
    dialog = open_dialog(page, own_tensorboard)
    dialog.get_by_label("Addresses").fill(profiler_server)
    dialog.get_by_label("Duration").fill("600")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden(timeout=30_000)
    page.wait_for_selector("main[data-state=ready]")
    [session] = (tmp_path / "plugins/profile").iterdir()
    expect(page.get_by_test_id("session-select")).to_have_value(session.name)
    expect(page.get_by_test_id("environment")).to_contain_text("JAX")
    # A second capture opens as well.
    page.get_by_test_id("capture-button").click()
    expect(dialog.get_by_label("Addresses")).to_have_value(profiler_server)
    dialog.get_by_label("Duration").fill("100")
    dialog.get_by_role("button", name="Capture").click()
    expect(dialog).to_be_hidden(timeout=30_000)
    expect(page.get_by_test_id("session-select")).not_to_have_value(session.name)
    assert page.get_by_test_id("session-select").locator("option").count() == 2


def test_the_dialog_says_where_to_and_when(dialog: Locator, logdir: Path) -> None:
    expect(dialog.get_by_test_id("capture-logdir")).to_have_text(str(logdir))
    expect(dialog.get_by_test_id("capture-hint")).to_contain_text("the first steps compile")
    expect(dialog.locator("button.primary")).to_have_text("Capture")


def test_addresses_are_remembered_the_last_one_first(
    page: Page, dialog: Locator, complaints: list[str], refused_ports: tuple[int, int]
) -> None:
    first, second = (f"localhost:{port}" for port in refused_ports)
    for address in (first, second, "nowhere"):
        dialog.get_by_label("Addresses").fill(address)
        dialog.get_by_label("Duration").fill("300")
        dialog.get_by_role("button", name="Capture").click()
        message = "write HOST:PORT" if address == "nowhere" else f"{address}: nothing listens there"
        expect(dialog.get_by_role("alert")).to_contain_text(message)
    page.reload()
    page.get_by_test_id("capture-button").click()
    expect(dialog.get_by_label("Addresses")).to_have_value(second)
    expect(dialog.get_by_label("Duration")).to_have_value("300")
    offered = dialog.locator("datalist option").evaluate_all("options => options.map(option => option.value)")
    assert offered == [second, first]
    complaints.clear()  # of the answer that refuses "nowhere"


def test_errors_stay_in_the_dialog(
    dialog: Locator, complaints: list[str], refused_ports: tuple[int, int]
) -> None:
    dialog.get_by_label("Addresses").fill("somewhere")
    dialog.get_by_role("button", name="Capture").click()
    expect(dialog.get_by_role("alert")).to_contain_text("somewhere: not an address; write HOST:PORT")
    address = f"localhost:{refused_ports[0]}"
    dialog.get_by_label("Addresses").fill(address)
    dialog.get_by_role("button", name="Capture").click()
    expect(dialog.get_by_role("alert")).to_contain_text(f"{address}: nothing listens there")
    expect(dialog).to_be_visible()
    assert [text for text in complaints if "400" not in text] == []
    complaints.clear()


def test_closing_the_dialog_cancels(page: Page, dialog: Locator, logdir: Path, profiler_server: str) -> None:
    dialog.get_by_label("Addresses").fill(profiler_server)
    dialog.get_by_label("Duration").fill("600000")
    dialog.get_by_role("button", name="Capture").click()
    expect(dialog.get_by_test_id("capture-progress")).to_contain_text("Tracing")
    expect(dialog.get_by_test_id("capture-progress")).to_contain_text("of 600")
    with page.expect_response("**/data/capture_cancel"):
        page.keyboard.press("Escape")
    page.wait_for_function(
        "fetch('data/capture_progress').then(answer => answer.json()).then(({ state }) => state === 'cancelled')"
    )
    assert not list(logdir.glob("plugins/profile/*/*"))


def test_the_focus_stays_in_the_dialog_and_goes_back(page: Page, dialog: Locator) -> None:
    expect(dialog).to_be_visible()
    for _ in range(8):
        page.keyboard.press("Tab")
        assert page.evaluate("!document.hasFocus() || document.activeElement === document.body"
                             " || document.activeElement.closest('dialog') !== null")  # fmt: skip
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("capture-button")).to_be_focused()


def test_no_button_where_capturing_is_off(page: Page, tensorboard: str) -> None:
    def turn_off(route: Route) -> None:
        route.fulfill(json=route.fetch().json() | {"capture": False, "capture_logdir": None})

    page.route("**/data/sessions*", turn_off)
    page.goto(f"{tensorboard}/data/plugin_entry.html?name=xla_insights")
    expect(page.get_by_test_id("no-sessions")).to_be_visible()
    expect(page.get_by_role("button", name="Capture")).to_have_count(0)
