"""Concurrent views of one session: each answer is the same to the byte as when requested alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from synthetic.__main__ import LOGDIR
from test_plugin import get, opened, tensorboard

WINDOW = {"start_ps": 10**10, "end_ps": 10**11}
VIEWS: list[tuple[str, dict[str, Any]]] = [
    ("overview", {}), ("counts", {}), ("gaps", {}), ("executions", {}), ("compiles", {}), ("propagation", {}),
    ("scopes", {}), ("hosts", {}), ("device", {}), ("search", {"q": "Step"}), ("window", WINDOW), ("table", WINDOW),
    ("waits", {**WINDOW, "px": 800}), ("timeline", {**WINDOW, "px": 800}),
]  # fmt: skip
"""Views of each kind, with the slow ones. None is computed before all are requested at once."""


@pytest.mark.parametrize("run", ["torch_xla_dynamo", "synthetic_transformer_2_tpu_cores"])
def test_concurrent_views_answer_like_sequential_ones(run: str) -> None:
    logdir = str(Path(LOGDIR) / run)
    [session] = (folder.name for folder in (Path(LOGDIR) / run / "plugins/profile").iterdir())

    alone = tensorboard("--logdir", logdir)
    assert opened(alone, session)["state"] == "ready"
    expected = {
        route: get(alone, f"data/{route}", session=session, **arguments) for route, arguments in VIEWS
    }
    assert {answer.status_code for answer in expected.values()} == {200}

    several = tensorboard("--logdir", logdir)
    assert opened(several, session)["state"] == "ready"
    together = threading.Barrier(2 * len(VIEWS), timeout=60)

    def request(view: tuple[str, dict[str, Any]]) -> tuple[str, bytes]:
        route, arguments = view
        together.wait()
        return route, get(several, f"data/{route}", session=session, **arguments).data

    with ThreadPoolExecutor(together.parties) as pool:
        answers = list(pool.map(request, 2 * VIEWS))
    assert [route for route, data in answers if data != expected[route].data] == []
