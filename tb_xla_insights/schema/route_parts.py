"""Types that the answers of several routes share."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict


class HostCounts(TypedDict):
    """How many hosts an answer covers while others are being read."""

    hosts_read: int
    """Number of hosts that were read."""
    hosts_total: int
    """Number of hosts of the session."""


class PartialAnswer(TypedDict):
    """An answer that may come before all hosts are read."""

    partial: NotRequired[HostCounts]
    """The hosts that the answer covers; absent once all hosts are read."""


class ViewCounts(TypedDict):
    """The numbers beside the names of the views."""

    gaps: int
    """Number of gaps of at least 10 µs."""
    executions: int
    """Number of programs that ran."""
    compiles: int
    """Number of compilations after the warm-up."""
    lost: int
    """Number of annotations whose names no op on a device carries."""
    async_ops: int
    """Number of asynchronous ops, on each device."""
    iterations: int
    """Number of iterations of a server."""


class Counts(PartialAnswer):
    """`data/counts`."""

    counts: ViewCounts
    """The numbers beside the names of the views."""
