"""The thirteen classes of host time, in the order of their indices in all tables and columns."""

from __future__ import annotations

from typing import Literal, get_args

ClassName = Literal[
    "tracing",
    "sync_prepare",
    "dynamo",
    "compile",
    "program_load",
    "to_device",
    "from_device",
    "dispatch",
    "wait",
    "input",
    "python",
    "other",
    "unrecorded",
]
CLASSES: tuple[ClassName, ...] = get_args(ClassName)

CLASS_INDEX: dict[str, int] = {name: index for index, name in enumerate(CLASSES)}

TRACING = CLASS_INDEX["tracing"]
SYNC_PREPARE = CLASS_INDEX["sync_prepare"]
COMPILE = CLASS_INDEX["compile"]
TO_DEVICE = CLASS_INDEX["to_device"]
FROM_DEVICE = CLASS_INDEX["from_device"]
DYNAMO = CLASS_INDEX["dynamo"]
DISPATCH = CLASS_INDEX["dispatch"]
WAIT = CLASS_INDEX["wait"]
INPUT = CLASS_INDEX["input"]
PYTHON = CLASS_INDEX["python"]
OTHER = CLASS_INDEX["other"]
UNRECORDED = CLASS_INDEX["unrecorded"]

HELPER_WORK = tuple(
    CLASS_INDEX[name]
    for name in ("compile", "program_load", "from_device", "to_device", "dispatch", "sync_prepare", "input")
)
"""Classes of helper threads' work for the driving thread, the most specific first. `input` comes last: loaders also
work ahead, so they explain a wait only if no other helper works."""

LABELS = {
    "tracing": "IR tracing",
    "sync_prepare": "step marker",
    "dynamo": "torch.compile",
    "to_device": "transfer to device",
    "from_device": "transfer from device",
}
"""Display names of classes that differ from their keys."""

HOST_ACTIVITY = {
    "tracing": "builds the graph",
    "sync_prepare": "prepares the graph",
    "dynamo": "runs torch.compile",
    "compile": "compiles",
    "program_load": "loads programs",
    "to_device": "sends data",
    "from_device": "reads data back",
    "dispatch": "launches",
    "wait": "waits",
    "input": "waits for data",
    "python": "runs Python",
    "other": "does other work",
}
"""A phrase for each class, to follow "the host". None for `unrecorded`, of which nobody knows what the host does."""


SHORT_GAPS = "in gaps under 10 µs"
"""The label of idle time in gaps too short for a class."""

DEVICE_WAITS = "device waits"
"""The label of gaps in which the device waits for something other than the host."""


def label(name: str) -> str:
    """The display name of a class, on the page, in the terminal and in exports."""
    return LABELS.get(name, name.replace("_", " "))
