"""The tracers: torch_xla's profiler, JAX's profiler, or a profiler server."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from contextlib import suppress
from importlib import metadata, util
from typing import Any, Protocol

from tb_xla_insights.errors import InputError

_log = logging.getLogger(__name__)
_FRAMEWORKS = ("torch_xla", "jax")
_REFUSAL_SECONDS = 0.3
"""How long to wait for the server's refusal of a capture."""


class Tracer(Protocol):
    """Starts and stops a trace.

    `wait_for_devices` blocks until the devices have finished their work; `metrics` returns the framework's metrics
    report. Without a framework that provides them, the former does nothing and the latter returns None.
    """

    packages: tuple[str, ...]

    def start(self, logdir: str) -> None: ...
    def stop(self) -> None: ...
    def wait_for_devices(self) -> None: ...
    def metrics(self) -> str | None: ...


class TorchXla:
    """The profiler of torch_xla, in this process. It records no Python calls."""

    packages: tuple[str, ...] = ("torch", "torch_xla", "libtpu")

    def __init__(self) -> None:
        self._profiler = importlib.import_module("torch_xla.debug.profiler")
        self._metrics = importlib.import_module("torch_xla.debug.metrics")
        self._model = importlib.import_module("torch_xla.core.xla_model")
        if not hasattr(self._profiler, "start_trace"):
            raise InputError(
                "this torch_xla cannot trace its own process; start its profiler server and call record(server=…)"
            )

    def start(self, logdir: str) -> None:
        self._profiler.start_trace(logdir)

    def stop(self) -> None:
        self._profiler.stop_trace()

    def wait_for_devices(self) -> None:
        self._model.wait_device_ops()

    def metrics(self) -> str | None:
        return str(self._metrics.metrics_report())


class Jax:
    """The profiler of JAX, in this process. Before JAX 0.6.1 it always records every Python call."""

    packages: tuple[str, ...] = ("jax", "jaxlib", "libtpu")

    def __init__(self, python: bool) -> None:
        self._jax: Any = importlib.import_module("jax")
        self._python = python

    def start(self, logdir: str) -> None:
        profiler = self._jax.profiler
        if hasattr(profiler, "ProfileOptions"):
            options = profiler.ProfileOptions()
            options.python_tracer_level = int(self._python)
            profiler.start_trace(logdir, profiler_options=options)
        else:
            if not self._python:
                _log.warning(
                    "record: JAX %s always records every Python call; JAX 0.6.1 and later can omit them",
                    self._jax.__version__,
                )
            profiler.start_trace(logdir)

    def stop(self) -> None:
        self._jax.profiler.stop_trace()

    def wait_for_devices(self) -> None:
        self._jax.block_until_ready(self._jax.live_arrays())

    def metrics(self) -> str | None:
        return None


class ServerTracer:
    """A profiler server, with the metrics and waiting of this process's framework, if it has one."""

    def __init__(self, address: str, framework: Tracer | None, python: bool) -> None:
        from tb_xla_insights.capture.addresses import parse_addresses

        self._python = python
        self._addresses = parse_addresses(address)
        self._framework = framework
        self.packages = framework.packages if framework else ()

    def start(self, logdir: str) -> None:
        from tb_xla_insights.capture.capture import SessionCapture
        from tb_xla_insights.capture.server import MAX_DURATION_MS, Options

        options = Options(duration_ms=MAX_DURATION_MS, python_level=int(self._python), retries=0)
        self._capture = SessionCapture(self._addresses, logdir, options)
        self._thread = threading.Thread(target=self._capture.run, daemon=True)
        self._thread.start()
        while self._capture.state == "waiting" and not self._capture.wait(0.01):
            continue
        # A server does not report the start of the trace, but a refusal arrives at once.
        if self._capture.wait(_REFUSAL_SECONDS):
            raise InputError(self._capture.message or "the capture ended before it began")

    def stop(self) -> None:
        # A server that has not started the trace yet ignores the request, so it is repeated.
        while not self._capture.done:
            self._capture.end()
            self._capture.wait(0.1)
        self._thread.join()
        if self._capture.message:
            raise InputError(self._capture.message)

    def wait_for_devices(self) -> None:
        if self._framework:
            self._framework.wait_for_devices()

    def metrics(self) -> str | None:
        return self._framework.metrics() if self._framework else None


def tracer(server: str | None, python: bool) -> Tracer:
    """The tracer of the `server` if one is given; else of the framework that this process has imported, else of an
    installed one. `python`: whether to record every Python call, if the framework can. Raises InputError if there is no
    framework and no `server`."""
    name = next((package for package in _FRAMEWORKS if package in sys.modules), None)
    if name is None and not server:
        name = next((package for package in _FRAMEWORKS if util.find_spec(package)), None)
    framework: Tracer | None = None
    if name:
        try:
            framework = TorchXla() if name == "torch_xla" else Jax(python)
        except (ImportError, OSError) as error:
            detail = " ".join(str(error).split())
            raise InputError(
                f"record: {name} cannot be imported ({detail}); repair its installation"
            ) from error
        except InputError:
            if not server:
                raise
    if server:
        return ServerTracer(server, framework, python)
    if framework is None:
        raise InputError(
            "record: neither torch_xla nor jax is installed; install the one that the script uses"
        )
    return framework


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """The versions of the installed packages, by name."""
    result = {}
    for name in packages:
        with suppress(metadata.PackageNotFoundError):
            result[name] = metadata.version(name)
    return result
