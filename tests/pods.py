"""Pods with known truth, and the input that each host's capture provides to their comparison."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from build import trace_of
from synthetic import pod
from synthetic.pod_schedule import Clock, Delay, Pod
from synthetic.times import MS, jitter

from tb_xla_insights.analysis.compiles.compile_table import compiles_report
from tb_xla_insights.analysis.delays.collectives import collectives_report
from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.analysis.steps.step_table import steps_report
from tb_xla_insights.catalog import load_catalog
from tb_xla_insights.files.open import open_source
from tb_xla_insights.pod.collectives import host_collectives
from tb_xla_insights.pod.comparison import HostComparison, compare_hosts
from tb_xla_insights.pod.host_steps import HostInput
from tb_xla_insights.report.host_document import session_summary
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.read_trace import read_trace

RECORDED = Path(__file__).parent / "recorded"
EXAMPLE = RECORDED / "hosts_view.json"

HOSTS, STEPS = 8, 12
POD = Pod(
    hosts=HOSTS,
    cores=2,
    steps=STEPS,
    ops=2,
    clocks={host: Clock(jitter(f"clock {host}", 4 * MS)) for host in range(HOSTS)},
)
"""A pod without late hosts, whose clocks differ."""

HALVES = ((0, 1, 2, 3), (4, 5, 6, 7))
LOADER = Delay(5, "input", 38 * MS)
"""The loader of host 5 takes longer in every step."""


def inputs(training: Pod, missing: Collection[int] = ()) -> list[HostInput]:
    """The input of each host of a pod, except the hosts whose files are `missing`."""
    return [
        host_input(trace_of(space.to_bytes(), pod.name_of(host)))
        for host, space in enumerate(pod.files(training))
        if host not in missing
    ]


def compare_pod(training: Pod, missing: Collection[int] = ()) -> HostComparison:
    """The comparison of a pod's hosts, made once, as several tests ask for the same pods."""
    key = repr((training, sorted(missing)))
    if key not in _COMPARISONS:
        _COMPARISONS[key] = compare_hosts(inputs(training, missing))
    return _COMPARISONS[key]


_COMPARISONS: dict[str, HostComparison] = {}


def host_input(trace: Trace) -> HostInput:
    """The input of one host, with times from its first event: of its report, what the comparison reads."""
    trace.shift(-trace.span_ps[0])
    summary, _ = session_summary(trace, "session", "run/session")
    document: Any = {
        **summary,
        "steps": steps_report(trace),
        "gaps": gaps_report(trace),
        "compiles": compiles_report(trace),
        "collectives": collectives_report(trace),
    }
    return HostInput(trace.host, document, host_collectives(trace))


def recorded_trace(name: str, rank: int) -> Trace:
    """The trace of one process of a recorded training."""
    [path] = (RECORDED / "pods" / name).rglob(f"demo-w-{rank}.xplane.pb")
    with open_source(str(path)) as source:
        return read_trace(source, load_catalog(), host=f"demo-w-{rank}")


def recorded(name: str) -> list[HostInput]:
    """The inputs of the processes of a recorded training."""
    return [host_input(recorded_trace(name, rank)) for rank in range(4)]


def example_text() -> str:
    """The document of the view Hosts of the demo pod."""
    from tb_xla_insights.pod.hosts_view import hosts_view

    document = hosts_view(compare_pod(pod.DEMO))
    return "{\n" + ",\n".join(f'"{key}": {json.dumps(value)}' for key, value in document.items()) + "\n}\n"


if __name__ == "__main__":
    EXAMPLE.write_text(example_text())
