"""From a host's own counts to the session's: instants move by the host's shift, indices of steps by the number of steps
of the hosts before it. Columns with such values are declared `Annotated[int, instant]`."""

from __future__ import annotations

from enum import Enum, auto
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_type_hints

from typing_extensions import is_typeddict

T = TypeVar("T")


class CountsFrom(Enum):
    """What the values of a column count from, on each host on its own."""

    TIME_0 = auto()
    FIRST_STEP = auto()


instant, step_index = CountsFrom.TIME_0, CountsFrom.FIRST_STEP


def shifted(kind: Any, value: T, by_ps: int = 0, steps: int = 0) -> T:
    """A value of this type, such as a row or a list of rows, with `by_ps` added to every instant and `steps` to every
    index of a step, at any depth. What has none is not copied."""
    offsets = {instant: by_ps, step_index: steps}
    return cast(T, _shifted(value, _origins(kind), offsets)) if by_ps or steps else value


@cache
def _origins(kind: Any) -> Any:
    """The origin of the values of a type; of a row, by key, of those that have one; of a list, of its items. None if
    there is none."""
    if isinstance(kind, CountsFrom):
        return kind
    if is_typeddict(kind):
        hints = get_type_hints(kind, include_extras=True)
        return {name: origins for name, hint in hints.items() if (origins := _origins(hint))} or None
    return next(filter(None, map(_origins, get_args(kind))), None)


def _shifted(value: Any, origins: Any, offsets: dict[CountsFrom, int]) -> Any:
    if value is None or origins is None:
        return value
    if isinstance(value, int):
        return value + offsets[origins]
    if isinstance(value, dict):
        inner = {name: _shifted(value[name], origins[name], offsets) for name in origins if name in value}
        return {**value, **inner}
    if isinstance(value, list):
        return [_shifted(item, origins, offsets) for item in value]
    return value.shifted(by_ps=offsets[instant], steps=offsets[step_index])  # rows that are kept in columns
