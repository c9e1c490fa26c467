"""Answers that are asked for again and again stay with the trace they are about."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from tb_xla_insights.trace.model import Trace

P = ParamSpec("P")
T = TypeVar("T")


def kept(answer: Callable[[Trace], T]) -> Callable[[Trace], T]:
    """Keeps `answer(trace)` as long as the trace lives. Two threads that ask at once may both compute it."""

    @wraps(answer)
    def ask(trace: Trace) -> T:
        store = vars(trace).setdefault("_answers", {})
        if answer not in store:
            store[answer] = answer(trace)
        return store[answer]  # type: ignore[no-any-return]

    return ask
