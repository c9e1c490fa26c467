"""Answers that are asked for again and again stay with the trace they are about."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

from tb_xla_insights.trace.model import Trace

F = TypeVar("F", bound=Callable[..., Any])


def kept(answer: F) -> F:
    """Keeps `answer(trace, …)`, per further arguments, as long as the trace lives.

    Those arguments must be hashable. Of two threads that ask at once, one computes the answer and the other waits; as
    no answer needs itself, not even through others, they never wait for each other.
    """

    @wraps(answer)
    def ask(trace: Trace, *more: Hashable) -> Any:
        store = vars(trace).setdefault("_answers", {})
        key = (answer, *more)
        if key not in store:
            with vars(trace).setdefault("_answering", {}).setdefault(key, threading.Lock()):
                if key not in store:
                    store[key] = answer(trace, *more)
        return store[key]

    return ask  # type: ignore[return-value]
