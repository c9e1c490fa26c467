"""Analyses of a trace's columns, one question per module."""

import tb_xla_insights.require_kernels  # noqa: F401
