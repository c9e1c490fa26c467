"""Simulated training loops, with and without a cause of idle time, whose traces and step times are known.

The host works, launches and waits in order; the device runs programs in order of launch. Times are whole microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from launching import US, Tpu

from tb_xla_insights.trace.model import Trace

SYNC, MARKER = 4, 6
"""Durations of handing a graph over, without and with a step marker around it."""

ENQUEUE_OFFSET = 3
"""The time from the start of handing a graph over to its enqueuing."""

LATENCY = 7
"""The time from the enqueuing to the run's start on an idle device."""

STEPS = 6
HOST = DEVICE = st.integers(100, 900)
"""Host time and device time of a step: either may be the limit."""

few_examples = settings(max_examples=8, deadline=None)


@dataclass
class Simulation:
    """The loop so far: the host is at `now`, the first run began at `began`, and the runs end at `ends`."""

    tpu: Tpu = field(default_factory=Tpu)
    now: int = 0
    began: int | None = None
    ends: list[int] = field(default_factory=list)

    @contextmanager
    def step(self, index: int) -> Iterator[None]:
        """The annotation of a step around what the host does in it. As in a capture within a training, step numbers
        differ from indices."""
        begin = self.now
        yield
        self.tpu.step(begin, self.now - begin, index + 5)

    def host(self, name: str, duration: int) -> None:
        """Adds an event of the host; none for a duration of 0."""
        if duration:
            self.tpu.on_main(name, self.now, duration)
            self.now += duration

    def launch(
        self,
        device_us: int,
        marker: bool = False,
        program: str = "train(7)",
        op: str = "fusion.1",
        latency: int = LATENCY,
    ) -> None:
        enqueued = self.now + ENQUEUE_OFFSET
        start = max(enqueued + latency, self.ends[-1] if self.ends else 0)
        self.tpu.launch(
            self.now,
            (self.now + 2, 1),
            (start, device_us),
            by="marker" if marker else "sync",
            enqueue=enqueued,
            program=program,
            op=op,
        )
        self.began = start if self.began is None else self.began
        self.ends.append(start + device_us)
        self.now += MARKER if marker else SYNC

    def wait(self, name: str, delay_us: int = 11) -> None:
        """A wait that returns `delay_us` after the end of the last run, or after its own start if that is later."""
        until = max(self.now, self.ends[-1]) + delay_us
        self.tpu.on_main(name, self.now, until - self.now)
        self.now = until

    @property
    def total_us(self) -> int:
        """The duration of all steps together, by what limits them: the host, or the device from its first run on."""
        return max(self.now, self.ends[-1] - (self.began or 0))


def simulate(steps: int, body: Callable[[Simulation, int], None]) -> tuple[Trace, int]:
    """The trace of a loop, and the total duration of its steps in ps (see `total_us`)."""
    simulation = Simulation()
    for number in range(steps):
        with simulation.step(number):
            body(simulation, number)
    return simulation.tpu.trace(), simulation.total_us * US


def mean_step(total_ps: int) -> int:
    """The mean duration of `STEPS` steps."""
    return round(total_ps / STEPS)
