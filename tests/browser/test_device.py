"""The Device view: what the device is busy with, and how efficiently."""

from __future__ import annotations

import itertools
import math

import pytest
from browser.conftest import session_named
from browser.driver import Xi
from browser.tables import column, ps
from playwright.sync_api import Route, expect

MS = 10**9
STEP = "Training_Step"
ATTENTION = f"{STEP}/layers/attention"


@pytest.fixture(scope="module")
def demo() -> str:
    return session_named("synthetic_transformer")


def own_times(xi: Xi) -> dict[str, float]:
    """Printed times of the tree's leaves, by their keys."""
    rows = xi.page.get_by_test_id("device-tree").locator("tbody tr:not([aria-expanded])").all()
    return {str(row.get_attribute("data-key")): float(row.locator("td").nth(1).inner_text()) for row in rows}


def ops_listed(xi: Xi) -> list[str]:
    return column(xi.page.get_by_test_id("op-table"), "Op").all_inner_texts()


def point(xi: Xi, op: str) -> tuple[float, float]:
    """The centre of an op's dot, in pixels of the window."""
    box = xi.page.get_by_test_id("roofline").bounding_box()
    assert box is not None
    dot = next(dot for dot in xi.drawn("dots") if dot["id"] == op)
    return box["x"] + dot["x"], box["y"] + dot["y"]


def check_the_verdict_and_the_figures(xi: Xi, demo: str) -> None:
    xi.follow(demo, v="device")
    assert xi.text("device-verdict") == (
        "attention takes 38.0 % of the step’s op time at 16.8 % of peak FLOP/s and 48.1 % of HBM bandwidth: "
        "bound by memory. fusion.1042 alone is 11.620 ms, at 56.0 % of HBM bandwidth."
    )
    assert ps(xi.page.get_by_test_id("kpi-work").locator("dd")) == [84_300_000_000]
    figures = [xi.text(f"kpi-{name}").split(" %")[0] for name in ("mfu", "hbm", "counted")]
    assert figures == ["32.1", "49.7", "92.1"]
    assert "918.0 TFLOP/s and 1 638 GB/s, from the capture" in xi.text("device-peaks")
    expect(xi.page.get_by_test_id("device-pick")).to_have_value("0.0")
    expect(xi.page.get_by_test_id("device-step")).to_have_value("1202")


def check_the_tree_adds_up(xi: Xi, demo: str) -> None:
    xi.follow(demo, v="device")
    from synthetic import transformer

    true_times = {path or "/": time / MS for path, time in transformer.truth().own_ps.items()}
    assert own_times(xi) == true_times
    assert ps(xi.page.get_by_test_id("device-sum").locator("td").nth(1)) == [84_300_000_000]
    assert math.isclose(sum(true_times.values()), 84.3)
    tree = xi.page.get_by_test_id("device-tree")
    tree.locator(f"[data-key='{STEP}/layers'] .twist").click()
    expect(tree.locator(f"[data-key='{ATTENTION}']")).to_have_count(0)
    tree.locator(f"[data-key='{STEP}/layers']").press("ArrowRight")
    expect(tree.locator(f"[data-key='{ATTENTION}'] td").last).to_have_text("memory")
    assert "custom-call.12 has no FLOP count (1.744 ms, 2.1 %)" in xi.text("device-unknown")
    xi.page.get_by_test_id("device-advice").click()
    assert "cost_estimate" in xi.text("device-unknown")


def check_each_op_with_flops_and_bytes_has_a_dot_and_labels_do_not_overlap(xi: Xi, demo: str) -> None:
    xi.follow(demo, v="device")
    ops = xi.document("device", demo)["ops"]
    drawable = [
        name for name, flops, size in zip(ops["op"], ops["flops"], ops["hbm_bytes"], strict=True) if flops and size
    ]  # fmt: skip
    dots = xi.drawn("dots")
    assert [dot["id"] for dot in dots] == drawable
    largest, smaller = dots[0], next(dot for dot in dots if dot["id"] == "dot.417")
    assert math.isclose((largest["r"] / smaller["r"]) ** 2, 14_900 / 8_100, rel_tol=1e-3)
    labels = xi.drawn("labels")
    assert {label["id"] for label in labels} == {*drawable[:7]}
    for a, b in itertools.combinations(labels, 2):
        side_by_side = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
        assert side_by_side or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"]
    axes = xi.drawn("axes")
    assert axes["x"] == [-1, 4]
    assert axes["y"][0] == -1


