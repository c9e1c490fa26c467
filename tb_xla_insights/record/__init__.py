"""Leaves a complete session from within a training script.

    from tb_xla_insights.record import record

    with record("logdir"):
        for step in range(10, 20):
            train(step)

The profile of these steps lies in `logdir/plugins/profile/<session>` then, and beside it what explains it: the metrics
report before and after, versions, the environment's flags, and where wanted PT_XLA_DEBUG text and dynamo's explanation.
Importing this, and recording into no logdir, imports neither torch nor jax.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tb_xla_insights.record.recording import Recorder

__all__ = ["Recording", "record"]


class Recording:
    """One recording; `start` and `stop` it, or use it in a `with` statement. `session` is its directory afterwards."""

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
        self._how = (
            os.fspath(logdir) if logdir else None,
            debug,
            explain,
            server,
            samples,
            python,
            description,
        )

    def start(self) -> None:
        """Begins to trace. Raises InputError, in one line, where it cannot; so does `stop`."""
        logdir, debug, explain, server, samples, python, description = self._how
        if logdir:
            from tb_xla_insights.record.recording import Recorder

            recorder = Recorder(logdir, debug, explain, server, samples, python, description)
            recorder.start()
            self._recorder = recorder

    def stop(self) -> str | None:
        """Ends the trace and writes what belongs to it. The session's directory; None where nothing was recorded."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            self.session = recorder.stop()
        return self.session

    def __enter__(self) -> Recording:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except Exception:
            if kind is None:  # what went wrong in training is what its script must see
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
    """Records what happens until the end of the `with` block (or between `start` and `stop`) into `logdir`.

    Without a logdir nothing happens, at no cost, so that a command line's option can be passed as it is. `debug` keeps
    what PyTorch/XLA prints about compilations and executions; set `PT_XLA_DEBUG_LEVEL=2` before the script starts, as
    torch_xla looks at it once. `explain` gives what is kept as dynamo's explanation, such as
    `lambda: torch._dynamo.explain(model)(batch)`; it is called before the trace. `server` is the `HOST:PORT` of a
    profiler server to trace with, that of this process or another one, instead of the profiler in this process.
    `samples` says how many samples one step takes, of all hosts and devices together, so that reports and comparisons
    of the session tell samples per second. `python` records every Python call too, as the option `--python-level 1` of
    `capture` does: it tells what the host does where nothing else is recorded, and slows Python down. JAX before 0.6
    always does, and says so; PyTorch/XLA never does. `description` is a line that reports and the page show with the
    session.
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
