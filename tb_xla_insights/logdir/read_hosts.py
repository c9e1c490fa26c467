"""Reads a session's captures, hosts in parallel and independently, so that one bad file does not hide the others."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.files.blocks import StalledError, call_with_timeout
from tb_xla_insights.files.open import is_url
from tb_xla_insights.files.source import STOPPED_MESSAGE
from tb_xla_insights.logdir.files import file_info
from tb_xla_insights.logdir.missing_hosts import missing_hosts
from tb_xla_insights.logdir.sessions import HostFile, SessionFiles
from tb_xla_insights.logdir.sessions_beside import sessions_beside
from tb_xla_insights.system.parallel import run_parallel
from tb_xla_insights.tasks.host import fault_text, read_host

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.schema.session_route import HostReading, ReadingState
    from tb_xla_insights.trace.model import SessionTrace, Trace

_MAX_REMOTE_READS = 4
_MAX_SIZE_REQUESTS = 32
_SIZES_TIMEOUT_S = 5.0


@dataclass
class Reading:
    """The reading progress of one host, written by the thread that reads and read by others."""

    name: str
    bytes: int
    bytes_read: int = 0
    state: ReadingState = "waiting"
    message: str | None = None

    @property
    def is_sized(self) -> bool:
        """Whether the file's size is known: some stores report it only when the file is requested."""
        return self.bytes > 0 or self.state in ("ready", "error")

    def update(self, bytes_read: int = 0, size: int | None = None) -> None:
        """Sets the bytes read; a file that is read completely is in the state `building`."""
        self.bytes_read, self.bytes = bytes_read, self.bytes if size is None else size
        self.state = "building" if 0 < self.bytes <= bytes_read else "reading"

    def as_json(self) -> HostReading:
        return {
            "name": self.name,
            "bytes": self.bytes,
            "bytes_read": self.bytes_read,
            "state": self.state,
            "message": self.message,
        }

    def fail(self, message: str) -> None:
        self.state, self.message = "error", message


def initial_readings(session: SessionFiles) -> list[Reading]:
    return [Reading(host.name, host.file.bytes) for host in session.hosts]


def fetch_missing_sizes(session: SessionFiles, readings: list[Reading]) -> None:
    """Fetches the file sizes that a listing over HTTP lacks, as far as the store answers within a few seconds."""

    def fetch_size(index: int) -> None:
        with suppress(InputError):  # reading the file reports the error
            readings[index].bytes = file_info(session.hosts[index].file.path).bytes

    unsized = [index for index, host in enumerate(session.hosts) if not host.file.bytes]
    if unsized and is_url(session.path):
        tasks = [partial(fetch_size, index) for index in unsized]
        with suppress(StalledError):
            call_with_timeout(lambda: run_parallel(tasks, _MAX_SIZE_REQUESTS), _SIZES_TIMEOUT_S)


def read_session(
    session: SessionFiles,
    catalog: Catalog,
    readings: list[Reading] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> SessionTrace:
    """Reads all hosts of a session; those that fail are left out, with a `skipped_host` diagnostic each.

    `readings`, one per host, show the progress. Once `should_stop` returns True, the hosts being read end with the
    events read so far, and later ones are left out. Raises InputError if no host can be read.
    """
    readings = readings or initial_readings(session)
    traces: list[Trace | None] = [None] * len(readings)

    def read_host_at(index: int) -> None:
        traces[index] = _try_host(session.hosts[index], catalog, readings[index], should_stop)

    # Local reads are bound by processors, remote reads by the network.
    threads = _MAX_REMOTE_READS if is_url(session.path) else min(os.cpu_count() or 1, 4)
    run_parallel([partial(read_host_at, index) for index in range(len(readings))], threads)
    traces_read = [trace for trace in traces if trace is not None]
    failed = [reading for reading in readings if reading.state == "error"]
    if not traces_read:
        first = failed[0].message if failed else f"{session.path}: contains no capture"
        more = f" ({len(failed)} hosts, all fail)" if len(failed) > 1 else ""
        raise InputError(f"{first}{more}")
    from tb_xla_insights.trace.build import build_session

    missing = missing_hosts([host.name for host in session.hosts])
    skipped = [
        Diagnostic("skipped_host", "warning", f"{reading.message}", reading.name) for reading in failed
    ]
    result = build_session(session.name, session.path, traces_read, [*missing, *skipped])
    result.diagnostics += sessions_beside(session, result.duration_ps)
    return result


def _try_host(
    host: HostFile, catalog: Catalog, reading: Reading, should_stop: Callable[[], bool]
) -> Trace | None:
    def progress(bytes_read: int, size: int) -> None:
        reading.update(bytes_read, size)

    path = host.file.path
    if should_stop():
        reading.fail(STOPPED_MESSAGE.format(path))
        return None
    reading.update()
    try:
        trace = read_host(path, host.name, catalog, progress, should_stop)
    except InputError as error:
        reading.fail(str(error))
        return None
    except Exception as error:  # a bug must not fail the other hosts
        reading.fail(fault_text(path, error))
        return None
    reading.bytes_read = reading.bytes
    reading.state = "ready"
    return trace
