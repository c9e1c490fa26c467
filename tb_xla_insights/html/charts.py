"""Steps as stacked bars, in SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup

from tb_xla_insights import units
from tb_xla_insights.catalog.classes import CLASSES, label
from tb_xla_insights.html.markup import Row, element

_WIDTH, _HEIGHT, _LEFT, _FOOT, _TOP = 1200, 190, 56, 18, 6

_SIGNS = Markup(
    '<defs><pattern id="wait" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M0 0H5V5H0z" style="fill:var(--c-wait)"/><path d="M0 0H1V5H0z" style="fill:var(--hatch)"/></pattern>'
    '<pattern id="unrecorded" width="4" height="4" patternUnits="userSpaceOnUse">'
    '<path d="M1 1h1v1h-1z" style="fill:var(--hatch)"/></pattern></defs>'
)
"""How the classes that have no hue are filled."""


def steps_chart(steps: Sequence[Row]) -> Markup:
    """A bar per step: its host time by class from below, and a line across it where the device's work ends."""
    most = max(max(step["duration_ps"], step["device_busy_ps"]) for step in steps) or 1
    room = (_WIDTH - _LEFT) / len(steps)
    every = max(1, round(44 / room))

    def y(ps: float) -> float:
        return round(_TOP + (_HEIGHT - _FOOT - _TOP) * (1 - ps / most), 2)

    bars = [
        _bar(step, _LEFT + room * place, room, y, named=place % every == 0)
        for place, step in enumerate(steps)
    ]
    box = {"viewBox": f"0 0 {_WIDTH} {_HEIGHT}", "role": "img", "aria_label": "Steps by class of host time"}
    return element("svg", _SIGNS, _scale(most, y), bars, class_="chart thin" if room < 8 else "chart", **box)


def _bar(step: Row, left: float, room: float, y: Callable[[float], float], named: bool) -> Markup:
    width = min(46.0, room * 0.72)
    x, middle = f"{left + (room - width) / 2:.1f}", f"{left + room / 2:.1f}"
    name = units.step_name(step["index"], step["number"])
    parts, told, below = [], [], 0
    for its in (it for it in CLASSES if it in step["host_ps"]):
        ps = step["host_ps"][its]
        size = {"width": f"{width:.1f}", "height": f"{y(below) - y(below + ps):.2f}"}
        fill = f"url(#{its})" if its in ("wait", "unrecorded") else f"var(--c-{its})"
        parts.append(element("rect", x=x, y=str(y(below + ps)), style=f"fill:{fill}", **size))
        told.append(f"{label(its)} {units.time_text(ps)}")
        below += ps
    device, line = units.time_text(step["device_busy_ps"]), str(y(step["device_busy_ps"]))
    ends = {"x1": f"{float(x) - 3:.1f}", "x2": f"{float(x) + width + 3:.1f}"}
    parts.append(element("line", y1=line, y2=line, class_="busy", **ends))
    if named:
        parts.append(element("text", name, x=middle, y=_HEIGHT - 4, text_anchor="middle"))
    work = f"device work that it launched, busiest core {device}"
    title = f"step {name}: {units.time_text(step['duration_ps'])}; {', '.join(told)}; {work}"
    return element("g", element("title", title), parts)


def _scale(most: int, y: Callable[[float], float]) -> Iterator[Markup]:
    """Lines at about four round times."""
    unit = units.column_unit([most])
    size = units.PS_PER[unit]
    rough = most / size / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(it * power for it in (1, 2, 5, 10) if it * power >= rough)
    for number in range(int(most / size / step) + 1):
        at = y(number * step * size)
        text = f"{number * step:g}" if number else f"0{units.THIN}{unit}"
        yield element("line", x1=_LEFT, x2=_WIDTH, y1=str(at), y2=str(at))
        yield element("text", text, x=_LEFT - 6, y=str(at + 4), text_anchor="end")
