"""The overview over the demo logs: its figures and findings, and where its links lead."""

from __future__ import annotations

import re
from typing import Any

import pytest
from browser.conftest import ROOT, session_named
from browser.driver import Xi, line_count
from browser.tables import column, ps
from playwright.sync_api import Locator, Page, expect

from tb_xla_insights import load
from tb_xla_insights.text.units import time_text


def test_the_parts_of_a_step_and_the_idle_time_by_cause_add_up(xi: Xi, page: Page, case_study: str) -> None:
    step_idle: Any = load(str(ROOT / "demo_logs" / case_study.split("/")[0])).report()["step_idle"]
    xi.open(case_study, v="overview")
    expect(page.get_by_test_id("verdict")).to_contain_text(" of the time; ")
    parts = page.get_by_test_id("one-step-sum")
    tenths = [round(float(text.rpartition(" ")[2]) * 10) for text in parts.locator("span").all_inner_texts()]
    step = re.fullmatch(r"= a usual step ([\d.]+)\u202fms", parts.locator("b").inner_text())
    assert step
    assert sum(tenths) == round(float(step[1]) * 10)
    assert page.get_by_test_id("ladder-now").locator("> b").inner_text() == f"{step[1]}\u202fms"
    idle = page.get_by_test_id("idle-table")
    per_core_ps, all_cores_ps = ps(idle.locator("tfoot [data-ps]"))
    assert abs(per_core_ps - step_idle["idle_ps"]) <= 1
    assert all_cores_ps == step_idle["all_cores"]["idle_ps"] == sum(ps(column(idle, "All cores")))
    printed = column(idle, "Idle").all_text_contents()
    thousandths = [round(float(re.sub(r"\s", "", text)) * 1000) for text in printed]
    foot = re.sub(r"\s", "", idle.locator("tfoot [data-ps]").first.inner_text())
    assert sum(thousandths) == round(float(foot) * 1000)
    head = (
        page.get_by_test_id("idle-table").get_by_role("columnheader", name="All cores").text_content() or ""
    )
    unit = head.removeprefix("All cores, ")
    time = rf"[\d .]+ {unit}"
    sentence = (
        rf"All cores: {time} between first and last run, which Gaps lists, and {time} before or after\."
    )
    assert re.fullmatch(sentence, xi.text("idle-edges"))


MAX_VERDICT_LINES = 5
"""On a page of 1,000 pixels."""


@pytest.mark.parametrize("run", sorted(path.parent.name for path in (ROOT / "demo_logs").glob("*/plugins")))
def test_the_verdict_has_few_lines(xi: Xi, page: Page, run: str) -> None:
    """The headline beside the details on a wide page, above them on a narrow one."""
    xi.open(session_named(run), v="overview")
    for width, height in ((1440, 900), (1000, 700)):
        page.set_viewport_size({"width": width, "height": height})
        xi.idle()
        texts = page.locator("[data-testid=verdict] :is(.headline, .details)").all()
        assert sum(map(line_count, texts)) <= MAX_VERDICT_LINES, width
        boxes = [box(text) for text in texts]
        if width == 1440 and len(boxes) > 1:
            assert boxes[0]["right"] < boxes[1]["x"]
        assert all(place["right"] <= width for place in boxes)


def test_idle_time_covers_the_chosen_devices(xi: Xi, page: Page, case_study: str) -> None:
    devices = load(str(ROOT / "demo_logs" / case_study.split("/")[0])).report()["step_idle"]["devices"]
    xi.open(case_study, v="overview")
    idle = page.get_by_test_id("idle-table")
    page.get_by_test_id("device-select").click()
    page.get_by_label("TPU:0").uncheck()
    _, all_cores_ps = ps(idle.locator("tfoot [data-ps]"))
    assert (
        all_cores_ps == sum(ps(column(idle, "All cores"))) == sum(device["idle_ps"] for device in devices[1:])
    )


