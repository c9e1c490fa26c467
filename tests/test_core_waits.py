"""The time for which cores wait for other hosts, in pods with known waits, and the routes that serve it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from pods import compare_pod
from synthetic import pod
from synthetic.pod_schedule import LOSS_EXCHANGE, Clock, Delay, Exchange, Pod, schedule
from synthetic.times import MS, US
from test_plugin import data, open_session, tensorboard
from test_pod_clocks import AHEAD_PS
from werkzeug.test import Client

from tb_xla_insights.pod.waits import core_waits, delayed_instance

LATE = 2
POD = Pod(
    hosts=4,
    cores=2,
    steps=8,
    delays=(Delay(LATE, "input", 30 * MS),),
    clocks={host: Clock(ahead) for host, ahead in enumerate(AHEAD_PS[:4])},
)
PODS = {
    "all hosts": POD,
    "groups of hosts": replace(POD, groups=((0, 1), (2, 3))),
    "groups that share nothing": replace(POD, groups=((0, 1), (2, 3)), exchanges_loss=False),
    "asynchronous": replace(POD, is_asynchronous=True),
    "a drifting clock": replace(POD, steps=24, clocks={3: Clock(0, 25.0)}),
}


def true_waits(training: Pod, host: int) -> Iterator[int]:
    """Yields how long a core waits for the last host, per step, exchange and core of `host`; 0 if `host` is last."""
    steps = schedule(training)
    for step, index, core in product(
        range(training.steps), range(len(steps[0][0].exchanges[0])), range(training.cores)
    ):
        exchange: Exchange = steps[host][step].exchanges[core][index]
        group = range(training.hosts) if exchange.name == LOSS_EXCHANGE else training.group_of(host)
        arrivals = {
            member: max(exchanges[index].begin_ps for exchanges in steps[member][step].exchanges)
            for member in group
        }
        last = max(arrivals, key=arrivals.__getitem__)
        yield 0 if last == host else max(min(arrivals[last], exchange.end_ps) - exchange.wait_ps, 0)


@pytest.mark.parametrize("name", PODS)
def test_every_core_waits_for_the_last_host_of_its_group(name: str) -> None:
    training = PODS[name]
    arrivals = compare_pod(training).arrivals
    long_waits = 0
    for host in range(training.hosts):
        host_waits = core_waits(arrivals, host)
        order = np.lexsort((host_waits.core, host_waits.instance))
        waits, truth = host_waits.waits_ps[order], np.array(list(true_waits(training, host)))
        assert len(waits) == len(truth)
        # Ends differ by up to a microsecond; waits within the clocks' residual are not reported.
        assert (np.abs(waits - truth)[(waits > 0) | (truth > US)] < US).all()
        assert ((host_waits.last_arrival_ps > host_waits.wait_start_ps) | (host_waits.waits_ps == 0)).all()
        long_waits += int((waits > 10 * MS).sum())
    assert long_waits


@pytest.mark.parametrize(("uncertain", "without_waits"), [(LATE, {0, 1, 3}), (3, {3})])
def test_waits_within_the_clock_error_are_not_reported(uncertain: int, without_waits: set[int]) -> None:
    arrivals = compare_pod(POD).arrivals
    residual = arrivals.clocks.residual_ps.copy()
    residual[uncertain] = 100 * MS
    uncertain_arrivals = replace(arrivals, clocks=replace(arrivals.clocks, residual_ps=residual))
    waiting = {host for host in range(4) if (core_waits(uncertain_arrivals, host).waits_ps > 10 * MS).any()}
    assert waiting == {0, 1, 3} - without_waits


@pytest.mark.parametrize("name", ["all hosts", "groups of hosts"])
def test_a_gap_of_the_late_host_delays_the_next_collective(name: str) -> None:
    arrivals = compare_pod(PODS[name]).arrivals
    instances, waits = arrivals.instances, [core_waits(arrivals, host) for host in range(4)]
    late_instances = [
        instance
        for instance in np.flatnonzero(arrivals.last_party == LATE).tolist()
        if arrivals.shared.instructions[instances.instruction[instance]].name == "all-reduce.1"
        and arrivals.waits_ps[instance].max() > 10 * MS
    ]
    assert late_instances
    for instance in late_instances:
        begins = [
            int(host_waits.begin_ps[(host_waits.instance == instance) & (host_waits.core == 0)][0])
            if instances.present[instance, host]
            else None
            for host, host_waits in enumerate(waits)
        ]
        delayed = [
            begin and delayed_instance(arrivals, host, 0, begin - 30 * MS, begin - 17 * MS)
            for host, begin in enumerate(begins)
        ]
        assert delayed == [instance if host == LATE else None for host in range(4)]
        begin = begins[LATE]
        assert begin
        assert delayed_instance(arrivals, LATE, 0, begin - MS, begin) == instance
        # A gap within the error of the clocks delays nothing.
        assert delayed_instance(arrivals, LATE, 0, begin - 10_000, begin) is None
    end = int(waits[LATE].end_ps.max())
    assert delayed_instance(arrivals, LATE, 0, end, end + MS) is None


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A logdir with the session `s` of POD."""
    logdir = tmp_path_factory.mktemp("waits")
    folder = logdir / "plugins/profile/s"
    folder.mkdir(parents=True)
    for host, space in enumerate(pod.files(POD)):
        space.write(folder / f"{pod.name_of(host)}.xplane.pb")
    return logdir


