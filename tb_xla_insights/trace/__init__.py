"""One data model for captures of every runtime: planes, lines, events, flows, threads, devices, annotations."""

import tb_xla_insights.require_kernels  # noqa: F401
