"""One step as bars: what a core does in it, and how short it can become. (`report.one_step`)"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from tb_xla_insights.cli.layout import NO_BREAK_SPACE, wrap
from tb_xla_insights.text import units

if TYPE_CHECKING:
    from tb_xla_insights.schema.overview_route import OneStep, StepPart

_MAX_COLUMNS = 50
_LABELS = 24
"""The columns before a bar: its name and its time."""
_MAX_PARTS = 7
"""The most parts that the sum names."""
_MIN_NAMED_SHARE = 0.005
"""The smallest share of the step of a part that the sum names."""

WORKS, WAITS, IDLE, ONCE, UNCERTAIN = "█▒░·/"
_ASCII = str.maketrans(WORKS + WAITS + IDLE + ONCE, "#~.+")
_TEXTURES: Mapping[str, str] = {"computing": WORKS, "collective": WORKS, "wait": WAITS, "late": WAITS}


def step_lines(step: OneStep, width: int, is_unicode: bool) -> list[str]:
    """The heading with the legend, a bar per step, and the sum of the parts."""
    # What happened once may be far longer than the usual step.
    once_ps = min(step["once_ps"], step["now_ps"])
    longest_ps = max([step["now_ps"] + once_ps, *(rung["worst_ps"] for rung in step["rungs"])])
    unit = units.time_unit(longest_ps)
    decimals = (
        1 if step["now_ps"] >= 10 * units.PS_PER[unit] else 2 if step["now_ps"] >= units.PS_PER[unit] else 3
    )
    gains = [rung["text"] for rung in step["rungs"]]
    columns = max(0, min(_MAX_COLUMNS, width - _LABELS - 1 - max(map(len, gains), default=0)))

    def time(ps: int) -> str:
        return units.time_in(ps, unit, decimals)

    def bar(*textures_and_times: tuple[str, int]) -> str:
        """Each texture up to the end of its time, so that no rounding adds up."""
        textures, times_ps = zip(*textures_and_times, strict=True)
        ends = [round(columns * end / longest_ps) for end in accumulate(times_ps)]
        text = "".join(
            texture * (end - start) for texture, start, end in zip(textures, [0, *ends], ends, strict=False)
        )
        return text if is_unicode else text.translate(_ASCII)

    rows = [("now", time(step["now_ps"]), bar(*_textures(step["parts"]), (ONCE, once_ps)))]
    for rung, gain in zip(step["rungs"], gains, strict=True):
        solid = bar((WORKS, rung["best_ps"]), (UNCERTAIN, rung["worst_ps"] - rung["best_ps"]))
        rows.append((rung["label"], time(rung["best_ps"]), f"{solid} {gain}"))
    bars = [f"  {label:<13}{text:>8} {line}" for label, text, line in rows]
    heading = _heading(step, time(step["once_ps"]), unit, width, is_unicode)
    return [*heading, *bars, *_sum_lines(step, width, unit, decimals)]


def _textures(parts: Sequence[StepPart]) -> list[tuple[str, int]]:
    return [(_TEXTURES.get(part["kind"], IDLE), part["ps"]) for part in parts]


def _heading(step: OneStep, once: str, unit: str, width: int, is_unicode: bool) -> list[str]:
    """`One step, ms per core`, and what the textures mean, as far as bars have them."""
    times = Counter[str]()
    for texture, ps in _textures(step["parts"]):
        times[texture] += ps
    texts = {WORKS: "works", WAITS: "waits", IDLE: "idle"}
    legend = [f"{texture} {text}" for texture, text in texts.items() if _is_visible(times[texture], step)]
    legend += [f"{ONCE} once, + {once}"] if _is_visible(step["once_ps"], step) else []
    is_uncertain = any(rung["worst_ps"] > rung["best_ps"] for rung in step["rungs"])
    legend += [f"{UNCERTAIN} uncertain"] if is_uncertain else []
    text, heading = "   ".join(legend), f"One {step['per']}, {unit} per core"
    text = text if is_unicode else text.translate(_ASCII)
    space = width - len(heading) - len(text)
    return [f"{heading}{' ' * space}{text}"] if space > 1 else [heading, *wrap(text, width, "  ", "  ")]


def _is_visible(ps: int, step: OneStep) -> bool:
    return 2 * _MAX_COLUMNS * ps >= step["now_ps"]


def _sum_lines(step: OneStep, width: int, unit: str, decimals: int) -> list[str]:
    """`computing 148.0 + all-reduce 21.2 + … + 4 more 0.5 = 242.7`"""
    precision_ps = units.PS_PER[unit] // 10**decimals
    parts = [part for part in step["parts"] if part["ps"]]
    by_time = sorted(parts, key=lambda part: -part["ps"])
    named = [part for part in by_time if part["ps"] >= _MIN_NAMED_SHARE * step["now_ps"]][:_MAX_PARTS]
    others = [part for part in parts if part not in named]
    if len(others) == 1:
        named, others = parts, []
    texts = [(part["label"], part["ps"]) for part in parts if part in named]
    if others:
        texts.append((f"{len(others)} more", sum(part["ps"] for part in others)))
    rounded = units.rounded_parts([ps for _, ps in texts], step["now_ps"], precision_ps)
    terms = [
        f"{label} {units.time_in(ps, unit, decimals)}".replace(" ", NO_BREAK_SPACE)
        for (label, _), ps in zip(texts, rounded, strict=True)
    ]
    total = units.time_in(step["now_ps"], unit, decimals)
    return wrap(f"{' + '.join(terms)} ={NO_BREAK_SPACE}{total}", width, "  ", "  ")
