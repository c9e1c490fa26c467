"""Advice never mentions another framework than the capture's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tb_xla_insights.analysis.frameworks import WORDS

ROOT = Path(__file__).parents[1]
TORCH = r"\bxm\.|\bxp\.|MpDeviceLoader|mark_step|torch|PyTorch|PJRT_DEVICE|XLA_(HLO|IR)_DEBUG|PT_XLA|Dynamo|StepMarker"
TORCH_XLA = (
    r"\bxm\.|\bxp\.|MpDeviceLoader|mark_step|torch_xla|PyTorch/XLA|XLA_(HLO|IR)_DEBUG|PT_XLA|StepMarker"
)
"""What TorchTPU does not have, either."""

JAX = r"\bjax\b|JAX|jit\b"
LAZY = r"builds the (next )?graph"
"""What PyTorch/XLA does in the class `tracing`."""

TENSORFLOW = r"\btf\.|Keras|TensorFlow|steps_per_execution"
FOREIGN = {
    "torch_xla": (JAX, TENSORFLOW),
    "torch_tpu": (JAX, TENSORFLOW, LAZY, TORCH_XLA),
    "jax": (TORCH, TENSORFLOW, LAZY),
    "tensorflow": (TORCH, JAX.replace("|jit\\b", ""), LAZY),
}
SOURCE_LINE = re.compile(r"\S+\.py:\d+")
"""A line of code that the capture names, which may be another framework's."""

SECTIONS = ("findings", "diagnostics", "verdict", "outside_span")


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def foreign_sentences(report: Any) -> list[str]:
    """The sentences of a report that mention another framework than the capture's."""
    words = re.compile("|".join(FOREIGN.get(report["environment"]["framework"], ["$^"])))
    return [
        text
        for section in SECTIONS
        for text in texts(report[section])
        if words.search(text) and not SOURCE_LINE.fullmatch(text)
    ]


@pytest.mark.parametrize("framework", WORDS)
def test_words_of_a_framework_mention_no_other(framework: str) -> None:
    terms = asdict(WORDS[framework])
    if framework == "unknown":  # names steps as PyTorch/XLA and JAX do
        del terms["step"]
    sentences = list(texts(terms))
    for words in FOREIGN.get(framework, (TORCH, JAX, TENSORFLOW)):
        assert [text for text in sentences if re.search(words, text)] == []
