"""Advice that brings ops nearer to the roofline, from their shapes, layouts and number formats.

A piece of advice applies if it fits ops with at least half of the time above the roofline; it names the first of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tb_xla_insights.text.units import time_text

Row = Mapping[str, Any]

_SHAPE = re.compile(r"\b(\w+)\[([\d,]*)\](?:\{([\d,]*)(:[^}]*)?\})?", re.ASCII)
_TILE = re.compile(r":T\((\d{1,9}),(\d{1,9})\)", re.ASCII)
_MAX_DIGITS = 18
"""The maximum number of digits of a dimension."""

_MIN_WASTE = 0.25
"""The minimum share of padding that makes another shape worthwhile."""

_MAX_SHORT_PS = 2_000_000
"""Work that takes less than this at the roofline is dominated by the time to start it."""

_MIN_FUSED_OPS = 3
"""The minimum number of element-wise ops that are worth fusing."""

_ELEMENT_WISE_CATEGORIES = frozenset(
    ("loop fusion", "fusion", "input fusion", "non-fusion elementwise", "elementwise")
)
_MATRIX_UNIT_SIZES = {"TPU v6 Lite": 256, "TPU7x": 256}
_DEFAULT_MATRIX_UNIT_SIZE = 128
"""Rows and columns of the matrix unit of all other TPUs."""

_SUBLANES = 8
"""A dimension that is streamed through a matrix unit is padded to a multiple of this."""

_BFLOAT16_ADVICE = {
    "jax": "cast its operands with astype(jnp.bfloat16)",
    "torch_xla": "run it under torch.autocast with bfloat16",
    "tensorflow": "use the mixed_bfloat16 policy",
}
_CUSTOM_KERNEL = {"jax": " (such as a Pallas kernel)", "torch_xla": " (such as a Pallas kernel)"}


def advice_for(
    rows: Sequence[Row], above_ps: Sequence[float], peaks: Mapping[str, Any], environment: Mapping[str, Any]
) -> str | None:
    """Returns a sentence of advice for some ops; None if no advice applies. `rows`: the ops, sorted by their time above
    the roofline, the longest first, with their own time in all annotations; `above_ps`: the time of each above the
    roofline. `peaks` and `environment` are the report's."""
    total_ps = sum(above_ps)
    if not total_ps:
        return None
    devices = {row["kind"] for row in peaks["devices"]}
    framework, is_tpu = environment["framework"], all(device.startswith("TPU") for device in devices)
    unit = max(
        (_MATRIX_UNIT_SIZES.get(device, _DEFAULT_MATRIX_UNIT_SIZE) for device in devices),
        default=_DEFAULT_MATRIX_UNIT_SIZE,
    )

    def applies(fits: Callable[[Row], bool]) -> bool:
        return 2 * sum(time for row, time in zip(rows, above_ps, strict=True) if fits(row)) >= total_ps

    rules: list[tuple[Callable[[Row], bool], Callable[[Row], str]]] = []
    if is_tpu:
        rules.append((lambda row: layout_waste(row) >= _MIN_WASTE, _layout_advice))
        rules.append(
            (lambda row: product_waste(row, unit) >= _MIN_WASTE, lambda row: _product_size_advice(row, unit))
        )
    if peaks["source"] != "user":  # the number format of the user's own peak is not known
        rules.append((_multiplies_in_32_bits, lambda row: _precision_advice(row, framework, is_tpu)))
    rules.append((_is_short, _batch_advice))
    for fits, advice in rules:
        fitting = [row for row in rows if fits(row)]
        if fitting and applies(fits):
            return advice(fitting[0])
    element_wise = [row for row in rows if _is_element_wise(row)]
    if len(element_wise) >= _MIN_FUSED_OPS and applies(_is_element_wise):
        return _fusion_advice(element_wise, framework if is_tpu else "")
    return None


class _Shape(NamedTuple):
    """A shape in a text: number format, dimensions, their order from the minor one, and tiles."""

    number_format: str
    dimensions: list[int]
    order: list[int]
    tiles: str


def _shapes(text: str | None) -> list[_Shape]:
    return [
        _Shape(number_format, _numbers(dimensions), _numbers(order), tiles)
        for number_format, dimensions, order, tiles in _SHAPE.findall(text or "")
    ]


def _numbers(text: str) -> list[int]:
    """Returns the whole numbers between commas; empty if one has more than _MAX_DIGITS digits."""
    numbers = [number for number in text.split(",") if number]
    return (
        [int(number) for number in numbers] if all(len(number) <= _MAX_DIGITS for number in numbers) else []
    )


def _minor_sides(shape: _Shape) -> list[tuple[int, int]]:
    """Returns the two minor dimensions of a tiled shape, each with the side of the tile (such as 8×128) that it is
    padded to a multiple of; empty if the layout is not known."""
    _, dimensions, order, tiles = shape
    tile = _TILE.match(tiles)
    has_layout = len(dimensions) == len(order) >= 2 and all(dimensions) and max(order) < len(dimensions)
    if not (tile and has_layout and int(tile[1]) and int(tile[2])):
        return []
    return [(dimensions[order[1]], int(tile[1])), (dimensions[order[0]], int(tile[2]))]


