"""Cases that only occur in real captures, which are not among the demo logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.conftest import serving
from browser.driver import Xi, line_count
from playwright.sync_api import Page, expect

LONGEST_VERDICTS = (
    "mi300_jax08_attention",
    "multihost_server_debug",
    "gpu_mi300_jax",
    "tiny_grad_accum_sync",
)


@pytest.fixture(scope="module")
def tensorboard(shared_traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    logdir = tmp_path_factory.mktemp("captures")
    for name in (
        "tiny_dynamic",
        "dynamic_server",
        "gpu_v100_tf",
        "tf_keras_slow",
        "reactant_2xnvidia",
        *LONGEST_VERDICTS,
    ):
        [folder] = shared_traces.glob(f"*/{name}")
        (logdir / name).symlink_to(folder)
    with serving(logdir) as address:
        yield address


def session_of(shared_traces: Path, run: str) -> str:
    return f"{run}/{next(shared_traces.glob(f'*/{run}/plugins/profile/*')).name}"


@pytest.mark.parametrize("run", LONGEST_VERDICTS)
def test_the_longest_verdicts_have_few_lines(
    page: Page, tensorboard: str, shared_traces: Path, run: str
) -> None:
    xi = Xi(page, tensorboard)
    xi.open(session_of(shared_traces, run), v="overview")
    for width, height in ((1440, 900), (1000, 700)):
        page.set_viewport_size({"width": width, "height": height})
        xi.idle()
        texts = page.locator("[data-testid=verdict] :is(.headline, .details)").all()
        assert 2 <= sum(map(line_count, texts)) <= 5


def test_compilations_are_grouped_by_graph(page: Page, tensorboard: str, shared_traces: Path) -> None:
    Xi(page, tensorboard).open(session_of(shared_traces, "tiny_dynamic"), v="compiles")
    graphs = page.get_by_test_id("compile-graphs").get_by_role("listitem")
    expect(graphs).to_have_count(2)


def test_a_compilation_that_the_capture_cuts_says_so(
    page: Page, tensorboard: str, shared_traces: Path
) -> None:
    """Four whole compilations of growing shapes, and an unfinished one."""
    Xi(page, tensorboard).open(session_of(shared_traces, "dynamic_server"), v="compiles")
    rows = page.get_by_test_id("compile-list").locator("tbody tr")
    expect(rows).to_have_count(5)
    last = rows.filter(has_text="after warm-up, unfinished")
    expect(last).to_have_count(1)
    expect(page.get_by_test_id("compile-diff")).to_contain_text("s64[8,35] became s64[8,36]")
    last.locator("td").nth(4).click()
    expect(page.locator(".why h2")).to_have_text("unknown graph: unfinished where the capture ends")
    expect(page.get_by_test_id("compile-diff")).to_contain_text("Capture from before it begins until it ends")
    cut = page.locator("[data-testid=compile-cell][aria-pressed=true]")
    expect(cut).to_have_text("978.5+")


def assert_fits(page: Page, table: str) -> None:
    """Asserts that a table does not scroll in its card."""
    scroller = page.locator(".scroll", has=page.get_by_test_id(table))
    assert scroller.evaluate("element => element.scrollWidth - element.clientWidth") == 0


def test_names_of_devices_with_their_hosts_fit_the_table_of_duty_cycles(
    page: Page, tensorboard: str, shared_traces: Path
) -> None:
    Xi(page, tensorboard).open(session_of(shared_traces, "multihost_server_debug"), v="overview")
    assert_fits(page, "duty-table")


def test_a_capture_of_gpus_without_steps_and_executions(
    page: Page, tensorboard: str, shared_traces: Path
) -> None:
    xi, session = Xi(page, tensorboard), session_of(shared_traces, "gpu_v100_tf")
    # Sums that are lower bounds.
    xi.open(session, v="overview")
    assert_fits(page, "transfers-table")
    # Device time outside of all steps is that of the capture.
    xi.follow(session, v="propagation")
    expect(page.get_by_test_id("propagation-times")).to_have_value("")
    expect(page.get_by_test_id("annotation-tree").locator("tfoot tr").last).to_contain_text("29.653")
    page.get_by_test_id("tab-executions").click()
    empty = page.locator(".card", has=page.get_by_role("heading", name="Executions"))
    expect(empty).to_contain_text("No execution in this capture.")
    expect(empty).to_contain_text("the GPUs' kernels name no programs")


def test_without_a_device_the_input_has_no_times_of_devices(
    page: Page, tensorboard: str, shared_traces: Path
) -> None:
    Xi(page, tensorboard).open(session_of(shared_traces, "tf_keras_slow"), v="overview")
    table = page.get_by_test_id("input-table")
    expect(table.locator("th")).to_have_text(["What", "Time, ms"])
    expect(table.locator("td:first-child")).to_have_text(
        ["Driving thread loads or waits", "Loading", "Sending"]
    )


def test_without_idle_time_the_devices_work_is_shown(
    page: Page, tensorboard: str, shared_traces: Path
) -> None:
    Xi(page, tensorboard).open(session_of(shared_traces, "reactant_2xnvidia"), v="overview")
    expect(page.get_by_role("region", name="Work by op")).to_be_visible()
