"""What files beside a capture tell about the same run: counters, graph breaks, causes of compilations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class GraphBreaks:
    """What `torch._dynamo.explain` says: graphs, breaks, and per reason that it gives `reason` and `place`."""

    file: str
    graphs: int
    breaks: int
    reasons: list[dict[str, str | None]] = field(default_factory=list)


@dataclass(frozen=True)
class Metrics:
    """A metrics report of PyTorch/XLA: counters by name; metrics by name, with `samples`, `total` and `unit`
    (`ps`, `bytes` or None)."""

    file: str
    counters: dict[str, int]
    metrics: dict[str, dict[str, Any]]

    def fallbacks(self) -> dict[str, int]:
        """Operators that ran on the CPU because PyTorch/XLA has no lowering for them.
        `aten::_local_scalar_dense` is how `.item()` fetches a value, and none of them."""
        return {
            name.removeprefix("aten::"): value
            for name, value in self.counters.items()
            if name.startswith("aten::") and name != "aten::_local_scalar_dense" and value > 0
        }


@dataclass(frozen=True)
class Beside:
    """Everything that was found; None and empty where a file of that kind is not there. `causes` has, by
    graph hash, the `cause` and the Python `frame` that a PT_XLA_DEBUG log gives."""

    metrics: Metrics | None = None
    breaks: GraphBreaks | None = None
    causes: dict[str, dict[str, str]] = field(default_factory=dict)


NOTHING = Beside()
