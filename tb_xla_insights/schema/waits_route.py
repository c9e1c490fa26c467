"""The answers of `data/waits` and `data/collective`: waits of cores for other hosts."""

from __future__ import annotations

from typing_extensions import TypedDict


class WaitColumns(TypedDict):
    """Ops in which cores wait for other hosts, a column per property. Times are on each host's own clock."""

    device: list[str]
    """Ids of the devices."""
    depth: list[int]
    """Index of the op's lane in the row of ops."""
    start_ps: list[int]
    """Start of the wait."""
    last_arrival_ps: list[int]
    """Arrival of the last host."""
    end_ps: list[int]
    """End of the op."""
    waits_ps: list[int]
    """Length of the wait."""


class Waits(WaitColumns):
    """`data/waits`: the waits in a window that last a pixel or more, host by host, by start; at most the 2,000
    longest."""

    count: int
    """Number of all waits in the window, also of those that are too short to be listed."""
    names: list[str]
    """Names of hosts and ops."""
    last_host: list[int]
    """The host that arrives last, as an index into `names`."""
    name: list[int]
    """The op, as an index into `names`."""


class CollectiveCores(WaitColumns):
    """The ops of a collective on the hosts shown; a core that does not wait has 0 in `waits_ps`."""

    begin_ps: list[int]
    """Arrival of the core: when it begins the collective."""


class CollectiveArrivals(TypedDict):
    """One collective, and who waits in it."""

    name: str
    """Name of the op."""
    kind: str
    """Kind of the collective."""
    last_host: str
    """The host that arrives last."""
    hosts: int
    """Number of hosts that take part."""
    waiting: int
    """Number of hosts that wait longer than the clocks' uncertainty."""
    longest_ps: int
    """The longest wait."""
    waits_ps: int
    """Sum of the waits."""
    uncertainty_ps: int
    """The clocks' largest uncertainty."""
    cores: CollectiveCores
    """The ops on the hosts shown."""


class CollectiveAnswer(TypedDict):
    """`data/collective`."""

    collective: CollectiveArrivals | None
    """The collective; `null` if there is none, or if its arrivals cannot be compared."""
