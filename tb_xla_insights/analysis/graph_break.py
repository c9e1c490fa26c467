"""A graph break of torch.compile, as explanations and logs describe it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tb_xla_insights.catalog.frames import Frame

if TYPE_CHECKING:
    from tb_xla_insights.schema.texts import GraphBreak as GraphBreakRow


@dataclass
class GraphBreak:
    """Why torch.compile broke a graph, in its own words, and the frame in which it did. What it does not say is
    None."""

    reason: str | None = None
    frame: Frame | None = None
    explanation: str | None = None
    hint: str | None = None

    @property
    def place(self) -> str | None:
        """`train.py:9 in forward`."""
        if self.frame is None:
            return None
        return f"{self.frame.place} in {self.frame.function}" if self.frame.function else self.frame.place

    def as_json(self) -> GraphBreakRow:
        row: GraphBreakRow = {"reason": self.reason, "place": self.place}
        if self.explanation:
            row["explanation"] = self.explanation
        if self.hint:
            row["hint"] = self.hint
        return row
