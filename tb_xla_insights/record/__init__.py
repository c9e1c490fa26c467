"""Records a complete session from within a training script.

    from tb_xla_insights.record import record

    with record("logdir"):
        for step in range(10, 20):
            train(step)

This writes the profile of these steps to `logdir/plugins/profile/<session>`, with sidecar files: the metrics report
before and after, versions, the environment's flags and, if requested, PT_XLA_DEBUG text and dynamo's explanation.
Importing this module, and recording without a logdir, imports neither torch nor jax.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tb_xla_insights.record.recording import Recorder

__all__ = ["Recording", "record"]


class Recording:
    """One recording, by `start` and `stop` or as a context manager. `session` is its directory afterwards."""

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None,
        *,
        debug: bool = False,
        explain: Callable[[], object] | None = None,
        server: str | None = None,
        samples: float | None = None,
        python: bool = False,
        description: str | None = None,
    ) -> None:
        self.session: str | None = None
        self._recorder: Recorder | None = None
        self._logdir = os.fspath(logdir) if logdir else None
        self._options: dict[str, Any] = {
            "debug": debug,
            "explain": explain,
            "server": server,
            "samples": samples,
            "python": python,
            "description": description,
        }

    def start(self) -> None:
        """Starts the trace. Like `stop`, raises InputError, in one line, if that fails."""
        if self._logdir:
            from tb_xla_insights.record.recording import Recorder

            recorder = Recorder(self._logdir, **self._options)
            recorder.start()
            self._recorder = recorder

    def stop(self) -> str | None:
        """Writes the session and returns its directory, None if nothing was recorded."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            self.session = recorder.stop()
        return self.session

    def __enter__(self) -> Recording:
        self.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except Exception:
            if error is None:  # an exception of the training has precedence
                raise


def record(
    logdir: str | os.PathLike[str] | None,
    *,
    debug: bool = False,
    explain: Callable[[], object] | None = None,
    server: str | None = None,
    samples: float | None = None,
    python: bool = False,
    description: str | None = None,
) -> Recording:
    """Records the `with` block (or the time between `start` and `stop`) into `logdir`.

    Without a logdir this does nothing, at no cost, so that an optional command line argument can be passed on as is.

    - `debug` saves what PyTorch/XLA prints about compilations and executions; set `PT_XLA_DEBUG_LEVEL=2` before the
      script starts, as torch_xla reads it once.
    - `explain` returns dynamo's explanation to save, such as `lambda: torch._dynamo.explain(model)(batch)`; it is
      called before the trace.
    - `server` is the `HOST:PORT` of a profiler server, of this process or another one, to trace with instead of the
      profiler in this process.
    - `samples` is the number of samples per step, of all hosts and devices together, from which reports and
      comparisons of the session compute samples per second.
    - `python` also records every Python call, as `--python-level 1` of `capture` does. It shows the host's activity
      where nothing else is recorded, and slows Python down. JAX before 0.6.1 always records these calls, and a warning
      says so; PyTorch/XLA never does.
    - `description` is a line that reports and the page show with the session.
    """
    return Recording(
        logdir,
        debug=debug,
        explain=explain,
        server=server,
        samples=samples,
        python=python,
        description=description,
    )
