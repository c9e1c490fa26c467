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
from playwright.sync_api import Page

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


def session_named(prefix: str) -> str:
    """The session of a demo log whose folder begins so, as the page names it."""
    run = next(path for path in sorted((ROOT / "demo_logs").glob(f"{prefix}*")) if path.is_dir())
    return f"{run.name}/{next((run / 'plugins/profile').iterdir()).name}"


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
def page(page: Page, tensorboard: str, complaints: list[str]) -> Iterator[Page]:
    """A page whose test fails on a console error, an uncaught one, or a request to another origin."""
    # Asked for by the browser, not by the page.
    page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    own = (tensorboard, "data:", "blob:", "about:")
    page.on(
        "request", lambda request: None if request.url.startswith(own) else complaints.append(request.url)
    )
    yield page
    page.close()
    assert not complaints


@pytest.fixture
def xi(page: Page, tensorboard: str) -> Xi:
    return Xi(page, tensorboard)


@pytest.fixture(scope="session")
def case_study() -> str:
    return session_named("synthetic_case_study")


@pytest.fixture(scope="session")
def baseline() -> str:
    return session_named("torch_xla_baseline")
