"""Generates, from `tb_xla_insights.schema`, a JSON Schema per document, docs/report.md, and for the page the types of
the routes' answers, the classes of host time, the words of comparisons and the columns of tables.

python -m docs.schema.generate
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from inspect import getmembers, isclass
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal, get_args, get_origin

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import get_original_bases, is_typeddict

from docs.schema.typescript import declarations
from tb_xla_insights import schema, tables
from tb_xla_insights.catalog import classes
from tb_xla_insights.compare.sentences import PRESENCE_TEXTS, VERDICT_TEXTS
from tb_xla_insights.schema.compare import Comparison
from tb_xla_insights.schema.report import Report
from tb_xla_insights.schema.routes import Routes
from tb_xla_insights.schema.window import Window
from tb_xla_insights.tables.definition import Definition

Part = dict[str, Any]
"""A JSON Schema, or one of its types."""

DOCS = Path(__file__).parents[1]
PAGE = DOCS.parent / "frontend" / "lib"
DOCUMENTS: dict[str, Any] = {"report": Report, "window": Window, "compare": Comparison, "routes": Routes}

# Descriptions of keys that are Python keywords, as these have no attribute with a docstring. By key, or type and key.
KEYWORDS = {
    "class": "What the host does.",
    "StripHost.class": "The class with most time in each bucket, as a hexadecimal digit.",
    "Difference.class": "The class; `device`: its devices' own work; `unrecorded` if the host's file is cut.",
    **dict.fromkeys(
        ("EventTime.class", "NameTime.class", "LongestEvent.class"),
        "The class with most of the name's own time; `null`: most of it has no class.",
    ),
    **dict.fromkeys(
        ("EventDetails.class", "EventSummary.class", "NameOfHits.class"),
        "What the host does; `null` for an event without a class, such as an op of a device.",
    ),
    "from": "The events that hand work over to it.",
}

HEAD = """# Every key of the JSON documents

[JSON](json.md) explains how the documents are read, and what each figure is divided by. This page and the JSON Schemas
for [report](schema/report.schema.json), [window](schema/window.schema.json) and
[compare](schema/compare.schema.json) are generated from `tb_xla_insights/schema` by `make schema`.

Types with a unit: `ps` are integer picoseconds, and instants count from the session's start; a `share` is a number from
0 to 1; `bytes`, `FLOP`, `FLOP/s`, `bytes/s` and `ppm` (parts per million) are numbers. A key with a question mark may
be absent.
"""

TYPES_HEAD = """/** The answers of the routes. Generated from `tb_xla_insights/schema` by `make schema`. */

"""

CLASS_NAMES = """/** The classes of host time. Generated from `tb_xla_insights/catalog/classes.py` by `make schema`. */

/** @typedef {{import('./routes').ClassName}} ClassName */

/** The classes, in the order of their indices in columns. @type {{ClassName[]}} */
export const CLASSES = [
{names}];

/** Their labels on the page. @type {{Record<ClassName, string>}} */
export const LABELS = {{
{labels}}};

/** The label of idle time in gaps too short for a class. */
export const SHORT_GAPS = '{short_gaps}';

/** The label of gaps in which the device waits for something other than the host. */
export const DEVICE_WAITS = '{device_waits}';
"""

COMPARE_TEXTS = """/** Words of comparisons. Generated from `tb_xla_insights/compare/sentences.py` by `make schema`. */

/** @typedef {{import('./routes').TestVerdict}} TestVerdict */

/** Verdicts as printed beside a row. @type {{Record<TestVerdict, string>}} */
export const VERDICT_TEXTS = {{
{verdicts}}};

/**
 * Which sessions have an op or annotation, as printed beside it.
 * @type {{Record<import('./routes').ListedOp['presence'], string>}}
 */
export const PRESENCE_TEXTS = {{
{presences}}};
"""

TABLE_DEFINITIONS = """/** The columns of each table. Generated from `tb_xla_insights/tables` by `make schema`. */

