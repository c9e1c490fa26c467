"""Names of annotations that differ only in numbers, such as `execute_model: 17 reqs, 17 toks`, as one template."""

from __future__ import annotations

import re
from collections import Counter

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.catalog import without_encoded_stats
from tb_xla_insights.trace.metadata_events import count_by_metadata
from tb_xla_insights.trace.model import Trace

MAX_TEXTS = 10
"""The most names of one template that stay apart: the phases of a step may have numbers too."""

_MAX_REPEATED = 0.5
"""Names that each recur as often as this share of the most frequent annotation stay apart, like the layers of a
model."""

_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b|\d+(?:\.\d+)?")


def annotation_name(trace: Trace, row: int) -> str:
    """The name of an annotation, or of any other event: with numbers as recorded, or their template."""
    text = int(trace.metadata.name[trace.metadata_index[row]])
    return annotation_names(trace).get(text) or without_encoded_stats(trace.strings[text])


def spoken_name(trace: Trace, row: int) -> str:
    """The name of an annotation in sentences: of a template what is before its colon, if it has one."""
    name = annotation_name(trace, row)
    return name.partition(":")[0] if "{}" in name else name


def template_of(name: str) -> str:
    """The name with `{}` in place of each number."""
    return _NUMBER.sub("{}", name)


def numbers_in(name: str) -> dict[str, int]:
    """The whole numbers in a name, by the word after each, `#` if there is none: `17 reqs` is 17 at `reqs`."""
    numbers: dict[str, int] = {}
    for match in _NUMBER.finditer(name):
        word = re.match(r" ?([a-zA-Z]\w*)", name[match.end() :])
        if match[0].isdecimal():
            numbers.setdefault(word[1] if word else "#", int(match[0]))
    return numbers


@memoised
def annotation_names(trace: Trace) -> dict[int, str]:
    """The names of the user's annotations, by the index of their texts in the trace's strings: the text itself, or its
    template, in which `{}` stands for each number. (docs/definitions.md, "Template")"""
    rows = trace.metadata.name[trace.metadata_index[trace.annotations]]
    counts = count_by_metadata(rows, len(trace.strings))
    names = {text: without_encoded_stats(trace.strings[text]) for text in counts.nonzero()[0].tolist()}
    templates = {text: template_of(name) for text, name in names.items()}
    texts, instances = Counter(templates.values()), Counter[str]()
    for text, template in templates.items():
        instances[template] += int(counts[text])
    most = int(counts.max(initial=0))
    return {
        text: template
        if texts[template] > MAX_TEXTS and instances[template] < _MAX_REPEATED * most * texts[template]
        else names[text]
        for text, template in templates.items()
    }
