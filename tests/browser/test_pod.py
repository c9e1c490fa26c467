"""A session of many hosts: which of them the timeline shows, a gap and its host, Overview, and while hosts are read."""

from __future__ import annotations

from typing import Any

import pytest
from browser.conftest import session_named
from browser.driver import Xi
from browser.hosts_page import open_picker
from browser.tables import column
from playwright.sync_api import Page, Route, expect

LATE, MEDIAN = "t1v-n-7f-w-5", "t1v-n-7f-w-3"
"""The late host of the demo, as its generator defines it, and the median host, with which the report compares it."""
GAP_PS = 21_762_835_000


@pytest.fixture(scope="module")
def pod() -> str:
    return session_named("synthetic_pod")


def heads(xi: Xi) -> list[tuple[str, str]]:
    """The name of each host, above its rows, and the text at the right of it."""
    return [(row["label"], row["right"]) for row in xi.drawn("rows") if row["row"].endswith(".steps")]


def rows_of_host(xi: Xi, host: int) -> list[dict[str, Any]]:
    """The rows below the steps of the host with this index."""
    rows: list[dict[str, Any]] = xi.drawn("rows")
    first = next(index for index, row in enumerate(rows) if row["row"] == f"h{host}.steps")
    rows_below = rows[first + 1 :]
    next_host = (index for index, row in enumerate(rows_below) if row["row"].endswith(".steps"))
    return rows_below[: next(next_host, len(rows_below))]


def select_gap(xi: Xi, device: str) -> None:
    """Opens the gap before the last step on a core of the late host by its link."""
    pod = session_named("synthetic_pod")
    gap = xi.document("gaps", pod)["items"][0]
    start = gap["starts_ps"][gap["devices"].index(f"{LATE}/{device}")]
    assert gap["host"] == LATE
    xi.open(pod, w="595+60", sel=f"gap:{LATE}/{device}@{start / 1e9:.9f}")
    expect(xi.page.get_by_test_id("gap-parts")).to_be_visible()
    xi.idle()


