"""Sessions in memory: each is read once, in the background, and the least recently used go when memory runs short."""

from __future__ import annotations

import logging
import os
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from tb_xla_insights.deep_size import deep_size
from tb_xla_insights.errors import InputError
from tb_xla_insights.escapes import escaped
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.load_progress import LoadProgress
from tb_xla_insights.logdir.loaded_hosts import LoadedHosts
from tb_xla_insights.logdir.memory_gate import MemoryGate
from tb_xla_insights.logdir.partial_reports import PartialReport, Reports
from tb_xla_insights.logdir.pod import Pod
from tb_xla_insights.logdir.read import ask_sizes, read_session, readings_of
from tb_xla_insights.logdir.session_hosts import Also, SessionHosts, few, held_estimate
from tb_xla_insights.logdir.sessions import SessionFiles, as_it_is
from tb_xla_insights.memory import give_back

_WEIGH_SECONDS = 10.0

_log = logging.getLogger(__name__)


class UnknownSessionError(InputError):
    """No session of that name lies under the logdir."""


class StillReadingError(InputError):
    """A session is not in memory yet: asking again later helps."""


class ReadAgainError(InputError):
    """A session in memory is another one than whoever asks knows: its files have changed since."""


class Load:
    """One session on its way into memory. Its attributes may be looked at from any thread at any time."""

    def __init__(self, listed: SessionFiles, clock: Callable[[], float] = time.monotonic) -> None:
        self.listed = listed
        """The session as it was listed, which may have been before its files were written."""
        self._there = as_it_is(listed)
        files = self.files = self._there or listed  # of one that is gone whoever reads it is told
        self.hosts = readings_of(files)
        self.loaded: LoadedHosts | Pod | None = None
        self.so_far: PartialReport | None = None
        """The hosts of a session of many that were read by now; None before the first."""
        self.error: str | None = None
        self.stages = LoadProgress(self.hosts, clock)
        self.weight: int | None = None
        """Bytes that the session takes, as far as that is known."""
        self._done = threading.Event()
        self._stop = threading.Event()

    @property
    def mark(self) -> str:
        """Stands for the content of its files."""
        return f"{zlib.crc32(repr([(it.name, it.file.mark) for it in self.files.hosts]).encode()):08x}"

    def check(self, mark: str | None) -> None:
        """Raises ReadAgainError where its files are not those that a mark stands for."""
        if mark is not None and mark != self.mark:
            raise ReadAgainError(
                f"{self.files.name}: its files have changed, and it was read again; reload the page"
            )

    def mended(self) -> bool:
        """Whether files that could not be read are others by now."""
        return self.error is not None and as_it_is(self.listed) != self._there

    @property
    def done(self) -> bool:
        return self._done.is_set()

    def wait(self, seconds: float | None) -> bool:
        """Waits until the session is in memory or cannot be read; False when it takes longer."""
        return self._done.wait(seconds)

    def stop(self) -> None:
        """Ends the reading; the session has what was read by then."""
        self._stop.set()

    def progress(self) -> dict[str, Any]:
        """`bytes_read` and `bytes` (None where a store has not told all sizes yet) of all hosts and of each, and what
        `Stages.progress` tells."""
        read, total = (sum(getattr(host, key) for host in self.hosts) for key in ("bytes_read", "bytes"))
        return {
            "bytes_read": read,
            "bytes": total if all(host.is_sized for host in self.hosts) else None,
            **self.stages.progress(),
            "hosts": list(map(asdict, self.hosts)),
            "partial": self.so_far and self.hosts_read | {"hosts_told": self.so_far.hosts},
        }

    @property
    def hosts_read(self) -> dict[str, int]:
        """How many hosts were read, of how many."""
        read = sum(host.state == "ready" for host in self.hosts)
        return {"hosts_read": read, "hosts_in_all": len(self.hosts)}

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    def weigh(self) -> int:
        """About how many bytes the session takes, with what views of it have found out."""
        weight = deep_size(self.loaded) if self.weight is None else self.weight
        self.weight = weight
        return weight

    def run(self, open_session: Opener) -> None:
        """Reads the session; never raises. To be called once."""
        try:
            self.loaded = open_session(self)
        except InputError as error:
            self.error = str(error)
        except Exception as error:  # a fault of ours is this session's, not the server's
            _log.exception("%s cannot be opened", escaped(self.files.path))
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            self.error = f"{self.files.path}: cannot be opened ({reason}); report this with the file"
        finally:
            self._done.set()


Opener = Callable[[Load], LoadedHosts | Pod]


