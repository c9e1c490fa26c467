"""The modules that answers need, imported by one thread.

TensorBoard starts without them, and they would be imported by the first requests, several at a time. Two threads that
import modules which need each other do not wait for each other: Python hands one of them a module that is not complete
yet. So requests wait here until one thread has imported them all.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from tb_xla_insights.plugin.arguments import Arguments
from tb_xla_insights.plugin.respond import Handler

MODULES = (
    "trace.read", "trace.details", "timeline", "timeline.waits", "report.views", "report.execution_views",
    "report.partial", "report.host_ranks", "report.device_columns", "report.debug_text", "report.explain_text",
    "report.guards_text", "report.metrics_text", "report.record_text", "compare.document", "analysis.propagation",
    "analysis.window.window", "pod.view", "device_work.view",
)  # fmt: skip

_lock = threading.Lock()


def import_answers() -> None:
    """Returns when all of them are imported, whoever imports them."""
    with _lock:
        for name in MODULES:
            import_module(f"tb_xla_insights.{name}")


def import_ahead() -> None:
    """Begins to import them, for the requests that follow."""
    if not _lock.locked() and f"tb_xla_insights.{MODULES[-1]}" not in sys.modules:
        threading.Thread(target=import_answers, daemon=True).start()


def after_imports(handler: Handler) -> Handler:
    """The handler, which waits for the imports."""

    def answer(arguments: Arguments) -> Mapping[str, Any]:
        import_answers()
        return handler(arguments)

    return answer
