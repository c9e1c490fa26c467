"""The schedule of a pod: hosts that train together, some of which may be late, each with its own clock.

All times here are true picoseconds, the same for all hosts; `pod` writes them in the time of each host's clock.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from synthetic.times import MS, US, jitter

Cause = Literal["input", "python", "tracing", "compile", "device"]
Groups = tuple[tuple[int, ...], ...]

LOSS_EXCHANGE = "all-reduce.3"
"""The collective in which all hosts take part, whatever their groups."""


@dataclass(frozen=True)
class Delay:
    """What makes a host late: `extra_ps` in each of `steps` (their indices; None: all); for cause `device` on the
    device `core` (None: all), before its first collective."""

    host: int
    cause: Cause
    extra_ps: int
    steps: tuple[int, ...] | None = None
    core: int | None = None

    def applies(self, host: int, step: int) -> bool:
        return host == self.host and (self.steps is None or step in self.steps)


@dataclass(frozen=True)
class Clock:
    """A host's clock: how far it is ahead of the true time at 0, and its drift."""

    ahead_ps: int = 0
    drift_ppm: float = 0.0

    def reading_ps(self, true_ps: int) -> int:
        """The time on the clock at a true time."""
        return true_ps + self.ahead_ps + round(true_ps * self.drift_ppm / 1e6)


@dataclass(frozen=True)
class Pod:
    """A pod and its training.

    `groups`: the hosts that reduce gradients together (None: all). `exchanges_loss`: all hosts exchange the loss at the
    end of a step. `is_pipeline`: the groups are stages of a pipeline, each of which begins with the data of the
    previous stage. `is_asynchronous`: the first collective is. `clocks`, `captured_steps` (the first and the last step
    in the file) and `module_names` of hosts that differ. `programs_have_groups`, `has_step_numbers`, `has_run_ids`: the
    files contain the groups of collectives, the numbers of steps, and the ids of runs.
    """

    hosts: int = 16
    cores: int = 4
    steps: int = 12
    delays: tuple[Delay, ...] = ()
    clocks: Mapping[int, Clock] = field(default_factory=dict)
    groups: Groups | None = None
    exchanges_loss: bool = True
    is_pipeline: bool = False
    is_asynchronous: bool = False
    captured_steps: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    module_names: Mapping[int, str] = field(default_factory=dict)
    programs_have_groups: bool = True
    has_step_numbers: bool = True
    has_run_ids: bool = True
    first_step: int = 1204
    input_ps: int = 2 * MS
    tracing_ps: int = 9 * MS
    prepare_ps: int = 3 * MS
    dispatch_ps: int = 300 * US
    compute_ps: tuple[int, ...] = (18 * MS, 6 * MS, 2 * MS)
    reduce_ps: int = 1_500 * US
    noise_ps: int = 40 * US
    ops: int = 5

    def group_of(self, host: int) -> tuple[int, ...]:
        """The hosts that reduce gradients together with this one, which is included."""
        return next((group for group in self.groups or () if host in group), tuple(range(self.hosts)))

    def extra_ps(self, host: int, step: int, *causes: Cause, core: int | None = None) -> int:
        return sum(
            delay.extra_ps
            for delay in self.delays
            if delay.applies(host, step) and delay.cause in causes and delay.core in (None, core)
        )


@dataclass(frozen=True)
class Phase:
    """An interval of the host's step; its name decides its class."""

    name: str
    start_ps: int
    end_ps: int


@dataclass(frozen=True)
class Exchange:
    """A collective on one core: its start, the instant from which the core waits in it, and its end."""

    name: str
    begin_ps: int
    wait_ps: int
    end_ps: int


@dataclass(frozen=True)
class HostStep:
    """One step of one host; `index` counts from the pod's first step. Per core: `runs` (start, end), `exchanges` in
    order."""

    index: int
    start_ps: int
    end_ps: int
    phases: tuple[Phase, ...]
    barrier: Phase
    dispatch: Phase
    runs: tuple[tuple[int, int], ...]
    exchanges: tuple[tuple[Exchange, ...], ...]


