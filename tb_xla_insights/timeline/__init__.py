"""The timeline of a session: its rows, their slices in a window, and single events."""

from tb_xla_insights.timeline.timeline import Timeline

__all__ = ["Timeline"]
