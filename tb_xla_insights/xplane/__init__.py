"""The XPlane file format: bytes to columns. Knows nothing of frameworks or of what a name means."""

import tb_xla_insights.built  # noqa: F401