def schedule(pod: Pod) -> list[list[HostStep]]:
    """The steps of each host. A host begins a step when it has launched the previous one; runs wait for each other in
    collectives."""
    next_start = [0] * pod.hosts
    run_ends = [[0] * pod.cores for _ in range(pod.hosts)]
    steps_of_host: list[list[HostStep]] = [[] for _ in range(pod.hosts)]
    for step in range(pod.steps):
        hosts = [_host(pod, host, step, next_start[host], max(run_ends[host])) for host in range(pod.hosts)]
        begins = [
            [
                dispatch.end_ps + 20 * US + abs(jitter(f"run {host} {core} {step}", pod.noise_ps // 4))
                for core in range(pod.cores)
            ]
            for host, (_, _, dispatch) in enumerate(hosts)
        ]
        exchanges, ends = _devices(pod, step, begins)
        for host, (phases, barrier, dispatch) in enumerate(hosts):
            runs = tuple(zip(begins[host], ends[host], strict=True))
            end = dispatch.end_ps + 30 * US
            exchanges_of_host = tuple(tuple(core) for core in exchanges[host])
            steps_of_host[host].append(
                HostStep(step, next_start[host], end, phases, barrier, dispatch, runs, exchanges_of_host)
            )
            next_start[host], run_ends[host] = end, ends[host]
    return steps_of_host


def _host(
    pod: Pod, host: int, step: int, start_ps: int, device_done_ps: int
) -> tuple[tuple[Phase, ...], Phase, Phase]:
    """The host's activity in a step: its phases, the wait for the previous run, and the launch."""
    lengths = {
        "next_batch": pod.input_ps + pod.extra_ps(host, step, "input"),
        "$augment.py:31 crop": pod.extra_ps(host, step, "python"),
        "forward": pod.tracing_ps // 3,
        "backward": pod.tracing_ps - pod.tracing_ps // 3 + pod.extra_ps(host, step, "tracing"),
        "CollectSyncTensors": pod.prepare_ps,
        "PjRtComputationClient::Compile": pod.extra_ps(host, step, "compile"),
    }
    now, phases = start_ps, []
    for name, length in lengths.items():
        if length:
            end = now + length + abs(jitter(f"{name} {host} {step}", min(pod.noise_ps, length)))
            phases.append(Phase(name, now, end))
            now = end
    wait_end = max(now + 5 * US, device_done_ps)
    return (
        tuple(phases),
        Phase("TensorCollectionBarrier", now, wait_end),
        Phase(
            "PjRtComputationClient::ExecuteReplicated",
            wait_end + 10 * US,
            wait_end + 10 * US + pod.dispatch_ps,
        ),
    )


def _devices(
    pod: Pod, step: int, begins: Sequence[Sequence[int]]
) -> tuple[list[list[list[Exchange]]], list[list[int]]]:
    """The collectives of a step's run and the end of the run, per host and core. `reached`: the instant up to which a
    core's work is scheduled; `posted`: when it begins its first collective."""
    reached = [list(begins_of_cores) for begins_of_cores in begins]
    exchanges: list[list[list[Exchange]]] = [[[] for _ in range(pod.cores)] for _ in range(pod.hosts)]
    posted = [list(begins_of_cores) for begins_of_cores in begins]
    for index, compute in enumerate(pod.compute_ps):
        received: dict[tuple[int, ...], int] = {}
        for host, core in _cores(pod):
            if pod.is_pipeline and index == 0:
                _receive(pod, host, core, reached, exchanges, received)
            extra = pod.extra_ps(host, step, "device", core=core) if index == 0 else 0
            reached[host][core] += compute + extra + jitter(f"{index} {host} {core} {step}", pod.noise_ps)
            if index == 0:
                posted[host][core] = reached[host][core]
        if index == 0 and not pod.is_asynchronous:
            _exchange(pod, step, "all-reduce.1", reached, reached, exchanges)
        elif index == 1 and pod.is_asynchronous:
            _exchange(pod, step, "all-reduce.1", posted, reached, exchanges)
        elif index == 1:
            _exchange(pod, step, "all-reduce.2", reached, reached, exchanges)
        elif index > 1 and pod.exchanges_loss:
            _exchange(pod, step, LOSS_EXCHANGE, reached, reached, exchanges, all_hosts=True)
    for host, core in _cores(pod):
        reached[host][core] += 100 * US
    return exchanges, reached


def _receive(
    pod: Pod,
    host: int,
    core: int,
    reached: list[list[int]],
    exchanges: list[list[list[Exchange]]],
    received: dict[tuple[int, ...], int],
) -> None:
    """Makes a core wait for the data of the previous stage, which is sent when all cores of that stage are done; the
    stages are in the order of their hosts. `received`: the instant at which each stage has its data."""
    stage = pod.group_of(host)
    if stage[0] == 0:
        return
    sent = max(
        reached[sender][sender_core]
        for sender in pod.group_of(stage[0] - 1)
        for sender_core in range(pod.cores)
    )
    begin = reached[host][core]
    reached[host][core] = max(begin + US, received.setdefault(stage, sent))
    exchanges[host][core].append(Exchange("recv-done.4", begin, begin, reached[host][core]))


def _exchange(
    pod: Pod,
    step: int,
    name: str,
    begin: list[list[int]],
    reached: list[list[int]],
    exchanges: list[list[list[Exchange]]],
    all_hosts: bool = False,
) -> None:
    """One collective. Each core begins it at `begin` and waits in it from `reached` on, which then becomes its end:
    `reduce_ps` after the last core of its group has begun, on each core up to a microsecond earlier or later; at least
    a microsecond after `reached`, as in asynchronous ones."""
    for group in {tuple(range(pod.hosts)) if all_hosts else pod.group_of(host) for host in range(pod.hosts)}:
        members = [(host, core) for host in sorted(group) for core in range(pod.cores)]
        end = max(begin[host][core] for host, core in members) + pod.reduce_ps
        for host, core in members:
            wait = reached[host][core]
            until = max(wait + US, end) + jitter(f"end {name} {host} {core} {step}", US)
            exchanges[host][core].append(Exchange(name, begin[host][core], wait, until))
            reached[host][core] = until


def _cores(pod: Pod) -> list[tuple[int, int]]:
    return [(host, core) for host in range(pod.hosts) for core in range(pod.cores)]