class TestTimeline:
    def test_it_opens_with_the_slowest_and_the_median_host(self, xi: Xi, page: Page, pod: str) -> None:
        xi.open(pod)
        assert heads(xi) == [(LATE, "slowest"), (MEDIAN, "median")]
        assert xi.text("host-select") == "2 of 16: w-3, w-5"
        assert xi.text("device-select") == "8 of 64"
        expect(page.get_by_test_id("hosts-more")).to_contain_text("14\u00a0more hosts")
        # Devices stand below their host's classes; the median one shows its classes and one device.
        late, median = rows_of_host(xi, 5), rows_of_host(xi, 3)
        assert {row["row"].split(".")[0] for row in late if "." in row["row"]} <= {"h5", "gaps"}
        labels = [row["label"] for row in late if row["label"]]
        assert labels.index("Host, by class") < labels.index("TPU:0") < labels.index("TPU:1, 2, 3")
        assert labels[-1] == "python (driving)"
        assert [row["label"] for row in median] == ["Host, by class", "TPU:0", "TPU:1, 2, 3"]

    def test_a_folded_host_opens_by_a_click_and_stays_open_in_the_link(
        self, xi: Xi, page: Page, pod: str
    ) -> None:
        xi.open(pod)
        row = next(row for row in rows_of_host(xi, 3) if row["label"] == "Host, by class")
        box = xi.canvas_box()
        page.mouse.click(box["x"] + 60, box["y"] + row["y"] + row["h"] / 2)
        xi.idle()
        assert "python (driving)" in [row["label"] for row in rows_of_host(xi, 3)]
        assert xi.link()["x"] == "h3.rows"

    @pytest.mark.parametrize("folds", ["", "-h1"])
    def test_a_thread_of_the_panel_opens_its_folded_host(
        self, xi: Xi, page: Page, pod: str, folds: str
    ) -> None:
        xi.open(pod, h="0,1", sel="win:600+20", x=folds)
        assert "python (driving)" not in [row["label"] for row in rows_of_host(xi, 1)]
        page.get_by_test_id("window-threads").get_by_role("button", name="python (driving)").nth(1).click()
        assert "python (driving)" in [row["label"] for row in rows_of_host(xi, 1)]

    @pytest.mark.parametrize("size", [(1440, 836), (1000, 636)])
    def test_a_gap_and_its_host_are_in_sight(self, xi: Xi, page: Page, size: tuple[int, int]) -> None:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        select_gap(xi, "TPU:2")
        rows = rows_of_host(xi, 5)
        labels = [row["label"] for row in rows if row["label"]]
        assert labels[-2:] == ["TPU:0, 1, 3", "python (driving)"]
        gap = next(row for row in rows if row["kind"] == "gaps")
        classes = next(row for row in rows if row["label"] == "Host, by class")
        assert gap["label"] == "TPU:2"
        for row in (classes, gap):
            assert 20 < row["y"] < xi.canvas_box()["height"] - row["h"]

    def test_the_panel_names_the_host_and_has_the_median_one_beside_it(self, xi: Xi, page: Page) -> None:
        select_gap(xi, "TPU:2")
        panel = page.get_by_test_id("selection-panel")
        assert panel.get_by_role("heading").first.text_content() == (
            f"Gap of 21.763\u202fms on TPU:2 · {LATE}"
        )
        assert f"Nothing was queued: {LATE} waits for data (9.33 ms) and builds the graph" in xi.text(
            "gap-sentence"
        )
        parts = page.get_by_test_id("gap-parts").locator("table")
        add = "cells => cells.reduce((sum, cell) => sum + Number(cell.dataset.ps ?? 0), 0)"
        own_ps, other_ps = (int(column(parts, head).evaluate_all(add)) for head in ("Time", "w-3"))
        assert own_ps == GAP_PS
        assert 0 < other_ps < GAP_PS / 10
        foot = parts.locator("tfoot [data-ps]").all()
        assert [int(cell.get_attribute("data-ps") or 0) for cell in foot] == [own_ps, other_ps]

    def test_a_gap_of_another_host_adds_the_host(self, xi: Xi, page: Page, pod: str) -> None:
        xi.open(pod, v="gaps", f="device:t1v-n-7f-w-9/TPU:1")
        column(page.get_by_test_id("gap-list"), "Start").first.get_by_role("button").click()
        expect(page.get_by_test_id("gap-parts")).to_be_visible()
        xi.ready()
        assert heads(xi) == [(LATE, "slowest"), ("t1v-n-7f-w-9", ""), (MEDIAN, "median")]
        assert any(row["kind"] == "gaps" for row in rows_of_host(xi, 9))
        assert "13" in xi.text("hosts-more")

    def test_gaps_begin_with_those_of_the_host_at_the_top(self, xi: Xi, page: Page, pod: str) -> None:
        xi.open(pod)
        expect(page.get_by_test_id("gap-index")).to_have_text("11\u00a0gaps on TPU:0 · w-5")
        xi.press("]")
        assert xi.drawn("selection")["device"] == f"{LATE}/TPU:0"
        expect(page.get_by_test_id("gap-index")).to_have_text("gap 1 of 11 on TPU:0 · w-5")

    def test_hosts_are_chosen_at_the_foot(self, xi: Xi, page: Page, pod: str) -> None:
        xi.open(pod)
        open_picker(xi, "hosts-choose")
        page.get_by_test_id("host-picker-none").click()
        page.get_by_test_id("host-picker-search").fill("7, 8")
        page.get_by_test_id("host-picker-found").click()
        page.get_by_test_id("host-picker-apply").click()
        xi.ready()
        assert [name for name, _ in heads(xi)] == ["t1v-n-7f-w-7", "t1v-n-7f-w-8"]
        assert xi.link()["h"] == "7-8"

    def test_words_in_a_link_name_hosts_of_the_session(self, xi: Xi, pod: str) -> None:
        xi.open(pod, h="median,12")
        assert heads(xi) == [("t1v-n-7f-w-12", ""), (MEDIAN, "median")]

    def test_device_work_is_aligned_with_the_steps_of_its_own_host(self, xi: Xi, pod: str) -> None:
        xi.open(pod)
        xi.press("t")
        edges = xi.drawn("edges")
        assert set(edges) == {LATE, MEDIAN}
        assert all(len(edges_of_host) == 2 * 12 for edges_of_host in edges.values())