def test_what_a_step_is_busy_with(xi: Xi, demo: str) -> None:
    check_the_verdict_and_the_figures(xi, demo)
    check_the_tree_adds_up(xi, demo)
    check_each_op_with_flops_and_bytes_has_a_dot_and_labels_do_not_overlap(xi, demo)


def check_the_pointer_on_a_dot_highlights_and_selects_its_row(xi: Xi, demo: str) -> None:
    xi.follow(demo, v="device")
    page = xi.page
    page.mouse.move(*point(xi, "dot.310"))
    expect(page.locator("tr.highlighted td").first).to_have_text("dot.310")
    page.mouse.click(*point(xi, "dot.310"))
    xi.idle()
    assert xi.link()["op"] == "dot.310"
    assert xi.drawn("chosen") == "dot.310"
    expect(page.locator("tr[aria-selected=true][data-testid=op-row] td").first).to_have_text("dot.310")


def check_keys_move_between_dots_and_open_the_timeline(xi: Xi, demo: str) -> None:
    xi.follow(demo, v="device")
    xi.page.get_by_test_id("roofline").focus()
    for key, op in (("ArrowRight", "dot.417"), ("ArrowLeft", "fusion.1042"), ("Home", "dot.411")):
        xi.press(key)
        assert xi.drawn("chosen") == op
    xi.press("l")
    assert len(xi.drawn("labels")) > 7
    xi.press("Enter")
    xi.ready()
    assert xi.link()["v"] == "timeline"
    assert xi.drawn("selection")["name"] == "dot.411"


def check_escape_keeps_the_focus_in_the_picture(xi: Xi, demo: str) -> None:
    xi.follow(demo, v="device")
    roofline = xi.page.get_by_test_id("roofline")
    roofline.focus()
    xi.press("ArrowRight")
    assert "op" in xi.link()
    xi.press("Escape")
    assert "op" not in xi.link()
    expect(roofline).to_be_focused()


def test_dots_by_pointer_and_keys(xi: Xi, demo: str) -> None:
    check_the_pointer_on_a_dot_highlights_and_selects_its_row(xi, demo)
    check_escape_keeps_the_focus_in_the_picture(xi, demo)
    check_keys_move_between_dots_and_open_the_timeline(xi, demo)


def check_an_annotation_filters_ops_and_picture(xi: Xi, demo: str) -> None:
    xi.follow(demo, v="device")
    xi.page.locator(f"[data-key='{ATTENTION}'] td").first.click()
    xi.idle()
    assert xi.link()["an"] == ATTENTION
    listed = ops_listed(xi)
    assert listed[:2] == ["fusion.1042", "dot.310"]
    assert len(listed) == 8
    passing = {dot["id"] for dot in xi.drawn("dots") if not dot["faint"]}
    assert passing == {"dot.902", "dot.310", "fusion.1042", "dot.318", "fusion.1051", "fusion.1060"}
    foot = xi.page.get_by_test_id("op-table").locator("tfoot")
    expect(foot).to_contain_text("8 of 22")
    expect(foot).to_contain_text("32.034")
    xi.page.get_by_test_id("roofline").focus()
    xi.press("Escape")
    assert "an" not in xi.link()
    assert not any(dot["faint"] for dot in xi.drawn("dots"))


def check_ops_are_found_by_file_and_bound(xi: Xi, demo: str) -> None:
    xi.follow(demo, v="device")
    xi.press("/")
    xi.page.keyboard.type("adamw")
    xi.idle()
    assert ops_listed(xi) == ["fusion.5001"]
    xi.press("Escape")
    xi.page.get_by_test_id("filter-bound").select_option("link")
    xi.idle()
    assert ops_listed(xi) == ["all-reduce.77"]
    assert xi.link()["f"] == "bound:link"


