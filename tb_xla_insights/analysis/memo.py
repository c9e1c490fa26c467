"""Caching of results with the objects that they are about."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

from tb_xla_insights.trace.model import Trace

F = TypeVar("F", bound=Callable[..., Any])
Result = TypeVar("Result")


def memoised_on(owner: object, key: Hashable, compute: Callable[[], Result]) -> Result:
    """Returns `compute()`, computed on the first call with this key and cached as long as the owner lives.

    If two threads call at once, one computes and the other waits. As no result needs itself, not even through others,
    threads never wait for each other in a circle. A computation that fails is repeated on the next call.
    """
    results: dict[Hashable, Any] = vars(owner).setdefault("_results", {})
    if key not in results:
        with vars(owner).setdefault("_result_locks", {}).setdefault(key, threading.Lock()):
            if key not in results:
                results[key] = compute()
    result: Result = results[key]
    return result


def memoised(function: F) -> F:
    """Caches `function(trace, …)` with the trace, per further arguments, which must be hashable: see `memoised_on`."""

    @wraps(function)
    def cached(trace: Trace, *arguments: Hashable) -> Any:
        key = (function, *arguments)
        try:  # nearly all calls: a report makes hundreds of them
            return vars(trace)["_results"][key]
        except KeyError:
            pass
        return memoised_on(trace, key, lambda: function(trace, *arguments))

    return cached  # type: ignore[return-value]


class RecentResults:
    """Caches the results of the keys used last, at most `limit`: for keys that clients combine at will. Thread-safe."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._results: OrderedDict[Hashable, _Memo] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._results)

    def get(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Returns `compute()`, computed once while the key is among the last ones (see `memoised_on`)."""
        with self._lock:
            memo = self._results.setdefault(key, _Memo())
            self._results.move_to_end(key)
            while len(self._results) > self._limit:
                self._results.popitem(last=False)
        return memoised_on(memo, "result", compute)


class _Memo:
    """Holds one memoised result."""
