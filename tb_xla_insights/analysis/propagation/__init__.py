"""The device work of the user's annotations. (docs/definitions.md, "Propagation")"""

from __future__ import annotations

from tb_xla_insights.analysis.propagation.annotations_report import (
    propagation_diagnostics,
    propagation_report,
)
from tb_xla_insights.analysis.propagation.annotations_view import propagation_view
from tb_xla_insights.analysis.propagation.view_ops import scoped_ops

__all__ = [
    "propagation_diagnostics",
    "propagation_report",
    "propagation_view",
    "scoped_ops",
]
