"""Cells of a notebook under JupyterLab's rules for HTML outputs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.driver import line_count
from playwright.sync_api import BrowserContext, Page, expect
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi

JUPYTERLAB = """
:root{--jp-content-heading-margin-top:1.2em}
.jp-RenderedHTMLCommon{font-size:14px;line-height:1.6;width:1000px}
.jp-RenderedHTMLCommon h3{margin:1.2em 0 .8em 0}
.jp-RenderedHTMLCommon h3:first-child{margin-top:calc(0.5*var(--jp-content-heading-margin-top))}
.jp-RenderedHTMLCommon ol:not(.list-inline){padding-left:2em}
.jp-RenderedHTMLCommon ol{list-style:decimal}
.jp-RenderedHTMLCommon :is(td,th,tr){padding:.5em;white-space:normal}
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon td,
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon th{text-align:right}
.jp-OutputArea-output :is(dl,dt,dd){display:block}
.jp-OutputArea-output dt{font-weight:bold;float:left;width:20%}
.jp-OutputArea-output dd{float:left;width:80%}
"""
"""Rules of JupyterLab 4 that apply to the elements of a cell."""


@pytest.fixture
def notebook(context: BrowserContext) -> Iterator[Page]:
    """A page with the outputs of a session and of its steps."""
    session = xi.load(str(LOGDIR / "torch_xla_early_item"))
    outputs = "".join(
        f'<div class="jp-RenderedHTMLCommon jp-OutputArea-output">{output._repr_html_()}</div>'
        for output in (session, session.steps())
    )
    page = context.new_page()
    page.set_content(f"<style>{JUPYTERLAB}</style>{outputs}")
    yield page
    page.close()


def test_texts_are_on_the_left_and_numbers_on_the_right(notebook: Page) -> None:
    for cell in ("th", "td"):
        alignments = notebook.locator(f"table >> nth=1 >> {cell}").evaluate_all(
            "all => all.slice(0, 3).map(cell => getComputedStyle(cell).textAlign)"
        )
        assert alignments == ["right", "left", "right"]  # index, name, number


def test_figures_are_side_by_side_with_their_meaning_in_one_line(notebook: Page) -> None:
    meanings = notebook.locator("dt")
    expect(meanings).to_have_count(4)
    assert {line_count(meaning) for meaning in meanings.all()} == {1}
    assert len({meaning.evaluate("element => element.offsetTop") for meaning in meanings.all()}) == 1


def test_a_finding_begins_at_the_left_edge_beside_its_gain(notebook: Page) -> None:
    finding = notebook.locator("li").first
    assert finding.locator("xpath=..").evaluate("list => getComputedStyle(list).paddingLeft") == "0px"
    assert finding.locator("h3").evaluate("head => getComputedStyle(head).marginTop") == "0px"
