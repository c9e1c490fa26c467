"""Steps as a chart of stacked bars, in SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup

from tb_xla_insights.catalog.classes import CLASSES, label
from tb_xla_insights.html.markup import Row, element
from tb_xla_insights.text import units

_WIDTH, _HEIGHT = 1200, 190
_LEFT_MARGIN, _BOTTOM_MARGIN, _TOP_MARGIN = 56, 18, 6
MAX_BARS = 500

_LABEL_WIDTH = 44
"""The width that a step's name needs below its bar."""

_PATTERNS = Markup(
    '<defs><pattern id="wait" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M0 0H5V5H0z" style="fill:var(--c-wait)"/><path d="M0 0H1V5H0z" style="fill:var(--hatch)"/></pattern>'
    '<pattern id="unrecorded" width="4" height="4" patternUnits="userSpaceOnUse">'
    '<path d="M1 1h1v1h-1z" style="fill:var(--hatch)"/></pattern></defs>'
)
"""The fill patterns of the classes `wait` and `unrecorded`."""


def steps_chart(steps: Sequence[Row]) -> Markup:
    """A bar per step: its host time by class, and a line across the bar at the time of the device's work."""
    max_ps = max(max(step["duration_ps"], step["device_busy_ps"]) for step in steps) or 1
    pitch = (_WIDTH - _LEFT_MARGIN) / len(steps)
    label_interval = math.ceil(_LABEL_WIDTH / pitch)

    def y(ps: float) -> float:
        return round(_TOP_MARGIN + (_HEIGHT - _BOTTOM_MARGIN - _TOP_MARGIN) * (1 - ps / max_ps), 2)

    bars = [
        _bar(step, _LEFT_MARGIN + pitch * index, pitch, y, labelled=index % label_interval == 0)
        for index, step in enumerate(steps)
    ]
    box = {"viewBox": f"0 0 {_WIDTH} {_HEIGHT}", "role": "img", "aria_label": "Steps by class of host time"}
    class_ = "chart thin" if pitch < 8 else "chart"
    return element("svg", _PATTERNS, _scale(max_ps, y), bars, class_=class_, **box)


def _bar(step: Row, left_x: float, pitch: float, y: Callable[[float], float], labelled: bool) -> Markup:
    width = min(46.0, pitch * 0.72)
    x, middle = f"{left_x + (pitch - width) / 2:.1f}", f"{left_x + pitch / 2:.1f}"
    step_name = units.step_name(step["index"], step["number"])
    shapes, times, below_ps = [], [], 0
    for name in (name for name in CLASSES if name in step["host_ps"]):
        ps = step["host_ps"][name]
        size = {"width": f"{width:.1f}", "height": f"{y(below_ps) - y(below_ps + ps):.2f}"}
        fill = f"url(#{name})" if name in ("wait", "unrecorded") else f"var(--c-{name})"
        shapes.append(element("rect", x=x, y=str(y(below_ps + ps)), style=f"fill:{fill}", **size))
        times.append(f"{label(name)} {units.time_text(ps)}")
        below_ps += ps
    device, line_y = units.time_text(step["device_busy_ps"]), str(y(step["device_busy_ps"]))
    ends = {"x1": f"{float(x) - 3:.1f}", "x2": f"{float(x) + width + 3:.1f}"}
    shapes.append(element("line", y1=line_y, y2=line_y, class_="busy", **ends))
    if labelled:
        shapes.append(element("text", step_name, x=middle, y=_HEIGHT - 4, text_anchor="middle"))
    work = f"device work that it launched, busiest core {device}"
    title = f"step {step_name}: {units.time_text(step['duration_ps'])}; {', '.join(times)}; {work}"
    return element("g", element("title", title), shapes)


def _scale(max_ps: int, y: Callable[[float], float]) -> Iterator[Markup]:
    """Lines at about four round times."""
    unit = units.column_unit([max_ps])
    ps_per_unit = units.PS_PER[unit]
    rough_interval = max_ps / ps_per_unit / 4
    power = 10.0 ** math.floor(math.log10(rough_interval))
    interval = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough_interval)
    for number in range(int(max_ps / ps_per_unit / interval) + 1):
        line_y = y(number * interval * ps_per_unit)
        time = number * interval
        text = (
            (units.count(int(time)) if interval >= 1 else f"{time:g}")
            if number
            else f"0{units.NARROW_SPACE}{unit}"
        )
        yield element("line", x1=_LEFT_MARGIN, x2=_WIDTH, y1=str(line_y), y2=str(line_y))
        yield element("text", text, x=_LEFT_MARGIN - 6, y=str(line_y + 4), text_anchor="end")
