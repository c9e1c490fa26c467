"""The demo logdir has the files that its generator writes; the generator's truth is consistent and in the files; and
its writer encodes them."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from synthetic import Line, Plane, Ref, Space, Uint, case_study, dynamo_issue
from synthetic.__main__ import LOGDIR, sessions

from tb_xla_insights.logdir.sessions import sessions_at

MS = 1_000_000_000
RECORDED_DEMOS = sorted(path for path in LOGDIR.iterdir() if path.name.startswith("torch_xla_"))
CAPTURES = sorted(LOGDIR.glob("*/plugins/profile/*/*.xplane.pb"))
# Captures are recorded below /opt; a home, scratch or working directory would be that of the recording user.
MACHINE_PATH = re.compile(rb"/(?:home|root|tmp|work|usr|Users|var|mnt)/[\w.]")


def occurrences(plane: Plane) -> Counter[str]:
    names = {metadata.id: metadata.name for metadata in plane.metadata}
    return Counter(names[event.metadata_id] for line in plane.lines for event in line.events)


def plane(space: Space, name: str) -> Plane:
    return next(candidate for candidate in space.planes if candidate.name == name)


@pytest.mark.parametrize("path", sessions(), ids=lambda path: path.parts[0])
def test_committed_session_equals_the_generated_one(path: Path) -> None:
    assert (LOGDIR / path).read_bytes() == sessions()[path]().to_bytes()


@pytest.mark.parametrize("path", sessions(), ids=lambda path: path.parts[0])
def test_synthetic_sessions_are_labelled_synthetic(path: Path) -> None:
    assert path.parts[0].startswith("synthetic_")
    assert path.parts[3].endswith("_synthetic")
    stats = plane(sessions()[path](), "Task Environment").stats
    assert stats["synthetic"] == 1
    assert "not recorded" in str(stats["synthetic_note"])


def test_every_demo_is_explained() -> None:
    readme = (LOGDIR / "README.md").read_text()
    demos = {path.relative_to(LOGDIR).parts[0] for path in CAPTURES}
    assert demos == set(re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE))


def test_every_demo_has_a_description() -> None:
    for demo in {LOGDIR / path.relative_to(LOGDIR).parts[0] for path in CAPTURES}:
        [line] = (demo / "description.txt").read_text().splitlines()
        assert line.startswith("Synthetic: ") == demo.name.startswith("synthetic_"), demo


def test_the_case_study_opens_first() -> None:
    assert sessions_at(str(LOGDIR)).sessions[0].path == str((LOGDIR / case_study.path()).parent)


def test_the_demo_logs_are_small() -> None:
    sizes = [path.stat().st_size for path in LOGDIR.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(sizes) < 8_000_000
    assert max(sizes) < 2_000_000


def test_files_contain_no_path_of_the_recording_machine() -> None:
    for demo in {LOGDIR / path.relative_to(LOGDIR).parts[0] for path in CAPTURES}:
        for path in demo.rglob("*"):
            assert not path.is_file() or not MACHINE_PATH.findall(path.read_bytes()), path


@pytest.mark.parametrize("demo", RECORDED_DEMOS, ids=lambda demo: demo.name)
def test_recorded_demos_have_their_metrics_reports(demo: Path) -> None:
    assert len(list(demo.glob("plugins/profile/*/demo-host.xplane.pb"))) == 1
    assert "ExecuteTime" in (demo / "metrics_report.txt").read_text()
    if "dynamo" in demo.name:
        assert "Graph Break Count" in (demo / "dynamo_explain.txt").read_text()


def test_case_study_gap_is_explained_to_the_picosecond() -> None:
    truth = case_study.truth()
    assert truth.gap_ps == 72_143_000_000
    assert sum(truth.gap_parts_ps.values()) == truth.gap_ps
    assert truth.gap_parts_ps["tracing"] == 24_816_000_000
    assert truth.gap_parts_ps["sync_prepare"] == 9_742_000_000
    assert truth.gap_parts_ps["to_device"] == 21_305_000_000
    assert truth.gap_chain[0].start_ps == truth.gap_start_ps
    assert sum(link.duration_ps for link in truth.gap_chain) == truth.gap_ps
    assert all(a.start_ps + a.duration_ps == b.start_ps for a, b in pairwise(truth.gap_chain))
    assert (truth.gap_start_ps, truth.gap_ps) in truth.devices[0].gaps


def test_case_study_sums_hold() -> None:
    truth = case_study.truth()
    coverage = truth.coverage
    assert coverage.direct_ps + coverage.recovered_ps + coverage.bare_ps + coverage.none_ps == truth.run_ps
    assert sum(duration for _, duration in truth.phase_order) == truth.run_ps
    assert truth.scope_ps["Training_Step"] == coverage.direct_ps + coverage.recovered_ps
    assert sum(truth.module_launches.values()) == truth.devices[0].run_count
    for device in truth.devices:
        assert device.busy_ps + device.idle_ps == device.span_ps
        assert sum(duration for _, duration in device.gaps) == device.idle_ps
    for before, after in pairwise(truth.steps):
        assert before.start_ps + before.duration_ps == after.start_ps


def test_case_study_file_holds_its_truth() -> None:
    truth = case_study.truth()
    space = case_study.build()
    for device in truth.devices:
        modules, ops = plane(space, device.name).lines
        assert len(modules.events) == device.run_count
        assert len(ops.events) == device.op_count
        assert ops.events[0].start_ps == modules.events[0].start_ps
        assert ops.events[-1].end_ps == modules.events[-1].end_ps
        assert sum(event.duration_ps for event in ops.events) == device.busy_ps
    counts = occurrences(plane(space, "/host:CPU"))
    assert counts["Training_Step"] == len(truth.steps)
    assert counts["StepMarker"] == len(truth.steps) + 1  # the one in the middle of forward
    assert counts["XLATensor::Compile"] == 1
    assert counts["TransferToServerInternal"] == truth.transfers_to_device
    assert counts["TransferFromServer"] == 1


HELPER_PRECEDENCE = ("program_load", "to_device", "dispatch")
CLASS_OF = {
    **dict.fromkeys(
        ("Training_Step", "backward", "FINISH_UPDATE", "reduce_gradients", "optimizer_step"), "tracing"
    ),
    **dict.fromkeys(
        ("StepMarker", "SyncLiveTensorsGraph", "SyncTensorsGraph", "SyncTensorsGraphInternal"), "sync_prepare"
    ),
    **dict.fromkeys(("CollectSyncTensors", "RunPostOrder", "ScheduleSyncTensorsGraph"), "sync_prepare"),
    **dict.fromkeys(
        ("TransferToServerInternal", "TransferToServerTransform", "TransferToServerExecute"), "to_device"
    ),
    **dict.fromkeys(("ExecuteReplicated", "XRTExecute", "BuildComputationInputs", "TPUExecute"), "dispatch"),
    **dict.fromkeys(("TensorCollectionBarrier", "RunExecutable"), "wait"),
    "TpuExecuteOp::LookupProto": "program_load",
}


def innermost_class(host: Plane, line: Line, instant_ps: int) -> str | None:
    """The class of the innermost event at an instant; None if no event is recorded."""
    names = {metadata.id: metadata.name for metadata in host.metadata}
    instant_ps -= line.timestamp_ns * 1000
    events = [event for event in line.events if event.start_ps <= instant_ps < event.end_ps]
    return CLASS_OF[names[events[-1].metadata_id]] if events else None


def test_case_study_file_has_the_classes_of_the_gap() -> None:
    """Walks through the gap by the rules for a class at an instant, using only the file's content."""
    truth = case_study.truth()
    host = plane(case_study.build(), "/host:CPU")
    main = next(line for line in host.lines if line.name == "python")
    helpers = [line for line in host.lines if line.name.startswith("tf_")]
    start, end = truth.gap_start_ps, truth.gap_start_ps + truth.gap_ps
    cuts = {start, end}
    for line in (main, *helpers):
        base = line.timestamp_ns * 1000
        ends = {base + instant for event in line.events for instant in (event.start_ps, event.end_ps)}
        cuts |= {instant for instant in ends if start < instant < end}
    parts: Counter[str] = Counter()
    for instant, until in pairwise(sorted(cuts)):
        driving = innermost_class(host, main, instant)
        helping = {innermost_class(host, line, instant) for line in helpers}
        if driving in (None, "wait"):
            work = [class_name for class_name in HELPER_PRECEDENCE if class_name in helping]
            driving = work[0] if work else "wait" if "wait" in (driving, *helping) else "unrecorded"
        parts[str(driving)] += until - instant
    assert parts == truth.gap_parts_ps


