"""One TensorBoard over the demo logs for all browser tests, and a page that fails a test on any complaint."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import helpers
import pytest
from browser.driver import TIMEOUT_MS, Xi
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, expect

ROOT = Path(__file__).parents[2]
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--force-device-scale-factor=1",
    "--disable-background-networking",
]

expect.set_options(timeout=TIMEOUT_MS)


def session_named(prefix: str) -> str:
    """The session of the demo log whose folder has this prefix, as the page names it."""
    run = next(path for path in sorted((ROOT / "demo_logs").glob(f"{prefix}*")) if path.is_dir())
    return f"{run.name}/{next((run / 'plugins/profile').iterdir()).name}"


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of the accessibility checker axe-core, which runs within the page."""
    return (ROOT / "node_modules/axe-core/axe.min.js").read_text()


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Starts the system's Chromium, or the one at the path in `CHROMIUM`."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        pytest.skip("no Chromium here; set CHROMIUM to its path")
    return {**browser_type_launch_args, "executable_path": chromium, "args": CHROMIUM_ARGUMENTS}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {
        **browser_context_args,
        "viewport": {"width": 1440, "height": 900},
        "color_scheme": "light",
        "permissions": ["clipboard-read", "clipboard-write"],
    }


@pytest.fixture(scope="session", autouse=True)
def tests_use_the_packed_page(packed_page: None) -> None:
    """The tests use what users get."""


@contextmanager
def serving(logdir: Path | str, *flags: str) -> Iterator[str]:
    """Yields the address of a TensorBoard over a logdir, which is stopped at the end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(Path(__file__).with_name("serve.py")), str(logdir), *flags]
    with helpers.serving(command, stdin=subprocess.PIPE, env=environment) as address:
        yield address


SHARED_TENSORBOARD = pytest.StashKey[str]()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Gives the address of one TensorBoard to all of xdist's processes, so that each session is read once."""
    config: pytest.Config = node.config
    if SHARED_TENSORBOARD not in config.stash:
        servers = ExitStack()
        config.add_cleanup(servers.close)
        config.stash[SHARED_TENSORBOARD] = servers.enter_context(serving(ROOT / "demo_logs"))
    node.workerinput["tensorboard"] = config.stash[SHARED_TENSORBOARD]


@pytest.fixture(scope="session")
def tensorboard(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a TensorBoard over `demo_logs`, stopped after the last test."""
    shared = getattr(request.config, "workerinput", {}).get("tensorboard")
    with nullcontext(shared) if shared else serving(ROOT / "demo_logs") as address:
        yield address


@pytest.fixture
def complaints() -> list[str]:
    """The console errors, uncaught errors and foreign requests of a test's page. A test that provokes some removes them
    from the list."""
    return []


@pytest.fixture
def origins(tensorboard: str) -> list[str]:
    """The origins that a page may request. A test with its own server adds that server's."""
    return [tensorboard, "data:", "blob:", "about:"]


NOT_REUSABLE = pytest.StashKey[bool]()
"""Set for tests whose page no other test can use."""


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.excinfo:
        item.stash[NOT_REUSABLE] = True


@pytest.fixture
def fresh_page(request: pytest.FixtureRequest) -> None:
    """For tests that change a page in a way that cannot be undone, such as scripts that run before its own. Must be
    requested before `page`."""
    request.node.stash[NOT_REUSABLE] = True


@pytest.fixture(scope="session")
def reusable_pages(browser: Browser) -> Iterator[list[Page]]:
    """The page of the previous test, if it can be used again: a new one takes three processes and most of a test's
    time. It ends with its browser."""
    yield []
    for context in browser.contexts:
        context.close()


@pytest.fixture
def page(
    request: pytest.FixtureRequest,
    browser: Browser,
    browser_context_args: dict[str, Any],
    reusable_pages: list[Page],
    origins: list[str],
    complaints: list[str],
) -> Iterator[Page]:
    """A page without state, whose test fails on a console error, an uncaught error, or a request to another origin."""
    needs_new_page = request.node.stash.get(NOT_REUSABLE, False) or not reusable_pages
    page = new_page(browser, browser_context_args) if needs_new_page else reusable_pages.pop()

    with watch(page, origins, complaints):
        yield page
        if request.node.stash.get(NOT_REUSABLE, False):
            page.context.close()
        else:
            reset_page(page, browser_context_args)
            reusable_pages.append(page)
    assert not complaints


@contextmanager
def watch(page: Page, origins: list[str], complaints: list[str]) -> Iterator[None]:
    """Adds a page's console errors, uncaught errors, and requests to other origins to `complaints`."""

    def on_console(message: ConsoleMessage) -> None:
        # The browser itself requests an icon, at any time. A route that answers would turn off the cache.
        if message.type == "error" and not message.location["url"].endswith("/favicon.ico"):
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
    context.set_default_timeout(TIMEOUT_MS)
    return context.new_page()


def reset_page(page: Page, context_args: dict[str, Any]) -> None:
    """Undoes what a test may change on its page without `fresh_page`."""
    page.unroute_all(behavior="ignoreErrors")
    if page.url.startswith("http"):
        page.evaluate("localStorage.clear()")
    page.mouse.move(0, 0)
    page.goto("about:blank")
    page.set_viewport_size(context_args["viewport"])
    page.emulate_media(color_scheme=context_args["color_scheme"], reduced_motion="null", forced_colors="null")


@pytest.fixture
def xi(page: Page, tensorboard: str) -> Xi:
    return Xi(page, tensorboard)


@pytest.fixture(scope="session")
def case_study() -> str:
    return session_named("synthetic_case_study")


@pytest.fixture(scope="session")
def baseline() -> str:
    return session_named("torch_xla_baseline")
