"""Producers and consumers of flows, compared with the definition applied event by event."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_xla_insights.trace.flows import pair_flows
from tb_xla_insights.trace.model import Flows
from tb_xla_insights.xplane.columns import StatColumn

Flow = tuple[int, int] | None
"""Type and id, or None; type -1 if the file does not record it."""
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
        ("_ct", "_c"): [consumed for _, _, consumed in events],
    }
    for (type_stat, id_stat), rows in flows.items():
        ids = {row: flow[1] for row, flow in enumerate(rows) if flow}
        types = {row: flow[0] for row, flow in enumerate(rows) if flow and flow[0] >= 0}
        stats |= {name: column(values) for name, values in ((id_stat, ids), (type_stat, types)) if values}
    return pair_flows(stats, np.array([start for start, _, _ in events], np.int64))


def flow_of(flow: Flow) -> Flow:
    """The flow with type 0 if its type is not recorded."""
    return (max(flow[0], 0), flow[1]) if flow else None


def expected(events: list[FlowEvent]) -> list[tuple[int, int]]:
    """Per consumer the last producer that begins no later, else the first one; an event does not consume its own
    flow."""
    pairs = []
    for row, (start, _, consumed) in enumerate(events):
        producers = [
            candidate
            for candidate, (_, produced, _) in enumerate(events)
            if produced and consumed and flow_of(produced) == flow_of(consumed)
        ]
        before = [candidate for candidate in producers if events[candidate][0] <= start]
        if producers:
            producer = (
                max(before, key=lambda candidate: (events[candidate][0], candidate))
                if before
                else producers[0]
            )
            pairs.append((producer, row))
    return [(producer, consumer) for producer, consumer in pairs if producer != consumer]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(EVENTS)
def test_producers_and_consumers_of_one_type_and_id(events: list[FlowEvent]) -> None:
    flows = join(events)
    pairs = list(zip(flows.producer.tolist(), flows.consumer.tolist(), strict=True))
    assert pairs == expected(events)


def test_a_reused_id_belongs_to_the_last_producer_before() -> None:
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
    """More flows than a small hash table holds, with ids whose low 32 bits have only three values."""
    count = 20_000
    ids = [(number << 32) | (number % 3) for number in range(count)]
    events: list[FlowEvent] = [(0, (12, id_), None) for id_ in ids]
    consumers: list[FlowEvent] = [(1, None, (12, id_)) for id_ in reversed(ids)]
    assert join(events + consumers).producer.tolist() == list(range(count))[::-1]
