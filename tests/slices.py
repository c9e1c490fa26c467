"""Simulated transfers between slices: a core that sends and receives in each step, what its host does for them, and
another slice that may send late. Times are whole microseconds; the truth follows from the parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from captures import CATALOG, Core, Event, HostThread, space_of, thread
from launching import TO_DEVICE, US
from synthetic.writer import Space, Stat, Uint

from tb_xla_insights.files.open import open_source
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.read_trace import read_trace

ISSUE = 10
"""The duration of a send and of a receive op."""

COPY = 20
"""The time to copy data from the device to the host, and back."""

STEP = 20_000
MEGASCALE = "/device:CUSTOM:Megascale Trace"


def attributes(rendezvous: str, type_: str = "ALL_REDUCE") -> str:
    return (
        f'frontend_attributes={{_xla_host_transfer_rendezvous="{rendezvous}", '
        f'_xla_megascale_transfer_type="{type_}"}}'
    )


def send_ops(number: int, rendezvous: str, type_: str = "ALL_REDUCE") -> tuple[str, str]:
    """The texts of a send and its done op."""
    shape, channel = "(f32[1024], u32[], token[])", f"channel_id={number}, is_host_transfer=true"
    start = f"%send.{number} = {shape} send(f32[1024] %fusion.{number}, token[] %token.{number}), {channel}"
    done = f"%send-done.{number} = token[] send-done({shape} %send.{number}), {channel}"
    return f"{start}, {attributes(rendezvous, type_)}", done


def receive_ops(number: int, rendezvous: str, type_: str = "ALL_REDUCE") -> tuple[str, str]:
    """The texts of a receive and its done op."""
    shape, channel = "(f32[1024], u32[], token[])", f"channel_id={number + 500}, is_host_transfer=true"
    start = f"%recv.{number} = {shape} recv(token[] %token.{number}), {channel}"
    done = f"%recv-done.{number} = (f32[1024], token[]) recv-done({shape} %recv.{number}), {channel}"
    return f"{start}, {attributes(rendezvous, type_)}", done


SEND, SEND_DONE, RECEIVE, RECEIVE_DONE = (
    {"hlo_category": f"host {name}"} for name in ("send", "send-done", "recv", "recv-done")
)


@dataclass
class Slices:
    """The capture so far. `clock`: what the host's clock is ahead of the device's."""

    clock: int = 0
    device_id: int = 100_000
    ops: list[Event] = field(default_factory=list)
    runs: list[Event] = field(default_factory=list)
    main: list[Event] = field(default_factory=list)
    actions: list[Event] = field(default_factory=list)

    def step(self, slack: int, network: int, late: int = 0, name: str = "grads.1", scope: str = "") -> int:
        """Adds a step with one transfer, and returns its wait: after the send and the receive, the program computes
        for `slack`; the other slice sends `late` after this one's data has left the device, and data is `network` on
        the way."""
        number = len(self.runs)
        at = begin = STEP * number + 1_000
        self.main += [
            ("Training_Step", (at - 900) * US, 800 * US, {"_r": 1, "step_num": number + 5}),
            ("DoEnqueueProgram", (at - 600) * US, 10 * US, {"_pt": TO_DEVICE, "_p": number}),
        ]
        where = {"tf_op": scope} if scope else {}
        (send, send_done), (receive, receive_done) = send_ops(1, name), receive_ops(1, name)
        sent = at + ISSUE + COPY + late
        needed, ready = at + 2 * ISSUE + slack, sent + network + COPY
        wait = max(0, ready - needed)
        self._op(send, at, ISSUE, SEND | where)
        self._op(receive, at + ISSUE, ISSUE, RECEIVE | where)
        self._op("fusion.1", at + 2 * ISSUE, slack)
        self._op(send_done, needed, 0, SEND_DONE)
        self._op(receive_done, needed, wait, RECEIVE_DONE)
        self._op("fusion.2", needed + wait, 1_000)
        key = f"device_{self.device_id}_gid_{name}$7^i{number}"
        self._action(key, "DeviceToHost END", at + ISSUE, COPY)
        self._action(
            key,
            "NetworkReceive END",
            at + ISSUE,
            sent + network - at - ISSUE,
            network_transport_latency_us=Uint(network),
            buffer_sizes=f"s200000->{self.device_id}d|$c0=4096 s{self.device_id}->{self.device_id}d|$c1=4096",
        )
        self._action(key, "HostToDevice END", sent + network, COPY)
        self.runs.append(
            (
                "jit_train(7)",
                begin * US,
                (needed + wait + 1_000 - begin) * US,
                {"_ct": TO_DEVICE, "_c": number},
            )
        )
        return wait

    def _op(self, text: str, at: int, duration: int, stats: dict[str, str] | None = None) -> None:
        self.ops.append((text, at * US, duration * US, dict(stats or {})))

    def _action(self, key: str, name: str, at: int, duration: int, **stats: Stat) -> None:
        """An action, drawn as in real files: not from its real start, but with its real end."""
        end = at + duration + self.clock
        self.actions.append(
            (name, (end - 1) * US, US, {"graph_key": key, "action_duration_ns": duration * 1000, **stats})
        )

    def space(self) -> Space:
        return slices_space(Core(self.ops, self.runs), self.actions, thread("python", *self.main))

    def trace(self, folder: Path) -> Trace:
        return read(self.space(), folder)


def slices_space(core: Core, actions: list[Event], *threads: HostThread) -> Space:
    space = space_of(*threads, core)
    line = space.plane(MEGASCALE).line("actions")
    for name, start, duration, stats in sorted(actions, key=lambda action: action[1]):
        line.event(name, start, duration, stats)
    return space


def read(space: Space, folder: Path) -> Trace:
    """The trace of a file, which analyses read again."""
    path = folder / "host.xplane.pb"
    space.write(str(path))
    with open_source(str(path)) as source:
        return read_trace(source, CATALOG, host="host")
