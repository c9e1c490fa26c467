"""The task of one host, and its result."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.system.memory import release_freed_memory
from tb_xla_insights.text.escapes import escape_text

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.tasks.progress import Progress
    from tb_xla_insights.trace.model import Trace

_log = logging.getLogger(__name__)

Result = TypeVar("Result")


@dataclass(frozen=True)
class HostCapture:
    """The capture of one host, which the task reads itself. `bytes` is its size as the store reported it (0: not
    reported), `number` the host's index in its session, `shift_ps` its time 0 on the session's time base, once known.
    `fingerprint` identifies the content of a file that was read before, else it is empty."""

    name: str
    path: str
    bytes: int
    number: int = 0
    shift_ps: int = 0
    fingerprint: str = ""

    def check_unchanged(self, trace: Trace) -> None:
        """Raises InputError if the file's content is not what was read before."""
        if self.fingerprint not in ("", trace.fingerprint):
            raise InputError(f"{self.path}: the file has changed since it was read; reload the session")


@dataclass(frozen=True)
class HostResult(Generic[Result]):
    """The result of a function of a host's trace, and the data needed to combine it with the results of other hosts.

    `base_unix_ns` is the trace's (0: not recorded).
    """

    host: HostCapture
    value: Result
    base_unix_ns: int
    diagnostics: list[Diagnostic]


@dataclass(frozen=True)
class Failure:
    """A host without a result; `message` is one line: which file, what is wrong, what to do."""

    host: HostCapture
    message: str


TaskResult: TypeAlias = HostResult[Result] | Failure


@dataclass(frozen=True)
class Task(Generic[Result]):
    """The task for every host: `function` takes the trace, shifted by the host's `shift_ps`.

    The function and its result must be picklable, so it is a module-level function, or a `partial` of one. `progress`
    records the bytes read.
    """

    function: Callable[[Trace, HostCapture], Result]
    catalog: Catalog
    progress: Progress | None = None

    def __call__(self, host: HostCapture) -> TaskResult[Result]:
        """Runs the task; never raises."""
        try:
            return self._result(host)
        except InputError as error:
            return Failure(host, str(error))
        except Exception as error:  # a fault at one host must not fail the others
            return Failure(host, fault_text(host.path, error))
        finally:
            # A trace and the results cached with it reference each other. With automatic collection off and no tasks in
            # other threads, they are in the youngest generation; the objects of all modules need no search.
            is_alone = threading.current_thread() is threading.main_thread()
            gc.collect(0 if is_alone and not gc.isenabled() else 2)
            release_freed_memory()

    def _result(self, host: HostCapture) -> HostResult[Result]:
        def record_progress(bytes_read: int, size: int) -> None:
            if self.progress:
                self.progress.record(host.number, bytes_read, size)

        trace = read_host(host.path, host.name, self.catalog, record_progress)
        host.check_unchanged(trace)
        trace.shift(host.shift_ps)
        value = self.function(trace, host)
        host_read = replace(host, fingerprint=trace.fingerprint)
        return HostResult(host_read, value, trace.base_unix_ns, trace.diagnostics)


def read_host(
    path: str,
    host: str,
    catalog: Catalog,
    progress: Callable[[int, int], None] = lambda _read, _size: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Trace:
    """Reads one capture, local or behind a URL. Depends on no shared state, so it can run in any thread, process or
    machine.

    Calls `progress` with the bytes read (of a remote file, the bytes that have arrived) and the file's size. Once
    `should_stop` returns True, the trace holds the events read so far; of a remote file, InputError is raised if a
    block that it waits for has not arrived. Credentials and options of a store come from fsspec's configuration. Raises
    InputError.
    """
    from tb_xla_insights.files.open import is_url
    from tb_xla_insights.trace.read_trace import read_trace
    from tb_xla_insights.xplane.open_capture import is_riegeli, open_capture

    size = 0

    def report_progress(bytes_read: int) -> None:
        if size:
            progress(bytes_read, size)

    # A Riegeli file has arrived when it is open.
    progress_of_decoding = None if is_url(path) and not is_riegeli(path) else report_progress
    with open_capture(path, whole=True, on_bytes=report_progress, should_stop=should_stop) as source:
        size = source.size
        progress(0, size)
        trace = read_trace(source, catalog, host=host, progress=progress_of_decoding, should_stop=should_stop)
        source.check_unchanged()
        source.cache_ranges(trace.programs.values())
    return trace


def fault_text(path: str, error: Exception) -> str:
    """A one-line message for an internal error, whose traceback goes to the log."""
    _log.error("%s cannot be read", escape_text(path), exc_info=error)
    detail = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{path}: cannot be read ({detail}); report this with the file"
