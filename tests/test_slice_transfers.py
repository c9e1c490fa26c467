"""Transfers between slices: what the program leaves for each, how long data is on the way, who is late, and why the
core waits."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import pytest
from captures import Core, capture, session
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import US
from loops import findings
from report_texts import section_text
from schema_checks import check_answer
from slices import (
    COPY,
    ISSUE,
    RECEIVE,
    RECEIVE_DONE,
    SEND,
    SEND_DONE,
    STEP,
    Slices,
    attributes,
    read,
    receive_ops,
    send_ops,
    slices_space,
)
from synthetic.writer import Uint

import tb_xla_insights as xi
from tb_xla_insights.analysis.engines.megascale import merged, total_ps
from tb_xla_insights.analysis.engines.report import async_ops_report
from tb_xla_insights.analysis.engines.slice_rows import slice_transfers_report
from tb_xla_insights.analysis.engines.slice_transfers import find_slice_transfers
from tb_xla_insights.columns.merge import merged as merged_rows
from tb_xla_insights.export.tables import write_csv
from tb_xla_insights.report.engines_view import engines_view
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.schema.engines import SliceTransfer
from tb_xla_insights.sections.device_time import slice_transfers
from tb_xla_insights.trace.model import Trace

RUN = [("jit_f(1)", 0, 1_000)]

XPROF_STEPS = [
    (1466, 1742, 0),
    (3454, 2122, 0),
    (1134, 869, 0),
    (581, 2144, 3000),
    (1685, 3778, 0),
    (1409, 2631, 3000),
    (1975, 1633, 0),
    (3886, 934, 0),
    (1378, 605, 3000),
    (3804, 1566, 0),
    (1292, 1175, 0),
    (1686, 3068, 3000),
]
"""Slack, time on the way and lateness of each step, in microseconds."""


def only(trace: Trace) -> Any:
    (row,) = slice_transfers_report(trace)
    return row


def instances(
    *ops: tuple[Any, ...], runs: list[tuple[Any, ...]] | None = None
) -> list[tuple[int, int, int, int]]:
    """Start, need, end and slack of each transfer."""
    found = find_slice_transfers(capture(Core([*ops], runs or RUN)), 0)
    columns = (found.start_ps, found.needed_ps, found.end_ps, found.slack_ps)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def send(number: int, at: int, name: str = "r", length: int = 2) -> tuple[Any, ...]:
    return send_ops(number, name)[0], at, length, SEND


def send_done(number: int, at: int, length: int, name: str = "r") -> tuple[Any, ...]:
    return send_ops(number, name)[1], at, length, SEND_DONE


def receive(number: int, at: int, name: str = "r", length: int = 2) -> tuple[Any, ...]:
    return receive_ops(number, name)[0], at, length, RECEIVE


def receive_done(number: int, at: int, length: int, name: str = "r") -> tuple[Any, ...]:
    return receive_ops(number, name)[1], at, length, RECEIVE_DONE


def test_slack_is_the_time_until_need_without_transfers() -> None:
    """From the send's start at 10 to the receive's done op at 60; the ops of this and of another transfer take 9."""
    ops = (
        send(1, 10), receive(1, 12), ("fusion.1", 14, 26), send(2, 40, "other"), send_done(2, 42, 1, "other"),
        ("fusion.2", 43, 15), send_done(1, 58, 2), receive_done(1, 60, 30),
    )  # fmt: skip
    trace = capture(Core([*ops], RUN))
    row, other = slice_transfers_report(trace)
    assert (row["transfer"], row["kind"], row["send"], row["recv"]) == ("r", "all-reduce", "send.1", "recv.1")
    assert row["slack_mean_ps"] == 50 - 2 - 2 - 2 - 1 - 2
    assert (row["window_ps"], row["wait_ps"], row["issue_ps"]) == (80, 32, 4)
    assert (other["transfer"], other["window_ps"], other["slack_mean_ps"]) == ("other", 3, 0)
    assert (row["network_mean_ps"], row["late"], row["cause"]) == (None, None, None)


def test_a_receive_belongs_to_the_last_send_before_it_is_needed() -> None:
    ops = (
        send(1, 0),
        send_done(1, 4, 1),
        send(1, 10),
        receive(1, 12),
        send_done(1, 15, 1),
        receive_done(1, 20, 5),
    )
    assert instances(*ops) == [(0, 4, 5, 2), (10, 20, 25, 5)]


def test_a_send_has_one_receive() -> None:
    """A second receive of its name, and one of another name or run, are alone."""
    ops = (
        send(1, 0), send_done(1, 3, 1), receive(1, 4), receive_done(1, 10, 5), receive(1, 20), receive_done(1, 30, 5),
    )  # fmt: skip
    assert [found[:3] for found in instances(*ops)] == [(0, 10, 15), (20, 30, 35)]
    apart = (send(1, 0, "a"), send_done(1, 3, 1, "a"), receive(2, 4, "b"), receive_done(2, 10, 5, "b"))
    assert [found[:3] for found in instances(*apart)] == [(0, 3, 4), (4, 10, 15)]
    runs = [("jit_f(1)", 0, 50), ("jit_f(1)", 50, 50)]
    in_runs = (send(1, 0), send_done(1, 3, 1), receive(1, 54), receive_done(1, 60, 5))
    assert [found[:3] for found in instances(*in_runs, runs=runs)] == [(0, 3, 4), (54, 60, 65)]


def test_a_loop_has_a_transfer_in_each_iteration() -> None:
    ops = [
        op
        for at in (0, 100, 200)
        for op in (send(1, at), receive(1, at + 2), send_done(1, at + 30, 1), receive_done(1, at + 31, 9))
    ]
    assert [found[:3] for found in instances(("while.1", 0, 300), *ops)] == [
        (at, at + 31, at + 40) for at in (0, 100, 200)
    ]


@pytest.mark.parametrize(
    ("ops", "found", "unpaired"),
    [
        ((send(1, 0), receive(1, 2), receive_done(1, 50, 5)), [(2, 50, 55, 46)], 1),
        ((send(1, 0), receive(1, 2), send_done(1, 50, 5)), [(0, 50, 55, 46)], 1),
        ((send_done(1, 0, 5), receive(1, 10), receive_done(1, 50, 5)), [(10, 50, 55, 38)], 0),
        (
            (send(1, 0), send(1, 2), send_done(1, 9, 1), receive(1, 12), receive_done(1, 20, 5)),
            [(0, 20, 25, 13)],
            1,
        ),
    ],
)
def test_what_lacks_its_counterpart_is_told_and_not_guessed(ops: Any, found: Any, unpaired: int) -> None:
    """The last send's done op ends the first send; without its send, nothing says what a done op belongs to."""
    trace = capture(Core([*ops], RUN))
    assert instances(*ops) == found
    assert only(trace)["unpaired"] == unpaired


