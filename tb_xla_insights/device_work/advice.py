"""What may bring ops nearer to the roofline, by what is known of them: their shapes, layouts and number formats.

Advice is given where it fits ops with at least half of the time that is above the roof, and names one of them; else
there is none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tb_xla_insights.units import time_text

Row = Mapping[str, Any]

_SHAPE = re.compile(r"(\w+)\[([\d,]*)\](?:\{([\d,]*)(:[^}]*)?\})?", re.ASCII)
_TILE = re.compile(r":T\((\d{1,9}),(\d{1,9})\)", re.ASCII)
_MOST_DIGITS = 18
_WASTED = 0.25
"""From this share of padding on it is worth another shape."""
_SHORT_PS = 2_000_000
"""What would take less than this at the roofline is not done much faster than it can be started."""
_CHAIN = 3
_ELEMENTWISE = frozenset(("loop fusion", "fusion", "input fusion", "non-fusion elementwise", "elementwise"))
_UNITS = {"TPU v6 Lite": 256, "TPU7x": 256}
"""Rows and columns of a TPU's matrix unit; 128 of all others."""
_IN_16_BITS = {
    "jax": "cast its operands with astype(jnp.bfloat16)",
    "torch_xla": "run it under torch.autocast with bfloat16",
    "tensorflow": "use the mixed_bfloat16 policy",
}
_ONE_KERNEL = {"jax": " (one Pallas kernel, say)", "torch_xla": " (one Pallas kernel, say)"}


def advice_for(
    rows: Sequence[Row], above_ps: Sequence[float], peaks: Mapping[str, Any], environment: Mapping[str, Any]
) -> str | None:
    """One sentence for ops with these times above the roof, those with most of it first. `peaks` and `environment` are
    the report's."""
    devices = {row["kind"] for row in peaks["devices"]}
    framework, tpu = environment["framework"], all(it.startswith("TPU") for it in devices)
    unit = max((_UNITS.get(it, 128) for it in devices), default=128)
    tests: list[tuple[Callable[[Row], bool], Callable[[list[Row]], str]]] = []
    if tpu:
        tests.append((lambda row: layout_waste(row) >= _WASTED, _layout))
        tests.append((lambda row: product_waste(row, unit) >= _WASTED, lambda its: _padded(its[0], unit)))
    if peaks["source"] != "user":  # of which format somebody's own peak is nobody knows
        tests.append((_in_32_bits, lambda its: _precision(its[0], framework, tpu)))
    found: str | None = None
    whole = sum(above_ps)
    if not whole:
        return None
    for fits, text in [*tests, (_short, _batch)]:
        its = [row for row in rows if fits(row)]
        if found is None and its and 2 * _sum(rows, above_ps, fits) >= whole:
            found = text(its)
    chain = [row for row in rows if _elementwise(row)]
    if found is None and len(chain) >= _CHAIN and 2 * _sum(rows, above_ps, _elementwise) >= whole:
        found = _fuse(chain, framework if tpu else "")
    return found


def _sum(rows: Sequence[Row], above_ps: Sequence[float], fits: Callable[[Row], bool]) -> float:
    return sum(ps for row, ps in zip(rows, above_ps, strict=True) if fits(row))


def _shapes(text: str | None) -> list[tuple[str, list[int], list[int], str]]:
    """Number format, dimensions, their order from the minor one on, and tiles of each shape in a text."""
    return [
        (kind, _numbers(dims), _numbers(order), tiles)
        for kind, dims, order, tiles in _SHAPE.findall(text or "")
    ]


def _numbers(text: str) -> list[int]:
    """Whole numbers between commas; none where one of them has more digits than any size."""
    numbers = [it for it in text.split(",") if it]
    return [int(it) for it in numbers] if all(len(it) <= _MOST_DIGITS for it in numbers) else []


def layout_waste(row: Row) -> float:
    """The part of what an op writes that is padding: its two minor dimensions fill whole tiles (8×128, say)."""
    for _, dims, order, tiles in _shapes(row["shape"])[:1]:
        tile = _TILE.match(tiles)
        told = len(dims) == len(order) >= 2 and all(dims) and max(order) < len(dims)
        if tile and told and int(tile[1]) and int(tile[2]):
            filled = [
                dims[order[1]] / _up(dims[order[1]], int(tile[1])),
                dims[order[0]] / _up(dims[order[0]], int(tile[2])),
            ]
            return 1 - math.prod(filled)
    return 0.0