def test_threads_of_the_synthetic_sessions_nest() -> None:
    for build in sessions().values():
        for line in plane(build(), "/host:CPU").lines:
            open_until: list[int] = []
            for event in line.events:
                while open_until and open_until[-1] <= event.start_ps:
                    open_until.pop()
                assert not open_until or event.end_ps <= open_until[-1], (line.name, event)
                open_until.append(event.end_ps)


def test_dynamo_issue_has_the_numbers_of_the_measurement() -> None:
    def in_us(rows: tuple[dynamo_issue.ExecutionTruth, ...]) -> dict[str, tuple[float, float, float]]:
        return {
            row.name: (row.host_ps / 1e6, row.device_ps / 1e6, round(row.overhead_ps / 1e6)) for row in rows
        }

    lazy, dynamo = dynamo_issue.truth("lazy"), dynamo_issue.truth("dynamo")
    assert in_us(lazy.executions) == {"the whole step": (21831, 17832, 3999)}
    assert in_us(dynamo.executions) == {
        "input sync": (1892, 83.47, 1809),
        "forward": (13902, 9627, 4275),
        "clean-up 1": (2429, 118, 2311),
        "backward": (16698, 13082, 3616),
        "clean-up 2": (3507, 289, 3218),
    }
    gaps = {(before, after): gap for before, after, gap in dynamo.gaps_ps}
    assert gaps["forward", "clean-up 1"] == 9.91 * MS
    assert gaps["clean-up 1", "backward"] == 5.137 * MS
    assert (lazy.step_ps, dynamo.step_ps) == (39 * MS, 52.6 * MS)
    assert lazy.tracing_ps == 13.67 * MS


