"""Tables of engines beside the devices' own, of asynchronous ops, and of transfers between slices."""

from __future__ import annotations

from tb_xla_insights.schema.engines import AsyncOp, EngineTime, SliceTransfer
from tb_xla_insights.tables.definition import table

ENGINES = table("SparseCores", EngineTime, note="in the span of their core")

ASYNC_OPS = table("Asynchronous ops", AsyncOp, note="from start to done, each core")

SLICE_TRANSFERS = table("Transfers between slices", SliceTransfer, note="all cores; times are means of each")
