"""The report's page in notebooks, opened from disk: it requests nothing else and logs no message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from tb_xla_insights.html.page import report_html


@pytest.mark.parametrize("run", ["synthetic_case_study_8_tpu_cores", "torch_xla_dynamic_shapes"])
def test_it_opens_from_disk(run: str, context: BrowserContext, tmp_path: Path) -> None:
    session = xi.load(str(LOGDIR / run))
    file = tmp_path / "report.html"
    file.write_text(report_html(session.report()), encoding="utf-8")
    page = context.new_page()
    messages: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    expect(page.get_by_role("heading", name="Idle time by cause")).to_be_visible()
    for theme, background in (("light", "rgb(244, 245, 247)"), ("dark", "rgb(17, 21, 26)")):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == background
    bars = page.locator("svg.chart g")
    expect(bars).to_have_count(len(session.steps()))
    page.get_by_text("As a table").click()
    expect(page.get_by_role("columnheader", name="Early syncs")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert (messages, requests) == ([], [file.as_uri()])
    page.close()


def test_it_prints_on_white_with_its_bars_and_whole_tables(context: BrowserContext, tmp_path: Path) -> None:
    session = xi.load(str(LOGDIR / "synthetic_case_study_8_tpu_cores"))
    file = tmp_path / "report.html"
    file.write_text(report_html(session.report()), encoding="utf-8")
    page = context.new_page()
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 with margins of 10 mm
    page.goto(file.as_uri())
    page.emulate_media(media="print", color_scheme="light")
    light = page.evaluate("getComputedStyle(document.body).color")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == light
    # Browsers leave out backgrounds, and bars are backgrounds.
    bars = page.locator(".bar i, .stack i, .chip")
    assert set(bars.evaluate_all("all => all.map(bar => getComputedStyle(bar).printColorAdjust)")) == {
        "exact"
    }
    page.locator("details").evaluate_all("all => all.forEach(folded => { folded.open = true; })")
    clipped = """all => all.filter(box => getComputedStyle(box).overflowX !== 'visible'
        && box.scrollWidth > box.clientWidth).map(box => box.textContent.slice(0, 60))"""
    assert page.locator(".scroll").evaluate_all(clipped) == []
    page.close()


@pytest.mark.parametrize("run", ["torch_xla_dynamic_shapes", "synthetic_pod_16_hosts"])
def test_names_of_hundreds_of_letters_do_not_widen_the_printed_page(
    run: str, context: BrowserContext, tmp_path: Path
) -> None:
    document = xi.load(str(LOGDIR / run)).report()
    text = json.dumps(document)
    names = {program["program"] for program in document["programs"]}
    names |= {name for row in document["annotations"] for name in row["path"].split("/")}
    names |= {host["name"] for host in document["session"]["hosts"]}
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, name + "x" * 400)
    file = tmp_path / "report.html"
    file.write_text(report_html(json.loads(text)), encoding="utf-8")
    page = context.new_page()
    page.set_viewport_size({"width": 718, "height": 1000})
    page.goto(file.as_uri())
    page.emulate_media(media="print")
    page.locator("details").evaluate_all("all => all.forEach(folded => { folded.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == 718
    page.close()