def opener(
    catalog_file: str | None = None, scheduler: str | None = None, budget: int | None = None
) -> Opener:
    """Reads a load's captures, with a file of more event names where one is given, and prepares drawing them.

    The hosts of a session that is too large to hold, or that has many, are read by tasks (see `tasks.run`), and of
    their traces those that are looked at are kept, within `budget` bytes.
    """
    budget = default_budget() if budget is None else budget

    def open_session(load: Load) -> LoadedHosts | Pod:
        from tb_xla_insights.catalog import load_catalog

        catalog = load_catalog(catalog_file)
        if len(load.files.hosts) > 1 and (scheduler or not few(load.files, budget)):
            ask_sizes(load.files, load.hosts)
            reader = SessionHosts(load.files, catalog, scheduler, budget, load.hosts, lambda: load.stopped)
            loaded: LoadedHosts | Pod = _open_pod(load, reader, budget)
            load.stages.draw()
            shown = loaded.choose(None)
        else:
            from tb_xla_insights.timeline import Timeline

            trace = read_session(load.files, catalog, load.hosts, lambda: load.stopped)
            load.stages.draw()
            loaded = shown = LoadedHosts(load.files, trace, Timeline(trace))
        _ = shown.head  # computed here, where nobody waits for it yet
        shown.timeline.prepare()
        give_back()
        threading.Thread(target=shown.find_scopes, daemon=True).start()
        return loaded

    return open_session


def _open_pod(load: Load, reader: SessionHosts, budget: int) -> Pod:
    from tb_xla_insights.report.host_parts import host_parts

    parts = Also(host_parts)

    def show(so_far: PartialReport) -> None:
        load.so_far = so_far

    report = reader.report(seen=Reports(reader, parts, show).look, also=parts)
    return Pod(reader, report, parts.in_order(), budget)


class Store:
    """The sessions of a logdir, read when asked for, within a memory budget in bytes."""

    def __init__(
        self,
        listing: Listing,
        open_session: Opener,
        budget: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.listing = listing
        self._open = open_session
        self._lock = threading.Lock()
        self._loads: OrderedDict[str, Load] = OrderedDict()
        self._room = MemoryGate(default_budget() if budget is None else budget)
        self._clock = clock
        self._weighed = clock()

    def load(self, name: str, reload: bool = False) -> Load:
        """The session's load, started where there is none; `reload` starts over once the last one has ended, and so
        does a change of files that could not be read.

        Raises UnknownSessionError for a name that is not in the logdir's listing.
        """
        with self._lock:
            load = self._loads.get(name)
        if load is not None and not (load.done and (reload or load.mended())):
            self._use(load)
            return load
        if reload:
            self.listing.look(wait=None, fresh=0)
        files = self.listing.find(name)
        if files is None:
            raise UnknownSessionError(f"{name}: no such session under {self.listing.place}; reload the list")
        fresh = Load(files)
        with self._lock:
            now = self._loads.get(name)
            if now is not load and now is not None:  # another thread was faster
                return now
            self._loads[name] = fresh
            self._loads.move_to_end(name)
        threading.Thread(target=self._run, args=(fresh,), daemon=True).start()
        return fresh

    def loaded(self, name: str, wait: float | None = None, mark: str | None = None) -> LoadedHosts | Pod:
        """The session once it is in memory. Raises InputError where it cannot be read, StillReadingError after `wait`
        seconds, ReadAgainError where its files are not those of a `mark`."""
        load = self.load(name)
        load.check(mark)
        if not load.wait(wait):
            raise StillReadingError(f"{name}: still being read; ask again")
        if load.loaded is None:
            raise InputError(load.error or f"{name}: cannot be read")
        return load.loaded

    def stop(self, name: str) -> bool:
        """Ends the reading of a session that is being read; False where none of that name is."""
        load = self._loads.get(name)
        if load is None or load.done:
            return False
        load.stop()
        self._room.look()
        return True

    def changed(self, load: Load) -> bool:
        """Whether the files differ from those that were read, as far as the last look at the logdir knows."""
        now = self.listing.known(load.files.name)
        return now is not None and now not in (load.files, load.listed)

    def _use(self, load: Load) -> None:
        """Notes that somebody looks at a session. What views of it have found out stays with it, so every now and then
        all are weighed anew."""
        load.weight = None
        with self._lock:
            if self._loads.get(load.files.name) is load:
                self._loads.move_to_end(load.files.name)
        if self._clock() - self._weighed >= _WEIGH_SECONDS:
            self._weighed = self._clock()
            threading.Thread(target=self._release, args=(load,), daemon=True).start()

    def _run(self, load: Load) -> None:
        with self._room.taken(held_estimate(load.files), lambda: load.stopped):
            self._release(load)
            load.run(self._open)
        self._release(load)

    def _release(self, keep: Load) -> None:
        """Lets go of the sessions used longest ago until the others, and those that are being read, fit; never of the
        one to keep."""
        with self._lock:
            every = [(name, it) for name, it in self._loads.items() if it.loaded]
        used = self._room.used + sum(it.weigh() for _, it in every)
        for name, it in every:
            if used <= self._room.bytes:
                break
            if it is not keep:
                used -= it.weigh()
                with self._lock:
                    if self._loads.get(name) is it:
                        del self._loads[name]
        del every  # what was let go lives as long as somebody refers to it
        give_back()


def default_budget() -> int:
    """A third of the machine's memory, at least half a GiB."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on every system
        memory = 6 << 30
    return max(memory // 3, 512 << 20)
