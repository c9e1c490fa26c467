"""Columns to answers, one question per module."""

import tb_xla_insights.require_kernels  # noqa: F401