def test_runs_have_their_own_transfers() -> None:
    runs = [("jit_f(1)", 0, 50), ("jit_f(1)", 50, 50)]
    ops = (
        send(1, 0),
        receive(1, 2),
        send_done(1, 10, 1),
        receive_done(1, 60, 5),
        send(1, 70),
        send_done(1, 80, 1),
    )
    assert [found[:3] for found in instances(*ops, runs=runs)] == [(0, 10, 11), (70, 80, 81)]


def test_without_a_name_each_op_is_a_transfer() -> None:
    text = '%send.1 = (f32[4]) send(%p), frontend_attributes={_xla_megascale_transfer_type="ONE_TO_ONE"}'
    trace = capture(
        Core(
            [(text, 0, 1, SEND), ("%send-done.1 = token[] send-done((f32[4]) %send.1)", 9, 5, SEND_DONE)], RUN
        )
    )
    row = only(trace)
    assert (row["transfer"], row["kind"], row["send"], row["recv"]) == (
        "send.1",
        "one-to-one",
        "send.1",
        None,
    )


@pytest.mark.parametrize("clock", [0, 300, -700])
def test_the_steps_in_which_the_other_slice_is_late_are_found(clock: int, tmp_path: Path) -> None:
    """The clocks of host and device differ: only durations are compared."""
    simulation = Slices(clock)
    waits = [simulation.step(3_000, 2_000, late=4_000 if number in (2, 5) else 0) for number in range(8)]
    assert waits == [0, 0, 3_030, 0, 0, 3_030, 0, 0]
    row = only(simulation.trace(tmp_path))
    assert (row["count"], row["late"], row["late_steps"], row["peers"]) == (8, 2, [7, 10], [2])
    assert row["slack_mean_ps"] == 3_000 * US
    assert (row["network_mean_ps"], row["network_count"]) == (2_000 * US, 8)
    assert (row["wait_ps"], row["peer_ps"], row["short_ps"]) == (6_060 * US, 6_060 * US, 0)
    assert row["wait_mean_ps"] == 6_060 * US // 8
    assert (row["bytes"], row["issue_ps"], row["cause"]) == (8 * 4096, 8 * 2 * ISSUE * US, "peer")
    assert row["bytes_per_s"] == 4096 / 2_000e-6


