"""Answers that are asked for again and again stay with what they are about."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

from tb_xla_insights.trace.model import Trace

F = TypeVar("F", bound=Callable[..., Any])
Answer = TypeVar("Answer")


def memoised_on(owner: object, key: Hashable, make: Callable[[], Answer]) -> Answer:
    """What `make` gives, made when it is first asked for under this key and kept as long as the owner lives.

    Of two threads that ask at once, one makes the answer and the other waits; as no answer needs itself, not even
    through others, they never wait for each other. An answer that fails is tried again by whoever asks next.
    """
    store: dict[Hashable, Any] = vars(owner).setdefault("_answers", {})
    if key not in store:
        with vars(owner).setdefault("_answering", {}).setdefault(key, threading.Lock()):
            if key not in store:
                store[key] = make()
    found: Answer = store[key]
    return found


def memoised(answer: F) -> F:
    """Caches `answer(trace, …)` with the trace, per further arguments, which must be hashable: see `memoised_on`."""

    @wraps(answer)
    def ask(trace: Trace, *more: Hashable) -> Any:
        return memoised_on(trace, (answer, *more), lambda: answer(trace, *more))

    return ask  # type: ignore[return-value]
