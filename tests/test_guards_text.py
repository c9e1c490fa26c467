"""Guards in torch.compile's log, in the wording of PyTorch 2.9 (and of 2.5, at the limit)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic.__main__ import LOGDIR

from tb_xla_insights.analysis.sidecar_contents import Guard
from tb_xla_insights.report.guards_text import parse_guards

LIMIT = """\
W1121 00:05:02.826000 8207 torch/_dynamo/convert_frame.py:1358] [1/8] torch._dynamo hit config.recompile_limit (8)
W1121 00:05:02.826000 8207 torch/_dynamo/convert_frame.py:1358] [1/8]    function: 'forward' (/home/me/train.py:73)
W1121 00:05:02.826000 8207 torch/_dynamo/convert_frame.py:1358] [1/8]    last reason: 1/7: self.scale == 1.5    \
# x = x * self.scale  # why not  # train.py:75 in forward
W1121 00:05:02.826000 8207 torch/_dynamo/convert_frame.py:1358] [1/8] To log all recompilation reasons, use TORCH_LOGS.
"""
RECOMPILATION = """\
V1122 12:05:34.709000 7175 torch/_dynamo/guards.py:4181] [0/1] [__recompiles] Recompiling function forward in /a/b.py:26
V1122 12:05:34.709000 7175 torch/_dynamo/guards.py:4181] [0/1] [__recompiles]     triggered by the following guard \
failure(s):
V1122 12:05:34.709000 7175 torch/_dynamo/guards.py:4181] [0/1] [__recompiles]     - 0/1: tensor 'x' size mismatch at \
index 0. expected 8, actual 10
V1122 12:05:34.709000 7175 torch/_dynamo/guards.py:4181] [0/1] [__recompiles]     - 0/0: tensor 'x' size mismatch at \
index 0. expected 6, actual 10
"""
MISMATCH = "tensor 'x' size mismatch at index 0. expected 8, actual 10"


def test_the_limit() -> None:
    assert parse_guards(LIMIT, "log") == [
        Guard(
            "forward", "/home/me/train.py:73", "self.scale == 1.5", "x = x * self.scale  # why not", 8, "log"
        )
    ]


def test_places_with_spaces() -> None:
    text = (RECOMPILATION + LIMIT).replace("/a/b.py", "/My Drive/b.py").replace("train.py", "my train.py")
    assert [(guard.function, guard.place, guard.source) for guard in parse_guards(text)] == [
        ("forward", "/My Drive/b.py:26", None),
        ("forward", "/home/me/my train.py:73", "x = x * self.scale  # why not"),
    ]


@pytest.mark.parametrize(
    ("reason", "guard", "source"),
    [
        ("1/7: x == 1  # y = f(x)", "x == 1", "y = f(x)"),
        ("1/7: x == 1", "x == 1", None),
        ("1/7: x == 1  #   # train.py:75 in forward", "x == 1", None),
        ("1/7: L['#'] == ' # '  # y # z  # a b.py:7 in <lambda>", "L['#'] == '", "'  # y # z"),
        ("x == 1  # train.py in forward", "x == 1", "train.py in forward"),
        ("0/0: x == 1  # _dynamo/output_graph.py:463 in init_ambient_guards", "x == 1", None),
        ("1/7: ", None, None),
    ],
)
def test_guard_and_source(reason: str, guard: str | None, source: str | None) -> None:
    limit, function, _, _ = LIMIT.splitlines()
    text = f"{limit}\n{function}\n{function.partition('function')[0]}last reason: {reason}\n"
    assert [(row.guard, row.source) for row in parse_guards(text)] == [(guard, source)]


def test_the_wording_of_pytorch_2_5() -> None:
    older = LIMIT.replace("recompile_limit (8)", "cache_size_limit (16)").replace("[1/8]", "[1/8_1]")
    assert [(guard.limit, guard.guard) for guard in parse_guards(older)] == [(16, "self.scale == 1.5")]


def test_each_recompilation_has_the_guard_of_the_last_variant() -> None:
    assert parse_guards(f"epoch 1\n{RECOMPILATION}epoch 2\n{LIMIT}", "log") == [
        Guard("forward", "/a/b.py:26", MISMATCH, None, None, "log"),
        *parse_guards(LIMIT, "log"),
    ]


@pytest.mark.parametrize("first_rank", [0, 10])
def test_lines_of_several_processes_may_be_mixed(first_rank: int) -> None:
    texts = LIMIT, LIMIT.replace("scale == 1.5", "scale == 2.5")
    ranks = [
        [
            f"2026-11-21T00:05:{number:02}.5Z [rank{rank}]:{line}"
            for number, line in enumerate(text.splitlines())
        ]
        for rank, text in enumerate(texts, first_rank)
    ]
    mixed = "\n".join(line for lines in zip(*ranks, strict=True) for line in lines)
    guards = [(guard.function, guard.guard) for guard in parse_guards(f"{mixed}\n")]
    assert guards == [("forward", "self.scale == 1.5"), ("forward", "self.scale == 2.5")]


@pytest.mark.parametrize(
    "text", ["", "hit config.recompile_limit (8)", "[1/8] torch._dynamo hit config", "] [1/8] x"]
)
def test_other_texts_have_no_guards(text: str) -> None:
    assert parse_guards(text) == []


@given(st.integers(0, len(LIMIT)))
@settings(max_examples=60)
def test_a_truncated_text_yields_no_wrong_guard(length: int) -> None:
    [whole] = parse_guards(LIMIT)
    for guard in parse_guards(LIMIT[:length]):
        assert guard.limit == 8
        assert (guard.function, guard.guard) in ((None, None), ("forward", None), ("forward", whole.guard))


def test_a_real_log() -> None:
    text = (Path(LOGDIR) / "torch_xla_dynamo_graph_break/stderr.txt").read_text()
    [guard] = parse_guards(text, "stderr.txt")
    assert (guard.function, guard.place, guard.limit) == (
        "torch_dynamo_resume_in_forward_at_73", "/opt/xla-demo/train.py:73", 8,
    )  # fmt: skip
    assert guard.guard == "___stack0 == 3.9214017391204834"
    assert (guard.source or "").startswith("if self.read_back and x.abs().max().item() > 100.0:")