def test_a_class_that_causes_no_gap_has_no_link_in_table_and_bar(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="overview")
    bar, table = page.get_by_test_id("idle-bar"), page.get_by_test_id("idle-table")
    assert table.get_by_role("row", name="dispatch").get_by_role("button").count() == 0
    bar.get_by_title("dispatch").click()
    assert xi.link().get("v") == "overview"
    assert table.get_by_role("row", name="IR tracing").get_by_role("button").count() == 1
    bar.get_by_title("IR tracing").click()
    assert {name: xi.link()[name] for name in ("v", "f")} == {"v": "gaps", "f": "cause:tracing"}


def test_a_device_alone_has_its_duty_cycle_without_a_card_for_it(xi: Xi, page: Page) -> None:
    xi.open(session_named("synthetic_dynamo_issue_lazy"), v="overview")
    expect(page.get_by_test_id("duty-one")).to_contain_text("100.0\u202f%")
    expect(page.get_by_test_id("duty-card")).to_have_count(0)
    expect(page.get_by_test_id("idle-table")).to_contain_text("21.168")


def test_devices_that_agree_share_a_line(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="overview")
    expect(page.get_by_test_id("duty-one")).to_contain_text(
        re.compile(r"^8\s+cores agree: each is busy60\.5\s%of its span$")
    )


def test_input_and_transfers_match_the_report(xi: Xi, page: Page) -> None:
    session = session_named("torch_xla_slow_input")
    report = load(str(ROOT / "demo_logs" / session.split("/")[0])).report()
    xi.open(session, v="overview")
    expect(page.get_by_test_id("input-verdict")).to_have_text(
        f"Devices wait for data: {time_text(report['input_pipeline']['idle_ps'])} of idle time on all cores "
        "(73.7\u202f% of their spans) is spent waiting for data. Loading 6 batches, or waiting for a loader, takes the "
        "driving thread 246.976\u202fms, 41.163\u202fms each. "
        "Idle time by cause includes all idle time of whole steps, starved or not."
    )
    pipeline, table = report["input_pipeline"], page.get_by_test_id("input-table")
    assert ps(column(table, "Time")) == [
        pipeline[key] for key in ("wait_ps", "idle_ps", "load_ps", "send_ps")
    ]
    expect(column(table, "While")).to_have_text(["–", "–", "1.4\u202f%", "0.0\u202f%"])
    table = page.get_by_test_id("transfers-table")
    assert ps(column(table, "Time")) == [report["transfers"]["to_device"]["duration_ps"]]
    expect(column(table, "Count")).to_have_text(["12"])


def test_loading_that_does_not_delay_devices_is_reported_too(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="overview")
    expect(page.get_by_test_id("input-verdict")).to_contain_text("Loading does not hold devices up")
    table = page.get_by_test_id("transfers-table")
    expect(column(table, "Direction")).to_have_text(["to device", "from device"])
    expect(column(table, "Size").first).to_have_text("3.6\u202fGB")
    expect(page.get_by_test_id("collectives-table").locator("tbody tr")).to_have_count(3)
    expect(page.get_by_test_id("stalls-table")).to_have_count(0)
    for name in ("Input", "Transfers", "Collectives"):
        box, steps = (
            page.get_by_role("region", name=heading).bounding_box() for heading in (name, "Step time")
        )
        assert box is not None
        assert steps is not None
        assert box["y"] >= steps["y"] + steps["height"]


def test_a_step_is_selected_by_key_and_shown_by_a_click(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="overview")
    steps = page.get_by_test_id("steps-chart").get_by_role("option")
    expect(steps).to_have_count(10)
    steps.nth(2).press(" ")
    assert xi.link()["st"] == "1206"
    expect(page.locator("b", has_text="Step 1206")).to_be_visible()
    xi.press(".")
    assert xi.link()["st"] == "1207"
    expect(steps.nth(3)).to_have_attribute("aria-selected", "true")
    steps.nth(4).click()
    page.wait_for_selector("[data-testid=view-timeline]")
    assert xi.link()["st"] == "1208"
    assert xi.drawn("selection")["kind"] == "window"