@pytest.fixture(scope="module")
def client(logdir: Path) -> Client:
    """A client with only the viewed hosts in memory."""
    client = tensorboard("--logdir", str(logdir))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tb_xla_insights.logdir.session_hosts._MAX_HOSTS_IN_MEMORY", 1)
        assert "chosen_hosts" in open_session(client, "s")
    return client


ALL = {"start_ps": "0", "end_ps": "1000000000000"}


def test_waits_of_a_window_are_within_ops(client: Client) -> None:
    rows = {
        row["device"]: row["id"]
        for row in open_session(client, "s", hosts="1-3")["rows"]
        if row["kind"] == "ops"
    }
    answer = data(client, "waits", session="s", hosts="1-3", px="20000", **ALL)
    columns = {key: column for key, column in answer.items() if key not in ("count", "names")}
    assert set(map(len, columns.values())) == {len(answer["device"])}
    long_waits = [index for index, waits in enumerate(answer["waits_ps"]) if waits > 10 * MS]
    waiting = {f"{pod.name_of(host)}/TPU:{core}" for host in (1, 3) for core in (0, 1)}
    assert {answer["device"][index] for index in long_waits} == waiting
    for index in long_waits[:: len(long_waits) // 3]:
        device, depth, start, last, end, waits = (
            answer[key][index]
            for key in ("device", "depth", "start_ps", "last_arrival_ps", "end_ps", "waits_ps")
        )
        op = data(client, "event", session="s", row=rows[device], depth=depth, start_ps=start)
        assert (op["start_ps"], op["duration_ps"]) == (start, end - start)
        assert op["name"] == answer["names"][answer["name"][index]]
        assert answer["names"][answer["last_host"][index]] == pod.name_of(LATE)
        assert waits == last - start < end - start


def test_waits_narrower_than_a_pixel_are_only_counted(client: Client) -> None:
    coarse, fine = (data(client, "waits", session="s", hosts="1-3", px=px, **ALL) for px in ("100", "20000"))
    assert coarse["count"] == fine["count"] >= len(fine["device"]) > len(coarse["device"]) > 0
    assert min(coarse["waits_ps"]) >= 10 * MS


def test_a_gap_and_an_op_show_the_same_collective(client: Client) -> None:
    gaps = data(client, "gaps", session="s")["items"]
    gap = next(gap for gap in gaps if gap["host"] == pod.name_of(LATE))
    end = gap["start_ps"] + gap["duration_ps"]
    arguments = {"session": "s", "hosts": "1,2", "device": gap["device"]}
    collective = data(client, "collective", **arguments, start_ps=gap["start_ps"], end_ps=end)["collective"]
    assert (collective["name"], collective["last_host"], collective["hosts"]) == (
        "all-reduce.1",
        pod.name_of(LATE),
        4,
    )
    assert collective["waiting"] == 3
    assert 10 * MS < collective["waits_ps"] / 3 <= collective["longest_ps"]
    cores = collective["cores"]
    assert cores["device"] == [f"{pod.name_of(host)}/TPU:{core}" for host in (1, LATE) for core in (0, 1)]
    assert [waits > 10 * MS for waits in cores["waits_ps"]] == [True, True, False, False]
    for row in (1, 2):
        arguments_of_op = arguments | {"device": cores["device"][row], "start_ps": cores["begin_ps"][row]}
        op = data(client, "collective", **arguments_of_op)
        assert op["collective"] == collective
    assert data(client, "collective", **arguments, start_ps=end, end_ps=end + 1)["collective"] is None
    assert data(client, "collective", **arguments, start_ps=end)["collective"] is None


def test_waits_do_not_depend_on_the_hosts_in_memory(client: Client, logdir: Path) -> None:
    whole = tensorboard("--logdir", str(logdir))
    assert "chosen_hosts" not in open_session(whole, "s")
    arguments = {"session": "s", "hosts": "all", "px": "20000", **ALL}
    answer = data(whole, "waits", **arguments)
    assert answer["count"] > 0
    assert answer == data(client, "waits", **arguments)
