"""Tables of what fills the memory of a device."""

from __future__ import annotations

from tb_xla_insights.schema.memory import AnnotationMemory, ProgramMemory
from tb_xla_insights.tables.definition import Column, table

MEMORY = table("Memory at the peak", ProgramMemory, note="of one device")

MEMORY_BY_ANNOTATION = table(
    "Memory by annotation",
    AnnotationMemory,
    derived={"gradient_bytes": [Column("sum_bytes", "Sum", "bytes"), Column("share", "Share", "share")]},
)
