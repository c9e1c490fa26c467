"""Checks that answers have exactly the keys and types that `tb_xla_insights.schema` declares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

import orjson
from pydantic import TypeAdapter

from docs.schema.generate import DOCUMENTS, configured_types
from tb_xla_insights.schema.routes import Routes


def check_document(document: Mapping[str, Any], name: str) -> None:
    """Raises if a JSON document has a key or a type that its schema does not declare, or lacks a key."""
    _checker(name).validate_json(_json(document), strict=True)


def check_answer(answer: Mapping[str, Any], route: str) -> None:
    """Raises if the answer of a route has a key or a type that its schema does not declare, or lacks a key."""
    _route_checker(route).validate_json(_json(answer), strict=True)


def _json(document: Mapping[str, Any]) -> bytes:
    """The text of a document; names that are not UTF-8 have surrogates, which the checker and orjson refuse."""
    try:
        return orjson.dumps(document)
    except TypeError:
        return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


@cache
def _route_checker(route: str) -> TypeAdapter[Any]:
    configured_types()
    return TypeAdapter(get_type_hints(Routes)[route])


@cache
def _checker(name: str) -> TypeAdapter[Any]:
    """Cached, as building takes longer than a check."""
    configured_types()
    return TypeAdapter(DOCUMENTS[name])
