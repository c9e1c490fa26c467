"""One TensorBoard over the demo logs for all browser tests, and a page that fails a test on any complaint."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import helpers
import pytest
from browser.driver import Xi
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, expect

from tb_xla_insights.page.folder import page_folder
from tb_xla_insights.page.packed import is_packed

ROOT = Path(__file__).parents[2]
ARGUMENTS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--force-device-scale-factor=1",
    "--disable-background-networking",
]

# In milliseconds: as patient as everything else, for machines that are busy. What is expected seldom takes one second.
expect.set_options(timeout=30_000)


def session_named(prefix: str) -> str:
    """The session of a demo log whose folder begins so, as the page names it."""
    run = next(path for path in sorted((ROOT / "demo_logs").glob(f"{prefix}*")) if path.is_dir())
    return f"{run.name}/{next((run / 'plugins/profile').iterdir()).name}"


@pytest.fixture(scope="session")
def axe() -> str:
    """The checker, which runs within the page."""
    return (ROOT / "node_modules/axe-core/axe.min.js").read_text()


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium, or where `CHROMIUM` says."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        pytest.skip("no Chromium here; set CHROMIUM to its path")
    return {**browser_type_launch_args, "executable_path": chromium, "args": ARGUMENTS}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {
        **browser_context_args,
        "viewport": {"width": 1440, "height": 900},
        "color_scheme": "light",
        "permissions": ["clipboard-read", "clipboard-write"],
    }


@pytest.fixture(scope="session", autouse=True)
def packed_page() -> None:
    """What is tested is what users get: the page of this checkout, packed."""
    npm = shutil.which("npm")
    assert npm, "the page cannot be packed: install nodejs and npm"
    if not is_packed(page_folder()):
        subprocess.run([npm, "run", "--silent", "pack"], cwd=ROOT, check=True)


@contextmanager
def serving(logdir: Path | str, *flags: str) -> Iterator[str]:
    """The address of a TensorBoard over a logdir, stopped in the end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(Path(__file__).with_name("serve.py")), str(logdir), *flags]
    with helpers.serving(command, stdin=subprocess.PIPE, env=environment) as address:
        yield address


@pytest.fixture(scope="session")
def tensorboard() -> Iterator[str]:
    """The address of a TensorBoard over `demo_logs`, stopped after the last test."""
    with serving(ROOT / "demo_logs") as address:
        yield address


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained about. A test that provokes something takes it out of the list."""
    return []


@pytest.fixture
def origins(tensorboard: str) -> list[str]:
    """Where a page may ask. A test with a server of its own adds that."""
    return [tensorboard, "data:", "blob:", "about:"]


SPOILED = pytest.StashKey[bool]()
"""Of a test: its page is not one that another test can have."""


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.excinfo:
        item.stash[SPOILED] = True


@pytest.fixture
def page_of_its_own(request: pytest.FixtureRequest) -> None:
    """For tests that do to a page what cannot be undone, as scripts that run before its own. To be named first."""
    request.node.stash[SPOILED] = True


@pytest.fixture(scope="session")
def left_page() -> Iterator[list[Page]]:
    """The page that the last test left, if it did: another one takes three processes, and most of a test's time."""
    left: list[Page] = []
    yield left
    for page in left:
        page.context.close()


@pytest.fixture
def page(
    request: pytest.FixtureRequest,
    browser: Browser,
    browser_context_args: dict[str, Any],
    left_page: list[Page],
    origins: list[str],
    complaints: list[str],
) -> Iterator[Page]:
    """A page as new, whose test fails on a console error, an uncaught one, or a request to another origin."""
    spoiled = request.node.stash.get(SPOILED, False)
    page = left_page.pop() if left_page and not spoiled else new_page(browser, browser_context_args)

    with watched(page, origins, complaints):
        yield page
        if request.node.stash.get(SPOILED, False):
            page.context.close()
        else:
            clean(page, browser_context_args)
            left_page.append(page)
    assert not complaints


@contextmanager
def watched(page: Page, origins: list[str], complaints: list[str]) -> Iterator[None]:
    """Notes what a page complains about: console errors, uncaught ones, requests to another origin."""

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(message.text)

    def on_error(error: Error) -> None:
        complaints.append(str(error))

    def on_request(request: Request) -> None:
        if not request.url.startswith(tuple(origins)):
            complaints.append(request.url)

    page.on("console", on_console)
    page.on("pageerror", on_error)
    page.on("request", on_request)
    yield
    page.remove_listener("console", on_console)
    page.remove_listener("pageerror", on_error)
    page.remove_listener("request", on_request)


def new_page(browser: Browser, context_args: dict[str, Any]) -> Page:
    context = browser.new_context(**context_args)
    # Asked for by the browser, not by the page, whenever it likes.
    context.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    return context.new_page()


def clean(page: Page, context_args: dict[str, Any]) -> None:
    """Takes back whatever a test may have done to its page."""
    page.unroute_all(behavior="ignoreErrors")
    if page.url.startswith("http"):
        page.evaluate("localStorage.clear()")
    page.mouse.move(0, 0)
    page.goto("about:blank")
    page.set_viewport_size(context_args["viewport"])
    page.emulate_media(color_scheme=context_args["color_scheme"], reduced_motion="null")


@pytest.fixture
def xi(page: Page, tensorboard: str) -> Xi:
    return Xi(page, tensorboard)


@pytest.fixture(scope="session")
def case_study() -> str:
    return session_named("synthetic_case_study")


@pytest.fixture(scope="session")
def baseline() -> str:
    return session_named("torch_xla_baseline")
