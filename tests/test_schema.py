"""Documents have exactly the keys and types that `tb_xla_insights.schema` declares, and generated files are up to
date."""

from __future__ import annotations

import json

import pytest
from schema_checks import check_document
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from docs.schema.generate import DOCUMENTS, generated_files, json_schema


def load_demo() -> xi.Session:
    return xi.load(str(LOGDIR / "synthetic_transformer_2_tpu_cores"))


def test_generated_files_are_up_to_date() -> None:
    stale = [
        path.name for path, text in generated_files().items() if path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run `make schema`"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_key_that_may_be_null_says_when(name: str) -> None:
    document = json_schema(name)
    silent = [
        f"{title}.{key}"
        for title, part in ((document["title"], document), *document["$defs"].items())
        for key, value in part.get("properties", {}).items()
        if '"null"' in json.dumps(value) and "null" not in value["description"] + part["description"]
    ]
    assert silent == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_time_is_an_integer(name: str) -> None:
    document = json_schema(name)
    others = [
        f"{title}.{key}"
        for title, part in ((document["title"], document), *document["$defs"].items())
        for key, value in part.get("properties", {}).items()
        if key.endswith("_ps") and '"type": "number"' in json.dumps(value)
    ]
    assert others == []


def test_a_comparison_of_many_hosts_fits() -> None:
    """Those of one host are checked with what they say."""
    pod = xi.load(str(LOGDIR / "synthetic_pod_16_hosts"))
    check_document(pod.compare(load_demo()), "compare")


def test_unknown_keys_and_wrong_types_are_detected() -> None:
    report = load_demo().report()
    for change in ({"more": 1}, {"schema": "1"}, {"gaps": report["gaps"] | {"count": None}}):
        with pytest.raises(ValueError, match="validation error"):
            check_document(report | change, "report")
