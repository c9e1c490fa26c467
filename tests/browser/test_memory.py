"""The section Memory of the Device view: what fills the memory of a device at the peak of a program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.conftest import serving
from browser.driver import Xi, plain_spaces
from browser.tables import column
from browser.test_access import faults_in_both_themes
from playwright.sync_api import Page, expect

ROOT = "jit(train_step)"


@pytest.fixture(scope="module")
def tensorboard(shared_traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A synthetic TPU with exact truth, a CPU without heap traces, and a TPU with several programs."""
    logdir = tmp_path_factory.mktemp("captures")
    for name in ("engines/hbm_peak", "other/jax0.9.2_block", "public/tpu_v6e_jax", "engines/between"):
        (logdir / name.rpartition("/")[2]).symlink_to(shared_traces / name)
    with serving(logdir) as address:
        yield address


@pytest.fixture
def xi(page: Page, tensorboard: str) -> Xi:
    return Xi(page, tensorboard)


def open_memory(xi: Xi, shared_traces: Path, name: str, wait: bool = True, **state: str) -> None:
    (folder,) = shared_traces.glob(f"*/{name}/plugins/profile/*")
    xi.open(f"{name}/{folder.name}", wait, v="device", ds="memory", **state)


def area_of(page: Page, key: str) -> float:
    """The area of an annotation in the picture, as a share of the whole."""
    boxes = [area.bounding_box() for area in page.locator(f'.treemap > [data-key="{key}"]').all()]
    whole = page.get_by_test_id("memory-treemap").bounding_box()
    assert whole is not None
    return sum(box["width"] * box["height"] for box in boxes if box) / (whole["width"] * whole["height"])


def test_the_peak_has_its_parts(xi: Xi, shared_traces: Path) -> None:
    open_memory(xi, shared_traces, "hbm_peak")
    assert plain_spaces(xi.text("memory-answer")).startswith(
        "Memory is not the limit: at the peak of jit_train_step, 520.5 MB of 33.6 GB are in use, most of it for loss."
    )
    peak = plain_spaces(xi.text("memory-peak"))
    for text in (
        "516.3 MB",
        "parameters 200.7 MB",
        "activations 183.5 MB",
        "gradients 132.1 MB",
        "padding 1.8 MB",
    ):
        assert text in peak
    assert "4.2 MB of others" in peak
    assert "1.6 % in use" in peak


def test_the_table_adds_up_to_the_peak(xi: Xi, shared_traces: Path) -> None:
    open_memory(xi, shared_traces, "hbm_peak")
    table = xi.page.get_by_test_id("memory-table")
    sums = [int("".join(filter(str.isdigit, text))) for text in table.locator("tbody tr").evaluate_all(
        "rows => rows.filter((row) => row.querySelector('span').style.paddingLeft === '0px')"
        ".map((row) => row.children[4].title)"
    )]  # fmt: skip
    assert sum(sums) == 516_292_608
    assert [plain_spaces(text) for text in table.locator("tfoot td").all_inner_texts()][:5] == [
        "Peak", "200.7 MB", "183.5 MB", "132.1 MB", "516.3 MB",
    ]  # fmt: skip


def test_the_picture_has_the_tables_numbers(xi: Xi, shared_traces: Path) -> None:
    open_memory(xi, shared_traces, "hbm_peak")
    assert area_of(xi.page, f"{ROOT}/loss/logits") == pytest.approx(
        (66_060_288 + 132_120_576) / 516_292_608, 0.02
    )
    assert area_of(xi.page, f"{ROOT}/embedding") == pytest.approx(
        (33_554_432 + 16_777_216) / 516_292_608, 0.02
    )


def test_a_click_into_the_picture_selects_the_row(xi: Xi, shared_traces: Path) -> None:
    open_memory(xi, shared_traces, "hbm_peak")
    key = f"{ROOT}/loss/logits"
    xi.page.locator(f'.treemap > [data-key="{key}"]').first.click()
    row = xi.page.get_by_test_id("memory-table").locator(f'tr[data-key="{key}"]')
    expect(row).to_have_attribute("aria-selected", "true")
    assert xi.link()["an"] == key
    row.click()
    expect(row).to_have_attribute("aria-selected", "false")


def test_an_annotation_leads_to_its_ops(xi: Xi, shared_traces: Path) -> None:
    open_memory(xi, shared_traces, "hbm_peak")
    xi.page.get_by_role("button", name="embedding").click()
    expect(xi.page.get_by_test_id("section-work")).to_have_attribute("aria-pressed", "true")
    selected = xi.page.get_by_test_id("device-tree").locator("tr[aria-selected=true]")
    expect(selected).to_have_attribute("data-key", f"{ROOT}/embedding")


def test_the_switch_and_its_key_keep_the_focus_and_the_link(xi: Xi, shared_traces: Path) -> None:
    open_memory(xi, shared_traces, "hbm_peak")
    xi.page.get_by_test_id("section-work").focus()
    xi.page.keyboard.press("Enter")
    xi.ready()
    expect(xi.page.get_by_test_id("device-verdict")).to_be_visible()
    expect(xi.page.get_by_test_id("section-work")).to_be_focused()
    xi.page.keyboard.press("t")
    xi.page.wait_for_selector("main[data-state=empty]")  # Engines
    xi.page.keyboard.press("t")
    xi.ready()
    expect(xi.page.get_by_test_id("memory-peak")).to_be_visible()
    assert xi.link()["ds"] == "memory"
    for _ in range(2):
        xi.page.go_back()
    expect(xi.page.get_by_test_id("device-verdict")).to_be_visible()


def test_another_program(xi: Xi, shared_traces: Path) -> None:
    open_memory(xi, shared_traces, "tpu_v6e_jax")
    programs = xi.page.get_by_test_id("memory-programs")
    assert column(programs, "Program").all_inner_texts()[:2] == ["jit_f", "jit__psum"]
    programs.locator("tbody tr").nth(1).click()
    xi.idle()
    assert "jit__psum" in xi.text("memory-answer")
    assert xi.link()["pg"] == "jit__psum"
    expect(xi.page.get_by_test_id("memory-program")).to_have_value("jit__psum")


def test_without_a_heap_trace_the_bounds_are_shown(xi: Xi, shared_traces: Path) -> None:
    open_memory(xi, shared_traces, "jax0.9.2_block")
    assert "needs between 9.4 MB and 12.6 MB" in plain_spaces(xi.text("memory-answer"))
    assert "at most 12.6 MB" in plain_spaces(xi.text("memory-peak"))
    expect(xi.page.get_by_test_id("memory-treemap")).to_have_count(0)


def test_without_programs_the_section_says_so(xi: Xi, shared_traces: Path) -> None:
    open_memory(xi, shared_traces, "between", wait=False)
    xi.page.wait_for_selector("main[data-state=empty]")
    expect(xi.page.get_by_text("no program whose buffers it describes")).to_be_visible()
    expect(xi.page.get_by_test_id("device-sections")).to_be_visible()


def test_the_section_is_accessible_in_both_themes(xi: Xi, shared_traces: Path, axe: str) -> None:
    open_memory(xi, shared_traces, "hbm_peak")
    assert faults_in_both_themes(xi, axe) == []
