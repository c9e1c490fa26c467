"""How long cores wait for other hosts, against pods of which the truth is known, and what the page is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from pods import compared
from synthetic import pod
from synthetic.pod_schedule import Clock, Exchange, Late, Pod, schedule
from synthetic.times import MS, US
from test_plugin import data, opened, tensorboard
from test_pod_clocks import AHEAD
from werkzeug.test import Client

from tb_xla_insights.pod.waits import core_waits, delayed_instance

LATE = 2
POD = Pod(
    hosts=4,
    cores=2,
    steps=8,
    late=(Late(LATE, "input", 30 * MS),),
    clocks={host: Clock(ahead) for host, ahead in enumerate(AHEAD[:4])},
)
WAYS = {
    "all hosts": POD,
    "groups of hosts": replace(POD, groups=((0, 1), (2, 3))),
    "groups that share nothing": replace(POD, groups=((0, 1), (2, 3)), joined=False),
    "asynchronous": replace(POD, overlapped=True),
    "a clock that gains": replace(POD, steps=24, clocks={3: Clock(0, 25.0)}),
}


def true_waits(made: Pod, host: int) -> Iterator[int]:
    """Per step, exchange and core of a host how long the core waits for the last host; 0 where that is its own."""
    steps = schedule(made)
    for step, place, core in product(
        range(made.steps), range(len(steps[0][0].exchanges[0])), range(made.cores)
    ):
        own: Exchange = steps[host][step].exchanges[core][place]
        group = range(made.hosts) if own.name == "all-reduce.3" else made.group_of(host)
        arrivals = {it: max(each[place].begin_ps for each in steps[it][step].exchanges) for it in group}
        last = max(arrivals, key=arrivals.__getitem__)
        yield 0 if last == host else max(min(arrivals[last], own.end_ps) - own.wait_ps, 0)


@pytest.mark.parametrize("name", WAYS)
def test_every_core_waits_for_the_last_host_of_its_group(name: str) -> None:
    made = WAYS[name]
    arrivals = compared(made).arrivals
    told = 0
    for host in range(made.hosts):
        found = core_waits(arrivals, host)
        order = np.lexsort((found.core, found.instance))
        waits, truth = found.waits_ps[order], np.array(list(true_waits(made, host)))
        assert len(waits) == len(truth)
        # Ends differ by up to a microsecond; what is shorter than a residual is not told.
        assert (np.abs(waits - truth)[(waits > 0) | (truth > US)] < US).all()
        assert ((found.last_ps > found.wait_start_ps) | (found.waits_ps == 0)).all()
        told += int((waits > 10 * MS).sum())
    assert told


@pytest.mark.parametrize(("unsure", "silent"), [(LATE, {0, 1, 3}), (3, {3})])
def test_what_clocks_can_be_wrong_by_is_not_told(unsure: int, silent: set[int]) -> None:
    arrivals = compared(POD).arrivals
    residual = arrivals.clocks.residual_ps.copy()
    residual[unsure] = 100 * MS
    wide = replace(arrivals, clocks=replace(arrivals.clocks, residual_ps=residual))
    told = {host for host in range(4) if (core_waits(wide, host).waits_ps > 10 * MS).any()}
    assert told == {0, 1, 3} - silent


@pytest.mark.parametrize("name", ["all hosts", "groups of hosts"])
def test_a_gap_of_the_late_host_delays_the_next_collective(name: str) -> None:
    arrivals = compared(WAYS[name]).arrivals
    its, waits = arrivals.instances, [core_waits(arrivals, host) for host in range(4)]
    late = [
        instance
        for instance in np.flatnonzero(arrivals.last_party == LATE).tolist()
        if arrivals.shared.instructions[its.instruction[instance]].name == "all-reduce.1"
        and arrivals.waits_ps[instance].max() > 10 * MS
    ]
    assert late
    for instance in late:
        before = [
            int(it.begin_ps[(it.instance == instance) & (it.core == 0)][0])
            if its.present[instance, host]
            else None
            for host, it in enumerate(waits)
        ]
        found = [
            begin and delayed_instance(arrivals, host, 0, begin - 30 * MS, begin - 17 * MS)
            for host, begin in enumerate(before)
        ]
        assert found == [instance if host == LATE else None for host in range(4)]
        begin = before[LATE]
        assert begin
        assert delayed_instance(arrivals, LATE, 0, begin - MS, begin) == instance
        assert (
            delayed_instance(arrivals, LATE, 0, begin - 10_000, begin) is None
        )  # no longer than clocks can be wrong
    end = int(waits[LATE].end_ps.max())
    assert delayed_instance(arrivals, LATE, 0, end, end + MS) is None


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The session `s` of these hosts."""
    logdir = tmp_path_factory.mktemp("waits")
    folder = logdir / "plugins/profile/s"
    folder.mkdir(parents=True)
    for host, space in enumerate(pod.files(POD)):
        space.write(folder / f"{pod.name_of(host)}.xplane.pb")
    return logdir