def product_dims(row: Row) -> tuple[int, int, int] | None:
    """Rows, columns and the contracted dimension of an op's matrix product; None of others, and where the shapes leave
    it open."""
    shapes = [dims for _, dims, _, _ in _shapes(row["product"])]
    if len(shapes) != 3:
        return None
    a, b, c = shapes
    if len(a) == len(b) == len(c) > 2 and a[:-2] == b[:-2] == c[:-2]:  # one product for each of a batch
        a, b, c = a[-2:], b[-2:], c[-2:]
    if not len(a) == len(b) == len(c) == 2:
        return None
    for one in (0, 1):
        for other in (0, 1):
            if a[one] == b[other] and [a[1 - one], b[1 - other]] == c:
                return c[0], c[1], a[one]
    return None


def product_waste(row: Row, unit: int) -> float:
    """At least this part of a matrix unit's work is padding: two dimensions of the product lie along its sides, the
    third one streams through in eights. Which the compiler chooses is not known: those that waste least."""
    dims = product_dims(row)
    if dims is None or not all(dims):
        return 0.0
    filled = [
        math.prod(size / _up(size, 8 if place == streams else unit) for place, size in enumerate(dims))
        for streams in range(2)
    ]
    return 1 - max(filled)


def _up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _in_32_bits(row: Row) -> bool:
    return [kind for kind, *_ in _shapes(row["product"])][:2] == ["f32", "f32"]


def _short(row: Row) -> bool:
    """Even at the roofline one execution is over before another one can be started; it takes more than twice that."""
    share = max(row["flops_share"] or 0.0, row["bytes_share"] or 0.0)
    each = row["self_ps"] / max(1, row["executions"])
    return bool(0 < share < 0.5 and each * share < _SHORT_PS)


def _elementwise(row: Row) -> bool:
    return row["category"] in _ELEMENTWISE and not row["product"]


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _layout(rows: list[Row]) -> str:
    row = rows[0]
    (_, dims, order, tiles), *_ = _shapes(row["shape"])
    tile = _TILE.match(tiles)
    assert tile is not None  # it has waste
    sides = [(dims[order[1]], int(tile[1])), (dims[order[0]], int(tile[2]))]
    size, unit = min(sides, key=lambda it: it[0] / _up(*it))
    shape, waste = row["shape"].split("{")[0], _percent(layout_waste(row))
    return (
        f"Give {row['op']} another shape: of {shape} a dimension of {size} is padded to {_up(size, unit)}, and "
        f"{waste} of what it writes is padding; put a longer dimension there, or merge two."
    )


def _padded(row: Row, unit: int) -> str:
    waste = _percent(product_waste(row, unit))
    return (
        f"Choose sizes that fill the {unit}×{unit} matrix unit, multiples of {unit}: {row['op']} multiplies "
        f"{row['product']}, and at least {waste} of the unit's work is padding."
    )


def _precision(row: Row, framework: str, tpu: bool) -> str:
    how = f": {_IN_16_BITS[framework]}" if framework in _IN_16_BITS else ""
    passes = " and may take several passes" if tpu else ""
    return (
        f"Multiply in 16-bit floats, whose peak this is{how}; {row['op']} multiplies {row['product']}, which moves "
        f"twice the bytes{passes}."
    )


def _batch(rows: list[Row]) -> str:
    row = rows[0]
    share = max(row["flops_share"] or 0.0, row["bytes_share"] or 0.0)
    each = row["self_ps"] / max(1, row["executions"])
    return (
        f"Give {row['op']} more to do at once, with a larger batch per core: it takes {time_text(round(each), 1)} each "
        f"time, and has work for {time_text(round(each * share), 1)}."
    )


def _fuse(rows: Sequence[Row], framework: str) -> str:
    names = ", ".join(row["op"] for row in rows[:3])
    return (
        f"Make one kernel of the {len(rows)} ops that compute element by element{_ONE_KERNEL.get(framework, '')}, "
        f"{names}{' and others' if len(rows) > 3 else ''}: each reads and writes memory for itself."
    )
