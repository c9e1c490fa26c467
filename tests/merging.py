"""Merged reports for tests."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable
from typing import Any

from captures import capture, thread

from tb_xla_insights.pod.collectives import host_collectives
from tb_xla_insights.report.host_summary import HostSummary
from tb_xla_insights.report.merge import ReportMerger
from tb_xla_insights.trace.model import Trace

Row = dict[str, Any]
NO_COLLECTIVES = host_collectives(capture(thread("python", ("f", 0, 1))))


def renamed(trace: Trace, host: str) -> Trace:
    """The same capture under another host's name."""
    copied = copy.copy(trace)
    copied.host = host
    copied.devices = [
        dataclasses.replace(device, host=host, id=f"{host}/{device.id.split('/', 1)[-1]}")
        for device in trace.devices
    ]
    copied.diagnostics = [dataclasses.replace(diagnostic, host=host) for diagnostic in trace.diagnostics]
    return copied


def merged(summaries: Iterable[HostSummary], all_gaps: bool = False) -> Any:
    merger = ReportMerger("session", "run/session", all_gaps)
    for summary in summaries:
        merger.add(summary)
    return merger.document()
