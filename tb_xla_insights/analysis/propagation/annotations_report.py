"""The report's `annotations` and `propagation`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_xla_insights.analysis.environment import framework_of
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.lost import FLAG_OFF, lost_annotations
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.order import ProgramOrder, find_order
from tb_xla_insights.analysis.propagation.tree import AnnotationSums, capture_rows, coverage
from tb_xla_insights.analysis.scope_names import MAX_LEVELS, MAX_PATH_LENGTH
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.text.english import plural
from tb_xla_insights.text.units import count
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Annotation, Coverage, Lost
    from tb_xla_insights.schema.annotations import ProgramOrder as ProgramOrderRow
    from tb_xla_insights.schema.parts import AnnotationKeys

_FRAMEWORKS_WITHOUT_ANNOTATED_OPS = frozenset(("jax", "tensorflow", "torch_tpu"))
"""Frameworks whose ops get scopes from functions, never from host annotations."""


def propagation_report(trace: Trace) -> AnnotationKeys:
    """The keys `annotations` and `propagation` of the report.

    `annotations`: a row per path, outer paths first, siblings in the order of the host: `path`, `kind` (`annotation`,
    or `scope`: a function or name scope of JAX or TensorFlow, not an annotation), `thread` (None: the driving one),
    `count`, `host_ps`, `device_ps` and `device_ops` (including nested paths), `executions` (launches of the `programs`
    that have such ops), `lost` (None, or the reason).

    `propagation`: `direct_ps + recovered_ps + bare_ps + none_ps = device_ps`, the sum of the ops' own times. `runs`
    (the number of segments of ops of one phase in an execution), `phases` (the number of distinct phases among them;
    ops without a phase count as one) and `inversion_share` (the share of device time in segments that begin after a
    later phase) are those of the program with most device time; `programs` has them for each program. Times are
    sums over all devices.
    """
    lost = reported_lost(trace)
    orders = sorted(find_order(trace), key=lambda order: -order.device_ps)
    main = orders[0] if orders else None
    return {
        "annotations": [annotation_row(row, lost.get(row.path)) for row in capture_rows(trace)],
        "propagation": {
            **capture_coverage(trace),
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
        "thread": row.thread,
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


def capture_coverage(trace: Trace) -> Coverage:
    """Device time by the state of its scope."""
    ops = find_ops(trace)
    return coverage(ops, ops.totals.op_ps)


def reported_lost(trace: Trace) -> dict[str, Lost]:
    """Why annotations are lost, by path. Empty for frameworks whose annotations never name ops."""
    return {} if framework_of(trace) in _FRAMEWORKS_WITHOUT_ANNOTATED_OPS else lost_annotations(trace)


def propagation_diagnostics(trace: Trace) -> list[Diagnostic]:
    """Diagnostics of missing scopes (damaged programs, a debug flag that was off) and of annotations whose paths exceed
    the limits."""
    diagnostics = [*find_ops(trace).diagnostics]
    if host_annotations(trace).too_deep_count:
        diagnostics.append(_deep_annotations(trace))
    if FLAG_OFF in reported_lost(trace).values():
        text = "Device ops carry no scopes: the program was traced without XLA_HLO_DEBUG=1."
        diagnostics.append(Diagnostic("no_hlo_scopes", "info", text))
    return diagnostics


def _deep_annotations(trace: Trace) -> Diagnostic:
    annotations = host_annotations(trace).too_deep_count
    text = (
        f"{plural(annotations, 'annotation')} nested more than {MAX_LEVELS} levels deep, or with a path of more than "
        f"{count(MAX_PATH_LENGTH)} characters: in the timeline, but not in the table of annotations."
    )
    return Diagnostic("deep_annotations", "info", text, trace.host, variant="")
