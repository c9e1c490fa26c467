"""Everything that is known about a session, as the one document that the command line, Python and the page
share."""

from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.host_document import SCHEMA, session_head, session_summary

__all__ = ["SCHEMA", "session_head", "session_report", "session_summary"]