@pytest.fixture(scope="module")
def client(logdir: Path) -> Iterator[Client]:
    """Of the hosts only those that are looked at are in memory."""
    client = tensorboard("--logdir", str(logdir))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tb_xla_insights.logdir.session_hosts._MAX_HOSTS_IN_MEMORY", 1)
        opened(client, "s")
        yield client


ALL = {"start_ps": "0", "end_ps": "1000000000000"}


def test_waits_of_a_window_are_parts_of_ops(client: Client) -> None:
    rows = {
        row["device"]: row["id"] for row in opened(client, "s", hosts="1-3")["rows"] if row["kind"] == "ops"
    }
    found = data(client, "waits", session="s", hosts="1-3", px="20000", **ALL)
    columns = {key: column for key, column in found.items() if key not in ("count", "names")}
    assert set(map(len, columns.values())) == {len(found["device"])}
    longest = [at for at, waits in enumerate(found["waits_ps"]) if waits > 10 * MS]
    waiting = {f"{pod.name_of(host)}/TPU:{core}" for host in (1, 3) for core in (0, 1)}
    assert {found["device"][at] for at in longest} == waiting
    for at in longest[:: len(longest) // 3]:
        device, depth, start, last, end, waits = (
            found[key][at] for key in ("device", "depth", "start_ps", "last_ps", "end_ps", "waits_ps")
        )
        op = data(client, "event", session="s", row=rows[device], depth=depth, start_ps=start)
        assert (op["start_ps"], op["duration_ps"]) == (start, end - start)
        assert op["name"] == found["names"][found["name"][at]]
        assert found["names"][found["last"][at]] == pod.name_of(LATE)
        assert waits == last - start < end - start


def test_what_is_narrower_than_a_pixel_is_only_counted(client: Client) -> None:
    some, all_ = (data(client, "waits", session="s", hosts="1-3", px=px, **ALL) for px in ("100", "20000"))
    assert some["count"] == all_["count"] >= len(all_["device"]) > len(some["device"]) > 0
    assert min(some["waits_ps"]) >= 10 * MS


def test_a_gap_and_an_op_tell_of_the_same_collective(client: Client) -> None:
    gap = next(it for it in data(client, "gaps", session="s")["items"] if it["host"] == pod.name_of(LATE))
    end = gap["start_ps"] + gap["duration_ps"]
    asked = {"session": "s", "hosts": "1,2", "device": gap["device"]}
    found = data(client, "collective", **asked, start_ps=gap["start_ps"], end_ps=end)["collective"]
    assert (found["name"], found["last"], found["hosts"]) == ("all-reduce.1", pod.name_of(LATE), 4)
    assert found["waiting"] == 3
    assert 10 * MS < found["waits_ps"] / 3 <= found["longest_ps"]
    cores = found["cores"]
    assert cores["device"] == [f"{pod.name_of(host)}/TPU:{core}" for host in (1, LATE) for core in (0, 1)]
    assert [waits > 10 * MS for waits in cores["waits_ps"]] == [True, True, False, False]
    for at in (1, 2):
        its = asked | {"device": cores["device"][at], "start_ps": cores["begin_ps"][at]}
        op = data(client, "collective", **its)
        assert op["collective"] == found
    assert data(client, "collective", **asked, start_ps=end, end_ps=end + 1)["collective"] is None
    assert data(client, "collective", **asked, start_ps=end)["collective"] is None


def test_the_same_is_told_with_all_hosts_in_memory(client: Client, logdir: Path) -> None:
    whole = tensorboard("--logdir", str(logdir))
    opened(whole, "s")
    asked = {"session": "s", "hosts": "all", "px": "20000", **ALL}
    found = data(whole, "waits", **asked)
    assert found["count"] > 0
    assert found == data(client, "waits", **asked)
