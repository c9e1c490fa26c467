"""What is recorded, in order: explanation, metrics, the trace, metrics again; and where it is written."""

from __future__ import annotations

import json
import logging
import os
import platform
import posixpath
import time
from collections.abc import Callable
from contextlib import suppress
from numbers import Real
from pathlib import Path

from tb_xla_insights import __version__
from tb_xla_insights.analysis.sidecars import DESCRIPTION_FILE, RECORD_FILE, SAMPLES_PER_STEP_KEY
from tb_xla_insights.errors import InputError
from tb_xla_insights.files.reasons import reason
from tb_xla_insights.files.replace import replace_atomically
from tb_xla_insights.files.source import is_url
from tb_xla_insights.logdir import paths
from tb_xla_insights.record.stderr import DebugText
from tb_xla_insights.record.tracers import tracer, versions
from tb_xla_insights.units import MAX_SAMPLES_PER_STEP

_log = logging.getLogger(__name__)
_FLAGS = ("XLA_", "PT_XLA_", "PJRT_", "JAX_")
_PAUSE_SECONDS = 0.05


class Recorder:
    """One recording into a logdir, which may be a URL."""

    def __init__(
        self,
        logdir: str,
        debug: bool,
        explain: Callable[[], object] | None,
        server: str | None,
        samples: float | None,
        python: bool,
        description: str | None,
    ) -> None:
        self._samples = None if samples is None else _number_of_samples(samples)
        self._logdir = paths.absolute(paths.expand(logdir))
        self._explain = explain
        self._tracer = tracer(server, python)
        self._debug = DebugText() if debug else None
        self._texts: dict[str, str] = {}
        self._keep(DESCRIPTION_FILE, description)

    def start(self) -> None:
        """Raises InputError where nothing can be written to the logdir or the profiler does not start. A logdir that
        was made for it does not stay then."""
        missing = [] if is_url(self._logdir) else _missing(self._logdir)
        try:
            if missing:
                self._make_logdir()
            self._begin()
        except BaseException:
            for directory in missing:
                with suppress(OSError):  # what others wrote there meanwhile stays
                    os.rmdir(directory)
            raise

    def _make_logdir(self) -> None:
        try:
            os.makedirs(self._logdir, exist_ok=True)
        except OSError as error:
            raise InputError(_unwritable(self._logdir, error.strerror)) from error

    def _begin(self) -> None:
        if self._explain is not None:
            self._texts["dynamo_explain.txt"] = _explanation(self._explain())
        self._tracer.wait()
        self._keep("metrics_before.txt", self._tracer.metrics())
        self._known = self._sessions()
        while self._known & _names_now():  # the profiler would write over what it wrote in this second
            time.sleep(_PAUSE_SECONDS)
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
            reason = " ".join(str(error).split())
            message = f"record: the profiler does not start ({reason}); end the other profile first"
            raise InputError(message) from error

    def stop(self) -> str:
        """The session's directory. Raises InputError where the profiler wrote nothing."""
        try:
            self._tracer.wait()
            self._end()
        finally:
            text = self._debug.stop() if self._debug else ""
        stopped = time.time_ns()
        self._keep("metrics_after.txt", self._tracer.metrics())
        self._keep("pt_xla_debug.txt", text or None)
        if self._debug and " Analysis: " not in text:
            _log.warning(
                "record: no debug text came; set PT_XLA_DEBUG_LEVEL=2 before the script starts, and run PyTorch/XLA"
            )
        session = self._session()
        document = {
            "tb_xla_insights": __version__,
            "started_unix_ns": str(self._started),
            "stopped_unix_ns": str(stopped),
            "python": platform.python_version(),
            "versions": versions(self._tracer.packages),
            "flags": {name: os.environ[name] for name in sorted(os.environ) if name.startswith(_FLAGS)},
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
        except RuntimeError as error:  # the profiler writes only now
            raise InputError(_unwritable(self._logdir, " ".join(str(error).split()))) from error

    def _keep(self, name: str, text: str | None) -> None:
        if text is not None:
            self._texts[name] = text if text.endswith("\n") else f"{text}\n"

    def _sessions(self) -> set[str]:
        import fsspec

        system, root = fsspec.core.url_to_fs(f"{self._logdir}/plugins/profile")
        if not system.exists(root):
            return set()
        system.invalidate_cache()
        return {posixpath.basename(it["name"].rstrip("/")) for it in system.ls(root, detail=True)}

    def _session(self) -> str:
        """What the profiler has made: the new one, else the last one, to which it may have added a host."""
        there = self._sessions()
        if not there:
            raise InputError(f"{self._logdir}: the profiler wrote nothing there; look at what it printed")
        return f"{self._logdir}/plugins/profile/{max(there - self._known or there)}"


def _missing(directory: str) -> list[str]:
    """The directory and those above it, from the innermost on, as far as they are not there yet."""
    found = []
    while not os.path.isdir(directory):
        found.append(directory)
        directory = os.path.dirname(directory)
    return found


def _number_of_samples(samples: float) -> float:
    """As JSON can hold it, also where it is a number of NumPy. Raises InputError."""
    if not isinstance(samples, Real) or not 0 < samples <= MAX_SAMPLES_PER_STEP:
        raise InputError(
            f"record: samples is {samples!r}; give how many samples a step takes, a number above 0"
        )
    return int(samples) if samples == int(samples) else float(samples)


def _names_now() -> set[str]:
    """What profilers call a session that ends now: by the second, in local time or UTC."""
    return {time.strftime("%Y_%m_%d_%H_%M_%S", now) for now in (time.localtime(), time.gmtime())}


def _unwritable(logdir: str, reason: str | None) -> str:
    return (
        f"{logdir}: the profile cannot be written ({reason}); name a directory that this process can write to"
    )


def _explanation(explained: object) -> str:
    """PyTorch 2.0 gives a tuple with the text last, later ones an object that prints as the text."""
    texts = (
        [it for it in explained if isinstance(it, str)] if isinstance(explained, tuple) else [str(explained)]
    )
    return "\n".join(texts) + "\n"


def _write(path: str, text: str) -> None:
    """Raises InputError."""
    content = text.encode(errors="backslashreplace")
    try:
        if is_url(path):
            import fsspec

            with fsspec.open(path, "wb") as file:
                file.write(content)
        else:
            with replace_atomically(Path(path)) as place:
                place.write_bytes(content)
    except Exception as error:  # each file system raises its own kinds
        raise InputError(_unwritable(path, reason(error))) from error
