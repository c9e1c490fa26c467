"""Tables of engines beside the devices' own, and of asynchronous ops."""

from __future__ import annotations

from tb_xla_insights.schema.engines import AsyncOp, EngineTime
from tb_xla_insights.tables.definition import table

ENGINES = table("SparseCores", EngineTime, note="in the span of their core")

ASYNC_OPS = table("Asynchronous ops", AsyncOp, note="from start to done, each core")
