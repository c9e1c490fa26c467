"""The first interval that may overlap a window, found by the latest end per block."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.analysis.time import interval_index

TIMES = st.integers(0, 20)


@given(ends=st.lists(TIMES, max_size=12), at=TIMES, block_size=st.integers(1, 5))
def test_first_interval_that_ends_after_an_instant(ends: list[int], at: int, block_size: int) -> None:
    column = np.array(ends, np.int64)
    with patch.object(interval_index, "_BLOCK_SIZE", block_size):
        first = interval_index.first_ending_after(interval_index.block_ends(column), column.__getitem__, at)
    assert first == next((index for index, end in enumerate(ends) if end > at), len(ends))
