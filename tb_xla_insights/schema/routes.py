"""The answers of the routes that the page's views read."""

from __future__ import annotations

from typing_extensions import TypedDict

from tb_xla_insights.schema.compiles_route import Compiles
from tb_xla_insights.schema.executions_route import Executions
from tb_xla_insights.schema.gaps_route import GapAnswer, GapsAnswer
from tb_xla_insights.schema.overview_route import Overview
from tb_xla_insights.schema.route_parts import Counts


class Routes(TypedDict):
    """The answer of each route, by its name below `data/`. Times are integer picoseconds from the session's start."""

    overview: Overview
    """What the first view shows."""
    counts: Counts
    """The numbers beside the names of the views."""
    gaps: GapsAnswer
    """Idle time of the devices."""
    gap: GapAnswer
    """One gap, and why it ended."""
    executions: Executions
    """What the host launches."""
    compiles: Compiles
    """Compilations, and the graphs by step."""
