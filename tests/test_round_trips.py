"""Early executions whose value the host reads and sends back to the device within the annotation of the read."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from launching import Tpu
from loops import STEP, findings, loop

READ_END_US, ANNOTATION_END_US = 385, 650
SEND = "PjRtComputationClient::TransferToDevice"


def early_read(start: int, sends: list[tuple[int, int]], tpu: Tpu) -> bool:
    """Adds an early execution with its read to the step at `start`, and then the transfers to the device `sends`: the
    distance of each from the event before it, and its duration. Times are in microseconds. Returns whether a transfer
    ends inside the annotation of the read."""
    tpu.on_main("loss", start + 300, ANNOTATION_END_US - 300)
    tpu.launch(start + 310, (start + 320, 10), (start + 340, 30), program="part(9)")
    tpu.on_main("PjRtComputationClient::TransferFromDevice", start + 345, READ_END_US - 345)
    ends, end = [], READ_END_US
    for distance, duration in sends:
        tpu.on_main(SEND, start + end + distance, duration)
        end += distance + duration
        ends.append(end)
    return any(end <= ANNOTATION_END_US for end in ends)


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 200), st.integers(1, 200)), max_size=2), min_size=1, max_size=3
    )
)
@settings(max_examples=25)
def test_a_round_trip_ends_inside_the_annotation_of_its_read(
    sends: list[list[tuple[int, int]]],
) -> None:
    tpu = loop(device=400)
    round_trips = sum(early_read((1 + step) * STEP, of_step, tpu) for step, of_step in enumerate(sends))
    by_id = findings(tpu.trace())
    counted = by_id["cpu_fallback"].evidence["round_trips"] if "cpu_fallback" in by_id else 0
    assert counted == round_trips
