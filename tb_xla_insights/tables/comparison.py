"""Tables of the comparison of two sessions, and of pairs of sessions."""

from __future__ import annotations

from collections.abc import Sequence

from tb_xla_insights.tables.definition import Column, Definition

MEASURES = Definition(
    "Differences",
    (
        Column("label", "Measure"),
        Column("a", "A", "number"),
        Column("b", "B", "number"),
        Column("ratio", "B / A", "number"),
        Column("verdict", ""),
    ),
)


def differences(title: str, head: str) -> Definition:
    """Times of both sessions and their differences; `head` is the heading of the first column, the name of a row."""
    return Definition(
        title,
        (
            Column("name", head, derived=True),
            Column("a_ps", "A", "time"),
            Column("b_ps", "B", "time"),
            Column("difference_ps", "B − A", "change", priority=1),
            Column("ratio", "B / A", "number"),
            Column("verdict", ""),
        ),
    )


CLASS_DIFFERENCES = differences("Host time per step", "Class")
PHASE_DIFFERENCES = differences("Phases, host time per step", "Phase")
IDLE_DIFFERENCES = differences("Idle time per step and core, by what the host did", "Class")
RUN_DIFFERENCES = differences("Device time of a run", "Program")
OVERHEAD_DIFFERENCES = differences("Overhead of a run", "Program")
COMPILE_DIFFERENCES = differences("Compilations", "Module")

# The unit in the titles of the following tables is a step or a run.
_WORK_DIFFERENCE = (
    Column("a_ps", "A", "time"),
    Column("b_ps", "B", "time"),
    Column("difference_ps", "B − A", "change", priority=4),
    Column("of_step", "Of A’s mean", "number"),
    Column("ratio", "B / A", "number", priority=3),
    Column("presence", "In", priority=2),
    Column("verdict", ""),
)

ANNOTATION_DIFFERENCES = Definition(
    "Device time per {unit} and core, by annotation",
    (Column("path", "Annotation"), *_WORK_DIFFERENCE),
)

OP_DIFFERENCES = Definition(
    "Device time per {unit} and core, by op",
    (Column("name", "Op", "code"), Column("annotation", "Annotation", priority=1), *_WORK_DIFFERENCE),
)

LAZY_DYNAMO_STEPS = Definition(
    "Lazy against dynamo, per step",
    (
        Column("kind", "Session", derived=True),
        Column("steps", "Steps", "count"),
        Column("tracing_ps", "IR tracing", "ms"),
        Column("device_ps", "Device", "ms"),
        Column("wall_ps", "Wall", "ms"),
        Column("executions", "Executions", "number"),
    ),
    note="device: the runs’ time on a core",
)

LAZY_DYNAMO_EXECUTIONS = Definition(
    "Executions in the order in which the device ran them, means of a run",
    (
        Column("program", "Program", "code"),
        Column("kind", "Kind"),
        Column("per_step", "Per step", "number"),
        Column("host_ps", "Host", "ms"),
        Column("device_ps", "Device", "ms"),
        Column("queue_ps", "Queue", "ms"),
        Column("overhead_ps", "Overhead", "ms"),
    ),
)

BETWEEN_EXECUTIONS = Definition(
    "Between executions on a core",
    (
        Column("before", "Before", "code"),
        Column("after", "After", "code"),
        Column("count", "Count", "count"),
        Column("mean_ps", "Mean", "ms"),
    ),
)


PAIRS = Definition("Speed-up over pairs, A / B", (Column("model", "Model"),))


def pair_table(columns: Sequence[str]) -> Definition:
    """Speed-ups over pairs of sessions: for each column of the pairs file, the speed-up and its verdict."""
    return Definition(
        PAIRS.title,
        (
            *PAIRS.columns,
            *(
                column
                for index, name in enumerate(columns)
                for column in (Column(f"speedup_{index}", name, "number"), Column(f"verdict_{index}", ""))
            ),
        ),
    )
