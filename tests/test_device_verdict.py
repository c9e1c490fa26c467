"""The sentences of the view Device."""

from __future__ import annotations

from typing import Any

import pytest

from tb_xla_insights.device_work.peaks_text import missing_peaks_text, peaks_text
from tb_xla_insights.device_work.view_notes import work_notes
from tb_xla_insights.device_work.view_verdict import BelowRoof, Chosen, VerdictSentence, find_below_roof
from tb_xla_insights.text.english import Bold, sentence_parts

MS = 10**9
DEVICE = {
    "kind": "TPU v6 Lite",
    "count": 1,
    "flops_per_s": 1e15,
    "bytes_per_s": 1e12,
    "source": "capture",
    "cite": None,
}
PEAKS = {key: DEVICE[key] for key in ("flops_per_s", "bytes_per_s", "source")} | {"devices": [DEVICE]}
THIS_STEP = Chosen("1205", None, 1, 1)
MEAN_COPY = Chosen("mean", "copy", 1, 1)
STEP, LAYERS, MLP, ATTENTION, LOSS = (
    "step", "step/layers", "step/layers/mlp", "step/layers/attention", "step/loss",
)  # fmt: skip
AT_ATTENTION = BelowRoof(ATTENTION, 15 * MS, 1, 79 * MS, 0.6)


def op(
    name: str, path: str | None, ms: int, bound: str, shares: Any = (None, None), **more: Any
) -> dict[str, Any]:
    flops, nbytes = (None if share is None else round(share * 1e9) for share in shares)
    return {
        "op": name, "program": "jit_f", "path": path, "annotation": path, "self_ps": ms * MS, "bound_by": bound,
        "flops_share": shares[0], "bytes_share": shares[1], "flops": flops, "hbm_bytes": nbytes, "kind": "work",
        "flops_source": None, "category": "dot" if name.startswith("dot") else "fusion", "roof_ps": None, **more,
    }  # fmt: skip


OPS = [
    op("dot.1", MLP, 30, "compute", (0.8, 0.4)),
    op("fusion.2", ATTENTION, 25, "neither", (0.004, 0.4)),
    op("fusion.2", LOSS, 20, "memory", (0.001, 0.7)),
    op("custom-call.3", ATTENTION, 10, "unknown"),
    op("all-reduce.4", STEP, 8, "link", kind="collective"),
    op("copy.5", None, 4, "memory", (0, 0.75)),
    op("tail", LOSS, 2, "memory", (0.001, 0.7)),
]


def annotation(path: str | None, ms: int, own_ms: int, flops_share: Any, bound: str) -> dict[str, Any]:
    rates = {"flops_share": flops_share, "bytes_share": None, "bound_by": bound}
    return {"path": path, "self_ps": ms * MS, **rates, "own": {"self_ps": own_ms * MS, **rates}}


TREE = [
    annotation(STEP, 95, 8, 0.2, "mixed"),
    annotation(LAYERS, 65, 0, 0.2, "mixed"),
    annotation(MLP, 30, 30, 0.8, "compute"),
    annotation(ATTENTION, 35, 35, 0.003, "neither"),
    annotation(LOSS, 22, 22, 0.001, "memory"),
    annotation(None, 4, 4, 0, "memory"),
]
WORK = {
    "annotations": TREE,
    "peaks": PEAKS,
    "total": {"self_ps": 99 * MS, "work_ps": 89 * MS, "flops_known_ps": 79 * MS},
}


def verdict(
    below: BelowRoof | None = AT_ATTENTION,
    chosen: Chosen = THIS_STEP,
    ops: Any = OPS,
    repeated: Any = None,
    **work: Any,
) -> str:
    sentence = VerdictSentence(
        chosen, ops, WORK | work, {"fusion": 67 * MS, "dot": 32 * MS}, repeated or {}, below
    )
    return "".join(sentence.pieces()).replace("\u202f", " ")


def test_the_verdict_names_the_annotation_that_is_farthest_below_the_roof() -> None:
    assert verdict() == (
        "attention takes 35.4 % of the step’s op time at 0.3 % of peak FLOP/s: below half of both roofs. fusion.2 "
        "alone is 25.000 ms, at 40.0 % of HBM bandwidth."
    )
    assert verdict(BelowRoof(ATTENTION, 1, 1, 79 * MS, 0.83)) == (
        "The ops run at 83.0 % of the roofline; layers, with no single bound, takes 65.7 % of the step’s op time."
    )