def check_the_rest_is_one_row_that_opens(xi: Xi, demo: str) -> None:
    xi.follow(demo, v="device")
    table = xi.page.get_by_test_id("op-table")
    assert len(ops_listed(xi)) == 12
    rest = xi.page.get_by_test_id("op-rest")
    expect(rest).to_contain_text("10 more")
    listed = ps(column(table, "Own time"))
    assert sum(listed) + ps(rest.locator("[data-ps]"))[0] == 84_300_000_000
    xi.page.get_by_test_id("op-more").click()
    xi.idle()
    assert len(ops_listed(xi)) == 22
    assert sum(ps(column(table, "Own time"))) == 84_300_000_000


def test_ops_that_the_first_answer_omits_are_requested(xi: Xi, case_study: str) -> None:
    xi.open(case_study, v="device", dd="0.0", st="all")
    whole = xi.document("device", case_study, cores="0.0", steps="all", whole="1")
    first = xi.document("device", case_study, cores="0.0", steps="all")
    assert len(first["ops"]["op"]) < len(whole["ops"]["op"])
    rest = xi.page.get_by_test_id("op-rest")
    expect(rest).to_contain_text(f"{len(whole['ops']['op']) - 12} more")
    times = [
        *ps(column(xi.page.get_by_test_id("op-table"), "Own time")),
        *ps(rest.locator("[data-ps]")),
    ]
    assert sum(times) == whole["total"]["self_ps"]
    last = whole["ops"]["op"][-1]
    assert last not in first["ops"]["op"]
    xi.press("/")
    xi.page.keyboard.type(last)
    xi.idle()
    assert last in ops_listed(xi)
    xi.open(case_study, v="device", dd="0.0", st="all", f=f"op:{last}")
    xi.idle()
    assert last in ops_listed(xi)


def check_other_devices_steps_and_categories(xi: Xi, demo: str) -> None:
    xi.follow(demo, v="device")
    page = xi.page
    xi.press("Shift+Period")
    expect(page.get_by_test_id("device-pick")).to_have_value("0.1")
    page.get_by_test_id("device-pick").select_option("all")
    xi.idle()
    page.get_by_test_id("device-step").select_option("mean")
    xi.idle()
    assert {key: xi.link()[key] for key in ("dd", "st")} == {"dd": "all", "st": "mean"}
    mean = xi.document("device", demo, cores="all", steps="mean")
    assert mean["core_steps"] == 12
    assert ps(page.get_by_test_id("kpi-work").locator("dd")) == [round(mean["total"]["self_ps"] / 12)]
    assert xi.text("kpi-work") == "84.3 msop time, mean of 6 steps, per core"
    page.get_by_test_id("device-category").select_option("loop fusion")
    xi.idle()
    assert {op.split(".")[0] for op in ops_listed(xi)} == {"fusion"}
    assert xi.link()["f"] == "cat:loop fusion"


def test_choosing_ops_devices_and_steps(xi: Xi, demo: str) -> None:
    check_the_rest_is_one_row_that_opens(xi, demo)
    check_an_annotation_filters_ops_and_picture(xi, demo)
    check_ops_are_found_by_file_and_bound(xi, demo)
    check_other_devices_steps_and_categories(xi, demo)


def test_a_mean_of_one_step_is_the_chosen_one(xi: Xi) -> None:
    xi.open(session_named("synthetic_dynamo_issue_lazy"), v="device", st="mean")
    expect(xi.page.get_by_test_id("device-step")).to_have_value("mean")
    expect(xi.page.get_by_test_id("kpi-work")).to_contain_text("mean of 1")


def check_the_user_sets_the_peaks(xi: Xi, demo: str) -> None:
    xi.follow(demo, v="device")
    page = xi.page
    page.get_by_test_id("peaks-change").click()
    expect(page.get_by_test_id("peak-flops")).to_have_value("918")
    page.get_by_test_id("peak-flops").fill("459")
    page.get_by_test_id("peak-flops").press("Enter")
    xi.idle()
    assert xi.link()["pk"] == "459e12,1638e9"
    assert "459.0 TFLOP/s and 1 638 GB/s, set by you" in xi.text("device-peaks")
    assert xi.text("kpi-mfu").startswith("64.2 %")
    page.get_by_test_id("peaks-change").click()
    page.get_by_test_id("peaks-own").click()
    xi.idle()
    assert "pk" not in xi.link()
    assert xi.text("kpi-mfu").startswith("32.1 %")


