"""Answers that are asked for again and again stay with the trace they are about."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

from tb_xla_insights.trace.model import Trace

F = TypeVar("F", bound=Callable[..., Any])


def kept(answer: F) -> F:
    """Keeps `answer(trace, …)`, per further arguments, as long as the trace lives.

    Those arguments must be hashable. Two threads that ask at once may both compute the answer.
    """

    @wraps(answer)
    def ask(trace: Trace, *more: Hashable) -> Any:
        store = vars(trace).setdefault("_answers", {})
        key = (answer, *more)
        if key not in store:
            store[key] = answer(trace, *more)
        return store[key]

    return ask  # type: ignore[return-value]