def test_the_reason_why_the_distance_to_the_roofline_is_unknown() -> None:
    unknown = {**DEVICE, "flops_per_s": None, "bytes_per_s": None}
    text = verdict(None, peaks=PEAKS | unknown | {"devices": [unknown]})
    assert text.startswith(
        "layers takes 65.7 % of the step’s op time. dot.1 alone is 30.000 ms, at 80.0 % of peak "
    )
    assert text.endswith(
        "How near that is to the roofline is unknown: the peaks of this device are not known."
    )
    assert verdict(None).endswith(": no op has both FLOPs and bytes.")
    silent = [row | {"flops": None} for row in OPS]
    assert verdict(None, ops=silent).endswith(": the capture has no FLOP counts.")
    silent = [row | {"hbm_bytes": None} for row in silent]
    assert verdict(None, ops=silent).endswith(": the capture has no FLOP or byte counts.")
    infeed = verdict(None, Chosen("1205", "infeed", 1, 1), ops=silent)
    assert infeed.endswith(": these ops have no FLOP or byte counts.")
    slices = [row | {"flops_share": 0, "bytes_share": None} for row in OPS]
    assert " dot.1 alone is 30.000 ms. How near" in verdict(None, ops=slices)


def test_missing_peaks() -> None:
    faster = {**DEVICE, "flops_per_s": 2e15}
    apart = PEAKS | {"flops_per_s": None, "devices": [DEVICE, faster]}
    assert missing_peaks_text(apart) == "the devices have different peaks"
    half = {**DEVICE, "bytes_per_s": None}
    assert missing_peaks_text(half | {"devices": [half]}) == "the HBM bandwidth of this device is not known"
    unknown = {**half, "flops_per_s": None, "count": 8}
    assert missing_peaks_text(unknown | {"devices": [unknown]}) == "the peaks of these devices are not known"
    assert missing_peaks_text(PEAKS) == ""
    assert peaks_text(unknown | {"devices": [{**unknown, "kind": "CPU"}]}) == "Peaks (CPU) are not known"
    text = peaks_text(PEAKS | {"flops_per_s": 61.5e12, "source": "user"})
    assert text.replace("\u202f", " ") == "Peaks (TPU v6 Lite): 61.50 TFLOP/s and 1 000 GB/s, set by you"


def test_work_of_a_category() -> None:
    tree = [{**row, "bound_by": "memory", "bytes_share": 0.7} for row in TREE]
    assert verdict(None, MEAN_COPY, annotations=tree) == (
        "layers takes 65.7 % of a step’s time in copy at 70.0 % of HBM bandwidth: bound by memory."
    )
    assert verdict(None, MEAN_COPY, ops=[]) == "No op of copy of a whole step was recorded on this device."


@pytest.mark.parametrize(("kind", "awaited"), [("wait", "copies or other"), ("callback", "callbacks or")])
def test_a_device_that_mostly_waits(kind: str, awaited: str) -> None:
    waits = [row | {"bound_by": "wait", "kind": kind} for row in OPS]
    assert verdict(ops=waits) == (
        f"100.0 % of the step’s op time only waits for {awaited} asynchronous ops; fusion.2 alone is 45.000 ms. The "
        "other ops run at 60.0 % of the roofline."
    )


def test_ops_that_repeat_are_named_as_one() -> None:
    group = {"name": "64 × fusion", "self_ps": 40 * MS, "flops_share": 0.1, "bytes_share": 0.5}
    assert verdict(repeated={1: group}).endswith(" 64 × fusion take 40.000 ms, at 50.0 % of HBM bandwidth.")


def test_an_annotation_has_the_shortest_name_that_no_other_has() -> None:
    same_name = [{**row, "path": "step/attention"} if row["path"] == LOSS else row for row in TREE]
    assert verdict(annotations=same_name).startswith("layers/attention takes 35.4")


def test_the_largest_annotation_without_nested_ones_is_named_in_place_of_one_with_all_of_the_work() -> None:
    tree = [
        {**row, "self_ps": {STEP: 99, LAYERS: 91}.get(row["path"], 0) * MS or row["self_ps"]} for row in TREE
    ]
    assert verdict(None, annotations=tree).startswith(
        "attention takes 35.4 % of the step’s op time. fusion.2 alone is 25.000 ms"
    )


def test_the_category_of_work_without_annotations_is_named() -> None:
    assert verdict(None, annotations=[annotation(None, 99, 99, None, "mixed")]).startswith(
        "fusion ops take 67.7 % of the step’s op time, which has no annotation."
    )


def test_with_few_known_flops_the_verdict_says_for_which_share_of_the_time_they_are_known() -> None:
    known = "layers takes 65.7 % of the step’s op time. FLOPs and bytes are known for 30.3 % of all op time; "
    assert (
        verdict(BelowRoof(MLP, 5 * MS, 0, 30 * MS, 0.9)) == f"{known}those ops run at 90.0 % of the roofline."
    )
    assert verdict(BelowRoof(MLP, 5 * MS, 0, 30 * MS, 0.5)) == (
        f"{known}most time beyond the roofline is in mlp: 30.3 % of the op time, at 80.0 % of peak FLOP/s."
    )


