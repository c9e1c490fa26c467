"""The pictures of the documentation show what the page shows: if not, `make pictures` takes them anew."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from browser.driver import Xi

from docs.pictures.take import PICTURES, SIZE, TEXTS, text_of

FRESH = 0.95
"""The share of the words in a picture that the page must still have: a word or two may change without a new picture."""


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_says_what_the_page_says(xi: Xi, name: str) -> None:
    session, link = PICTURES[name]
    xi.page.set_viewport_size(SIZE)
    xi.open(session, **link)
    taken = Counter(json.loads(TEXTS.read_text())[name].split())
    shown = Counter(text_of(xi.page).split())
    missing = taken - shown
    assert missing.total() <= (1 - FRESH) * taken.total(), f"make pictures: the page lacks {dict(missing)}"
