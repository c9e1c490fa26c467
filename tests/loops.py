"""Training loops for findings: steps of 1,000 us in which the device works, to which a test adds a mistake."""

from __future__ import annotations

from launching import US, Tpu

from tb_xla_insights.analysis.findings import Finding, find_findings
from tb_xla_insights.analysis.sidecar_contents import NO_SIDECARS, Sidecars
from tb_xla_insights.trace.model import Trace

STEP = 1000
"""The duration of a step, in us."""
LAUNCH = 700
"""The start of the marker, in us from the step's start; the run begins 50 us later."""


def loop(steps: int = 4, device: float = 500, cores: tuple[int, ...] = (0,), first: int = 5) -> Tpu:
    """Steps that each launch once. The device is idle for the rest of a step: the host is in the step marker for 6 us
    of it, and otherwise only in the step's annotation."""
    tpu = Tpu()
    for i in range(steps):
        tpu.step(i * STEP, STEP, first + i)
        tpu.launch(
            i * STEP + LAUNCH,
            (i * STEP + LAUNCH + 10, 20),
            (i * STEP + LAUNCH + 50, device),
            by="marker",
            cores=cores,
        )
    return tpu


def findings(trace: Trace, sidecars: Sidecars = NO_SIDECARS) -> dict[str, Finding]:
    """The findings of one host's session by id."""
    results = find_findings(trace, sidecars)
    assert len({finding.id for finding in results}) == len(results)
    return {finding.id: finding for finding in results}


def us(ps: int | None) -> float | None:
    return None if ps is None else ps / US


def with_work(name: str, duration: float, device: float = 500) -> Tpu:
    """The loop with work of `duration` us in each gap, which lasts 1000 us minus the device's work."""
    tpu = loop(device=device)
    for i in range(1, 4):
        tpu.on_main(name, i * STEP + LAUNCH - 10 - duration, duration)
    return tpu
