"""The traces of a session's hosts: read when they are wanted, evicted when memory runs short."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tb_xla_insights.errors import InputError
from tb_xla_insights.system.deep_size import deep_size
from tb_xla_insights.system.memory import release_freed_memory
from tb_xla_insights.system.parallel import run_parallel
from tb_xla_insights.tasks.host import read_host

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.tasks import HostCapture
    from tb_xla_insights.timeline.host import HostTimeline


class HostCache:
    """The hosts of a session by index, of which the least recently used are evicted beyond `budget` bytes (None: no
    limit). Thread-safe."""

    def __init__(
        self, captures: Sequence[HostCapture], catalog: Catalog, duration_ps: int, budget: int | None = None
    ) -> None:
        """`captures` are the hosts on the session's time base, `duration_ps` is the session's."""
        self.captures = captures
        self.read_errors: dict[int, str] = {}
        """Why hosts of the report cannot be read again, by index; their reading is not retried."""
        self._catalog = catalog
        self._duration_ps = duration_ps
        self._budget = budget
        self._lock = threading.Lock()
        self._read_lock = threading.Lock()
        self._hosts: OrderedDict[int, HostTimeline] = OrderedDict()

    def hosts(self, indices: tuple[int, ...]) -> dict[int, HostTimeline]:
        """The hosts with these indices, read if not cached; without hosts that cannot be read."""
        hosts = self._cached(indices)
        if len(hosts) < len(indices):
            with self._read_lock:  # requests for cached hosts do not wait for it
                hosts = self._cached(indices)
                missing = [index for index in indices if index not in hosts and index not in self.read_errors]
                tasks = [partial(self._try_read, index) for index in missing]
                timelines = run_parallel(tasks, min(os.cpu_count() or 1, 4))
                hosts |= {index: host for index, host in zip(missing, timelines, strict=True) if host}
                with self._lock:
                    self._hosts |= hosts
                self._evict(indices)
            release_freed_memory()
        return {index: hosts[index] for index in indices if index in hosts}

    def holds(self, hosts: Mapping[int, HostTimeline]) -> bool:
        """Whether all of these are in memory for others, too: none of them was evicted."""
        return all(self._hosts.get(index) is host for index, host in hosts.items())

    def _cached(self, indices: tuple[int, ...]) -> dict[int, HostTimeline]:
        """The hosts that are in memory, marked as recently used."""
        with self._lock:
            hosts = {index: self._hosts[index] for index in indices if index in self._hosts}
            for index in hosts:
                self._hosts.move_to_end(index)
        return hosts

    def _try_read(self, index: int) -> HostTimeline | None:
        try:
            return self._read(index)
        except InputError as error:
            self.read_errors[index] = f"in the report, but its trace cannot be shown: {error}"
            return None

    def _read(self, index: int) -> HostTimeline:
        from tb_xla_insights.timeline.host import HostTimeline

        host = self.captures[index]
        trace = read_host(host.path, host.name, self._catalog)
        host.check_unchanged(trace)
        trace.shift(host.shift_ps)
        return HostTimeline(index, trace, self._duration_ps)

    def _evict(self, protected: tuple[int, ...]) -> None:
        """Evicts the least recently used hosts until the rest fits into the budget; never the protected ones."""
        if self._budget is None:
            return
        with self._lock:
            hosts = dict(self._hosts)
        sizes = {index: deep_size(host) for index, host in hosts.items()}
        used_bytes = sum(sizes.values())
        for index in sizes:
            if used_bytes <= self._budget:
                break
            if index not in protected:
                used_bytes -= sizes[index]
                with self._lock:
                    self._hosts.pop(index, None)
