"""Waiting in collectives for other hosts: in the rows of devices, as a table, and what a gap delays."""

from __future__ import annotations

from typing import Any

import pytest
from browser.conftest import session_named
from browser.driver import LABELS_WIDTH, Xi, plain_spaces
from browser.tables import column, ps
from browser.test_pod import LATE, MEDIAN, rows_of_host, select_gap
from playwright.sync_api import Page, expect

MS = 10**9
HEADS = ["Core", "Arrives, ms", "Last host arrives, ms", "Waits, ms", "For"]


@pytest.fixture(scope="module")
def pod() -> str:
    return session_named("synthetic_pod")


PIXELS = """points => {
    const canvas = document.querySelector('[data-testid=timeline-canvas] canvas');
    const pixel = ([x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3);
    return points.map(point => '#' + pixel(point).map(channel => channel.toString(16).padStart(2, '0')).join(''));
}"""
COLOURS = "names => names.map(name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim())"


def last_wait(xi: Xi) -> dict[str, Any]:
    """The last wait in the first collective of a step: the median host's core waits for the late host."""
    waits = [wait for wait in xi.drawn("waits") if wait["until_ps"] - wait["start_ps"] > 20 * MS]
    assert {(wait["device"], wait["last_host"], wait["name"]) for wait in waits} == {
        (f"{MEDIAN}/TPU:0", LATE, "all-reduce.1")
    }
    last: dict[str, Any] = waits[-1]
    return last


def canvas_point(xi: Xi, instant_ps: float) -> tuple[float, float]:
    """The position of an instant in the row of that core, in pixels of the canvas."""
    [row] = [row for row in rows_of_host(xi, 3) if row["label"] == "TPU:0"]
    window = xi.drawn("window")
    share = (instant_ps - window["start_ps"]) / (window["end_ps"] - window["start_ps"])
    return LABELS_WIDTH + share * (xi.canvas_box()["width"] - LABELS_WIDTH), row["y"] + row["h"] / 2


def test_the_waiting_part_of_an_op_is_drawn_inside_it(xi: Xi, page: Page, pod: str) -> None:
    xi.open(pod, w="595+70")
    wait = last_wait(xi)
    assert wait["lane"]["row"]["kind"] == "modules"
    length = (wait["until_ps"] - wait["start_ps"]) / MS
    assert plain_spaces(wait["text"]) == f"waits {length:.1f} ms for w-5"
    assert 21 < length < 22
    (until, y), (end, _) = canvas_point(xi, wait["until_ps"]), canvas_point(xi, wait["end_ps"])
    points = [*([until - back, y] for back in range(10, 30)), [until + 5, y - 6], [end + 5, y]]
    *waiting, after_wait, run = page.evaluate(PIXELS, [[round(px), round(py)] for px, py in points])
    ground, hatch, collective, busy = page.evaluate(COLOURS, ["c-wait", "hatch", "dev-coll", "dev"])
    assert set(waiting) == {ground, hatch}
    assert [after_wait, run] == [collective, busy]


def test_a_gap_marks_the_collective_that_it_delays(xi: Xi, page: Page) -> None:
    select_gap(xi, "TPU:2")
    marked = xi.drawn("delayed")
    assert [(op["device"], op["name"], op["until_ps"] > op["start_ps"]) for op in marked] == [
        (f"{MEDIAN}/TPU:2", "all-reduce.1", True),
        (f"{LATE}/TPU:2", "all-reduce.1", False),
    ]
    [arrow] = xi.drawn("arrows")
    assert (arrow["from"]["row"], arrow["to"]["row"]) == ("h5.d2.ops", "h3.d2.modules")
    assert (arrow["from"]["start_ps"], arrow["to"]["start_ps"]) == (
        marked[1]["start_ps"],
        marked[0]["until_ps"],
    )
    assert xi.text("gap-delays") == " The other 15 hosts wait up to 21.5 ms for w-5 in all-reduce.1."
    page.get_by_test_id("gap-delays").get_by_role("button").click()
    xi.idle()
    selected = xi.drawn("selection")
    assert (selected["row"], selected["start_ps"]) == ("h5.d2.ops", marked[1]["start_ps"])
    assert xi.drawn("delayed") == []


def test_what_an_op_waits_for_is_also_a_table(xi: Xi, page: Page, pod: str) -> None:
    xi.open(pod, w="595+70")
    wait, box = last_wait(xi), xi.canvas_box()
    x, y = canvas_point(xi, (wait["start_ps"] + wait["until_ps"]) / 2)
    page.mouse.click(box["x"] + x, box["y"] + y)
    xi.idle()
    assert xi.drawn("selection")["row"] == "h3.d0.ops"
    hosts = page.get_by_test_id("collective-hosts")
    text = plain_spaces(hosts.locator("p").first.text_content() or "")
    assert text.startswith("This core waits 21.47")
    assert "for w-5, which arrives last of 16 hosts. The other 15 hosts wait up to 21.5 ms for it." in text
    table = hosts.locator("table")
    assert table.locator("thead th").all_text_contents() == HEADS
    names = column(table, "Core").all_text_contents()
    assert names == [f"TPU:{core} · {host}" for host in (MEDIAN, LATE) for core in range(4)]
    arrives, last, waits = (ps(column(table, head)) for head in ("Arrives", "Last host arrives", "Waits"))
    assert (arrives[0], last[0], waits[0]) == (
        wait["start_ps"],
        wait["until_ps"],
        wait["until_ps"] - wait["start_ps"],
    )
    assert waits[4:] == [0] * 4
    assert max(arrives[4:]) == last[4]
    expect(table.locator("tr[aria-selected=true], tr.selected")).to_have_count(1)


def test_the_link_to_an_op_unfolds_its_host(xi: Xi, page: Page, pod: str) -> None:
    xi.open(pod, w="595+70", x="-h5")
    wait, box = last_wait(xi), xi.canvas_box()
    assert rows_of_host(xi, 5) == []
    x, y = canvas_point(xi, (wait["start_ps"] + wait["until_ps"]) / 2)
    page.mouse.click(box["x"] + x, box["y"] + y)
    page.get_by_test_id("collective-hosts").locator("tr", has_text=f"TPU:2 · {LATE}").click()
    xi.idle()
    assert xi.drawn("selection")["row"] == "h5.d2.ops"
    assert "h5.d2.ops" in {row["row"] for row in rows_of_host(xi, 5)}


def test_while_device_rows_are_moved_nothing_waits(xi: Xi, pod: str) -> None:
    xi.open(pod, w="595+70")
    xi.press("t")
    assert xi.drawn("waits") == []
    xi.press("t")
    assert xi.drawn("waits")


def test_a_session_of_one_host_requests_no_waits(xi: Xi, page: Page, baseline: str) -> None:
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    xi.open(baseline)
    assert xi.drawn("waits") == []
    assert not [url for url in urls if "/data/waits" in url or "/data/collective" in url]
