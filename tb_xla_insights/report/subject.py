"""The devices as the subject of a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tb_xla_insights.text.units import count

Row = Mapping[str, Any]

_NAMES = {
    "tpu": ("TPU core", "TPU cores"),
    "gpu": ("GPU", "GPUs"),
    "cpu": ("CPU (as XLA device)", "CPU devices"),
}
"""Singular and plural, by the devices' `kind`."""


class Subject(NamedTuple):
    """The devices as the subject of a clause: `the 8 TPU cores` or, without the number, `the TPU cores`."""

    name: str
    name_without_number: str
    pronoun: str
    is_plural: bool

    def verb(self, plural_form: str) -> str:
        """`work` or `works`."""
        return plural_form if self.is_plural else f"{plural_form}s"


def subject_of(devices: Sequence[Row]) -> Subject:
    kinds = {device["kind"] for device in devices}
    singular, plural = _NAMES.get(kinds.pop() if len(kinds) == 1 else "", ("device", "devices"))
    if len(devices) == 1:
        return Subject(f"the {singular}", f"the {singular}", "it", False)
    return Subject(f"the {count(len(devices))} {plural}", f"the {plural}", "they", True)
