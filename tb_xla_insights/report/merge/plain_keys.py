"""The keys of the report that need no analysis of causes, of several hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.environment import environment_label
from tb_xla_insights.columns.merge import merged_row
from tb_xla_insights.report.host_document import session_summary
from tb_xla_insights.report.merge.diagnostics import MergedDiagnostics
from tb_xla_insights.schema.session import Environment
from tb_xla_insights.text.host_order import natural_key

if TYPE_CHECKING:
    from tb_xla_insights.schema.parts import SummaryKeys
    from tb_xla_insights.schema.session import Busy, Device, SessionHead
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
    """The report's `environment`, with the accelerator of most devices. `hosts` have the keys `environment` and
    `devices`."""
    row = merged_row(Environment, [host["environment"] for host in hosts])
    accelerators: Counter[str] = Counter()
    for host in hosts:
        accelerators[host["environment"]["accelerator"]] += len(host["devices"])
    accelerator = max(accelerators, key=lambda name: accelerators[name])
    label = environment_label(row["framework"], row["runtime"], accelerator, accelerators.total())
    return {**row, "accelerator": accelerator, "label": label}


def merge_devices(hosts: Sequence[Sequence[Device]], duration_ps: int) -> list[Device]:
    """The devices of all hosts; their span in the definition `capture` becomes the session's duration."""
    rows: list[Device] = []
    for device in (device for devices in hosts for device in devices):
        capture: Busy = {**device["duty"]["capture"], "span_ps": duration_ps}
        rows.append({**device, "duty": {**device["duty"], "capture": capture}})
    return rows
