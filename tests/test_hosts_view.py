"""The document of the view Hosts: sums, size and states."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pods import EXAMPLE, compare_pod, example_text, inputs, recorded
from synthetic import pod
from synthetic.pod_schedule import Delay, Pod
from synthetic.times import MS

from tb_xla_insights.pod.comparison import compare_hosts
from tb_xla_insights.pod.host_rows import host_rows
from tb_xla_insights.pod.host_steps import COLUMNS
from tb_xla_insights.pod.hosts_view import hosts_view, step_class_times

US = 1_000_000
SMALL = Pod(hosts=6, cores=2, steps=10, ops=2, delays=(Delay(4, "input", 30 * MS),))


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return dict(json.loads(EXAMPLE.read_text()))


def test_the_example_file_is_up_to_date() -> None:
    assert EXAMPLE.read_text() == example_text()


def test_counts_and_charges_add_up(example: dict[str, Any]) -> None:
    hosts, charges = example["hosts"], example["charges"]
    assert sum(hosts["last_count"]) == sum(charges["last_count"]) == example["collectives"] == 36
    assert sum(hosts["others_wait_us"]) == pytest.approx(sum(hosts["waits_us"]), abs=len(hosts["name"]))
    for host in range(16):
        rows = [row for row, charged_host in enumerate(charges["host"]) if charged_host == host]
        assert sum(charges["last_count"][row] for row in rows) == hosts["last_count"][host]
        waits = sum(charges["others_wait_us"][row] for row in rows)
        assert waits == pytest.approx(hosts["others_wait_us"][host], abs=len(rows) + 1)
    assert sum(hosts["last_steps"]) == 12


def test_every_column_has_every_host_and_step(example: dict[str, Any]) -> None:
    assert {len(column) for column in example["hosts"].values()} == {16}
    assert {len(column) for column in example["steps"].values()} == {12}
    for rows, length in (("late_us", 12), ("step_difference_us", 12), ("class_us", len(example["classes"]))):
        assert {len(row) for row in example[rows]} == {length}
        assert len(example[rows]) == 16
    assert sorted(example["order"]) == list(range(16))


def test_the_verdict_of_the_example(example: dict[str, Any]) -> None:
    verdict, hosts = example["verdict"], example["hosts"]
    late_host = pod.LATE_HOST
    assert (verdict["kind"], verdict["hosts"], verdict["cause"]) == ("late", [late_host], "input")
    assert verdict["text"][1:3] == [pod.name_of(late_host), " arrives last in "]
    assert example["order"][0] == late_host
    assert hosts["has_own_row"] == [host == late_host for host in range(16)]
    assert example["steps"]["last_host"] == [late_host] * 12
    assert all(example["steps"]["is_last_host_late"])
    assert example["steps"]["last_cause"] == ["input"] * 12
    assert (hosts["difference_class"][late_host], hosts["difference_in_one_step"][late_host]) == (
        "input",
        False,
    )
    assert hosts["difference_us"][late_host] == pytest.approx(38_000, rel=0.01)
    assert hosts["is_clock_uncertain"] == [False] * 16
    assert {int(key) for key in example["step_class_us"]} == {late_host, example["median_host"]}
    truth = [pod.DEMO.clocks[host].ahead_ps / US for host in range(16)]
    errors = np.array(hosts["offset_us"]) - truth
    assert np.ptp(errors) < 12  # one of the clocks gains 25 us per second


def test_classes_add_up_to_the_step() -> None:
    comparison = compare_pod(SMALL)
    document = hosts_view(comparison)
    device = document["classes"].index("device")
    for step, row in enumerate(step_class_times(comparison, 4)):
        assert row is not None
        step_us = sum(row) - row[device]
        assert step_us == pytest.approx(comparison.table.step_ps[4, step] / US, abs=len(row))
        difference_us = document["step_difference_us"][4][step]
        assert difference_us is not None
        shown_us = document["steps"]["step_us"][step] + difference_us
        assert shown_us == pytest.approx(step_us, abs=len(row))


def test_steps_missing_on_a_host() -> None:
    document = hosts_view(compare_pod(replace(SMALL, captured_steps={1: (3, 9)})))
    assert document["step_difference_us"][1][:3] == [None] * 3
    assert document["late_us"][1][:3] == [-1] * 3
    assert document["hosts"]["steps"][1] == 7


def test_unrelated_hosts_with_different_step_numbers_have_no_numbers() -> None:
    """The first step of one host is number 1204, of the other 1210: their common column has no number."""
    unrelated = replace(
        SMALL,
        hosts=2,
        delays=(),
        module_names={0: "jit_a", 1: "jit_b"},
        captured_steps={0: (0, 3), 1: (6, 9)},
    )
    assert hosts_view(compare_pod(unrelated))["steps"]["number"] == [None] * 4


def test_states_without_arrivals() -> None:
    one_host = hosts_view(compare_pod(replace(SMALL, hosts=1, cores=4, delays=())))
    assert (one_host["state"], one_host["late_us"]) == ("one_host", [])
    assert one_host["verdict"]["text"][0].startswith("One host: there are no others to wait for.")
    assert one_host["cores"]
    one_of_many = hosts_view(compare_pod(replace(SMALL, hosts=1, cores=4, delays=())), hosts_total=16)
    assert one_of_many["verdict"]["text"][0].startswith("One of 16 hosts has been read")
    assert [row["id"] for row in one_host["cores"]] == [f"{pod.name_of(0)}/TPU:{core}" for core in range(4)]
    unrelated = hosts_view(
        compare_pod(replace(SMALL, module_names={host: f"SyncTensorsGraph.{host}" for host in range(6)}))
    )
    assert unrelated["state"] == "no_collectives"
    assert unrelated["verdict"]["text"] == ["These hosts share no collective: each runs at its own pace."]
    assert unrelated["hosts"]["last_count"] == unrelated["hosts"]["others_wait_us"] == [None] * 6
    assert unrelated["charges"]["host"] == []
    assert None not in unrelated["steps"]["number"]
    even = hosts_view(compare_pod(replace(SMALL, delays=())))
    assert even["verdict"]["text"][0].startswith("No host stands out: each is last in ")
    assert not any(even["hosts"]["has_own_row"])
    part_of_hosts = hosts_view(compare_pod(SMALL), hosts_total=64)
    assert part_of_hosts["host_counts"] == {"hosts_read": 6, "hosts_total": 64}


@pytest.mark.parametrize("groups", [None, ((0, 2, 4, 6), (1, 3, 5, 7))])
def test_the_slow_core_of_a_late_host(groups: tuple[tuple[int, ...], ...] | None) -> None:
    """It arrives late at the first collective of each step only, whether the cores are in one group or in two."""
    delay = Delay(2, "device", 30 * MS, core=1)
    hosts = inputs(replace(SMALL, hosts=4, steps=8, delays=(delay,), noise_ps=0))
    if groups is not None:
        hosts = [
            replace(
                host,
                collectives=replace(
                    host.collectives,
                    groups=(groups,),
                    instructions=tuple(replace(item, groups=0) for item in host.collectives.instructions),
                ),
            )
            for host in hosts
        ]
    fast, slow = hosts_view(compare_hosts(hosts))["cores"] or []
    assert (fast["host"], slow["host"]) == (2, 2)
    assert fast["last_count"] + slow["last_count"] == 8 * 3
    assert slow["last_count"] >= 8
    assert slow["late_us"] == pytest.approx(30_000, abs=1)


def test_a_late_core_is_named_even_if_its_work_is_no_cause() -> None:
    """Core 2 of one host arrives 5 ms after the others, but does not work longer."""
    [host] = inputs(replace(SMALL, hosts=1, cores=4, delays=()))
    columns = host.collectives
    late_ps = np.where(columns.core == 2, 5 * MS, 0)
    late = replace(
        columns,
        begin_ps=columns.begin_ps + late_ps,
        wait_start_ps=columns.wait_start_ps + late_ps,
        end_ps=columns.end_ps + 5 * MS,
    )
    verdict = hosts_view(compare_hosts([replace(host, collectives=late)]))["verdict"]
    assert (verdict["kind"], verdict["cause"]) == ("late", None)
    assert verdict["core"] == f"{pod.name_of(0)}/TPU:2"


def test_host_rows_of_the_report() -> None:
    rows: Any = host_rows(compare_pod(SMALL))
    assert [row["name"] for row in rows] == [pod.name_of(host) for host in range(6)]
    late_row = rows[4]
    assert (
        late_row["last_share"]
        == late_row["last_count"] / late_row["shared_collectives"]
        == max(row["last_share"] for row in rows)
    )
    assert late_row["duty_cycle"] == min(row["duty_cycle"] for row in rows)  # waiting in a collective is busy
    assert sum(row["last_count"] for row in rows) == 30
    assert sum(row["others_wait_ps"] for row in rows) == sum(row["waits_ps"] for row in rows)
    assert {row["steps"] for row in rows} == {10}
    assert late_row["idle_ps"]["input"] > 0
    single = host_rows(compare_pod(replace(SMALL, hosts=1)))[0]
    assert (single["clock_offset_ps"], single["last_share"]) == (None, None)


def test_a_document_of_a_thousand_hosts_is_small(example: dict[str, Any]) -> None:
    """The columns of the example for 1,024 hosts and 100 steps, with random numbers."""
    random = np.random.default_rng(0)
    hosts, steps = 1024, 100
    large = example | {
        "hosts": {name: [*column] * 64 for name, column in example["hosts"].items()},
        "steps": {name: ([*column] * 9)[:steps] for name, column in example["steps"].items()},
        "late_us": np.abs(random.normal(0, 30, (hosts, steps))).astype(int).tolist(),
        "step_difference_us": random.normal(0, 30, (hosts, steps)).astype(int).tolist(),
        "class_us": [[*row] for row in random.normal(9000, 300, (hosts, 6)).astype(int).tolist()],
    }
    text = json.dumps(large, separators=(",", ":")).encode()
    assert len(gzip.compress(text)) < 400_000


def test_the_view_of_a_recorded_training() -> None:
    document = hosts_view(compare_hosts(recorded("late_loader")))
    assert document["verdict"]["hosts"] == [2]
    assert document["verdict"]["annotation"] == "train/next_batch"
    figures = document["figures"]
    assert figures["step_if_fixed_ps"]
    assert figures["step_ps"]
    assert figures["step_if_fixed_ps"] < 0.75 * figures["step_ps"]


def test_waiting_is_no_cause_and_a_class_that_is_not_longer_neither() -> None:
    comparison = compare_pod(SMALL)
    times_ps = comparison.table.times_ps.copy()
    times_ps[4] = times_ps[comparison.median_host]
    times_ps[4, :, COLUMNS.index("wait")] += 50 * MS
    times_ps[4, 1, COLUMNS.index("python")] += 1
    changed = replace(comparison, table=replace(comparison.table, times_ps=times_ps))
    changed.__dict__["median_host"] = comparison.median_host
    causes = hosts_view(changed)["steps"]["last_cause"]
    assert causes[:3] == [None, "python", None]
