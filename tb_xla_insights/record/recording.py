"""Records, in this order, dynamo's explanation (if requested), metrics, the trace and metrics again, and writes them to
the session."""

from __future__ import annotations

import json
import logging
import os
import platform
import posixpath
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tb_xla_insights.analysis.sidecar_contents import DESCRIPTION_FILE, RECORD_FILE, SAMPLES_PER_STEP_KEY
from tb_xla_insights.errors import InputError
from tb_xla_insights.files.open import is_url
from tb_xla_insights.files.reasons import reason
from tb_xla_insights.files.replace import replace_atomically
from tb_xla_insights.logdir import paths
from tb_xla_insights.logdir.files import FileInfo, captures_under
from tb_xla_insights.record.stderr import CapturedStderr
from tb_xla_insights.record.tracers import tracer, versions
from tb_xla_insights.text.units import MAX_SAMPLES_PER_STEP, check_samples
from tb_xla_insights.version import __version__

_log = logging.getLogger(__name__)
_FLAG_PREFIXES = ("XLA_", "PT_XLA_", "PJRT_", "JAX_", "LIBTPU_")
"""Prefixes of the environment variables that are saved as flags."""

_POLL_SECONDS = 0.05


class Recorder:
    """One recording into a logdir, which may be a URL."""

    def __init__(
        self,
        logdir: str,
        *,
        debug: bool,
        explain: Callable[[], object] | None,
        server: str | None,
        samples: float | None,
        python: bool,
        description: str | None,
    ) -> None:
        self._samples = None if samples is None else _number_of_samples(samples)
        self._logdir = paths.run_directory(paths.expand(logdir))
        self._explain = explain
        self._tracer = tracer(server, python)
        self._debug = CapturedStderr() if debug else None
        self._texts: dict[str, str] = {}
        self._add_text(DESCRIPTION_FILE, description)

    def start(self) -> None:
        """Starts the trace. Raises InputError if the logdir cannot be listed or created, or if the profiler does not
        start; directories created for it are then removed."""
        missing = [] if is_url(self._logdir) else _missing_directories(self._logdir)
        try:
            if missing:
                self._make_logdir()
            self._begin()
        except BaseException:
            for directory in missing:
                with suppress(OSError):  # not empty: another process wrote into it meanwhile
                    os.rmdir(directory)
            raise

    def _make_logdir(self) -> None:
        try:
            os.makedirs(self._logdir, exist_ok=True)
        except OSError as error:
            raise InputError(_unwritable(self._logdir, error.strerror)) from error

    def _begin(self) -> None:
        if self._explain is not None:
            self._texts["dynamo_explain.txt"] = _explanation_text(self._explain())
        self._tracer.wait_for_devices()
        self._add_text("metrics_before.txt", self._tracer.metrics())
        self._captures_before = self._captures()
        sessions = {posixpath.basename(paths.parent(capture.path)) for capture in self._captures_before}
        # The profiler would overwrite the session of this second.
        while sessions & _session_names_now():
            time.sleep(_POLL_SECONDS)
        self._started = time.time_ns()
        if self._debug:
            self._debug.start()
        try:
            self._tracer.start(self._logdir)
        except Exception as error:
            if self._debug:
                self._debug.stop()
            if not isinstance(error, RuntimeError):
                raise
            detail = " ".join(str(error).split())
            message = f"record: the profiler does not start ({detail}); if another profile runs, end it first"
            raise InputError(message) from error

    def stop(self) -> str:
        """Writes the session and returns its directory. Raises InputError if the profiler wrote nothing, or if the
        logdir cannot be listed or written to; and the framework's error if the devices' work failed. The profiler is
        stopped in any case."""
        try:
            try:
                self._tracer.wait_for_devices()
            finally:
                self._end()
        finally:
            text = self._debug.stop() if self._debug else ""
        stopped = time.time_ns()
        self._add_text("metrics_after.txt", self._tracer.metrics())
        self._add_text("pt_xla_debug.txt", text or None)
        if self._debug and " Analysis: " not in text:
            _log.warning(
                "record: no debug text was received; set PT_XLA_DEBUG_LEVEL=2 before the script starts, and run "
                "PyTorch/XLA"
            )
        session = self._session_directory()
        document = {
            "tb_xla_insights": __version__,
            "started_unix_ns": str(self._started),
            "stopped_unix_ns": str(stopped),
            "python": platform.python_version(),
            "versions": versions(self._tracer.packages),
            "flags": {
                name: os.environ[name] for name in sorted(os.environ) if name.startswith(_FLAG_PREFIXES)
            },
            "files": sorted(self._texts),
            SAMPLES_PER_STEP_KEY: self._samples,
        }
        self._texts[RECORD_FILE] = json.dumps(document, indent=2) + "\n"
        for name, content in self._texts.items():
            _write(f"{session}/{name}", content)
        return session

    def _end(self) -> None:
        try:
            self._tracer.stop()
        except RuntimeError as error:  # the profiler writes its file only now
            raise InputError(_unwritable(self._logdir, " ".join(str(error).split()))) from error

    def _add_text(self, name: str, text: str | None) -> None:
        if text is not None:
            self._texts[name] = text if text.endswith("\n") else f"{text}\n"

    def _captures(self) -> set[FileInfo]:
        """The captures in the logdir's sessions, without those of logdirs below it. Raises InputError."""
        root = f"{self._logdir}/plugins/profile"
        contents = captures_under(root)
        if root in contents.unreadable:
            raise InputError(f"{root}: permission denied; make it readable for this user")
        return set(contents.captures)

    def _session_directory(self) -> str:
        """The directory of the new session; if there is none, that of the last one to which the profiler added a host.
        Raises InputError if no capture was added or replaced."""
        sessions_before = {paths.parent(capture.path) for capture in self._captures_before}
        sessions = {paths.parent(capture.path) for capture in self._captures() - self._captures_before}
        if not sessions:
            raise InputError(f"{self._logdir}: the profiler wrote nothing there; check its output")
        return max(sessions - sessions_before or sessions)


