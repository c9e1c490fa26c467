"""Time, FLOPs and bytes of the devices' work by op, by annotation and by step, relative to the devices' peaks.
(docs/definitions.md, "Ops")"""

from __future__ import annotations

from tb_xla_insights.device_work.report_keys import host_work, session_work
from tb_xla_insights.device_work.step_op_times import OpTimes, op_times
from tb_xla_insights.device_work.work_document import WorkMerger, with_peaks, work_document

__all__ = [
    "OpTimes",
    "WorkMerger",
    "host_work",
    "op_times",
    "session_work",
    "with_peaks",
    "work_document",
]
