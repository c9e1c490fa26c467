"""Concurrent views of one session: each answer is the same to the byte as when requested alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from synthetic.__main__ import LOGDIR
from test_plugin import get, open_session, tensorboard

WINDOW = {"start_ps": 10**10, "end_ps": 10**11}
VIEWS: list[tuple[str, dict[str, Any]]] = [
    ("overview", {}), ("counts", {}), ("gaps", {}), ("executions", {}), ("compiles", {}), ("propagation", {}),
    ("scopes", {}), ("hosts", {}), ("device", {}), ("engines", {}), ("search", {"q": "Step"}), ("window", WINDOW),
    ("table", WINDOW), ("waits", {**WINDOW, "px": 800}), ("timeline", {**WINDOW, "px": 800}),
]  # fmt: skip
"""Routes with their arguments, the slow ones included."""


@pytest.mark.parametrize("demo", ["torch_xla_dynamo", "synthetic_transformer_2_tpu_cores"])
def test_concurrent_views_answer_like_sequential_ones(demo: str) -> None:
    logdir = str(Path(LOGDIR) / demo)
    [session] = (folder.name for folder in (Path(LOGDIR) / demo / "plugins/profile").iterdir())

    first_server = tensorboard("--logdir", logdir)
    assert open_session(first_server, session)["state"] == "ready"
    expected = {
        route: get(first_server, f"data/{route}", session=session, **arguments) for route, arguments in VIEWS
    }
    assert {answer.status_code for answer in expected.values()} == {200}

    second_server = tensorboard("--logdir", logdir)  # it has computed none of the views
    assert open_session(second_server, session)["state"] == "ready"
    barrier = threading.Barrier(2 * len(VIEWS), timeout=60)

    def request(view: tuple[str, dict[str, Any]]) -> tuple[str, bytes]:
        route, arguments = view
        barrier.wait()
        return route, get(second_server, f"data/{route}", session=session, **arguments).data

    with ThreadPoolExecutor(barrier.parties) as pool:
        answers = list(pool.map(request, 2 * VIEWS))
    assert [route for route, data in answers if data != expected[route].data] == []