class TestOverview:
    def test_duty_cycles_are_a_distribution_whose_rows_lead_to_hosts(
        self, xi: Xi, page: Page, pod: str
    ) -> None:
        xi.open(pod, v="overview")
        assert "waiting for late hosts 20.7" in xi.text("one-step-sum")
        card = page.get_by_test_id("duty-card")
        expect(card.get_by_test_id("duty-distribution")).to_be_visible()
        names = [text.strip() for text in column(card.locator("table"), "Cores").all_text_contents()]
        assert names[0] == "w-5, 4\u00a0cores lowest"
        assert names[-1].endswith("more cores median")
        card.get_by_role("button", name="w-5").click()
        xi.ready()
        assert (xi.link()["v"], xi.link()["hs"]) == ("hosts", LATE)

    def test_steps_are_those_of_one_host_which_is_named(self, xi: Xi, page: Page, pod: str) -> None:
        xi.open(pod, v="overview")
        bars = page.get_by_test_id("steps-chart").get_by_role("option")
        expect(bars).to_have_count(12)
        select = page.get_by_test_id("steps-host")
        assert select.input_value() == LATE
        late = [int(bar.get_attribute("data-ps") or 0) for bar in bars.all()]
        bars.nth(3).press(" ")
        expect(page.locator(".step-note")).to_contain_text(f"Step 1207 on {LATE}")
        step = xi.link()["st"]
        select.select_option(MEDIAN)
        expect(bars).to_have_count(12)
        assert [int(bar.get_attribute("data-ps") or 0) for bar in bars.all()] != late
        page.get_by_role("button", name="Table").click()
        table = page.get_by_test_id("steps-table")
        assert set(column(table, "Host").all_text_contents()) == {MEDIAN}
        xi.open(pod, v="executions", st=step)
        expect(page.get_by_test_id("execution-step")).to_have_text(f"step 1207 on {LATE}")
        xi.open(pod, v="device", st=step)
        expect(page.get_by_test_id("device-step")).to_have_value("1207")
        expect(page.locator("[data-testid^=diagnostic-stale]")).to_have_count(0)

    def test_the_finding_shows_the_host_that_is_late(self, xi: Xi, page: Page, pod: str) -> None:
        xi.open(pod, v="overview")
        first = page.get_by_test_id("needed-table").locator("tbody tr").first
        expect(first.locator("td").first).to_have_text(LATE)
        finding = page.get_by_test_id("finding-straggler")
        finding.get_by_test_id("finding-show").click()
        xi.ready()
        assert xi.drawn("selection.kind") == "gap"
        assert xi.drawn("selection.device").startswith(f"{LATE}/")
        expect(page.get_by_test_id("gap-sentence")).to_contain_text(
            f"{LATE} holds up the others. Nothing was queued"
        )
        expect(page.locator("[data-testid^=diagnostic-stale]")).to_have_count(0)


def test_the_first_hosts_are_shown_while_others_are_read(xi: Xi, page: Page, pod: str) -> None:
    """The server's answers while it reads hosts, built from its final answers."""
    reading = True

    def session(route: Route) -> None:
        answer = route.fetch().json()
        if reading and answer["state"] == "ready":
            hosts = [
                host | {"state": "ready", "bytes_read": 1, "message": None}
                for host in answer["session"]["hosts"]
            ]
            head = {
                **answer,
                "rows": [],
                "chosen_hosts": [],
                "strip": {"buckets": 0, "devices": [], "host": []},
            }
            partial = {"hosts_read": 11, "hosts_total": 16, "hosts_covered": 8}
            answer = {
                "state": "loading",
                "bytes_read": 11 * 10**6,
                "bytes": 16 * 10**6,
                "seconds_left": None,
                "hosts": hosts,
                "stage": "reading",
                "done_share": 0.4,
            }
            answer |= {"partial": partial} | ({"head": head} if "seen=0" in route.request.url else {})
        route.fulfill(json=answer)

    def overview(route: Route) -> None:
        counts = {"hosts_read": 8, "hosts_total": 16}
        route.fulfill(json=route.fetch().json() | ({"partial": counts} if reading else {}))

    page.route("**/data/session?*", session)
    page.route("**/data/overview?*", overview)
    xi.open(pod, wait=False, v="overview")
    page.wait_for_selector("main[data-state=partial]")
    note = page.get_by_test_id("diagnostic-partial")
    expect(note).to_contain_text("11 of 16 hosts read; the slowest may be among the rest.")
    expect(page.get_by_test_id("verdict")).to_be_visible()
    expect(note).to_contain_text("11 of 16 MB read. The numbers cover 8 hosts.")
    expect(page.get_by_test_id("finding-straggler")).to_be_visible()
    expect(page.get_by_test_id("finding-gain")).to_have_count(0)
    page.get_by_test_id("tab-timeline").click()
    expect(page.get_by_test_id("progress")).to_be_visible()
    reading = False
    xi.ready()
    assert heads(xi) == [(LATE, "slowest"), (MEDIAN, "median")]
    expect(note).to_have_count(0)