def _missing_directories(directory: str) -> list[str]:
    """The directory and its parents that do not exist yet, the innermost first."""
    missing = []
    while not os.path.isdir(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    return missing


def _number_of_samples(samples: float) -> float:
    """Converts a number, NumPy's included, to an int or float, for JSON. Raises InputError."""
    try:
        return check_samples(samples)
    except ValueError as error:
        raise InputError(
            f"record: samples is {samples!r}; give the number of samples per step, a number above 0 and up to "
            f"{MAX_SAMPLES_PER_STEP:g}"
        ) from error


def _session_names_now() -> set[str]:
    """The names that profilers give a session that ends now: the second, in local time or UTC."""
    return {time.strftime("%Y_%m_%d_%H_%M_%S", now) for now in (time.localtime(), time.gmtime())}


def _unwritable(path: str, detail: str | None) -> str:
    return f"{path}: the profile cannot be written ({detail}); specify a directory that this process can write to"


def _explanation_text(explanation: object) -> str:
    """The text of dynamo's explanation: PyTorch 2.0 returns a tuple that contains texts, later versions an object."""
    texts = (
        [item for item in explanation if isinstance(item, str)]
        if isinstance(explanation, tuple)
        else [str(explanation)]
    )
    return "\n".join(texts) + "\n"


def _write(path: str, text: str) -> None:
    """Writes a text file. Raises InputError."""
    content = text.encode(errors="backslashreplace")
    try:
        if is_url(path):
            import fsspec

            with fsspec.open(path, "wb") as file:
                file.write(content)
        else:
            with replace_atomically(Path(path)) as temporary_path:
                temporary_path.write_bytes(content)
    except Exception as error:  # each file system raises its own exceptions
        raise InputError(_unwritable(path, reason(error))) from error
