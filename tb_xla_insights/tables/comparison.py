"""Tables of the comparison of two sessions, and of pairs of sessions."""

from __future__ import annotations

from collections.abc import Sequence

from tb_xla_insights.schema.compare import ComparedOp, ComparedWork, Prediction
from tb_xla_insights.schema.differences import Measure, TestedTimePair
from tb_xla_insights.schema.speedups import IdleBetweenPrograms, LazyDynamoProgram, LazyDynamoStep, PairRow
from tb_xla_insights.tables.definition import Column, Definition, table

MEASURES = table("Differences", Measure)

PREDICTIONS = table(
    "Predicted and measured", Prediction, note="the usual step: A’s, A’s with one finding fixed, B’s"
)


def differences(title: str, head: str) -> Definition:
    """Times of both sessions and their differences; `head` is the heading of the first column, the name of a row."""
    return table(title, TestedTimePair, Column("name", head, derived=True))


CLASS_DIFFERENCES = differences("Host time per step", "Class")
PHASE_DIFFERENCES = differences("Phases, host time per step", "Phase")
IDLE_DIFFERENCES = differences("Idle time per step and core, by what the host did", "Class")
RUN_DIFFERENCES = differences("Device time of a run", "Program")
OVERHEAD_DIFFERENCES = differences("Overhead of a run", "Program")
COMPILE_DIFFERENCES = differences("Compilations", "Module")

# The unit in the titles of the following tables is a step or a run.
ANNOTATION_DIFFERENCES = table("Device time per {unit} and core, by annotation", ComparedWork)

OP_DIFFERENCES = table("Device time per {unit} and core, by op", ComparedOp, Column("name", "Op", "code"))

LAZY_DYNAMO_STEPS = table(
    "Lazy against dynamo, per step",
    LazyDynamoStep,
    Column("kind", "Session", derived=True),
    note="device: the runs’ time on a core",
)

LAZY_DYNAMO_EXECUTIONS = table(
    "Executions in the order in which the device ran them, means of a run", LazyDynamoProgram
)

BETWEEN_EXECUTIONS = table("Between executions on a core", IdleBetweenPrograms)


PAIRS = table("Speed-up over pairs, A / B", PairRow)


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
