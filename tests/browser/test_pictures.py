"""The pictures of the documentation show the current page; `make pictures` takes them again."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from browser.driver import Xi

from docs.pictures.take import PICTURES, SIZE, TEXTS, text_of

MIN_SHARE_OF_WORDS = 0.95
"""The share of the words in a picture that the page must still have: single words may change without a new picture."""


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_the_words_of_the_page(xi: Xi, name: str) -> None:
    session, link = PICTURES[name]
    xi.page.set_viewport_size(SIZE)
    xi.open(session, **link)
    taken = Counter(json.loads(TEXTS.read_text())[name].split())
    shown = Counter(text_of(xi.page).split())
    missing = taken - shown
    assert missing.total() <= (1 - MIN_SHARE_OF_WORDS) * taken.total(), (
        f"make pictures: the page lacks {dict(missing)}"
    )