def test_the_work_farthest_below_the_roof() -> None:
    ops = [
        op("dot.1", MLP, 4, "compute", roof_ps=1 * MS),
        op("add.2", LOSS, 1, "memory", roof_ps=2 * MS),
        op("dot.3", MLP, 2, "compute"),
    ]
    assert find_below_roof(ops, {}, 3) == BelowRoof(MLP, 3 * MS, 0, 5 * MS, 0.4)
    repeated = {2: {"self_ps": 9 * MS}}
    assert find_below_roof(ops, repeated, 3) == BelowRoof(MLP, 3 * MS, 2, 5 * MS, 0.4)
    assert find_below_roof(ops, repeated, 0) == BelowRoof(MLP, 3 * MS, None, 5 * MS, 0.4)
    assert find_below_roof(ops[2:], {}, 1) is None


def test_notes() -> None:
    uncounted = {"ops_without_flops": [{"op": name} for name in ("a", "b", "a")]}
    notes: Any = work_notes(THIS_STEP, OPS, WORK | uncounted)
    assert {key: text and text.replace("\u202f", " ") for key, text in notes.items()} == {
        "not_counted": (
            "a and b have no FLOP count (10.000 ms, 10.1 %), are not in the picture, and count as 0, so MFU is a lower "
            "bound."
        ),
        "flop_advice": None,
        "stated": None,
        "not_work": "Ops that are not work, such as collectives and waits, compute nothing (10.000 ms, 10.1 %).",
        "not_drawn": (
            "Of the 79.8 % with a FLOP count, 1 op with 0 FLOPs or without HBM traffic, such as copies, cannot be "
            "drawn (4.000 ms, 4.0 %)."
        ),
        "no_picture": None,
    }
    custom = op("custom-call.3", ATTENTION, 10, "unknown", category="custom-call")
    notes = work_notes(
        THIS_STEP, [OPS[0], custom], WORK | {"ops_without_flops": [{"op": n} for n in "abcde"]}
    )
    assert notes["not_counted"].startswith("a, b, c and 2 more ops have no FLOP count")
    assert "cost_estimate" in notes["flop_advice"]
    stated = custom | {"flops": 4, "flops_source": "kernel"}
    assert work_notes(THIS_STEP, [OPS[0], stated], WORK | uncounted)["stated"] == (
        "custom-call.3 (10.000\u202fms, 10.1\u202f%) has the FLOPs that its kernel states: an estimate, not a count."
    )


@pytest.mark.parametrize(
    ("ops", "category", "text"),
    [
        ([], None, "There is no op to draw."),
        ([(1, None)], None, "The capture has no byte counts, so FLOP per byte is unknown."),
        ([(None, None)], "copy", "These ops have no FLOP or byte counts."),
        ([(0, 1)], "copy", "None of these ops has both FLOPs and HBM traffic."),
        ([(None, 1)], "copy", "These ops have no FLOP counts."),
    ],
)
def test_why_there_is_no_picture(ops: Any, category: str | None, text: str) -> None:
    rows = [op("copy.1", None, 1, "memory", shares) for shares in ops]
    work = WORK | {"ops_without_flops": []}
    assert work_notes(Chosen("all", category, 1, 1), rows, work)["no_picture"] == text
    if rows and text.startswith("None"):
        rows = [row | {"kind": "collective"} for row in rows]
        shown = work_notes(Chosen("all", category, 1, 1), rows, work)["no_picture"]
        assert shown == "None of these ops computes: they exchange data, move it or wait."


def test_ops_without_any_time() -> None:
    ops, tree = [op("copy.1", None, 0, "memory", (1, None))], [annotation(None, 0, 0, None, "memory")]
    total = {"self_ps": 0, "work_ps": 0, "flops_known_ps": 0}
    text = verdict(None, ops=ops, annotations=tree, total=total)
    assert text.startswith("fusion ops take – of the step’s op time, which has no annotation.")
    notes = work_notes(THIS_STEP, ops, WORK | {"total": total, "ops_without_flops": []})
    assert notes["no_picture"] == "The capture has no byte counts, so FLOP per byte is unknown."


def test_parts_of_a_sentence_alternate() -> None:
    assert sentence_parts([Bold("a"), " takes ", "all of ", Bold("b"), Bold("c")]) == [
        "",
        "a",
        " takes all of ",
        "bc",
    ]
    assert sentence_parts(["a"]) == ["a"]