/**
 * @typedef {{'text'|'code'|'words'|'class'|'by class'|'time'|'change'|'ms'|'count'|'share'|'bytes'|'number'
 *   }} ColumnUnit
 * `time`, `change` and `ms` are picoseconds: the first two are shown in a unit that fits, `ms` in milliseconds;
 * `share` is from 0 to 1
 */

/** @typedef {{{{key: string, head: string, unit: ColumnUnit, derived?: true}}}} ColumnDefinition */

export const TABLES = /** @satisfies {{Record<string, Record<string, ColumnDefinition>>}} */ ({{
{tables}}});
"""

# By suffix of the key, longer suffixes first.
UNITS = {
    "bytes_per_s": "bytes/s", "_per_s": "FLOP/s", "_ps": "ps", "_ns": "ns", "_ppm": "ppm", "flops": "FLOP",
    "bytes": "bytes", "bytes_in_steps": "bytes", "bytes_per_step": "bytes", "share": "share", "duty_cycle": "share",
    "_hidden": "share", "mfu": "share", "mfu_of_step": "share", "gain": "share", "gain_at_worst": "share",
    "of_step": "share", "chance": "share",
}  # fmt: skip


@cache
def json_schema(name: str) -> Part:
    """The JSON Schema of a document, with the attribute docstrings as descriptions. Cached: callers must not change
    it."""
    kinds = configured_types()
    document = TypeAdapter(DOCUMENTS[name]).json_schema()
    for title, part in ((document["title"], document), *document["$defs"].items()):
        for key, value in part.get("properties", {}).items():
            value.pop("title", None)
            if "description" not in value:  # use the inherited one, or that of the type that it refers to
                target = document["$defs"].get(value.get("$ref", "").rpartition("/")[2], {})
                value["description"] = _inherited(kinds[title], key) or target["description"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document}


@cache
def configured_types() -> dict[str, Any]:
    """All types by name, configured to use attribute docstrings as descriptions and to permit no other keys."""
    types = {}
    config = ConfigDict(use_attribute_docstrings=True, extra="forbid")
    for module in iter_modules(schema.__path__, f"{schema.__name__}."):
        members: list[tuple[str, Any]] = getmembers(import_module(module.name), isclass)
        for name, kind in members:
            if is_typeddict(kind):
                kind.__pydantic_config__ = config
                types[name] = kind
    return types


def _inherited(kind: Any, key: str) -> str | None:
    """The description of a key that a type inherits, None if it has none."""
    for name in (f"{kind.__name__}.{key}", key):
        if name in KEYWORDS:
            return KEYWORDS[name]
    for base in get_original_bases(kind):
        if is_typeddict(base) and key in base.__annotations__:
            description = _properties(base)[key].get("description")
            return str(description) if description else _inherited(base, key)
    return None


@cache
def _properties(kind: Any) -> dict[str, Part]:
    """The schemas of a type's keys."""
    properties: dict[str, Part] = TypeAdapter(kind).json_schema()["properties"]
    return properties


def markdown(schemas: dict[str, Part]) -> str:
    """The text of docs/report.md: a section per document with a table per part, each part once."""
    lines, listed_parts = [HEAD], set[str]()
    for document in schemas.values():
        lines += [f"## {document['title']}", "", *_table(document)]
        for name in _parts(document, document["$defs"]):
            part = document["$defs"][name]
            if "properties" in part and name not in listed_parts:
                listed_parts.add(name)
                lines += [f"### {name}", "", *_table(part)]
    return "\n".join(lines).rstrip() + "\n"


def _parts(part: Part, definitions: dict[str, Part]) -> list[str]:
    """The names of all parts that a part refers to, each followed by those that it refers to itself."""
    names: dict[str, None] = {}
    for name in re.findall(r'"#/\$defs/(\w+)"', json.dumps(part.get("properties", part))):
        names |= dict.fromkeys([name, *_parts(definitions[name], definitions)])
    return list(names)


