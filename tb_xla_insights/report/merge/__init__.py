"""The report of a session, from the summaries of its hosts. (docs/definitions.md, "Sessions of several hosts")"""

from tb_xla_insights.report.merge.merged_report import ReportMerger

__all__ = ["ReportMerger"]
