"""Parser of the file in which `record` describes a recording. Values of the wrong type are ignored, since any program
may have written the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tb_xla_insights.analysis.sidecar_contents import SAMPLES_PER_STEP_KEY, UnparsedLine
from tb_xla_insights.files.texts import TextError, parse_json
from tb_xla_insights.text.units import MAX_SAMPLES_PER_STEP


def parse_record(text: str, file: str = "") -> tuple[dict[str, Any] | None, list[UnparsedLine]]:
    """Parses the keys that `record` writes, if their values have the right type; None without any. Wrong values are
    returned as lines that are not understood. Unknown keys are ignored silently: another version may have written
    them."""
    try:
        document = parse_json(text)
    except TextError as error:
        return None, [UnparsedLine(file, 0, f"{error}{error.at}")]
    if not isinstance(document, dict):
        return None, [UnparsedLine(file, 0, "not a JSON object")]
    values = {key: value for key, value in document.items() if key in _KEY_TYPES}
    wrong = [key for key, value in values.items() if not _KEY_TYPES[key][0](value)]
    unread = [UnparsedLine(file, 0, f"{key} is not {_KEY_TYPES[key][1]}") for key in wrong]
    return {key: value for key, value in values.items() if key not in wrong} or None, unread


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_text_mapping(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _is_sample_count(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (is_number and 0 < value <= MAX_SAMPLES_PER_STEP)


_KeyType = tuple[Callable[[Any], bool], str]
"""The check of a value, and the name of the type for messages."""
_TEXT: _KeyType = (_is_text, "a text")
_KEY_TYPES: dict[str, _KeyType] = {
    **dict.fromkeys(("tb_xla_insights", "started_unix_ns", "stopped_unix_ns", "python"), _TEXT),
    **dict.fromkeys(("versions", "flags"), (_is_text_mapping, "an object of texts")),
    "files": (_is_text_list, "a list of texts"),
    SAMPLES_PER_STEP_KEY: (_is_sample_count, "a number of samples"),
}
