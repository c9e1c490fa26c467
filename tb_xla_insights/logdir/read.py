"""Reading a session's captures: hosts side by side, each on its own, so that one bad file hides no other."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.files.blocks import StalledError, call_with_timeout
from tb_xla_insights.files.source import is_url
from tb_xla_insights.logdir.files import file_info
from tb_xla_insights.logdir.missing_hosts import missing_hosts
from tb_xla_insights.logdir.sessions import HostFile, SessionFiles
from tb_xla_insights.parallel import run_parallel
from tb_xla_insights.tasks.host import fault_text, read_host

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.trace.model import SessionTrace, Trace

_REMOTE_AT_ONCE = 4
_SIZES_AT_ONCE = 32
_SIZES_SECONDS = 5.0


@dataclass
class Reading:
    """How far the reading of one host is. Written by the thread that reads, looked at by others."""

    name: str
    bytes: int
    bytes_read: int = 0
    state: Literal["waiting", "reading", "building", "ready", "error"] = "waiting"
    message: str | None = None

    @property
    def is_sized(self) -> bool:
        """Whether its size is known: some stores tell it only once the file is asked for."""
        return self.bytes > 0 or self.state in ("ready", "error")

    def begin(self, bytes_read: int = 0, size: int | None = None) -> None:
        """Says how much of it is read; what is read as a whole is being built."""
        self.bytes_read, self.bytes = bytes_read, self.bytes if size is None else size
        self.state = "building" if 0 < self.bytes <= bytes_read else "reading"

    def fail(self, message: str) -> None:
        self.state, self.message = "error", message


def readings_of(session: SessionFiles) -> list[Reading]:
    return [Reading(host.name, host.file.bytes) for host in session.hosts]


def ask_sizes(session: SessionFiles, readings: list[Reading]) -> None:
    """Learns the sizes of files that a listing over HTTP does not tell, as far as the store answers soon."""

    def ask(place: int) -> None:
        with suppress(InputError):  # whoever reads the file is told
            readings[place].bytes = file_info(session.hosts[place].file.path).bytes

    unknown = [place for place, host in enumerate(session.hosts) if not host.file.bytes]
    if unknown and is_url(session.path):
        tasks = [partial(ask, place) for place in unknown]
        with suppress(StalledError):
            call_with_timeout(lambda: run_parallel(tasks, _SIZES_AT_ONCE), _SIZES_SECONDS)


def read_session(
    session: SessionFiles,
    catalog: Catalog,
    readings: list[Reading] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> SessionTrace:
    """Reads all hosts of a session; those that fail are left out, with a `skipped_host` diagnostic each.

    `readings`, one per host, show the progress. Once `stop` says so, what was read is what the session has.
    Raises InputError where no host can be read.
    """
    readings = readings or readings_of(session)
    traces: list[Trace | None] = [None] * len(readings)

    def read(index: int) -> None:
        traces[index] = _try_host(session.hosts[index], catalog, readings[index], stop)

    # A processor decodes one host at a time; a store sends several.
    at_once = _REMOTE_AT_ONCE if is_url(session.path) else min(os.cpu_count() or 1, 4)
    run_parallel([partial(read, index) for index in range(len(readings))], at_once)
    read_ones = [trace for trace in traces if trace is not None]
    failed = [reading for reading in readings if reading.state == "error"]
    if not read_ones:
        first = failed[0].message if failed else f"{session.path}: holds no capture"
        more = f" ({len(failed)} hosts, all fail)" if len(failed) > 1 else ""
        raise InputError(f"{first}{more}")
    from tb_xla_insights.trace.build import join_hosts

    missing = missing_hosts([host.name for host in session.hosts])
    skipped = [Diagnostic("skipped_host", "warning", f"{it.message}", it.name) for it in failed]
    return join_hosts(session.name, session.path, read_ones, [*missing, *skipped])


def _try_host(host: HostFile, catalog: Catalog, reading: Reading, stop: Callable[[], bool]) -> Trace | None:
    def progress(bytes_read: int, size: int) -> None:
        reading.begin(bytes_read, size)

    path = host.file.path
    if stop():
        reading.fail(f"{path}: not read, stopped before; reload the session to read it")
        return None
    reading.begin()
    try:
        trace = read_host(path, host.name, catalog, progress, stop)
    except InputError as error:
        reading.fail(str(error))
        return None
    except Exception as error:  # a reader's fault must not take the other hosts with it
        reading.fail(fault_text(path, error))
        return None
    reading.bytes_read = reading.bytes
    reading.state = "ready"
    return trace
