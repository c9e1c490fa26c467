"""The report's `annotations` and `propagation`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_xla_insights.analysis.environment import framework_of
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.lost import (
    AUTOGRAD,
    DYNAMO,
    FLAG_OFF,
    OPTIMISED,
    lost_annotations,
)
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.order import ProgramOrder, find_order
from tb_xla_insights.analysis.propagation.scopes import LONGEST_PATH, MAX_LEVELS
from tb_xla_insights.analysis.propagation.tree import Row, coverage, whole_rows
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Annotation, Coverage, Lost
    from tb_xla_insights.schema.annotations import ProgramOrder as ProgramOrderRow
    from tb_xla_insights.schema.parts import AnnotationKeys

_NAMED_OTHERWISE = frozenset(("jax", "tensorflow", "torch_tpu"))
"""Frameworks whose host annotations never name ops: their scopes come from functions."""

_LOUD = (FLAG_OFF, DYNAMO, AUTOGRAD, OPTIMISED)
"""Reasons worth a finding, the one that a user can do most about first."""


def propagation_report(session: SessionTrace) -> AnnotationKeys:
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
        "annotations": [row_document(row, lost.get(row.path)) for row in rows],
        "propagation": {
            **session_coverage(session),
            "runs": main.runs if main else 0,
            "phases": main.phases if main else 0,
            "inversion_share": main.inversion_share if main else 0.0,
            "programs": [_order_document(order) for order in orders],
        },
    }


def row_document(row: Row, lost: Lost | None) -> Annotation:
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
        "lost": lost,
    }


def _order_document(order: ProgramOrder) -> ProgramOrderRow:
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


def session_coverage(session: SessionTrace) -> Coverage:
    """Device time of all hosts by where its scope comes from."""
    each = [coverage(ops, ops.totals[1]) for ops in map(find_ops, session.traces)]
    return {
        "device_ps": sum(it["device_ps"] for it in each),
        "direct_ps": sum(it["direct_ps"] for it in each),
        "recovered_ps": sum(it["recovered_ps"] for it in each),
        "bare_ps": sum(it["bare_ps"] for it in each),
        "none_ps": sum(it["none_ps"] for it in each),
    }


def session_lost(session: SessionTrace) -> dict[str, Lost]:
    """Why annotations are lost, by path. What one host's devices carry is not lost; frameworks whose annotations never
    name ops lose none."""
    if framework_of(session) in _NAMED_OTHERWISE:
        return {}
    lost: dict[str, Lost] = {}
    carried = {row.path for row in session_rows(session) if row.device_ps}
    for trace in session.traces:
        for path, reason in lost_annotations(trace).items():
            if path not in carried:
                lost.setdefault(path, reason)
    return lost


def propagation_diagnostics(session: SessionTrace) -> list[Diagnostic]:
    """What scopes could not be told from: damaged programs per host, and a debug flag that was off; and how many
    annotations have no path."""
    found = [diagnostic for trace in session.traces for diagnostic in find_ops(trace).diagnostics]
    found += [_deep(trace) for trace in session.traces if host_annotations(trace).too_deep]
    if FLAG_OFF in session_lost(session).values():
        text = "Device ops carry no scopes: the program was traced without XLA_HLO_DEBUG=1."
        found.append(Diagnostic("no_hlo_scopes", "info", text))
    return found


def _deep(trace: Trace) -> Diagnostic:
    text = (
        f"{host_annotations(trace).too_deep} annotations lie more than {MAX_LEVELS} deep, or have paths of more than "
        f"{LONGEST_PATH} characters: the timeline shows them, the table of annotations does not."
    )
    return Diagnostic("deep_annotations", "info", text, trace.host)