def test_a_short_wait_is_no_late_slice(tmp_path: Path) -> None:
    """The other slice sends late, and the core waits for 60 us of 3 ms."""
    simulation = Slices()
    assert simulation.step(3_000, 2_000, late=1_030) == 60
    row = only(simulation.trace(tmp_path))
    assert (row["late"], row["late_steps"], row["peer_ps"], row["cause"]) == (0, [], 60 * US, None)


def test_parts_are_not_more_than_the_wait(tmp_path: Path) -> None:
    """The clocks of the slices disagree: the latency is longer than the transfer."""
    simulation = Slices()
    simulation.step(1_000, 3_000, late=2_000)
    for _, _, _, stats in simulation.actions:
        if "network_transport_latency_us" in stats:
            stats["network_transport_latency_us"] = Uint(2_900)
            stats["action_duration_ns"] = 900_000_000
    row = only(simulation.trace(tmp_path))
    assert row["peer_ps"] + row["short_ps"] == row["wait_ps"]


def test_a_transfer_that_takes_longer_than_its_slack_has_too_little(tmp_path: Path) -> None:
    simulation = Slices()
    wait = {simulation.step(1_000, 3_000) for _ in range(4)}
    assert wait == {3_000 + ISSUE + 2 * COPY - 2 * ISSUE - 1_000}
    row = only(simulation.trace(tmp_path))
    assert (row["late"], row["peer_ps"]) == (0, 0)
    assert row["short_ps"] == pytest.approx(row["wait_ps"], rel=0.01)
    assert row["cause"] == "slack"


