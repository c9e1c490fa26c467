"""Cache of loaded sessions. Each is read once, in the background; the least recently used are evicted when memory runs
short."""

from __future__ import annotations

import logging
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.load_progress import LoadProgress
from tb_xla_insights.logdir.loaded_hosts import LoadedHosts
from tb_xla_insights.logdir.memory_gate import MemoryGate
from tb_xla_insights.logdir.opened_session import OpenedSession, StreamedHosts
from tb_xla_insights.logdir.partial_reports import PartialReporter
from tb_xla_insights.logdir.read_hosts import fetch_missing_sizes, initial_readings, read_session
from tb_xla_insights.logdir.session_hosts import SessionHosts, estimate_memory, fits_in_memory
from tb_xla_insights.logdir.sessions import SessionFiles, current_files
from tb_xla_insights.system.deep_size import deep_size
from tb_xla_insights.system.memory import release_freed_memory, total_bytes
from tb_xla_insights.text.escapes import escape_text

if TYPE_CHECKING:
    from tb_xla_insights.report.session_view import SessionView
    from tb_xla_insights.schema.route_parts import HostCounts
    from tb_xla_insights.schema.session_route import ReadingProgress

_MEASURE_INTERVAL_S = 10.0

_log = logging.getLogger(__name__)


class UnknownSessionError(InputError):
    """The logdir has no session of that name."""


class StillReadingError(InputError):
    """A session is still being read; a later request may succeed."""


class FilesChangedError(InputError):
    """The files of a session changed after the caller last saw it."""


class Load:
    """The loading of one session. Attributes may be read from any thread at any time."""

    def __init__(self, listed: SessionFiles, clock: Callable[[], float] = time.monotonic) -> None:
        self.listed = listed
        """The session as it was listed, possibly before all its files were written."""
        self._files_at_start = current_files(listed)
        # If the session no longer exists, reading it reports the error.
        files = self.files = self._files_at_start or listed
        self.readings = initial_readings(files)
        self.opened: OpenedSession | None = None
        self.partial_view: SessionView | None = None
        """The results of the hosts read so far; None before the first host and for sessions held whole in memory."""
        self.error: str | None = None
        self.stage_progress = LoadProgress(self.readings, clock)
        self.memory_bytes: int | None = None
        """Memory that the session takes, as last measured; None if it was not measured since its last use."""
        self._done = threading.Event()
        self._stop = threading.Event()

    @property
    def fingerprint(self) -> str:
        """Identifies the content of the session's files."""
        hosts = [(host.name, host.file.fingerprint) for host in self.files.hosts]
        return f"{zlib.crc32(repr(hosts).encode()):08x}"

    def check(self, fingerprint: str | None) -> None:
        """Raises FilesChangedError if the session's files have another fingerprint; None accepts any."""
        if fingerprint is not None and fingerprint != self.fingerprint:
            raise FilesChangedError(
                f"{self.files.name}: its files have changed, and it was read again; reload the page"
            )

    @property
    def has_other_files(self) -> bool:
        """Whether a local session's files have changed since reading began."""
        return current_files(self.listed) != self._files_at_start

    @property
    def done(self) -> bool:
        return self._done.is_set()

    def wait(self, seconds: float | None) -> bool:
        """Waits until loading succeeded or failed; returns False after `seconds` without either."""
        return self._done.wait(seconds)

    def stop(self) -> None:
        """Stops reading; the session consists of the hosts read by then and, if it is held in memory, the events read
        so far of others."""
        self._stop.set()

    def progress(self) -> ReadingProgress:
        """`bytes_read` and `bytes` (None until the store has reported all sizes) of the session, those of each host,
        the keys of `LoadProgress.progress`, and the numbers of hosts of the partial report."""
        partial = self.partial_view
        has_sizes = all(reading.is_sized for reading in self.readings)
        return {
            "bytes_read": sum(reading.bytes_read for reading in self.readings),
            "bytes": sum(reading.bytes for reading in self.readings) if has_sizes else None,
            **self.stage_progress.progress(),
            "hosts": [reading.as_json() for reading in self.readings],
            "partial": {**self.hosts_read, "hosts_covered": len(partial.results.tables)} if partial else None,
        }

    @property
    def hosts_read(self) -> HostCounts:
        """The numbers of hosts read and of hosts in all."""
        hosts_read = sum(reading.state == "ready" for reading in self.readings)
        return {"hosts_read": hosts_read, "hosts_total": len(self.readings)}

    @property
    def is_stopped(self) -> bool:
        return self._stop.is_set()

    def measure_memory(self) -> int:
        """The approximate memory of the session in bytes, including results that its views have memoised."""
        size = deep_size(self.opened) if self.memory_bytes is None else self.memory_bytes
        self.memory_bytes = size
        return size

    def run(self, open_session: Opener) -> None:
        """Reads the session and never raises; must be called once."""
        try:
            self.opened = open_session(self)
        except InputError as error:
            self.error = str(error)
        except Exception as error:  # a bug fails this session, not the server
            _log.exception("%s cannot be opened", escape_text(self.files.path))
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            self.error = f"{self.files.path}: cannot be opened ({reason}); report this with the file"
        finally:
            self._done.set()


Opener = Callable[[Load], OpenedSession]