def test_arrows_move_between_steps(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="overview")
    steps = page.get_by_test_id("steps-chart").get_by_role("option")
    steps.first.focus()
    page.keyboard.press("ArrowRight")
    expect(steps.nth(1)).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(steps.first).to_be_focused()
    page.keyboard.press("Space")
    expect(steps.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-testid=view-timeline]")


def test_the_steps_can_be_read_as_a_table(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="overview")
    chart = page.get_by_test_id("steps-chart").get_by_role("option")
    drawn = ps(chart)
    page.get_by_role("button", name="Table").click()
    table = page.get_by_test_id("steps-table")
    assert ps(column(table, "Time")) == drawn
    expect(column(table, "Step").first).to_have_text("1204")


def test_a_finding_leads_to_its_gap(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="overview")
    finding = page.get_by_test_id("finding-recompilation")
    expect(finding).to_contain_text("1209")
    finding.get_by_test_id("finding-show").click()
    page.wait_for_selector("[data-testid=view-timeline]")
    window, selection = xi.drawn("window"), xi.drawn("selection")
    assert selection["kind"] == "gap"
    assert window["start_ps"] <= selection["start_ps"] < selection["end_ps"] <= window["end_ps"]
    expect(page.get_by_test_id("gap-sentence")).to_contain_text(
        "SyncTensorsGraph.42210 is compiled in step 1209. Nothing"
    )
    line = page.get_by_test_id("gap-finding")
    expect(line).to_contain_text("Do: ")
    line.get_by_test_id("gap-finding-link").click()
    expect(finding).to_have_attribute("aria-current", "true")


def test_a_finding_s_gaps_are_stepped_through(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="overview")
    finding = page.get_by_test_id("finding-tracing_bound")
    finding.get_by_test_id("finding-show").click()
    line = page.get_by_test_id("gap-finding")
    expect(line).to_contain_text("1 of 9 gaps of the finding")
    line.get_by_role("button", name="Next gap that the finding explains").click()
    expect(line).to_contain_text("2 of 9 gaps")
    line.get_by_test_id("gap-finding-all").click()
    expect(page.get_by_test_id("off-finding")).to_contain_text(
        "The device waits while the host builds the graph"
    )
    assert page.get_by_test_id("gap-list").locator("tbody tr").count() == 9
    page.get_by_test_id("gap-clear").click()
    expect(page.get_by_test_id("off-finding")).to_have_count(0)
    assert page.get_by_test_id("gap-list").locator("tbody tr").count() > 9


def test_findings_stand_in_groups_with_their_gain(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="overview")
    report = load(str(ROOT / "demo_logs" / case_study.split("/")[0])).report()
    listed = (
        page.get_by_test_id("findings")
        .locator("li")
        .evaluate_all("items => items.map(item => item.dataset.testid)")
    )
    assert listed == [f"finding-{finding['id']}" for finding in report["findings"]]
    fixes, limits = (page.get_by_test_id(f"finding-group-{name}") for name in ("fix", "pace"))
    expect(fixes).to_have_text("Fixwhat your code can avoidtogether at best: mean 290.8 → 221.4\u202fms")
    expect(limits).to_have_text("Pacewhat sets the pace; gains of each alone")
    gains = {
        "recompilation": "−318.4\u202fms once mean step 290.8 → 259.0\u202fms",
        "annotations_not_propagated": "no gain",
        "tracing_bound": "−30.3\u202f% of a step 242.7 → 169.3\u202fms",
        "device_waits": "no gain now: the host is slower",
    }
    for id_, gain in gains.items():
        expect(page.get_by_test_id(f"finding-{id_}").get_by_test_id("finding-gain")).to_have_text(gain)
    once = [row["id"] for row in report["findings"] if row["recurs"] == "once"]
    assert once == ["recompilation", "early_sync"]
    tagged = page.locator("[data-testid=findings] li:has(.once)")
    assert tagged.evaluate_all("items => items.map(item => item.dataset.testid)") == [
        f"finding-{id_}" for id_ in once
    ]
    row = report["findings"][0]
    finding = page.get_by_test_id(f"finding-{row['id']}")
    expect(finding.get_by_test_id("finding-do")).to_have_text(f"Do: {row['advice']}")
    expect(finding.locator("p").first).to_have_text(row["detail"])
    assert finding.get_by_role("button").all_text_contents() == ["Show in step 1212, 1 of 9"]


