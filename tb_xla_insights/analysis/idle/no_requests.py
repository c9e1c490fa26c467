"""The report's `iterations`: how long devices idle because a server has no request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_xla_insights.analysis.host.servers import is_server, without_requests
from tb_xla_insights.analysis.idle.busy import idle
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.iterations import Iterations


def iterations_report(trace: Trace) -> Iterations | None:
    if not is_server(trace):
        return None
    times = without_requests(trace)
    return {"no_requests_ps": sum(idle(trace, device).within(times).total_ps for device in trace.devices)}
