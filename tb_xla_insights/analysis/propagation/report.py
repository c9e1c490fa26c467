"""The report's `annotations` and `propagation`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_xla_insights.analysis.environment import framework_of
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.lost import FLAG_OFF, lost_annotations
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.order import ProgramOrder, find_order
from tb_xla_insights.analysis.propagation.scopes import MAX_LEVELS, MAX_PATH_LENGTH
from tb_xla_insights.analysis.propagation.tree import AnnotationSums, capture_rows, coverage
from tb_xla_insights.english import plural
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.trace.model import SessionTrace, Trace
from tb_xla_insights.units import count

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Annotation, Coverage, Lost
    from tb_xla_insights.schema.annotations import ProgramOrder as ProgramOrderRow
    from tb_xla_insights.schema.parts import AnnotationKeys

_FRAMEWORKS_WITHOUT_ANNOTATED_OPS = frozenset(("jax", "tensorflow", "torch_tpu"))
"""Frameworks whose ops get scopes from functions, never from host annotations."""


def propagation_report(session: SessionTrace) -> AnnotationKeys:
    """The keys `annotations` and `propagation` of the report.

    `annotations`: a row per path, outer paths first, siblings in the order of the host: `path`, `kind` (`annotation`,
    or `scope`: a function or name scope of JAX or TensorFlow, not an annotation), `count`, `host_ps`, `device_ps` and
    `device_ops` (including nested paths), `executions` (launches of the `programs` that have such ops), `lost` (None,
    or the reason).

    `propagation`: `direct_ps + recovered_ps + bare_ps + none_ps = device_ps`, the sum of the ops' own times. `runs`
    (the number of segments of ops of one phase in an execution), `phases` (the number of distinct phases among them;
    ops without a phase count as one) and `inversion_share` (the share of device time in segments that begin after a
    later phase) are those of the program with most device time; `programs` has them for each program. A host's times
    are sums over all of its devices.
    """
    rows = session_rows(session)
    lost = session_lost(session)
    orders = [order for trace in session.traces for order in find_order(trace)]
    orders.sort(key=lambda order: -order.device_ps)
    main = orders[0] if orders else None
    return {
        "annotations": [annotation_row(row, lost.get(row.path)) for row in rows],
        "propagation": {
            **session_coverage(session),
            "runs": main.runs if main else 0,
            "phases": main.phases if main else 0,
            "inversion_share": main.inversion_share if main else 0.0,
            "programs": [_order_row(order) for order in orders],
        },
    }


def annotation_row(row: AnnotationSums, lost: Lost | None) -> Annotation:
    """The report's row of one annotation."""
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


def _order_row(order: ProgramOrder) -> ProgramOrderRow:
    return {
        "program": order.program,
        "program_id": order.program_id,
        "executions": order.executions,
        "device_ps": order.device_ps,
        "runs": order.runs,
        "phases": order.phases,
        "inversion_share": order.inversion_share,
    }


def session_rows(session: SessionTrace) -> list[AnnotationSums]:
    """The annotations of all hosts, summed by path."""
    merged: dict[str, AnnotationSums] = {}
    for trace in session.traces:
        for row in capture_rows(trace):
            merged.setdefault(row.path, AnnotationSums(row.path, row.kind)).add(row)
    return list(merged.values())


def session_coverage(session: SessionTrace) -> Coverage:
    """Device time of all hosts by the state of its scope."""
    of_hosts = [coverage(ops, ops.totals.op_ps) for ops in map(find_ops, session.traces)]
    return {
        "device_ps": sum(times["device_ps"] for times in of_hosts),
        "direct_ps": sum(times["direct_ps"] for times in of_hosts),
        "recovered_ps": sum(times["recovered_ps"] for times in of_hosts),
        "bare_ps": sum(times["bare_ps"] for times in of_hosts),
        "none_ps": sum(times["none_ps"] for times in of_hosts),
    }


def session_lost(session: SessionTrace) -> dict[str, Lost]:
    """Why annotations are lost, by path. An annotation with device work on any host is not lost. Empty for
    frameworks whose annotations never name ops."""
    if framework_of(session) in _FRAMEWORKS_WITHOUT_ANNOTATED_OPS:
        return {}
    lost: dict[str, Lost] = {}
    with_device_work = {row.path for row in session_rows(session) if row.device_ps}
    for trace in session.traces:
        for path, reason in lost_annotations(trace).items():
            if path not in with_device_work:
                lost.setdefault(path, reason)
    return lost


def propagation_diagnostics(session: SessionTrace) -> list[Diagnostic]:
    """Diagnostics of missing scopes (damaged programs per host, a debug flag that was off) and of annotations whose
    paths exceed the limits."""
    diagnostics = [diagnostic for trace in session.traces for diagnostic in find_ops(trace).diagnostics]
    diagnostics += [
        _deep_annotations(trace) for trace in session.traces if host_annotations(trace).too_deep_count
    ]
    if FLAG_OFF in session_lost(session).values():
        text = "Device ops carry no scopes: the program was traced without XLA_HLO_DEBUG=1."
        diagnostics.append(Diagnostic("no_hlo_scopes", "info", text))
    return diagnostics


def _deep_annotations(trace: Trace) -> Diagnostic:
    annotations = host_annotations(trace).too_deep_count
    text = (
        f"{plural(annotations, 'annotation')} nested more than {MAX_LEVELS} levels deep, or with a path of more than "
        f"{count(MAX_PATH_LENGTH)} characters: in the timeline, but not in the table of annotations."
    )
    return Diagnostic("deep_annotations", "info", text, trace.host)
