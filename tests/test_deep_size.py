"""The memory of objects with everything that they reference, and answers that are cached with their session."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from sys import getsizeof
from typing import Any

import numpy as np
import pytest
from helpers import joining_threads

from tb_xla_insights.analysis.propagation.hlo_scopes import Origin
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.sessions import Root
from tb_xla_insights.logdir.store import Store, session_opener
from tb_xla_insights.routes.arguments import Arguments
from tb_xla_insights.routes.handlers import Handlers
from tb_xla_insights.system.deep_size import deep_size

DEMO = Path(__file__).parents[1] / "demo_logs/torch_xla_baseline"
NAME = "2026_11_21_00_03_56"
VIEWS = ("overview", "gaps", "executions", "compiles", "propagation", "scopes", "device", "engines", "iterations",
         "hosts", "window", "timeline", "table", "search")  # fmt: skip


def test_arrays_count_once_and_as_a_whole() -> None:
    column = np.zeros(1_000_000, np.int64)
    assert 8_000_000 < deep_size([column, column[:10], {"part": column[5:]}]) < 8_001_000


def test_long_lists_are_sampled() -> None:
    rows = [(f"row {number}", number * 10**12) for number in range(20_000)]
    exact = getsizeof(rows) + sum(getsizeof(row) + sum(map(getsizeof, row)) for row in rows)
    assert deep_size(rows) == pytest.approx(exact, rel=0.05)


def test_attributes_in_slots_count() -> None:
    names = [f"step.1/forward.{number}/aten__mm" for number in range(50)]
    assert deep_size([Origin(op_name=name) for name in names]) > sum(map(getsizeof, names))


def test_cached_answers_are_freed_with_their_session() -> None:
    """There are no reference cycles. They would keep the memory until a garbage collection, which the size of arrays
    does not trigger."""
    with joining_threads():  # its threads refer to the session
        listing = Listing([Root(str(DEMO))])
        listing.refresh(wait=None)
        store = Store(listing, session_opener())
        handlers = Handlers(listing, store).gets()
        loaded: Any = store.loaded(NAME).choose(None)
    before = deep_size(loaded)
    window = {
        "start_ps": "0",
        "end_ps": str(loaded.hosts.duration_ps),
        "px": "1000",
        "q": "e",
        "rows": "h0.t0",
    }
    for view in VIEWS:
        handlers[view](Arguments(f"data/{view}", {"session": NAME} | window))
    assert deep_size(loaded) > 1.2 * before
    references = [
        weakref.ref(owner) for owner in (loaded, loaded.hosts, loaded.hosts.traces[0], loaded.timeline)
    ]
    gc.collect()
    gc.disable()
    try:
        store._loads.clear()
        del loaded
        assert [reference() for reference in references] == [None] * len(references)
    finally:
        gc.enable()


def test_a_comparison_is_cached_while_both_sessions_are_in_memory() -> None:
    listing = Listing([Root(str(DEMO.parent))])
    listing.refresh(wait=None)
    store = Store(listing, session_opener())
    answer = Handlers(listing, store).gets()["compare"]
    sessions = {"session": f"torch_xla_baseline/{NAME}", "other": "torch_xla_slow_input/2026_11_21_00_04_21"}
    first = answer(Arguments("data/compare", sessions))
    assert answer(Arguments("data/compare", sessions)) is first
    store.load(sessions["other"], reload=True)
    assert answer(Arguments("data/compare", sessions)) is not first
