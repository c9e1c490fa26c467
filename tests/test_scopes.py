"""The scope in an op's name, and the path of that scope on the host."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_xla_insights.analysis.scope_names import (
    MAX_LEVELS,
    MAX_PATH_LENGTH,
    HostPaths,
    op_name_in_tf_op,
    operation_in_op_name,
    scope_in_op_name,
    scope_kind,
    scope_position,
    truncate_path,
    without_numbers,
)

PATHS = HostPaths(
    ["Training_Step", "Training_Step/forward", "Training_Step/forward/attention", "eval/forward"]
)


@pytest.mark.parametrize(
    ("op_name", "scope"),
    [
        ("Training_Step.1/forward.2/attention.1/aten__mm", "Training_Step.1/forward.2/attention.1"),
        ("Training_Step.1/FINISH_UPDATE.5/aten__add.21/aten__add", "Training_Step.1/FINISH_UPDATE.5"),
        ("aten__add.3/aten__add", ""),
        ("aten__mm", ""),
        ("custom.2/custom", ""),
        ("jit(f)/jit(main)/add", "jit(f)/jit(main)"),
        ("jit(f)/transpose(jvp())/mul;jit(f)/transpose(jvp())/broadcast_in_dim", "jit(f)/transpose(jvp())"),
        ("jit(f)/shard_map/jvp()/mul;jvp()/broadcast_in_dim", "jit(f)/shard_map/jvp()"),
        ("step.1/a.2/aten__mul;step.1/b.3/aten__add", "step.1/a.2"),
        ("step.1/a.2/aten__mul.4/aten__mul;step.1/a.2/aten__add.5/aten__add", "step.1/a.2"),
        ("jit(f)/layer.1/mul;layer.2/add", "jit(f)/layer.1"),
        ("jit(f)/(jvp()/reduce_sum:transpose(jvp())/dot_general)", "jit(f)"),
        ("(jit(f)/psum:jit(g)/psum)", ""),
        ("jit(f)/(a)/custom(x)", "jit(f)/(a)"),
        ("step.1/a;b.2/aten__mm", "step.1/a;b.2"),
        ("args[0]", ""),
        ("", ""),
        ("/aten__mm", ""),
    ],
)
def test_a_scope_is_the_part_before_the_operation(op_name: str, scope: str) -> None:
    assert scope_in_op_name(op_name) == scope


@pytest.mark.parametrize(
    ("op_name", "operation"),
    [
        ("step.1/a.2/aten__mul", "aten__mul"),
        ("step.1/a.2/aten__mul;step.1/b.3/aten__add", "aten__mul"),
        ("jit(f)/jvp()/mul;jit(f)/jvp()/broadcast_in_dim", "mul"),
        ("jit(f)/(jvp()/reduce_sum:transpose(jvp())/dot_general)", "reduce_sum"),
        ("(psum:psum)", "psum"),
        ("custom(x)", "custom(x)"),
        ("/", "/"),
    ],
)
def test_the_operation_of_several_ops_is_that_of_the_first(op_name: str, operation: str) -> None:
    assert operation_in_op_name(op_name) == operation


def test_an_annotation_is_never_taken_for_a_lowering() -> None:
    assert (
        scope_in_op_name("loss.1/aten__mine.2/aten__mm", frozenset(["aten__mine"])) == "loss.1/aten__mine.2"
    )


@pytest.mark.parametrize(
    ("tf_op", "op_name"),
    [
        ("a.1/aten__mm:aten__mm", "a.1/aten__mm"),
        ("jit(f)/add:", "jit(f)/add"),
        ("a/b", "a/b"),
        ("a:b/c", "a:b/c"),
        ("XlaModule:", "XlaModule"),
    ],
)
def test_a_tf_op_is_an_op_name_and_a_type(tf_op: str, op_name: str) -> None:
    assert op_name_in_tf_op(tf_op) == op_name


def test_numbers_distinguish_annotations_from_functions() -> None:
    assert scope_kind("Training_Step.1/forward.2") == "annotation"
    assert scope_kind("jit(f)/jit(main)") == "scope"
    assert scope_kind("jit(f)/forward", frozenset(["forward"])) == "annotation"


def test_the_position_of_a_scope() -> None:
    assert [scope_position(scope) for scope in ("forward.12", "forward", "v1.", ".3")] == [12, 0, 0, 3]


@given(st.text(alphabet="ab.19/_", max_size=30))
def test_removing_numbers_twice_changes_nothing(path: str) -> None:
    stripped = without_numbers(path)
    assert without_numbers(stripped) == stripped


@given(st.lists(st.tuples(st.sampled_from(["step", "forward", "loss"]), st.integers(1, 99)), min_size=1))
def test_only_numbers_are_removed(segments: list[tuple[str, int]]) -> None:
    assert without_numbers("/".join(f"{name}.{n}" for name, n in segments)) == "/".join(
        name for name, _ in segments
    )


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        ("Training_Step.1/forward.2", "Training_Step/forward"),
        ("Training_Step.4/forward.2/attention.7", "Training_Step/forward/attention"),
        ("forward.3/attention.1", "Training_Step/forward/attention"),  # traced after its step was closed
        ("Training_Step.1/forward.2/inner.1", "Training_Step/forward/inner"),
        ("other.1/part.2", "other/part"),
        ("jit(f)/layer.1", "jit(f)/layer.1"),  # no annotation: unchanged
    ],
)
def test_scopes_have_the_hosts_paths(scope: str, path: str) -> None:
    assert PATHS.path_of(scope) == path


def test_a_position_without_a_name_is_a_path() -> None:
    """An annotation of an empty name has such a scope. The capture may lack the annotation itself."""
    assert HostPaths(["Training_Step"]).path_of(".1") == ".1"


def test_a_path_without_empty_names_precedes_others_with_its_names() -> None:
    for paths in (["S", "S//f", "S/f"], ["S", "S/f", "S//f"]):
        assert HostPaths(paths).path_of("S.1/f.2") == "S/f"
    assert HostPaths(["S", "S//f", "S///f"]).path_of("S.1/f.2") == "S//f"


def test_an_annotations_name_may_end_like_a_number() -> None:
    paths = HostPaths(["layer.1", "layer.2"])
    assert [paths.path_of(scope) for scope in ("layer.1.1", "layer.2.5")] == ["layer.1", "layer.2"]


@pytest.mark.parametrize(
    "path", ["", "a", "a/b", "a/" * (MAX_LEVELS - 1) + "a", "/".join("abc" * 80 for _ in "1234")]
)
def test_paths_within_the_limits_are_unchanged(path: str) -> None:
    assert truncate_path(path) == path


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=200))
def test_longer_paths_are_cut_to_their_outermost_names(lengths: list[int]) -> None:
    names = ["x" * length for length in lengths]
    path = truncate_path("/".join(names)).split("/")
    assert len(path) <= MAX_LEVELS
    assert len("/".join(path)) <= MAX_PATH_LENGTH
    for name, shown in zip(names, path, strict=False):
        assert shown == name or (len(shown) == len("…") + 250 and name.startswith(shown.removesuffix("…")))
    assert truncate_path("/".join(path)) == "/".join(path)


def test_suffixes_of_paths_need_linear_space() -> None:
    paths = HostPaths("/".join(f"{first}.{number}" for number in range(60)) for first in range(10))
    assert paths.path_of("9.58.1/9.59.1") == "/".join(f"9.{number}" for number in range(60))
    assert len(paths._suffixes) <= 600
