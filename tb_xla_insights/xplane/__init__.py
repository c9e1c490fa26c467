"""The XPlane file format: bytes to columns. Knows nothing of frameworks or of what a name means."""

import tb_xla_insights.require_kernels  # noqa: F401
