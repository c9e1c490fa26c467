"""Two sessions side by side, and speed-ups over many pairs of them."""

from tb_xla_insights.compare.document import compare

__all__ = ["compare"]
