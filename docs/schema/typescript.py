"""Renders JSON Schemas of documents as TypeScript declarations for the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

Schema = Mapping[str, Any]

_PRIMITIVES = {
    "integer": "number",
    "number": "number",
    "string": "string",
    "boolean": "boolean",
    "null": "null",
}


def declarations(schema: Schema, literals: Mapping[str, tuple[str, ...]]) -> str:
    """The document's type and all types in its `$defs`, an interface each.

    `literals` are unions of strings by name; an enum with the same values in the same order is rendered as that name.
    """
    names = {values: name for name, values in literals.items()}
    definitions = {**schema["$defs"], schema["title"]: schema}
    interfaces = [_interface(name, part, names) for name, part in sorted(definitions.items())]
    words = set(re.findall(r"\w+", " ".join(_code_lines(interfaces))))
    unions = [
        f"export type {name} = {' | '.join(map(_quoted, values))};"
        for name, values in sorted(literals.items())
        if name in words
    ]
    return "\n\n".join([*unions, *interfaces]) + "\n"


def _code_lines(interfaces: Iterable[str]) -> list[str]:
    """The lines that are no comments."""
    return [line for text in interfaces for line in text.splitlines() if "/**" not in line]


def _interface(name: str, part: Schema, names: Mapping[tuple[str, ...], str]) -> str:
    required = part.get("required", [])
    lines = [_comment(part["description"], ""), f"export interface {name} {{"]
    for key, value in part["properties"].items():
        lines.append(_comment(value["description"], "  "))
        lines.append(f"  {key}{'' if key in required else '?'}: {_type(value, names)};")
    return "\n".join([*lines, "}"])


def _comment(text: str, indent: str) -> str:
    return f"{indent}/** {' '.join(text.split())} */"


def _type(value: Schema, names: Mapping[tuple[str, ...], str]) -> str:
    if "anyOf" in value:
        return " | ".join(_type(part, names) for part in value["anyOf"])
    if "$ref" in value:
        return str(value["$ref"].rpartition("/")[2])
    if "enum" in value:
        values = tuple(value["enum"])
        return names.get(values) or " | ".join(map(_quoted, values))
    if "const" in value:
        return _quoted(value["const"])
    if "prefixItems" in value:
        return f"[{', '.join(_type(item, names) for item in value['prefixItems'])}]"
    kind = value.get("type")
    if kind == "array":
        items = _type(value["items"], names)
        return f"({items})[]" if "|" in items else f"{items}[]"
    if kind == "object":
        return _record(value, names)
    return _PRIMITIVES[kind] if kind else "unknown"


def _record(value: Schema, names: Mapping[tuple[str, ...], str]) -> str:
    inner = value.get("additionalProperties", True)
    value_type = _type(inner, names) if isinstance(inner, Mapping) else "unknown"
    keys = value.get("propertyNames")
    return f"Partial<Record<{_type(keys, names)}, {value_type}>>" if keys else f"Record<string, {value_type}>"


def _quoted(value: object) -> str:
    return f'"{value}"'
