"""That all these tests look at the page as users get it: minified, and compressed with Brotli."""

from __future__ import annotations

import pytest
from browser.driver import Xi
from playwright.sync_api import Response


def test_the_browser_gets_the_packed_page(xi: Xi, case_study: str) -> None:
    pytest.importorskip("minify")
    answers: list[Response] = []
    xi.page.on("response", lambda answer: answers.append(answer) if "/static/" in answer.url else None)
    xi.open(case_study)
    assert sorted(answer.url.rpartition("/")[2] for answer in answers) == ["index.css", "index.js"]
    assert [answer.headers["content-encoding"] for answer in answers] == ["br", "br"]
