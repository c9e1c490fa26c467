"""Which event led to which, against the definition written out."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_xla_insights.trace.flows import join_flows
from tb_xla_insights.trace.model import Flows
from tb_xla_insights.xplane.columns import StatColumn

Flow = tuple[int, int] | None
"""Type and id, where an event has one; type -1: the file does not say."""
FLOW = st.none() | st.tuples(st.sampled_from([-1, 0, 7, 15]), st.sampled_from([0, 1, 2, -5, (1 << 63) - 1]))
FlowEvent = tuple[int, Flow, Flow]
"""Start, the flow an event produces, the flow it consumes."""
EVENTS = st.lists(st.tuples(st.integers(0, 6), FLOW, FLOW), max_size=25)


def column(values: dict[int, int]) -> StatColumn:
    return StatColumn(
        np.array(list(values), np.int32), np.array(list(values.values()), np.int64), is_text=False
    )


def join(events: list[FlowEvent]) -> Flows:
    stats: dict[str, StatColumn] = {}
    flows = {
        ("_pt", "_p"): [produced for _, produced, _ in events],
        ("_ct", "_c"): [used for _, _, used in events],
    }
    for (kind, id_), rows in flows.items():
        ids = {row: flow[1] for row, flow in enumerate(rows) if flow}
        kinds = {row: flow[0] for row, flow in enumerate(rows) if flow and flow[0] >= 0}
        stats |= {name: column(held) for name, held in ((id_, ids), (kind, kinds)) if held}
    return join_flows(stats, np.array([start for start, _, _ in events], np.int64))


def flow_of(flow: Flow) -> Flow:
    return (max(flow[0], 0), flow[1]) if flow else None


def expected(events: list[FlowEvent]) -> list[tuple[int, int]]:
    pairs = []
    for row, (start, _, used) in enumerate(events):
        makers = [
            candidate
            for candidate, (_, produced, _) in enumerate(events)
            if produced and used and flow_of(produced) == flow_of(used)
        ]
        before = [maker for maker in makers if events[maker][0] <= start]
        if makers:
            producer = max(before, key=lambda maker: (events[maker][0], maker)) if before else makers[0]
            pairs.append((producer, row))
    return [(producer, consumer) for producer, consumer in pairs if producer != consumer]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(EVENTS)
def test_producers_and_consumers_of_one_type_and_id(events: list[FlowEvent]) -> None:
    flows = join(events)
    pairs = list(zip(flows.producer.tolist(), flows.consumer.tolist(), strict=True))
    assert pairs == expected(events)


def test_ids_that_begin_again_belong_to_the_last_producer_before() -> None:
    flow = (15, 0)
    events: list[FlowEvent] = [
        (0, flow, None),
        (2, None, flow),
        (4, flow, None),
        (4, None, flow),
        (9, None, flow),
    ]
    assert join(events).producer.tolist() == [0, 2, 2]


def test_a_consumed_flow_type_without_producers_matches_no_other_type() -> None:
    assert len(join([(0, (1, 5), None), (1, None, ((1 << 32) + 1, 5))]).producer) == 0


def test_many_flows() -> None:
    """More than a small table holds, with ids that differ in high bits only."""
    count = 20_000
    ids = [(number << 32) | (number % 3) for number in range(count)]
    events: list[FlowEvent] = [(0, (12, id_), None) for id_ in ids]
    used: list[FlowEvent] = [(1, None, (12, id_)) for id_ in reversed(ids)]
    assert join(events + used).producer.tolist() == list(range(count))[::-1]