def check_a_row_leads_to_its_source_and_its_longest_run(xi: Xi, demo: str) -> None:
    xi.follow(demo, v="device")
    row = xi.page.get_by_test_id("op-row").filter(has_text="fusion.1042")
    row.get_by_test_id("op-source").click()
    copied = xi.page.evaluate("navigator.clipboard.readText()")
    assert copied == "/opt/demo/model/attention.py:88"
    row.get_by_test_id("op-show").click()
    xi.ready()
    selected = xi.drawn("selection")
    assert (selected["name"], xi.link()["op"]) == ("fusion.1042", "fusion.1042")
    xi.page.go_back()
    xi.ready()
    assert xi.link()["v"] == "device"


def check_a_finding_leads_to_its_annotation_and_op(xi: Xi, demo: str) -> None:
    xi.follow(demo, v="overview")
    work = xi.page.get_by_test_id("needed-table").locator("tbody tr").first.locator("td")
    expect(work.first).to_have_text("Training_Step/layers/attention")
    expect(xi.page.get_by_test_id("duty-one")).to_contain_text("2 cores agree")
    xi.page.get_by_test_id("finding-below_roofline").get_by_test_id("finding-show").click()
    xi.ready()
    expected = {"v": "device", "dd": "all", "st": "mean", "an": ATTENTION, "op": "fusion.1042"}
    assert {name: xi.link()[name] for name in expected} == expected
    selected = xi.page.locator("[data-testid=view-device] tr[aria-selected=true]")
    assert [row.get_attribute("data-testid") for row in selected.all()] == [
        f"device-ann-{ATTENTION}",
        "op-row",
    ]


def test_peaks_and_a_row_s_links(xi: Xi, demo: str) -> None:
    check_the_user_sets_the_peaks(xi, demo)
    check_a_row_leads_to_its_source_and_its_longest_run(xi, demo)
    check_a_finding_leads_to_its_annotation_and_op(xi, demo)


def test_without_flops_only_times_are_shown(xi: Xi) -> None:
    xi.open(session_named("synthetic_pod"), v="device", dd="all", st="mean")
    assert xi.text("roofline-none") == "The capture has no FLOP or byte counts."
    heads = xi.page.get_by_test_id("device-tree").locator("thead th").all_inner_texts()
    assert heads == ["Annotation", "Time, ms", "Share"]
    assert xi.text("device-hosts").startswith("Covers 2 of 16 hosts")
    assert xi.text("kpi-mfu").startswith("–")
    xi.page.get_by_test_id("device-step").select_option("all")
    xi.idle()
    expect(xi.page.get_by_test_id("device-hosts")).to_have_count(0)
    # The times of ops are unknown if their host is not in memory: the timeline searches.
    xi.page.get_by_test_id("op-show").first.click()
    xi.ready()
    assert xi.link()["q"] == "name:all-reduce.1"  # not all-reduce.10


def test_states_without_peaks_or_devices(xi: Xi, demo: str) -> None:
    page = xi.page

    def without_peaks(route: Route) -> None:
        answer = route.fetch().json()
        answer["peaks"] |= {"flops_per_s": None, "bytes_per_s": None, "source": None}
        answer["missing_peaks"] = "the peaks of this device are not known"
        route.fulfill(json=answer)

    def without_devices(route: Route) -> None:
        answer = route.fetch().json()
        route.fulfill(json=answer | {"devices": {name: [] for name in answer["devices"]}})

    page.route("**/data/device?**", without_peaks)
    xi.open(demo, v="device")
    expect(page.get_by_test_id("set-peaks")).to_be_visible()
    assert len(xi.drawn("dots")) > 10
    page.unroute("**/data/device?**")

    page.route("**/data/session?**", without_devices)
    xi.open(demo, wait=False, v="device")
    page.wait_for_selector("main[data-state=empty]")
    expect(page.locator("main")).to_contain_text("needs a device plane")
    page.unroute("**/data/session?**")
