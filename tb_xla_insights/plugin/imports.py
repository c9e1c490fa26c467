"""Imports the modules that handlers need, in one thread.

TensorBoard starts without these modules, and the first requests would import them concurrently. When two threads import
modules that depend on each other, Python may return a partially initialised module to one of them. So requests wait
here until one thread has imported all modules.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from tb_xla_insights.routes.arguments import Arguments, Handler

MODULES = (
    "trace.read_trace", "trace.details", "timeline", "timeline.waits_for_hosts", "report.views", "report.gap_views",
    "report.execution_views", "report.compile_views", "report.partial", "report.host_ranks", "report.device_columns",
    "report.debug_text", "report.explain_text", "report.guards_text", "report.metrics_text", "report.record_text",
    "report.torch_trace_text", "report.engines_view", "report.memory_view", "report.iterations_view",
    "compare.document", "analysis.propagation", "analysis.window.window_document", "pod.hosts_view",
    "pod.steps_in_words", "device_work.device_view", "schema.report",
)  # fmt: skip

_lock = threading.Lock()


def import_modules() -> None:
    """Imports all modules, or waits until another thread has."""
    with _lock:
        for name in MODULES:
            import_module(f"tb_xla_insights.{name}")


def import_ahead() -> None:
    """Starts the imports in the background, ahead of the first requests for data."""
    if not _lock.locked() and f"tb_xla_insights.{MODULES[-1]}" not in sys.modules:
        threading.Thread(target=import_modules, daemon=True).start()


def after_imports(handler: Handler) -> Handler:
    """A handler that waits for the imports first."""

    def answer(arguments: Arguments) -> Mapping[str, Any]:
        import_modules()
        return handler(arguments)

    return answer
