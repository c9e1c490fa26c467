"""The clause of the verdict on the joint cost of mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tb_xla_insights.units import part_text, share, time_text


def mistakes_clause(mistakes: Sequence[Mapping[str, Any]], totals: Mapping[str, Any], steps: int) -> str:
    """`2 mistakes cost up to 69.5 of 290.8 ms a step, first: 324.5 MB sent each step`; if all occurred once `A mistake
    costs up to 318.4 ms once: a compile in step 5`; if some did `A mistake costs up to 21.3 of 242.7 ms in a usual
    step: 324.5 MB sent each step; 2 more cost up to 481.2 ms once`. Without a replay, the cost is a share of the
    devices' spans. `totals`: the report's `mistakes`; `steps`: the mean number of steps per host.

    The cost of a mistake that occurred once is given whole, since its share of a step would depend on the number of
    steps in the capture."""
    single = [mistake for mistake in mistakes if mistake.get("recurs") == "once"]
    recurring = [mistake for mistake in mistakes if mistake.get("recurs") != "once"]
    step_ps, usual_step_ps = totals["step_ps"], totals.get("usual_step_ps")
    fixed_ps = totals["step_if_fixed_ps"]
    if step_ps is None or fixed_ps is None:
        cost = f"{share(min(1.0, sum(finding['gain'] for finding in mistakes)))} of the devices' spans"
        return _cost_clause(mistakes, cost)
    if not recurring:
        return _cost_clause(single, f"up to {time_text(steps * (step_ps - fixed_ps), 1)} once")
    if not single or usual_step_ps is None:
        return _cost_per_step(recurring, step_ps, fixed_ps, "a step", unfixed_step_ps=step_ps)
    cost = f"up to {time_text(steps * (step_ps - usual_step_ps), 1)} once"
    more = f"{single[0]['brief']} costs {cost}" if len(single) == 1 else f"{len(single)} more cost {cost}"
    clause = _cost_per_step(recurring, usual_step_ps, fixed_ps, "in a usual step", unfixed_step_ps=step_ps)
    return f"{clause}; {more}"


def _cost_per_step(
    mistakes: Sequence[Mapping[str, Any]], step_ps: int, fixed_ps: int, step_name: str, unfixed_step_ps: int
) -> str:
    """The clause on what recurring mistakes cost of a step of `step_ps`, which is called `step_name`. The fix of one
    mistake shortens the step `unfixed_step_ps` to its `step_if_fixed_ps`."""
    cost = part_text(step_ps - fixed_ps, step_ps)
    fixed_step_ps = mistakes[0].get("step_if_fixed_ps") if len(mistakes) == 1 else None
    # One relevant mistake, but the replay without all mistakes gains more than its own fix.
    gains_more = fixed_step_ps is not None and part_text(unfixed_step_ps - fixed_step_ps, step_ps) != cost
    return _cost_clause(mistakes, f"up to {cost} {step_name}", all_listed=not gains_more)


def _cost_clause(mistakes: Sequence[Mapping[str, Any]], cost: str, all_listed: bool = True) -> str:
    """`A mistake costs …: a compile in step 5`. With several, or unless `all_listed`, `first: …`."""
    number, name = len(mistakes), mistakes[0]["brief"]
    if number == 1 and all_listed:
        return f"A mistake costs {cost}: {name}"
    return f"{'Mistakes' if number == 1 else f'{number} mistakes'} cost {cost}, first: {name}"
