"""The report's `annotations` and `propagation`, and the finding about annotations that are lost."""

from __future__ import annotations

from typing import Any

from tb_xla_insights.analysis.environment import environment
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.lost import (
    ADVICE,
    AUTOGRAD,
    DYNAMO,
    FLAG_OFF,
    OPTIMISED,
    lost_annotations,
)
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.order import ProgramOrder, find_order
from tb_xla_insights.analysis.propagation.tree import Row, coverage, whole_rows
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.trace.model import SessionTrace, Trace
from tb_xla_insights.units import share, time_text

_NAMED_OTHERWISE = frozenset(("jax", "tensorflow", "torch_tpu"))
"""Frameworks whose host annotations never name ops: their scopes come from functions."""

_LOUD = (FLAG_OFF, DYNAMO, AUTOGRAD, OPTIMISED)
"""Reasons worth a finding, the one that a user can do most about first."""


def propagation_report(session: SessionTrace) -> dict[str, Any]:
    """The keys `annotations` and `propagation` of the report.

    `annotations`: one entry per path, those around others first, siblings in the order of the host: `path`, `kind`
    (`annotation`, or `scope`: a function or name scope of JAX or TensorFlow, which no annotation made), `count`,
    `host_ps`, `device_ps` and `device_ops` (with those of the paths inside), `executions` (launches of the `programs`
    that have such ops), `lost` (None, or the reason).

    `propagation`: `direct_ps + recovered_ps + bare_ps + none_ps = device_ps`, the sum of op self times; `runs`
    (stretches of ops of one phase in an execution) of `phases` different ones (ops without a phase count as one) and
    `inversion_share` (device time in stretches that begin after a later phase has) are those of the program that takes
    most device time; `programs` has them for each. A host's times are over all of its devices.
    """
    rows = session_rows(session)
    lost = session_lost(session)
    orders = [order for trace in session.traces for order in find_order(trace)]
    orders.sort(key=lambda it: -it.device_ps)
    main = orders[0] if orders else None
    return {
        "annotations": [{**row_document(row), "lost": lost.get(row.path)} for row in rows],
        "propagation": {
            **session_coverage(session),
            "runs": main.runs if main else 0,
            "phases": main.phases if main else 0,
            "inversion_share": main.inversion_share if main else 0.0,
            "programs": [_order_document(order) for order in orders],
        },
    }


def row_document(row: Row) -> dict[str, Any]:
    """One annotation as the report tells it."""
    return {
        "path": row.path,
        "kind": row.kind,
        "count": row.count,
        "host_ps": row.host_ps,
        "device_ps": row.device_ps,
        "device_ops": row.device_ops,
        "executions": row.executions,
        "programs": sorted(filter(None, row.programs)),
    }


def _order_document(order: ProgramOrder) -> dict[str, Any]:
    return {
        "program": order.program,
        "program_id": order.program_id,
        "executions": order.executions,
        "device_ps": order.device_ps,
        "runs": order.runs,
        "phases": order.phases,
        "inversion_share": order.inversion_share,
    }


def session_rows(session: SessionTrace) -> list[Row]:
    """The annotations of all hosts, the same path together."""
    merged: dict[str, Row] = {}
    for trace in session.traces:
        for row in whole_rows(trace):
            merged.setdefault(row.path, Row(row.path, row.kind)).add(row)
    return list(merged.values())


def session_coverage(session: SessionTrace) -> dict[str, int]:
    """Device time of all hosts by where its scope comes from."""
    total = dict.fromkeys(("device_ps", "direct_ps", "recovered_ps", "bare_ps", "none_ps"), 0)
    for trace in session.traces:
        ops = find_ops(trace)
        for name, time in coverage(ops, ops.totals[1]).items():
            total[name] += time
    return total


def session_lost(session: SessionTrace) -> dict[str, str]:
    """Why annotations are lost, by path. What one host's devices carry is not lost; frameworks whose annotations never
    name ops lose none."""
    if environment(session)["framework"] in _NAMED_OTHERWISE:
        return {}
    lost: dict[str, str] = {}
    carried = {row.path for row in session_rows(session) if row.device_ps}
    for trace in session.traces:
        for path, reason in lost_annotations(trace).items():
            if path not in carried:
                lost.setdefault(path, reason)
    return lost


def propagation_diagnostics(session: SessionTrace) -> list[Diagnostic]:
    """What scopes could not be told from: damaged programs per host, and a debug flag that was off."""
    found = [diagnostic for trace in session.traces for diagnostic in find_ops(trace).diagnostics]
    if FLAG_OFF in session_lost(session).values():
        text = "Device ops carry no scopes: the program was traced without XLA_HLO_DEBUG=1."
        found.append(Diagnostic("no_hlo_scopes", "info", text))
    return found


def annotations_not_propagated(session: SessionTrace) -> dict[str, Any] | None:
    """The finding of that id with the fields of the contract; None where nothing is lost that somebody could miss.

    It costs no time, so it informs. Annotations without ops of their own are in the evidence, but make no finding.
    """
    lost = session_lost(session)
    reasons = [reason for reason in _LOUD if reason in lost.values()]
    if not reasons:
        return None
    times = session_coverage(session)
    unexplained = times["bare_ps"] + times["none_ps"]
    first = reasons[0]
    missed = [path for path, reason in lost.items() if reason in _LOUD]
    names = list(dict.fromkeys(path.rpartition("/")[2] for path in missed if lost[path] == first))
    whole = (
        f"{share(unexplained / times['device_ps'])} of the time in ops"
        if times["device_ps"]
        else "Time in ops"
    )
    if first == FLAG_OFF:
        title = "Device ops carry no annotations: debug flag off"
        detail = (
            f"None of {len(missed)} annotations reaches the device: XLA_HLO_DEBUG=1 was not set at tracing."
        )
    else:
        title = f"{_some(names)} cannot be seen on the device"
        told = "; ".join(
            f"{_some([path for path in missed if lost[path] == reason])}: {reason}" for reason in reasons
        )
        detail = f"{whole} ({time_text(unexplained)}) has no annotation. Lost: {told}."
    return {
        "id": "annotations_not_propagated",
        "severity": "info",
        "title": title,
        "detail": detail,
        "advice": " ".join(ADVICE[reason] for reason in reasons),
        "cost_ps": 0,
        "step_if_fixed_ps": None,
        "evidence": {
            "lost": [{"path": path, "reason": reason} for path, reason in lost.items()],
            "unexplained_ps": unexplained,
            **times,
        },
        "windows": _windows(session, set(missed)),
    }


def _some(names: list[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _windows(session: SessionTrace, paths: set[str]) -> list[dict[str, Any]]:
    """The longest annotation of each lost path, on its host."""
    longest: dict[str, tuple[int, int]] = {}
    for trace in session.traces:
        for path, start, end in _longest(trace, paths):
            if path not in longest or end - start > longest[path][1] - longest[path][0]:
                longest[path] = start, end
    return [{"start_ps": start, "end_ps": end, "device": None} for start, end in longest.values()]


def _longest(trace: Trace, paths: set[str]) -> list[tuple[str, int, int]]:
    host = host_annotations(trace)
    found = []
    for number, name in enumerate(host.names):
        if name in paths:
            rows = host.row[host.path == number]
            row = int(rows[trace.duration_ps[rows].argmax()])
            found.append((name, int(trace.start_ps[row]), int(trace.end_ps[row])))
    return found
