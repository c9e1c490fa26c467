"""What a recording wrote about its circumstances: as anybody may have written the file, what is no such thing is left
out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tb_xla_insights.analysis.sidecars import SAMPLES_PER_STEP_KEY, UnparsedLine
from tb_xla_insights.files.texts import TextError, parse_json
from tb_xla_insights.units import MAX_SAMPLES_PER_STEP


def parse_record(text: str, file: str = "") -> tuple[dict[str, Any] | None, list[UnparsedLine]]:
    """The keys that a recording writes, with values of their kind; None where there are none. What is left out is told,
    but for keys that nobody here knows: another version may have written them."""
    try:
        document = parse_json(text)
    except TextError as error:
        return None, [UnparsedLine(file, 0, f"{error}{error.at}")]
    if not isinstance(document, dict):
        return None, [UnparsedLine(file, 0, "no JSON object")]
    known = {key: it for key, it in document.items() if key in _KINDS}
    wrong = [key for key, it in known.items() if not _KINDS[key][0](it)]
    told = [UnparsedLine(file, 0, f"{key} is no {_KINDS[key][1]}") for key in wrong]
    return {key: it for key, it in known.items() if key not in wrong} or None, told


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _is_size(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (number and 0 < value <= MAX_SAMPLES_PER_STEP)


_Kind = tuple[Callable[[Any], bool], str]
_TEXT: _Kind = (_is_text, "text")
_KINDS: dict[str, _Kind] = {
    **dict.fromkeys(("tb_xla_insights", "started_unix_ns", "stopped_unix_ns", "python"), _TEXT),
    **dict.fromkeys(("versions", "flags"), (_is_table, "object of texts")),
    "files": (_are_texts, "list of texts"),
    SAMPLES_PER_STEP_KEY: (_is_size, "number of samples"),
}
