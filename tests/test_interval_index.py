"""Intervals that may touch a window are found from one latest end per block."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.analysis.time import interval_index as reaching

TIMES = st.integers(0, 20)


@given(ends=st.lists(TIMES, max_size=12), at=TIMES, block=st.integers(1, 5))
def test_the_first_interval_that_ends_after_an_instant(ends: list[int], at: int, block: int) -> None:
    column = np.array(ends, np.int64)
    with patch.object(reaching, "_BLOCK", block):
        found = reaching.first_ending_after(reaching.block_ends(column), column.__getitem__, at)
    assert found == next((place for place, end in enumerate(ends) if end > at), len(ends))
