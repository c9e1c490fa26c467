"""What only captures show that are not among the demo logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.conftest import serving
from playwright.sync_api import Page, expect


@pytest.fixture
def tensorboard(shared_traces: Path, tmp_path: Path) -> Iterator[str]:
    (tmp_path / "run").symlink_to(shared_traces / "torch_xla/tiny_dynamic")
    with serving(tmp_path) as address:
        yield address


def test_a_compilation_names_its_kin(page: Page, tensorboard: str) -> None:
    page.goto(
        f"{tensorboard}/data/plugin_entry.html?name=xla_insights#xla_insights&p.xla_insights.v=compiles"
    )
    kin = page.get_by_test_id("compile-kin").get_by_role("listitem")
    expect(kin).to_have_count(2, timeout=30_000)
