"""Charges of the waiting in collectives: compared with the definition on random arrivals, and examples; and the gain of
exposed collectives without the waiting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from build import trace_of
from captures import session
from hypothesis import given, settings
from hypothesis import strategies as st
from pods import LOADER, POD
from synthetic import pod
from synthetic.times import MS

from tb_xla_insights.pod.arrivals import charge_waits
from tb_xla_insights.pod.instances import Instances
from tb_xla_insights.report.document import session_report


@settings(max_examples=60)
@given(st.integers(1, 12), st.integers(2, 6), st.integers(0, 2**31))
def test_charges_of_random_arrivals_match_the_definition(count: int, parties: int, seed: int) -> None:
    """Computes lateness and waits party by party. Each wait is charged once; to the last party, if all parties take
    part in every instance."""
    random = np.random.default_rng(seed)
    present = random.random((count, parties)) < 0.8
    present[:, :2] = True
    begin = np.cumsum(random.integers(200, 400, count))[:, None] + random.integers(0, 100, (count, parties))
    end = begin.max(axis=1, keepdims=True) + random.integers(1, 20, (count, parties))
    zeros = np.zeros(count, np.int32)
    begins, ends = np.where(present, begin, 0), np.where(present, end, 0)
    last, lateness, waits, charged = charge_waits(
        Instances(zeros, np.arange(len(zeros), dtype=np.int32), zeros, present, begins, begins, ends, [])
    )
    for row in range(count):
        arrivals = {party: int(begin[row, party]) for party in range(parties) if present[row, party]}
        latest = max(arrivals.values())
        median = sorted(arrivals.values())[(len(arrivals) - 1) // 2]
        assert arrivals[int(last[row])] == latest
        for party in range(parties):
            if party not in arrivals:
                assert (waits[row, party], lateness[row, party], charged[row, party]) == (0, 0, -1)
                continue
            assert lateness[row, party] == arrivals[party] - median
            assert waits[row, party] == (0 if party == last[row] else latest - arrivals[party])
            assert (charged[row, party] >= 0) == (waits[row, party] > 0)
            if present.all() and waits[row, party]:
                assert charged[row, party] == last[row]
    assert waits.sum() == sum(waits[charged == party].sum() for party in range(parties))


def test_waiting_for_a_host_that_waited_is_charged_to_the_cause_of_its_wait() -> None:
    """Hosts 0 and 1 meet first, and 1 is late by 50. Then both meet 2, which waits for 0, the last of them."""
    present = np.array([[True, True, False], [True, True, True]])
    begin = np.array([[0, 50, 0], [62, 61, 10]])
    end = np.array([[60, 60, 0], [70, 70, 70]])
    zeros = np.zeros(2, np.int32)
    _, _, waits, charged = charge_waits(
        Instances(zeros, np.arange(len(zeros), dtype=np.int32), zeros, present, begin, begin, end, [])
    )
    assert waits.tolist() == [[50, 0, 0], [0, 1, 52]]
    assert charged.tolist() == [[1, -1, -1], [-1, 0, 1]]


def test_a_charge_is_passed_on_to_the_cause_of_waits_without_the_waiting_host() -> None:
    """Host 0 waits longest for 2, together with 1, and then for 3 without 1: what 1 waits for 0 is charged to 3."""
    present = np.array(
        [[True, True, True, False], [True, False, False, True], [True, True, False, False]],
    )
    begin = np.array([[0, 4, 10, 0], [10, 0, 0, 16], [20, 12, 0, 0]])
    end = np.array([[10, 10, 10, 0], [16, 0, 0, 16], [20, 20, 0, 0]])
    zeros = np.zeros(3, np.int32)
    _, _, waits, charged = charge_waits(
        Instances(zeros, np.arange(len(zeros), dtype=np.int32), zeros, present, begin, begin, end, [])
    )
    assert waits.tolist() == [[10, 6, 0, 0], [6, 0, 0, 0], [0, 8, 0, 0]]
    assert charged.tolist() == [[2, 2, -1, -1], [3, -1, -1, -1], [-1, 3, -1, -1]]


def test_the_gain_of_waits_in_collectives_is_that_of_a_pod_without_the_late_host() -> None:
    """The gain is as much time as without the lateness, except on the late host, where loading hides it; the step
    without the limit, too, is that of the pod without the late host."""
    steady, late = (
        session_report(
            session(
                *(
                    trace_of(space.to_bytes(), pod.name_of(host))
                    for host, space in enumerate(pod.files(replace(POD, reduce_ps=4 * MS, delays=delays)))
                )
            )
        )
        for delays in ((), (LOADER,))
    )
    steady_gain, late_gain = (
        next(row["gain"] or 0 for row in document["findings"] if row["id"] == "device_waits")
        * (document["mistakes"]["step_ps"] or 0)
        for document in (steady, late)
    )
    assert (1 - 1 / POD.hosts) * steady_gain < late_gain < 1.02 * steady_gain
    remaining, remaining_of_steady = (
        document["mistakes"]["step_without_limit_ps"] for document in (late, steady)
    )
    assert remaining == pytest.approx(remaining_of_steady, rel=0.02)
