"""The texts by which readers know annotation paths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.analysis.propagation.path_names import (
    is_unnamed_scope,
    own_name,
    path_text,
    short_name,
    short_names,
    with_outer_paths,
)

TEXTS = json.loads((Path(__file__).parent / "path_texts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("path", "outer", "text"), TEXTS)
def test_scopes_of_differentiation_are_named_by_their_function(path: str, outer: str, text: str) -> None:
    assert path_text(path, outer) == text


def test_short_names_are_the_shortest_endings_that_no_other_path_has() -> None:
    linear = ["jit(f)/Merged/mn,pn->mp", "jit(f)/Row/mn,pn->mp", "jit(f)/attention/kernel"]
    paths = [*linear, "jit(f)", "jit(f)/Merged", "jit(f)/Row", "jit(f)/attention"]
    names = short_names(paths)
    assert [names[path] for path in linear] == ["Merged/mn,pn->mp", "Row/mn,pn->mp", "kernel"]
    assert short_names(["f", "f/g", "p", "p/f/g", "q", "q/g"])["f/g"] == "f/g"
    assert short_name("train/net/forward", ["train", "train/net/forward", "eval"]) == "net/forward"
    assert short_name("train/net/forward", ["train", "eval", "eval/net/forward"]) == "train/net/forward"


def test_forward_and_backward_of_a_function_differ() -> None:
    paths = ["jit(step)", "jit(step)/jvp()", "jit(step)/transpose(jvp())"]
    assert set(short_names(paths).values()) == {"jit(step)", "forward of step", "backward of step"}
    assert is_unnamed_scope(paths[2])
    assert not is_unnamed_scope("jit(step)/transpose(jvp(loss))")
    assert not is_unnamed_scope("jit(step)")


@given(st.sets(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join), max_size=12))
def test_no_other_path_ends_with_a_short_name_or_one_does_with_all_shorter_endings(paths: set[str]) -> None:
    for path, name in short_names(paths).items():
        names = [own_name(outer, paths) for outer in with_outer_paths(path, paths)]
        endings = ["/".join(names[:length][::-1]) for length in range(1, len(names) + 1)]
        unique = (
            ending
            for ending in endings
            if not any(f"/{other}".endswith(f"/{ending}") for other in paths - {path})
        )
        assert name == next(unique, path)
