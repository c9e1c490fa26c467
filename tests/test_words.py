"""What users read is short, in the field's words, with one unit in a sentence."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

AVOIDED = re.compile(
    r"\b(stragglers?|skew\w*|slow nodes?|utili[sz]ation|efficien\w+|issues?|problems?|opportunit\w+|saves"
    r"|records nothing)\b",
    re.I,
)
"""Words that blame, promise or mean too much: there are more precise ones for what is late, lost and gained. Nothing
of a host is recorded; a capture shows nothing of a host."""


def find_literals(path: Path) -> Iterator[str]:
    """The string literals of a module except docstrings; of f-strings, the constant parts."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(expression.value)
        for expression in ast.walk(tree)
        if isinstance(expression, ast.Expr) and isinstance(expression.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_no_text_of_the_product_blames_or_promises() -> None:
    """Including texts that no capture here leads to. Keys of JSON, ids and names of options have no space."""
    modules = sorted((ROOT / "tb_xla_insights").rglob("*.py"))
    texts = [(path.name, text) for path in modules for text in find_literals(path)]
    page = sorted((ROOT / "frontend").rglob("*.js"))
    quoted = re.compile(r"'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`")
    for path in page:
        without_comments = re.sub(r"/\*.*?\*/|^\s*//[^\n]*", "", path.read_text(), flags=re.S | re.M)
        texts += [(path.name, text) for text in quoted.findall(without_comments)]
    assert [literal for literal in texts if " " in literal[1] and AVOIDED.search(literal[1])] == []