def layout_waste(row: Row) -> float:
    """Returns the share of padding in an op's output (of several, the first), whose two minor dimensions are padded to
    whole tiles; 0 if the layout is not known."""
    for shape in _shapes(row["shape"])[:1]:
        return 1 - math.prod(size / _round_up(size, tile_side) for size, tile_side in _minor_sides(shape))
    return 0.0


def product_dims(row: Row) -> tuple[int, int, int] | None:
    """Returns rows, columns and the contracted dimension of an op's matrix product; None if it has none, or if the
    shapes of operands and result do not fit together."""
    shapes = [shape.dimensions for shape in _shapes(row["product"])]
    if len(shapes) != 3:
        return None
    a, b, c = shapes
    if len(a) == len(b) == len(c) > 2 and a[:-2] == b[:-2] == c[:-2]:  # a batch of products
        a, b, c = a[-2:], b[-2:], c[-2:]
    if not len(a) == len(b) == len(c) == 2:
        return None
    for axis_a in (0, 1):
        for axis_b in (0, 1):
            if a[axis_a] == b[axis_b] and [a[1 - axis_a], b[1 - axis_b]] == c:
                return c[0], c[1], a[axis_a]
    return None


def product_waste(row: Row, unit: int) -> float:
    """Returns a lower bound of the share of padding in a matrix unit's work. One of the result's dimensions streams
    through in groups of _SUBLANES, the other two of the product fill the unit's sides. The compiler's choice is not
    known, so the one with the least waste counts."""
    dims = product_dims(row)
    if dims is None or not all(dims):
        return 0.0
    filled_shares = [
        math.prod(
            size / _round_up(size, _SUBLANES if axis == streamed_axis else unit)
            for axis, size in enumerate(dims)
        )
        for streamed_axis in range(2)
    ]
    return 1 - max(filled_shares)


def _round_up(size: int, divisor: int) -> int:
    """Returns the smallest multiple of a divisor that is not below a size."""
    return -(-size // divisor) * divisor


def _multiplies_in_32_bits(row: Row) -> bool:
    return [shape.number_format for shape in _shapes(row["product"])][:2] == ["f32", "f32"]


def _roof_share(row: Row) -> float:
    """Returns the share of an op's time that the roofline would take."""
    return max(row["flops_share"] or 0.0, row["bytes_share"] or 0.0)


def _time_per_execution(row: Row) -> float:
    return float(row["self_ps"] / max(1, row["executions"]))


def _is_short(row: Row) -> bool:
    """Whether an execution would take less than _MAX_SHORT_PS at the roofline, and takes more than twice that time."""
    return bool(0 < _roof_share(row) < 0.5 and _time_per_execution(row) * _roof_share(row) < _MAX_SHORT_PS)


def _is_element_wise(row: Row) -> bool:
    return row["category"] in _ELEMENT_WISE_CATEGORIES and not row["product"]


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _layout_advice(row: Row) -> str:
    output = _shapes(row["shape"])[0]
    size, tile_side = min(_minor_sides(output), key=lambda side: side[0] / _round_up(*side))
    shape = f"{output.number_format}[{','.join(map(str, output.dimensions))}]"
    waste = _percent(layout_waste(row))
    padded_size = _round_up(size, tile_side)
    return (
        f"Change the shape of {row['op']}: in {shape}, a dimension of {size} is padded to {padded_size}, "
        f"so {waste} of this output is padding; put a longer dimension there, or merge two dimensions."
    )


def _product_size_advice(row: Row, unit: int) -> str:
    waste = _percent(product_waste(row, unit))
    return (
        f"Choose sizes that fill the {unit}×{unit} matrix unit, multiples of {unit}: {row['op']} multiplies "
        f"{row['product']}, and at least {waste} of the unit's work is padding."
    )


def _precision_advice(row: Row, framework: str, is_tpu: bool) -> str:
    remedy = f": {_BFLOAT16_ADVICE[framework]}" if framework in _BFLOAT16_ADVICE else ""
    passes = " and may take several passes" if is_tpu else ""
    return (
        f"Multiply in 16-bit floats, to which the peak refers{remedy}; {row['op']} multiplies {row['product']}, which "
        f"moves twice the bytes{passes}."
    )


def _batch_advice(row: Row) -> str:
    time_ps = _time_per_execution(row)
    work_ps = time_ps * _roof_share(row)
    return (
        f"Give {row['op']} more to do at once, with a larger batch per core: it takes {time_text(round(time_ps), 1)} "
        f"each time, and has work for {time_text(round(work_ps), 1)}."
    )


def _fusion_advice(rows: Sequence[Row], framework: str) -> str:
    names = ", ".join(row["op"] for row in rows[:3])
    return (
        f"Fuse the {len(rows)} element-wise ops into one kernel{_CUSTOM_KERNEL.get(framework, '')}, "
        f"{names}{' and others' if len(rows) > 3 else ''}: each of them reads and writes memory."
    )
