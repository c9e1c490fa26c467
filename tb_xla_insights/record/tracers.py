"""Ways to trace: with torch_xla's profiler, with JAX's, or with a profiler server."""

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
_BEGINS_SECONDS = 0.3


class Tracer(Protocol):
    """`metrics` and `wait` do nothing where the framework has nothing of the kind."""

    packages: tuple[str, ...]

    def start(self, logdir: str) -> None: ...
    def stop(self) -> None: ...
    def wait(self) -> None: ...
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
                "this torch_xla cannot trace its own process; start its profiler server and give record(server=…)"
            )

    def start(self, logdir: str) -> None:
        self._profiler.start_trace(logdir)

    def stop(self) -> None:
        self._profiler.stop_trace()

    def wait(self) -> None:
        self._model.wait_device_ops()

    def metrics(self) -> str | None:
        return str(self._metrics.metrics_report())


class Jax:
    """The profiler of JAX, in this process. Before JAX 0.6 it records every Python call, whether wanted or not."""

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
                    "record: JAX %s records every Python call; from 0.6 on it need not", self._jax.__version__
                )
            profiler.start_trace(logdir)

    def stop(self) -> None:
        self._jax.profiler.stop_trace()

    def wait(self) -> None:
        self._jax.block_until_ready(self._jax.live_arrays())

    def metrics(self) -> str | None:
        return None


class Served:
    """A profiler server, with what else the framework in this process knows, if there is one."""

    def __init__(self, address: str, inner: Tracer | None, python: bool) -> None:
        from tb_xla_insights.capture.addresses import parse_addresses

        self._python = python
        self._addresses = parse_addresses(address)
        self._inner = inner
        self.packages = inner.packages if inner else ()

    def start(self, logdir: str) -> None:
        from tb_xla_insights.capture.capture import Capture
        from tb_xla_insights.capture.server import LONGEST_MS, Options

        options = Options(duration_ms=LONGEST_MS, python_level=int(self._python), retries=0)
        self._capture = Capture(self._addresses, logdir, options)
        self._thread = threading.Thread(target=self._capture.run, daemon=True)
        self._thread.start()
        while self._capture.state == "waiting" and not self._capture.wait(0.01):
            continue
        # A server does not say when it has begun; one that refuses does so at once.
        if self._capture.wait(_BEGINS_SECONDS):
            raise InputError(self._capture.message or "the capture ended before it began")

    def stop(self) -> None:
        # A server that has not begun yet does not hear the first one.
        while not self._capture.done:
            self._capture.end()
            self._capture.wait(0.1)
        self._thread.join()
        if self._capture.message:
            raise InputError(self._capture.message)

    def wait(self) -> None:
        if self._inner:
            self._inner.wait()

    def metrics(self) -> str | None:
        return self._inner.metrics() if self._inner else None


def tracer(server: str | None, python: bool) -> Tracer:
    """The profiler of the framework that this process uses; of the one that is installed where none is imported yet.
    `python`: whether it records every Python call, where it can. Raises InputError where there is none."""
    name = next((it for it in ("torch_xla", "jax") if it in sys.modules), None)
    name = name or (None if server else next((it for it in ("torch_xla", "jax") if util.find_spec(it)), None))
    inner: Tracer | None = None
    if name:
        try:
            inner = TorchXla() if name == "torch_xla" else Jax(python)
        except (ImportError, OSError) as error:
            reason = " ".join(str(error).split())
            raise InputError(
                f"record: {name} cannot be imported ({reason}); mend its installation"
            ) from error
        except InputError:
            if not server:
                raise
    if server:
        return Served(server, inner, python)
    if inner is None:
        raise InputError(
            "record: neither torch_xla nor jax is installed; install the one that the script uses"
        )
    return inner


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Those of the packages that are installed."""
    found = {}
    for name in packages:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
