"""The keys of the report that need no analysis of causes, of several hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.environment import FRAMEWORKS, RUNTIMES, UNKNOWN, environment_label
from tb_xla_insights.report.host_document import session_summary
from tb_xla_insights.report.merge.diagnostics import MergedDiagnostics
from tb_xla_insights.text.host_order import natural_key

if TYPE_CHECKING:
    from tb_xla_insights.schema.parts import SummaryKeys
    from tb_xla_insights.schema.session import Busy, Device, Environment, Framework, Runtime, SessionHead
    from tb_xla_insights.trace.model import SessionTrace


def summary_of_hosts(session: SessionTrace) -> SummaryKeys:
    """The keys `session`, `environment`, `diagnostics` and `devices` of hosts in memory."""
    hosts, diagnostics = [], MergedDiagnostics()
    for number, trace in enumerate(session.traces):
        host, diagnostics_of_host = session_summary(trace, session.name, session.path)
        hosts.append(host)
        diagnostics.add((natural_key(trace.host), trace.path, number), trace.host, diagnostics_of_host)
    return {
        "session": merge_heads(
            [host["session"] for host in hosts], session.start_unix_ns, session.duration_ps
        ),
        "environment": merge_environments(hosts),
        "diagnostics": [
            *(diagnostic.as_json() for diagnostic in session.diagnostics),
            *(diagnostics.rows() if len(hosts) > 1 else hosts[0]["diagnostics"]),
        ],
        "devices": merge_devices([host["devices"] for host in hosts], session.duration_ps),
    }


def merge_heads(hosts: Sequence[SessionHead], start_unix_ns: int, duration_ps: int) -> SessionHead:
    """The report's `session`, of hosts on one time base."""
    return {
        "name": hosts[0]["name"],
        "path": hosts[0]["path"],
        "description": next(filter(None, (host["description"] for host in hosts)), None),
        "start_unix_ns": str(start_unix_ns),
        "duration_ps": duration_ps,
        "hosts": [row for host in hosts for row in host["hosts"]],
    }


def merge_environments(hosts: Sequence[Mapping[str, Any]]) -> Environment:
    """The report's `environment`: the first known framework and runtime in the order of FRAMEWORKS and RUNTIMES that
    any host has, and the accelerator of most devices. `hosts` have the keys `environment` and `devices`."""
    environments = [host["environment"] for host in hosts]
    frameworks, runtimes = ({row[key] for row in environments} for key in ("framework", "runtime"))
    accelerators: Counter[str] = Counter()
    for host in hosts:
        accelerators[host["environment"]["accelerator"]] += len(host["devices"])
    framework: Framework = next((name for name in FRAMEWORKS if name in frameworks), UNKNOWN)
    runtime: Runtime = next((name for name in RUNTIMES if name in runtimes), UNKNOWN)
    accelerator = max(accelerators, key=lambda name: accelerators[name])
    return {
        "framework": framework,
        "runtime": runtime,
        "accelerator": accelerator,
        "hlo_scopes": any(row["hlo_scopes"] for row in environments),
        "synthetic": any(row["synthetic"] for row in environments),
        "label": environment_label(framework, runtime, accelerator, accelerators.total()),
    }


def merge_devices(hosts: Sequence[Sequence[Device]], duration_ps: int) -> list[Device]:
    """The devices of all hosts; their span in the definition `capture` becomes the session's duration."""
    rows: list[Device] = []
    for device in (device for devices in hosts for device in devices):
        capture: Busy = {**device["duty"]["capture"], "span_ps": duration_ps}
        rows.append({**device, "duty": {**device["duty"], "capture": capture}})
    return rows
