"""What tells a compiled graph from the nearest other one."""

from __future__ import annotations

import pytest
from captures import session
from launching import demo

from tb_xla_insights.analysis.compiles import find_compiles, idle_for
from tb_xla_insights.analysis.graph_diff import _differences, _text, nearest
from tb_xla_insights.analysis.idle import find_gaps
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.report import execution_views
from tb_xla_insights.xplane.proto.hlo_pb2 import Shape


def test_a_batch_of_another_length_is_another_graph() -> None:
    """The demo pads its batches to 16 and, later, to 24 tokens."""
    capture = session(demo("torch_xla_dynamic_shapes"))
    [compile_] = execution_views.compiles(capture)["compiles"]
    change = {"before": "s64[4,16]", "after": "s64[4,24]"}
    assert compile_["diff"]["parameters"] == [{"index": 12, **change}, {"index": 17, **change}]
    assert (compile_["diff"]["differ"], compile_["diff"]["same"]) == (2, 18)
    known = [graph["graph"] for graph in execution_views.compiles(capture)["graphs"]]
    assert compile_["diff"]["graph"] in known
    assert compile_["diff"]["graph"] != compile_["graph"]


def test_nothing_is_told_where_a_file_has_no_shapes() -> None:
    trace = demo("synthetic_case_study_8_tpu_cores")
    assert [nearest(trace, program) for program in find_compiles(trace).program.tolist()] == [None]


def test_shapes_read_as_in_hlo() -> None:
    inner = Shape(element_type=16, dimensions=[8])
    assert _text(inner) == "bf16[8]"
    assert _text(Shape(element_type=11)) == "f32[]"
    assert _text(Shape(element_type=13, tuple_shapes=[inner, Shape(element_type=99, dimensions=[2, 3])])) == (
        "(bf16[8], ?[2,3])"
    )


def test_a_parameter_that_one_graph_lacks_differs() -> None:
    assert _differences(["a", "b"], ["a", "c", "d"]) == [
        {"index": 1, "before": "b", "after": "c"},
        {"index": 2, "before": None, "after": "d"},
    ]


@pytest.mark.parametrize("name", ["torch_xla_dynamic_shapes", "synthetic_case_study_8_tpu_cores"])
def test_devices_are_idle_for_compilations_as_long_as_their_gaps_say(name: str) -> None:
    """All compiling in gaps is in some compilation."""
    trace = demo(name)
    gaps = find_gaps(trace)
    compiling = gaps.shares[:, CLASSES.index("compile")]
    for device, time in enumerate(idle_for(trace).sum(axis=0).tolist()):
        assert 0 < time == compiling[gaps.device == device].sum()