def test_nothing_is_queued_in_the_dynamo_issue() -> None:
    for before, after in pairwise(dynamo_issue.plan("dynamo").executions):
        assert after.call_start_ps >= before.run_end_ps


def test_writer_keeps_types_ids_and_order() -> None:
    space = Space(hostnames=["a"], errors=["b"], warnings=["c"])
    host = space.plane("/host:CPU", stats={"big": Uint((1 << 64) - 1)})
    line = host.line("python", id=-5, timestamp_ns=1_000)
    line.event("step", 0, 10, {"name": Ref("text")}, step_num=-3, half=0.5, raw=b"\xff")
    line.event(host.event_metadata("sparse", id=-9, display_name="s"), 2, 3)
    line.aggregate("many", 7, 20)
    assert [metadata.id for metadata in host.metadata] == [1, -9, 2]
    assert host.to_bytes() == host.to_bytes()
    assert space.to_bytes().endswith(b"\x12\x01b\x1a\x01c\x22\x01a")
    assert b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" in host.to_bytes()
    assert set(host.stat_ids) == {"big", "name", "text", "step_num", "half", "raw"}


def test_writer_refuses_numbers_beyond_64_bits() -> None:
    with pytest.raises(OverflowError, match="64 bits"):
        Space().plane("/host:CPU", stats={"n": Uint(1 << 64)}).to_bytes()
