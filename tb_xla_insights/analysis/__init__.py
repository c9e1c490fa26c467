"""Columns to answers, one question per module."""

import tb_xla_insights.built  # noqa: F401
