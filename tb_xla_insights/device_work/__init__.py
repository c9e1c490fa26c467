"""What the devices do and how well: time, FLOPs and bytes by op, by annotation and by step, against the devices' peaks.
(docs/definitions.md, "Ops")"""

from __future__ import annotations

from tb_xla_insights.device_work.document import WorkTogether, with_peaks, work_document
from tb_xla_insights.device_work.report import host_work, session_work
from tb_xla_insights.device_work.step_op_times import OpTimes, op_times

__all__ = [
    "OpTimes",
    "WorkTogether",
    "host_work",
    "op_times",
    "session_work",
    "with_peaks",
    "work_document",
]
