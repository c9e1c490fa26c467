"""The costs of executions by basis, and what they say."""

from __future__ import annotations

from typing import Any

from tb_xla_insights.report.execution_costs import costs_by_basis, execution_sums, reading_text, savings

KEYS = ("host_ps", "device_ps", "queue_ps", "overhead_ps")


def program(device_ps: int, overhead_ps: int, queue_ps: int = 0, *, unknown: int = 0, **more: Any) -> Any:
    """Ten runs, two in each of five steps."""
    joins = {"exact": 10 - unknown, "none": unknown}
    times = {"device_ps": device_ps, "queue_ps": queue_ps, "overhead_ps": overhead_ps}
    row = {"kind": "dynamo", "joins": joins, "launches": 10, "count": 10, "per_step": 2}
    return row | times | {"host_ps": sum(times.values())} | more


FORWARD, CLEAN_UP = program(96_270, 42_750), program(1_180, 23_110)
UNKNOWN = program(30, 0, unknown=10)


def costs(*programs: Any, basis: str, core_steps: int | None = 5) -> list[int] | None:
    shown: Any = costs_by_basis(programs, core_steps)
    return shown[basis] and [shown[basis][key] for key in KEYS]


def with_costs(*programs: Any, core_steps: int | None = 5) -> list[Any]:
    return [row | {"costs": costs_by_basis([row], core_steps)} for row in programs]


def test_costs_of_a_run_of_a_step_and_of_all_runs() -> None:
    assert costs(FORWARD, basis="run") == [13_902, 9_627, 0, 4_275]
    assert costs(FORWARD, CLEAN_UP, basis="step") == [32_662, 19_490, 0, 13_172]
    assert costs(FORWARD, basis="total") == [139_020, 96_270, 0, 42_750]
    assert costs(FORWARD, basis="step", core_steps=None) is None


def test_a_run_whose_launch_is_not_known_has_the_mean_of_its_programs_others() -> None:
    partly = program(100, 80, 40, unknown=2)
    assert costs(partly, basis="run") == [25, 10, 5, 10]
    assert costs(partly, basis="step") == [50, 20, 10, 20]
    assert costs(UNKNOWN, basis="run") == [None, 3, None, None]
    assert costs(partly, UNKNOWN, basis="run") == [21, 6, 5, 10]
    assert costs(partly, UNKNOWN, basis="step") == [56, 26, 10, 20]
    assert costs(partly, UNKNOWN, basis="total") == [250, 130, 40, 80]
    assert costs(UNKNOWN, basis="total") == [None, 30, None, None]


def test_sums_of_programs() -> None:
    sums = execution_sums([FORWARD, UNKNOWN], 5)
    assert (sums["programs"], sums["launches"], sums["count"], sums["per_step"]) == (2, 20, 20, 4)
    assert sums["overhead_share"] == 4_275 / (4_815 + 4_275)
    assert execution_sums([UNKNOWN], 5)["overhead_share"] is None


def test_the_overhead_of_runs_with_unknown_launches_is_not_called_small() -> None:
    assert reading_text(with_costs(FORWARD), None, 5).endswith("nothing to gain by merging.")
    assert reading_text(with_costs(UNKNOWN), None, 5).startswith("The launches of these runs are unknown")


def test_what_the_costs_say() -> None:
    fixed: Any = {"fixed_ps": 2_000, "slope": 0.1, "runs": 20}
    text = reading_text(with_costs(FORWARD, CLEAN_UP), fixed, 5).replace("\u202f", " ")
    assert text == (
        "Depending on the program, the mean overhead of a run is 2.31 – 4.28 ns, for device runs of 0.118 – 9.63 ns. "
        "Beyond its device time, an execution costs a fixed 2.000 ns and 10.0 % of its device time (fitted to 20 "
        "runs). 1 program takes 4.62 ns of overhead per step and core for device runs of 0.236 ns: do more work per "
        "launch, or merge it with others."
    )
    lazy = with_costs(*(program(0, 10, 90, kind="lazy") for _ in range(2)), core_steps=None)
    assert reading_text(lazy, None, None).endswith(
        ": merge them with others, or avoid the syncs that launch them. Most host time is queue time: the host runs "
        "ahead of the device, as it should."
    )


def test_without_small_programs_their_overhead_is_gone_and_one_execution_costs_what_the_fit_predicts() -> (
    None
):
    fixed: Any = {"fixed_ps": 2_000, "slope": 0.1, "runs": 20}
    once = [row | {"per_step": 1} for row in (FORWARD, CLEAN_UP)]
    rows = [tuple(row.values()) for row in savings(with_costs(*once), fixed, 10)]
    assert rows == [("without the small program", 6_586, 4_275), ("all work in one execution", 6_586, 2_974)]
    # Without steps, all executions of a session are not merged into one.
    programs = with_costs(FORWARD, CLEAN_UP, core_steps=None)
    rows = [tuple(row.values()) for row in savings(programs, fixed, None)]
    assert rows == [("without the small program", 65_860, 42_750)]


def test_no_savings_with_one_execution_per_step_or_without_a_fit() -> None:
    fixed: Any = {"fixed_ps": 1, "slope": 0, "runs": 3}
    assert savings(with_costs(FORWARD | {"per_step": 1}), fixed, 10) == []
    assert savings(with_costs(FORWARD, program(99, 1)), None, 10) == []
