"""What a screen can show of a session: rows, slices, events."""

from tb_xla_insights.timeline.timeline import Timeline

__all__ = ["Timeline"]
