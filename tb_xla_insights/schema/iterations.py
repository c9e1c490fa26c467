"""The report's `iterations`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from tb_xla_insights.columns.rules import total


class Iterations(TypedDict):
    """The loop of a server that decodes."""

    no_requests_ps: Annotated[int, total]
    """Idle time of the devices, over all of them, in which the server has no request to work on."""
