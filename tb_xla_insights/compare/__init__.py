"""Compares two sessions, and tabulates speed-ups over many pairs of sessions."""

from tb_xla_insights.compare.document import compare

__all__ = ["compare"]