def session_opener(
    catalog_file: str | None = None, scheduler: str | None = None, budget: int | None = None
) -> Opener:
    """Returns the function that reads a session's captures, with the additional event names of `catalog_file`, and
    prepares the timeline.

    Sessions of several hosts that are too many or too large for memory, or for which there is a scheduler, are read by
    tasks (see `tasks.run`); only the traces on display are cached, within `budget` bytes.
    """
    budget = default_budget() if budget is None else budget

    def open_session(load: Load) -> OpenedSession:
        from tb_xla_insights.catalog import load_catalog

        catalog = load_catalog(catalog_file)
        if len(load.files.hosts) > 1 and (scheduler or not fits_in_memory(load.files, budget)):
            fetch_missing_sizes(load.files, load.readings)
            reader = SessionHosts(
                load.files, catalog, scheduler, budget, load.readings, lambda: load.is_stopped
            )
            opened = OpenedSession(_stream(load, reader, budget))
            load.stage_progress.begin_drawing()
        else:
            from tb_xla_insights.report.session_view import SessionView
            from tb_xla_insights.timeline import Timeline

            trace = read_session(load.files, catalog, load.readings, lambda: load.is_stopped)
            load.stage_progress.begin_drawing()
            opened = OpenedSession(LoadedHosts(load.files, SessionView(trace), Timeline(trace)))
        displayed = opened.choose(None)
        _ = displayed.head  # computed here, before a request waits for it
        displayed.timeline.prepare()
        release_freed_memory()
        threading.Thread(target=displayed.find_more_rows, daemon=True).start()
        return opened

    return open_session


def _stream(load: Load, reader: SessionHosts, budget: int) -> StreamedHosts:
    def show(view: SessionView) -> None:
        load.partial_view = view

    results = reader.results(PartialReporter(reader, show).update)
    return reader.streamed(results, budget)


class Store:
    """The sessions of a logdir, read on request, within a memory budget in bytes."""

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
        self._memory_gate = MemoryGate(default_budget() if budget is None else budget)
        self._clock = clock
        self._measured_at = clock()

    def load(self, name: str, reload: bool = False) -> Load:
        """The session's load, started if there is none. A load that has ended is started again with `reload`, or if it
        failed and the files have changed since.

        Raises UnknownSessionError if the logdir has no session of that name.
        """
        with self._lock:
            load = self._loads.get(name)
        if load is not None and not (load.done and (reload or self._is_worth_retrying(load))):
            self._touch(load)
            return load
        if reload:
            self.listing.refresh(wait=None, max_age=0)
        files = self.listing.find(name)
        if files is None:
            raise UnknownSessionError(
                f"{name}: no such session under {self.listing.roots_text}; reload the list"
            )
        new_load = Load(files)
        with self._lock:
            current = self._loads.get(name)
            if current is not load and current is not None:  # another thread was faster
                return current
            self._loads[name] = new_load
            self._loads.move_to_end(name)
        threading.Thread(target=self._run, args=(new_load,), daemon=True).start()
        return new_load

    def loaded(self, name: str, wait: float | None = None, fingerprint: str | None = None) -> OpenedSession:
        """The session once it is in memory. Raises InputError if it cannot be read, StillReadingError after `wait`
        seconds, FilesChangedError if its files have another fingerprint."""
        load = self.load(name)
        load.check(fingerprint)
        if not load.wait(wait):
            raise StillReadingError(f"{name}: still being read; ask again")
        if load.opened is None:
            raise InputError(load.error or f"{name}: cannot be read")
        return load.opened

    def stop(self, name: str) -> bool:
        """Stops the reading of a session; returns False if no session of that name is being read."""
        load = self._loads.get(name)
        if load is None or load.done:
            return False
        load.stop()
        self._memory_gate.wake_waiting()
        return True

    def has_changed(self, load: Load) -> bool:
        """Whether the files, as the logdir was last listed, differ from those that were read."""
        listed = self.listing.last_seen(load.files.name)
        return listed is not None and listed not in (load.files, load.listed)

    def _is_worth_retrying(self, load: Load) -> bool:
        """Whether reading failed and the files have changed since; those of a remote session as they were last
        listed."""
        return load.error is not None and (load.has_other_files or self.has_changed(load))

    def _touch(self, load: Load) -> None:
        """Marks a session as recently used. Its views memoise results, so the memory of all sessions is measured again
        from time to time."""
        load.memory_bytes = None
        with self._lock:
            if self._loads.get(load.files.name) is load:
                self._loads.move_to_end(load.files.name)
        if self._clock() - self._measured_at >= _MEASURE_INTERVAL_S:
            self._measured_at = self._clock()
            threading.Thread(target=self._evict, args=(load,), daemon=True).start()

    def _run(self, load: Load) -> None:
        with self._memory_gate.acquire(estimate_memory(load.files), lambda: load.is_stopped):
            self._evict(load)
            load.run(self._open)
        self._evict(load)

    def _evict(self, protected: Load) -> None:
        """Evicts the least recently used sessions until the rest, with those being read, fits into the budget; never
        the protected one."""
        self._forget_least_recent(protected)
        release_freed_memory()  # only now, as references to evicted sessions would keep them alive

    def _forget_least_recent(self, protected: Load) -> None:
        with self._lock:
            loads = [(name, load) for name, load in self._loads.items() if load.opened]
        used_bytes = self._memory_gate.used_bytes + sum(load.measure_memory() for _, load in loads)
        for name, load in loads:
            if used_bytes <= self._memory_gate.capacity_bytes:
                break
            if load is not protected:
                used_bytes -= load.measure_memory()
                with self._lock:
                    if self._loads.get(name) is load:
                        del self._loads[name]


def default_budget() -> int:
    """A third of the memory of the machine or container, at least half a GiB."""
    return max(total_bytes() // 3, 512 << 20)