def box(element: Locator) -> dict[str, float]:
    box = element.bounding_box()
    assert box is not None
    x, y, width, height = box["x"], box["y"], box["width"], box["height"]
    return {"x": x, "y": y, "width": width, "height": height, "right": x + width, "bottom": y + height}


def test_the_cards_stand_side_by_side_where_they_fit(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="overview")
    names = ("One step", "Findings", "Idle time by cause", "Step time")
    for width in (1440, 1199, 1000, 899, 800):
        page.set_viewport_size({"width": width, "height": 700})
        xi.idle()
        cards = page.locator(".overview > :not(.data)")
        labels = cards.evaluate_all(
            "cards => cards.map(card => (card.ariaLabel ?? card.querySelector('section')?.ariaLabel))"
        )
        assert labels == ["Verdict", *names]
        one_step, findings, idle, steps = (box(page.get_by_role("region", name=name)) for name in names)
        if width >= 1200:
            assert findings["width"] == 556
            assert idle["right"] < findings["x"]
            assert one_step["bottom"] < idle["y"] == findings["y"]
            assert (one_step["x"], one_step["right"]) == (idle["x"], findings["right"])
            assert steps["right"] == idle["right"]
            assert idle["bottom"] < steps["y"]
        elif width >= 900:
            assert idle["width"] == 352
            assert findings["right"] < idle["x"]
            assert findings["y"] == idle["y"]
            assert steps["y"] > max(findings["bottom"], idle["bottom"])
            assert steps["right"] == idle["right"]
        else:
            assert findings["bottom"] < idle["y"] < idle["bottom"] < steps["y"]
            assert len({box["width"] for box in (one_step, findings, idle, steps)}) == 1
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_first_finding_is_whole_on_a_small_screen(xi: Xi, page: Page, baseline: str) -> None:
    """1000 x 700 with TensorBoard's bar of 64."""
    page.set_viewport_size({"width": 1000, "height": 636})
    for session in (baseline, session_named("torch_xla_early_item"), session_named("torch_xla_slow_input")):
        xi.open(session, v="overview")
        first = page.get_by_test_id("findings").locator("li").first
        assert box(first)["bottom"] <= 636


def test_a_narrow_card_has_the_gain_on_a_line_of_its_own(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline, v="overview")
    finding = page.get_by_test_id("finding-tracing_bound")
    title, gain = finding.get_by_role("heading"), finding.get_by_test_id("finding-gain")
    assert box(title)["y"] == box(gain)["y"]
    page.set_viewport_size({"width": 500, "height": 700})
    assert box(gain)["y"] >= box(title)["bottom"]
    assert box(gain)["x"] == box(title)["x"]


def test_a_lost_annotation_is_shown_in_propagation(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="propagation", st="1206")
    page.get_by_test_id("tab-overview").click()
    page.get_by_test_id("finding-annotations_not_propagated").get_by_test_id("finding-show").click()
    row = page.get_by_test_id("annotation-tree").locator("tbody tr[aria-selected=true]")
    expect(row).to_contain_text("backward")
    expect(row).to_contain_text("lost")
    assert xi.link()["st"] == "1213"
    expect(page.get_by_test_id("propagation-step")).to_have_value("1213")


def test_figures_that_cover_all_devices_say_so(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="overview")
    expect(page.get_by_test_id("verdict-note")).to_have_count(0)
    page.get_by_test_id("device-select").click()
    expect(page.get_by_text("The numbers beside the tabs cover the whole session.")).to_be_visible()
    page.get_by_label("TPU:0").uncheck()
    expect(page.get_by_test_id("verdict-note")).to_contain_text("all 8 cores")