def _table(part: Part) -> list[str]:
    required = part.get("required", [])
    rows = []
    for key, value in part["properties"].items():
        meaning = " ".join(value["description"].split())
        rows.append(f"| `{key}`{'' if key in required else '?'} | {_type(key, value)} | {meaning} |")
    return [part["description"], "", "| key | type | meaning |", "|---|---|---|", *rows, ""]


def _type(key: str, value: Part) -> str:
    """The displayed type of a key: a unit, the name of a part, or a list of values."""
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(_type(key, option) for option in value["anyOf"]))
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in value:
        return ", ".join(f"`{member}`" for member in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    kind = value.get("type", "any")
    if kind == "array":
        return f"list of {_type(key, value['items'])}"
    if kind == "object":
        inner = value.get("additionalProperties", True)
        return f"object of {_type(key, inner)}" if isinstance(inner, dict) and inner else "object"
    if kind in ("integer", "number"):
        return next((unit for end, unit in UNITS.items() if key.endswith(end)), kind)
    return f"`{kind}`" if kind == "null" else kind


def _unions() -> dict[str, tuple[str, ...]]:
    """The values of all named unions of strings, by name."""
    modules = [import_module(info.name) for info in iter_modules(schema.__path__, f"{schema.__name__}.")]
    return {
        name: get_args(value)
        for module in (classes, *modules)
        for name, value in vars(module).items()
        if get_origin(value) is Literal
    }


def class_names() -> str:
    """The classes of host time and their labels, as a module of the page."""
    names = "".join(f"  '{name}',\n" for name in classes.CLASSES)
    return CLASS_NAMES.format(
        names=names,
        labels=_properties_of_texts({name: classes.label(name) for name in classes.CLASSES}),
        short_gaps=classes.SHORT_GAPS,
        device_waits=classes.DEVICE_WAITS,
    )


def compare_texts() -> str:
    """The words of comparisons, as a module of the page."""
    return COMPARE_TEXTS.format(
        verdicts=_properties_of_texts(VERDICT_TEXTS),
        presences=_properties_of_texts(PRESENCE_TEXTS),
    )


def _properties_of_texts(texts: Mapping[str, str]) -> str:
    """The lines of an object literal."""
    return "".join(f"  {key}: '{text}',\n" for key, text in texts.items())


def table_definitions() -> str:
    """The columns of the tables that the page shows, as a module of the page."""
    scripts = (script.read_text("utf-8") for script in PAGE.parent.glob("*/*.js"))
    used = {name for script in scripts for name in re.findall(r"TABLES\.(\w+)", script)}
    modules = [import_module(info.name) for info in iter_modules(tables.__path__, f"{tables.__name__}.")]
    definitions = {
        name.lower(): value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Definition)
    }
    lines = []
    for name, definition in sorted(definitions.items()):
        if name not in used:
            continue
        lines.append(f"  {name}: {{\n")
        for column in definition.columns:
            derived = ", derived: true" if column.derived else ""
            quoted = ", ".join(
                f"{key}: '{value}'"
                for key, value in (("key", column.key), ("head", column.head), ("unit", column.unit))
            )
            lines.append(f"    {column.key}: {{ {quoted}{derived} }},\n")
        lines.append("  },\n")
    return TABLE_DEFINITIONS.format(tables="".join(lines))


def generated_files() -> dict[Path, str]:
    """The content of each generated file."""
    schemas = {name: json_schema(name) for name in DOCUMENTS}
    files = {
        DOCS / "schema" / f"{name}.schema.json": f"{json.dumps(document, indent=1)}\n"
        for name, document in schemas.items()
    }
    return files | {
        DOCS / "report.md": markdown(
            {name: document for name, document in schemas.items() if name != "routes"}
        ),
        PAGE / "routes.d.ts": TYPES_HEAD + declarations(schemas["routes"], _unions()),
        PAGE / "class-names.js": class_names(),
        PAGE / "compare-texts.js": compare_texts(),
        PAGE / "table-definitions.js": table_definitions(),
    }


if __name__ == "__main__":
    for path, text in generated_files().items():
        path.write_text(text, encoding="utf-8")