@settings(max_examples=20, deadline=None)
@given(
    slack=st.integers(100, 5_000),
    network=st.integers(100, 5_000),
    late=st.lists(st.integers(0, 3_000), min_size=1, max_size=4),
    clock=st.integers(-400, 400),
)
def test_the_parts_of_a_wait_are_those_of_the_simulation(
    slack: int, network: int, late: list[int], clock: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of a wait, the other slice's part is what is left if it had not been late; the rest is on the way or copied."""
    simulation = Slices(clock)
    waits = [simulation.step(slack, network, one) for one in late]
    row = only(simulation.trace(tmp_path_factory.mktemp("slices")))
    assert row["wait_ps"] == sum(waits) * US
    assert row["slack_mean_ps"] == slack * US
    assert row["network_mean_ps"] == network * US
    assert row["peer_ps"] == sum(min(wait, one) for wait, one in zip(waits, late, strict=True)) * US
    rest = row["wait_ps"] - row["peer_ps"] - row["short_ps"]
    assert 0 <= rest <= ISSUE * len(late) * US  # until the host copies, nobody works for the transfer


def test_sums_are_those_of_xprof(tmp_path: Path) -> None:
    """xprof 2.24.2 shows these numbers for a file with these transfers and their program, in ms and cut after three
    digits: slack, observed duration, stall, and the sum of stalls."""
    simulation = Slices(300)
    for slack, network, late in XPROF_STEPS:
        simulation.step(slack, network, late)
    row = only(simulation.trace(tmp_path))
    mean = [row["slack_mean_ps"], row["window_ps"] // 12, (row["wait_ps"] + row["issue_ps"]) // 12]
    assert [ps // 1_000 / 1_000_000 for ps in mean] == pytest.approx([1.979, 3.494, 1.515], abs=0.001)
    assert (row["wait_ps"] + row["issue_ps"]) / 1e9 == pytest.approx(18.18, abs=0.012)
    assert row["count"] == 12


def test_transfers_that_are_on_the_way_together_share_the_network(tmp_path: Path) -> None:
    """Two transfers with names of their own, each 3 ms on the way, of which 2.5 ms at the same time."""
    ops, actions = [], []
    for number, (name, at) in enumerate((("a", 100), ("b", 600)), 1):
        ops += [send(number, at * US, name, US), receive(number, (at + 1) * US, name, US)]
        key = f"device_100000_gid_{name}$1^i0"
        stats = {
            "graph_key": key,
            "action_duration_ns": 3_000_000,
            "network_transport_latency_us": Uint(3_000),
        }
        actions.append(("NetworkReceive END", (at + 3_000) * US, 0, stats))
    ops += [send_done(1, 700 * US, 0, "a"), send_done(2, 701 * US, 0, "b")]
    ops += [receive_done(1, 702 * US, 2_400 * US, "a"), receive_done(2, 3_102 * US, 500 * US, "b")]
    trace = read(slices_space(Core(ops, [("jit_f(1)", 0, 5_000 * US)]), actions), tmp_path)
    a, b = slice_transfers_report(trace)
    assert (a["shared_ps"], b["shared_ps"]) == (2_500 * US, 2_500 * US)
    assert (a["cause"], b["cause"]) == ("bandwidth", "bandwidth")


def test_the_ops_that_wait_have_the_transfers_cause(tmp_path: Path) -> None:
    simulation = Slices()
    for _ in range(3):
        simulation.step(1_000, 3_000)
    causes = {row["op"]: row["cause"] for row in async_ops_report(simulation.trace(tmp_path))}
    assert causes == {"recv.1": "slack", "send.1": None}


def test_executions_that_lack_their_transfer_are_nobody_elses(tmp_path: Path) -> None:
    """The host recorded a transfer before the first one that the device has: the others are told apart by time."""
    simulation = Slices(clock=5)
    for late in (0, 2_000, 0):
        simulation.step(1_000, 500, late)
    del simulation.ops[:6], simulation.runs[:1]
    row = only(simulation.trace(tmp_path))
    assert (row["count"], row["network_count"], row["late"], row["late_steps"]) == (2, 2, 1, [6])


def test_of_two_executions_at_one_transfer_none_is_taken(tmp_path: Path) -> None:
    """It is not known which of them is the transfer's."""
    simulation = Slices()
    for _ in range(3):
        simulation.step(1_000, 500)
    for name, start, length, stats in simulation.actions[:3]:
        simulation.actions.append(
            (name, start + US, length, {**stats, "graph_key": "device_100000_gid_grads.1$8^i0"})
        )
    row = only(simulation.trace(tmp_path))
    assert (row["count"], row["network_count"]) == (3, 2)


def test_more_devices_than_the_capture_has_are_not_related(tmp_path: Path) -> None:
    simulation = Slices()
    simulation.step(1_000, 3_000)
    simulation.device_id += 1
    simulation._action("device_100001_gid_x$1^i0", "NetworkReceive END", 5, 5, network_transport_latency_us=5)
    row = only(simulation.trace(tmp_path))
    assert (row["network_mean_ps"], row["late"], row["bytes"], row["peers"]) == (None, None, None, [])


@pytest.mark.parametrize(
    "damage",
    [
        {"action_duration_ns": -5, "network_transport_latency_us": -1},
        {"action_duration_ns": 2**63 - 1, "network_transport_latency_us": Uint(2**64 - 1)},
        {"action_duration_ns": "many", "network_transport_latency_us": 0.5},
        {"graph_key": "device_999999999999999999999_gid_grads.1$1^i0"},
        {"graph_key": 7},
        {"network_transport_latency_us": 0},
    ],
)  # fmt: skip
def test_impossible_recordings_are_not_known(damage: dict[str, Any], tmp_path: Path) -> None:
    simulation = Slices()
    simulation.step(1_000, 3_000)
    for *_, stats in simulation.actions:
        stats.update({key: value for key, value in damage.items() if key in stats})
    row = only(simulation.trace(tmp_path))
    assert (row["network_mean_ps"], row["peer_ps"], row["short_ps"], row["cause"]) == (None, None, None, None)
    assert row["wait_ps"] > 0


def test_sizes_beyond_all_memory_are_not_added(tmp_path: Path) -> None:
    simulation = Slices()
    simulation.step(1_000, 3_000)
    for _, _, _, stats in simulation.actions:
        if "buffer_sizes" in stats:
            stats["buffer_sizes"] += (
                f" s200000->100000d|$c2={2**63} s200000->100000d|$c3={2**64} s300000->100000d|$c4="
            )
    assert (only(simulation.trace(tmp_path))["bytes"], only(simulation.trace(tmp_path))["peers"]) == (
        4096,
        [2],
    )


def test_a_file_that_is_gone_leaves_what_the_device_shows(tmp_path: Path) -> None:
    simulation = Slices()
    simulation.step(1_000, 3_000)
    trace = simulation.trace(tmp_path)
    os.unlink(trace.path)
    assert (only(trace)["count"], only(trace)["network_mean_ps"]) == (1, None)


def test_messages_of_older_hosts_say_how_long_data_is_on_the_way(tmp_path: Path) -> None:
    """Two parts per transfer, from two slices, one of which has no duration: the clocks disagree there."""
    simulation = Slices()
    for _ in range(2):
        simulation.step(1_000, 3_000)
    simulation.actions.clear()
    for number in range(2):
        for chunk, (source, duration) in enumerate(((3, 2_000), (4, 2_500), (5, 0))):
            stats = {
                "dcn_label": "grads.1", "dcn_source_slice_id": source, "dcn_source_per_slice_device_id": 0,
                "dcn_destination_slice_id": 1, "dcn_destination_per_slice_device_id": 0, "dcn_chunk": chunk,
                "payload_size_bytes": 100, "duration_us": duration,
            }  # fmt: skip
            at = (STEP * number + 4_000) * US
            simulation.main.append(("MegaScale: Communication Transport Receive", at, number * US, stats))
    row = only(simulation.trace(tmp_path))
    assert (row["network_mean_ps"], row["bytes"], row["peers"]) == (2_500 * US, 600, [3, 4, 5])
    assert (row["late"], row["peer_ps"], row["cause"]) == (None, None, "slack")


def test_devices_with_slice_numbers_have_peers_too(tmp_path: Path) -> None:
    simulation = Slices()
    simulation.step(1_000, 3_000)
    for _, _, _, stats in simulation.actions:
        if "buffer_sizes" in stats:
            stats["buffer_sizes"] = "s3->1d|$c0=10 s1->1d|$c1=10 s3->0d|$c2=10"
    row = only(simulation.trace(tmp_path))
    assert (row["peers"], row["bytes"]) == ([3], 10)


def test_the_attributes_of_an_op_name_its_transfer() -> None:
    assert attributes("r") in send_ops(1, "r")[0]
    assert merged([(5, 9), (0, 2), (2, 3)]) == [(0, 3), (5, 9)]
    assert total_ps([(5, 9), (0, 2), (1, 3), (6, 7)]) == 7


@pytest.mark.parametrize(
    ("slack", "network", "late", "reason", "advice"),
    [
        (3_000, 2_000, 4_000,
         "Slice 2 sends late 1 of 4 times, first in step 6: 3.0 of 3.0 ms of waiting pass before it does.",
         "Find out why the other slice sends late"),
        (1_000, 3_000, 0, "grads.1 is on the way for 3.00 ms, and the program leaves 1.00 ms for it.",
         "Start the transfer earlier or use its result later"),
    ],
)  # fmt: skip
def test_the_finding_names_the_transfer_and_why(
    slack: int, network: int, late: int, reason: str, advice: str, tmp_path: Path
) -> None:
    simulation = Slices()
    for number in range(4):
        simulation.step(slack, network, late if number == 1 else 0, scope="step/backward/grads")
    trace = simulation.trace(tmp_path)
    finding = findings(trace)["device_waits"]
    detail = finding.detail.replace("\u202f", " ")
    assert "for transfers between slices" in detail
    assert "above all in grads.1 (step/backward). " in detail
    assert reason in detail
    assert finding.advice.startswith(advice)
    of_device = engines_view(SessionView(session(trace)), "host/TPU:0", stale=False)["of_device"]
    assert of_device
    (shown,) = of_device["slice_transfers"]
    assert shown["why"].replace("\u202f", " ") == reason.replace("grads.1 is", "It is")


def test_without_what_the_host_records_two_reasons_are_told(tmp_path: Path) -> None:
    """The other slice may be late, or the slack too short: the advice names both, and the capture that tells."""
    simulation = Slices()
    for _ in range(4):
        simulation.step(1_000, 3_000)
    simulation.actions.clear()
    finding = findings(simulation.trace(tmp_path))["device_waits"]
    assert finding.evidence["cause"] is None
    assert "if the other slice sends late" in finding.advice
    assert "a capture of all slices" in finding.advice


def test_the_page_lists_the_transfers_of_one_device() -> None:
    ops = [
        op
        for number in range(20)
        for op in (send(number, 100 * number, f"r{number}"), send_done(number, 100 * number + 50, number))
    ]
    trace = capture(
        Core(ops, [("jit_f(1)", 0, 2_000)]), Core([("fusion.1", 0, 9)], [("jit_f(1)", 0, 9)], "TPU:1")
    )
    views = [
        engines_view(SessionView(session(trace)), f"vm/TPU:{number}", stale=False) for number in range(2)
    ]
    for view in views:
        check_answer(view, "engines")
    of_device, other = (view["of_device"] for view in views)
    assert of_device
    assert other
    assert [row["transfer"] for row in of_device["slice_transfers"]] == [
        f"r{number}" for number in range(19, 7, -1)
    ]
    assert (of_device["more_slice_transfers"], other["slice_transfers"]) == (8, [])


def test_hosts_merge_to_one_row_per_transfer(tmp_path: Path) -> None:
    """Sums are added, means are of all times, and what one host does not know is that of the other."""
    rows = []
    for late in (0, 4_000):
        simulation = Slices(device_id=100_000 + late)
        simulation.step(3_000 + late, 2_000, late)
        if not late:
            simulation.actions.clear()
        (tmp_path / str(late)).mkdir()
        rows.append(slice_transfers_report(simulation.trace(tmp_path / str(late))))
    (row,) = merged_rows(SliceTransfer, rows, "wait_ps")
    assert (row["count"], row["slack_mean_ps"]) == (2, 5_000 * US)
    assert (row["network_mean_ps"], row["network_count"], row["peers"]) == (2_000 * US, 1, [2])
    assert (row["late"], row["peer_ps"], row["bytes"], row["cause"]) == (0, 0, 4096, None)
    assert row["bytes_per_s"] == 4096 / 2_000e-6


def test_the_table_is_in_the_text_and_in_files(tmp_path: Path) -> None:
    simulation = Slices()
    for number in range(4):
        simulation.step(3_000, 2_000, late=4_002 if number == 1 else 0)
    path = tmp_path / "plugins/profile/session/host.xplane.pb"
    simulation.space().write(str(path))
    loaded = xi.load(str(tmp_path))
    text = section_text(slice_transfers, loaded.report()).replace("\u202f", " ")
    assert text.startswith("Transfers between slices (all cores; times are means of each) Transfer Kind")
    assert text.endswith("grads.1 all-reduce 2 4 3.000 2.000 0.758 3.032 1 16.4 kB 2.0 MB peer")
    write_csv(loaded, tmp_path / "csv")
    with (tmp_path / "csv/slice_transfers.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert list(row)[:4] == ["transfer", "kind", "annotation", "peers"]
    assert (row["peers"], row["late_steps"], row["slack_mean_ps"]) == ("[2]", "[6]", str(3_000 * US))


def test_data_that_stays_where_it_is_is_not_on_the_way(tmp_path: Path) -> None:
    simulation = Slices()
    simulation.step(1_000, 3_000)
    for _, _, _, stats in simulation.actions:
        if "buffer_sizes" in stats:
            stats["buffer_sizes"] = "s100000->100000d|$c0=4096"
    row = only(simulation.trace(tmp_path))
    assert (row["network_mean_ps"], row["bytes"], row["late"]) == (None, None, None)
