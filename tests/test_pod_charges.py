"""Who is charged with the waiting in a collective: the definition, on arrivals drawn at random and by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_xla_insights.pod.arrivals import charge_waits
from tb_xla_insights.pod.instances import Instances


@settings(max_examples=60)
@given(st.integers(1, 12), st.integers(2, 6), st.integers(0, 2**31))
def test_charges_add_up_to_all_waiting(count: int, parties: int, seed: int) -> None:
    """Against the definition, one party after the other; whoever is charged, all that is waited is charged once."""
    drawn = np.random.default_rng(seed)
    there = drawn.random((count, parties)) < 0.8
    there[:, :2] = True
    begin = np.cumsum(drawn.integers(200, 400, count))[:, None] + drawn.integers(0, 100, (count, parties))
    end = begin.max(axis=1, keepdims=True) + drawn.integers(1, 20, (count, parties))
    zero = np.zeros(count, np.int32)
    begins, ends = np.where(there, begin, 0), np.where(there, end, 0)
    its = Instances(zero, zero, there, begins, begins, ends, [])
    last, late, waits, charged = charge_waits(its)
    for row in range(count):
        arrivals = {party: int(begin[row, party]) for party in range(parties) if there[row, party]}
        latest = max(arrivals.values())
        middle = sorted(arrivals.values())[(len(arrivals) - 1) // 2]
        assert arrivals[int(last[row])] == latest
        for party in range(parties):
            if party not in arrivals:
                assert (waits[row, party], late[row, party], charged[row, party]) == (0, 0, -1)
                continue
            assert late[row, party] == arrivals[party] - middle
            assert waits[row, party] == (0 if party == last[row] else latest - arrivals[party])
            assert (charged[row, party] >= 0) == (waits[row, party] > 0)
            if there.all() and waits[row, party]:
                assert charged[row, party] == last[row]
    assert waits.sum() == sum(waits[charged == party].sum() for party in range(parties))


def test_waiting_for_one_who_waited_is_charged_to_who_held_that_one_up() -> None:
    """Hosts 0 and 1 meet first, and 1 is 50 late; then both meet 2, who waits for 0, the last of them."""
    there = np.array([[True, True, False], [True, True, True]])
    begin = np.array([[0, 50, 0], [62, 61, 10]])
    end = np.array([[60, 60, 0], [70, 70, 70]])
    zero = np.zeros(2, np.int32)
    _, _, waits, charged = charge_waits(Instances(zero, zero, there, begin, begin, end, []))
    assert waits.tolist() == [[50, 0, 0], [0, 1, 52]]
    assert charged.tolist() == [[1, -1, -1], [-1, 0, 1]]
