"""The Hosts view with one host, without late hosts, without collectives, with unrelated clocks, and partly read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from browser.conftest import serving, session_named
from browser.driver import Xi, plain_spaces
from browser.hosts_page import cell_point, open_picker
from playwright.sync_api import Page, Route, expect
from synthetic import pod
from synthetic.pod_schedule import Delay, Pod

MS = 10**9


@pytest.fixture(scope="module")
def demo() -> str:
    return session_named("synthetic_pod_16_hosts")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serves sessions of one host, of 20 hosts without a late one and with HTML in their names, and of 6 hosts with one
    that is late once."""
    logdir = tmp_path_factory.mktemp("pods")
    single = Pod(hosts=1, steps=4, ops=1)
    many = Pod(hosts=20, cores=1, steps=130, ops=1)
    late_once = Pod(hosts=6, cores=2, steps=8, ops=1, delays=(Delay(3, "compile", 60 * MS, (4,)),))
    for name, training in (("alone", single), ("many", many), ("once", late_once)):
        folder = logdir / name / "plugins/profile/one"
        folder.mkdir(parents=True)
        for host, space in enumerate(pod.files(training)):
            file_name = f"<b>pod-{host}" if name == "many" else pod.name_of(host)
            space.write(folder / f"{file_name}.xplane.pb")
    with serving(logdir) as address:
        yield address


@pytest.fixture
def pods(page: Page, server: str, origins: list[str]) -> Xi:
    origins.append(server)
    return Xi(page, server)


def test_one_host_waits_for_no_other(pods: Xi, page: Page) -> None:
    pods.open("alone/one", v="hosts")
    assert pods.text("hosts-verdict").startswith("One host: there are no others to wait for.")
    expect(page.get_by_test_id("hosts-heat")).to_have_count(0)
    cores = page.get_by_test_id("cores-table").locator("tbody td:first-child").all_inner_texts()
    assert sorted(cores) == [f"TPU:{core}" for core in range(4)]
    cells = page.get_by_test_id("host-row-0").locator("td").all_inner_texts()
    assert cells[3:6] == ["–", "–", "–"]
    expect(page.get_by_test_id("tab-hosts")).to_have_text("Hosts–")


def test_without_a_late_host_no_row_is_named_and_names_are_escaped(pods: Xi, page: Page) -> None:
    pods.open("many/one", v="hosts")
    assert pods.text("hosts-verdict").startswith("No host stands out: each is last in ")
    assert not any(row["named"] for row in pods.drawn("rows"))
    expect(page.get_by_test_id("kpi-fixed").locator("dd")).to_have_text("–")
    assert "<b>pod-19" in page.get_by_test_id("heat-row-19").inner_text()
    # The brush selects which of the 130 steps are visible.
    assert len(pods.drawn("columns")) == 120
    brush = page.get_by_test_id("heat-brush")
    brush.focus()
    pods.press("End")
    assert pods.drawn("columns")[-1]["step"] == 129
    expect(brush).to_have_attribute("aria-valuenow", "10")


def test_the_picker_warns_of_many_hosts_in_the_timeline(pods: Xi, page: Page) -> None:
    pods.open("many/one", v="hosts")
    open_picker(pods)
    page.get_by_test_id("host-picker-all").click()
    expect(page.get_by_test_id("host-picker")).to_contain_text(
        re.compile(r"20\shosts: \d+ rows in the timeline")
    )


def test_a_difference_that_occurred_once_is_marked(pods: Xi, page: Page) -> None:
    pods.open("once/one", v="hosts")
    row = page.get_by_test_id("host-row-3")
    expect(row).to_contain_text("compile")
    expect(row.get_by_text("once", exact=True)).to_be_visible()
    page.get_by_test_id("host-worst-step").click()
    expect(page.get_by_test_id("host-difference-compile")).to_contain_text("+60.0")


def replace_answer(page: Page, **changes: Any) -> None:
    """Replaces parts of the server's answer about hosts."""

    def change(route: Route) -> None:
        answer = route.fetch().json()
        for key, value in changes.items():
            answer[key] = {**answer.get(key, {}), **value} if isinstance(value, dict) else value
        route.fulfill(json=answer)

    page.route("**/data/hosts?*", change)


UNKNOWN = [None] * 16


def test_hosts_without_collectives_are_compared_by_step_time(xi: Xi, page: Page, demo: str) -> None:
    text = "These hosts share no collective: each runs at its own pace."
    replace_answer(
        page,
        state="no_collectives",
        collectives=0,
        late_us=[],
        charges={"host": [], "step": [], "last_count": [], "others_wait_us": []},
        verdict={
            "text": [text],
            "kind": "unknown",
            "severity": "info",
            "hosts": [],
            "cause": None,
            "steps": [],
        },
        figures={"waits_ps": None, "step_if_fixed_ps": None},
        hosts={
            "last_count": UNKNOWN,
            "last_share": UNKNOWN,
            "others_wait_us": UNKNOWN,
            "has_own_row": [False] * 16,
        },
    )
    xi.open(demo, v="hosts")
    assert xi.text("hosts-verdict") == text
    assert not xi.drawn("arrival")
    expect(page.get_by_test_id("heat-measure")).to_have_count(0)
    cells = page.get_by_test_id("host-row-5").locator("td").all_inner_texts()
    assert cells[3:6] == ["–", "–", "–"]
    expect(page.get_by_test_id("hosts-table").locator("tbody tr[data-index]")).to_have_count(16)
    expect(page.get_by_test_id("kpi-waits")).to_have_count(0)


def test_hosts_with_unrelated_clocks_are_noted_and_not_called_late(xi: Xi, page: Page, demo: str) -> None:
    note = "The clock of 1 host is not related to the others': its arrivals are not compared."
    late = [[-1] * 12 if host == 9 else [0] * 12 for host in range(16)]
    replace_answer(page, note=note, late_us=late)
    xi.open(demo, v="hosts")
    expect(page.get_by_test_id("diagnostic-clocks")).to_contain_text(note)
    page.mouse.move(*cell_point(xi, 9, 3))
    expect(page.get_by_role("tooltip")).to_contain_text("step 52.")
    expect(page.get_by_role("tooltip")).not_to_contain_text("late")


def test_sums_of_some_hosts_are_lower_bounds(xi: Xi, page: Page, demo: str) -> None:
    replace_answer(page, host_counts={"hosts_total": 20}, partial={"hosts_read": 16, "hosts_total": 20})
    xi.open(demo, v="hosts")
    verdict = page.get_by_test_id("hosts-verdict")
    expect(verdict.get_by_role("status")).to_have_text(
        "16 of 20 hosts read; the slowest may be among the rest."
    )
    assert plain_spaces(page.get_by_test_id("kpi-waits").locator("dd").inner_text()).startswith("≥ ")
    expect(page.get_by_test_id("kpi-fixed")).to_have_count(0)
    expect(page.get_by_test_id("hosts-table").locator("tfoot tr:last-child")).to_contain_text("≥")


def test_a_failed_request_for_steps_is_reported(xi: Xi, page: Page, demo: str, complaints: list[str]) -> None:
    xi.open(demo, v="hosts")
    page.route(
        "**/data/host_steps?*", lambda route: route.fulfill(status=500, json={"error": "broken: say so"})
    )
    page.mouse.click(*cell_point(xi, 2, 3))
    xi.idle()
    expect(page.get_by_test_id("diagnostic-host-steps")).to_contain_text("broken: say so")
    assert all("500" in text for text in complaints)
    complaints.clear()
