"""Reading a session's captures: hosts side by side, each on its own, so that one bad file hides no other."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.logdir.sessions import HostFile, SessionFiles
from tb_xla_insights.parallel import side_by_side

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.trace.model import SessionTrace, Trace

_log = logging.getLogger(__name__)


@dataclass
class Reading:
    """How far the reading of one host is. Written by the thread that reads, looked at by others."""

    name: str
    bytes: int
    bytes_read: int = 0
    state: Literal["waiting", "reading", "ready", "error"] = "waiting"
    message: str | None = None

    def fail(self, message: str) -> None:
        self.state, self.message = "error", message


def readings_of(session: SessionFiles) -> list[Reading]:
    return [Reading(host.name, host.file.bytes) for host in session.hosts]


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
        traces[index] = _read_host(session.hosts[index], catalog, readings[index], stop)

    side_by_side([partial(read, index) for index in range(len(readings))], min(os.cpu_count() or 1, 4))
    read_ones = [trace for trace in traces if trace is not None]
    failed = [reading for reading in readings if reading.state == "error"]
    if not read_ones:
        first = failed[0].message if failed else f"{session.path}: holds no capture"
        more = f" ({len(failed)} hosts, all fail)" if len(failed) > 1 else ""
        raise InputError(f"{first}{more}")
    from tb_xla_insights.trace.build import join_hosts

    diagnostics = [Diagnostic("skipped_host", "warning", f"{it.message}", it.name) for it in failed]
    return join_hosts(session.name, session.path, read_ones, diagnostics)


def _read_host(host: HostFile, catalog: Catalog, reading: Reading, stop: Callable[[], bool]) -> Trace | None:
    from tb_xla_insights.trace.read import read_trace
    from tb_xla_insights.xplane.source import open_source

    def progress(bytes_read: int) -> None:
        reading.bytes_read = bytes_read

    path = host.file.path
    if stop():
        reading.fail(f"{path}: not read, stopped before; reload the session to read it")
        return None
    reading.state = "reading"
    try:
        with open_source(path) as source:
            reading.bytes = source.size
            trace = read_trace(source, catalog, host=host.name, progress=progress, stop=stop)
    except InputError as error:
        reading.fail(str(error))
        return None
    except Exception as error:  # a reader's fault must not take the other hosts with it
        _log.exception("%s cannot be read", path)
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        reading.fail(f"{path}: cannot be read ({reason}); report this with the file")
        return None
    reading.bytes_read = reading.bytes
    reading.state = "ready"
    return trace