def test_chosen_hosts_may_have_no_device(xi: Xi, page: Page, pod: str) -> None:
    def without_devices_of_host(route: Route) -> None:
        answer = route.fetch().json()
        columns = answer.get("devices", {"host": []})  # absent while the session is read
        kept = [index for index, host in enumerate(columns["host"]) if host != LATE]
        for name, values in columns.items():
            if isinstance(values, list):
                columns[name] = [values[index] for index in kept]
        route.fulfill(json=answer)

    page.route("**/data/session?**", without_devices_of_host)
    xi.open(pod, v="propagation", h="5")
    expect(page.get_by_test_id("annotation-tree")).to_be_visible()
    xi.open(pod, v="overview", h="5")
    expect(page.locator("main").get_by_text("The chosen hosts have no device.")).to_be_visible()
    xi.open(pod, wait=False, v="executions", h="5")
    expect(page.locator("main")).to_contain_text("No execution on the chosen devices.")
    page.unroute("**/data/session?**")


def test_the_first_step_is_of_the_chosen_host_and_one_of_another_host_says_why_it_is_empty(
    xi: Xi, page: Page, pod: str
) -> None:
    xi.open(pod, v="executions", h="5")
    expect(page.get_by_test_id("execution-step")).to_contain_text(f"on {LATE}")
    xi.open(pod, v="executions", h="5", st="1205")  # of the first host
    expect(page.get_by_test_id("executions-strip")).to_have_text(
        "No execution on the chosen devices belongs to this step."
    )


def test_a_pattern_shows_only_the_gaps_of_the_chosen_finding(xi: Xi, page: Page, pod: str) -> None:
    xi.open(pod, v="gaps", f="finding:straggler")
    assert column(page.get_by_test_id("gap-patterns"), "Count").first.text_content() == "44"
    expect(page.get_by_test_id("pattern-0").locator(".ticks i")).to_have_count(11)


def test_a_pattern_names_its_cause_its_finding_and_the_cause_of_most_gaps(
    xi: Xi, page: Page, pod: str
) -> None:
    xi.open(pod, v="gaps")
    cause = page.get_by_test_id("pattern-0").locator("td").nth(2)
    expect(cause).to_have_text("input\u00a0t1v-n-7f-w-5 holds up the others; most gaps: dispatch")


def test_a_linked_class_stays_in_its_filter_though_no_host_differs_in_it(
    xi: Xi, page: Page, pod: str
) -> None:
    xi.open(pod, v="hosts", f="class:dynamo")
    expect(page.get_by_test_id("filter-class")).to_have_value("dynamo")
    assert xi.text("hosts-count").startswith("0 of 16")


def test_compilations_are_those_of_the_chosen_hosts_with_or_without_devices(
    xi: Xi, page: Page, pod: str
) -> None:
    compiled = xi.document("compiles", session_named("torch_xla_dynamic_shapes"))["compiles"][0]
    rows = [compiled | {"host": host, "step": None, "step_number": None} for host in (LATE, MEDIAN)]

    def with_compilations(route: Route) -> None:
        answer = route.fetch().json()
        graph = {
            "graph": compiled["graph"], "module": None, "program_ids": [], "compiles": 2, "cost_ps": 2, "steps": {},
        }  # fmt: skip
        route.fulfill(json=answer | {"compiles": rows, "graphs": [graph], "graph_count": 1})

    def without_devices(route: Route) -> None:
        answer = route.fetch().json()
        columns = answer.get("devices", {})
        route.fulfill(
            json=answer
            | {"devices": {key: [] if isinstance(columns[key], list) else columns[key] for key in columns}}
        )

    page.route("**/data/compiles?*", with_compilations)
    xi.open(pod, v="compiles")
    hosts = column(page.get_by_test_id("compile-list"), "Host")
    expect(hosts).to_have_text([LATE, MEDIAN])
    xi.open(pod, v="compiles", h="5")
    expect(hosts).to_have_text([LATE])
    page.route("**/data/session?**", without_devices)
    xi.open(pod, v="compiles", h="5")
    expect(hosts).to_have_text([LATE])
