"""Names of host events and what they mean."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from tb_xla_insights.catalog import CLASSES, Catalog, load_catalog
from tb_xla_insights.errors import InputError


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def class_of(catalog: Catalog, name: str) -> str | None:
    index = catalog.class_index(name)
    return None if index < 0 else CLASSES[index]


def test_the_classes_and_their_order() -> None:
    assert CLASSES == (
        "tracing", "sync_prepare", "dynamo", "compile", "program_load", "to_device", "from_device", "dispatch", "wait",
        "input", "python", "other", "unrecorded",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # PyTorch/XLA on XRT: client, then server
        ("StepMarker", "sync_prepare"),
        ("XLATensor::Compile", "compile"),
        ("TransferToServerTransform", "to_device"),
        ("TransferFromServer", "from_device"),
        ("ExecuteChained", "dispatch"),
        ("ReleaseHandles", "other"),
        ("localservice:XRTExecute", "dispatch"),
        ("TpuExecuteOp::LookupProto", "program_load"),
        ("RunExecutable", "dispatch"),
        # PyTorch/XLA on PJRT, with both clients
        ("SyncTensorsGraphInternal", "sync_prepare"),
        ("TensorCollectionBarrier", "wait"),
        ("PjRtComputationClient::Compile", "compile"),
        ("IfrtComputationClient::Compile", "compile"),
        ("PjRtComputationClient::TransferToServer", "to_device"),
        ("IfrtComputationClient::TransferShardsToDevice", "to_device"),
        ("PjRtComputationClient::TransferFromDevice", "from_device"),
        ("IfrtComputationClient::ExecuteReplicated", "dispatch"),
        ("PjRtComputationClient::ExecuteReplicated_argument_handle", "dispatch"),
        ("update_placeholder", "dispatch"),
        ("cpu_loader.next", "input"),
        # the runtime, with older and newer names
        ("TfrtTpuLoadedExecutable::ExecuteLaunch", "dispatch"),
        ("TpuLoadedExecutable::ExecuteLaunch", "dispatch"),
        ("Scheduled TfrtTpuLoadedExecutable::Execute", "dispatch"),
        ("SomeNewLoadedExecutable::Execute", "dispatch"),
        ("tpu::System::Execute=>IssueSequencedEvent", "dispatch"),
        ("tpu::System::Execute=>Done", "wait"),
        ("Acquire semaphore", "wait"),
        ("TfrtTpuClient::BufferFromHostBuffer::TfrtTpuBuffer", "to_device"),
        ("XlaLinearize", "to_device"),
        ("TfrtTpuBuffer::ToLiteral", "from_device"),
        ("DelinearizeUsingTranspose", "from_device"),
        ("TfrtTpuCompiler::Compile", "compile"),
        ("LSRAv2 main loop", "compile"),
        ("backend_compile_and_load", "compile"),
        ("HLO passes through layout assignment (jit_train_step)", "compile"),
        ("LoadProgramCacheMiss", "program_load"),
        ("TfrtTpuClient::LoadInternal", "program_load"),
        ("MemoryDeallocation", "other"),
        # other frameworks
        ("PjitFunction(train_step)", "python"),
        ("IteratorGetNextOp::DoCompute", "input"),
        ("Iterator::Prefetch", "input"),
        ("ApplyMemoryThrottling", "wait"),
        ("ScalarBuffer_float", "to_device"),
        ("TpuMallocAndMemcpyHtoD", "to_device"),
        ("AtenLocalScalarDense", "from_device"),
        ("CopyTpuToCpu", "wait"),
        ("TpuMemcpyDtoH::Await", "from_device"),
        ("aten::item", "tracing"),  # also of a tensor on the host
        ("$train.py:12 main", "python"),
        ("$builtins len", "python"),
        ("$api.py:3165 block_until_ready", "wait"),
        ("$train.py:12 next_batch", "input"),
        ("$data.py:7 load_data", "input"),
        ("$train.py:9 batches", "input"),
        ("$train.py:10 examples_from_disk", "input"),
        ("$train.py:10 load_next_batch", "input"),
        ("$items.py:63 data", "python"),  # a property, here of orbax
        ("$runner.py:63 _prepare_inputs", "python"),
        ("$api.py:63 sample_batch", "python"),  # a file of JAX
        ("$random.py:63 sample_batch", "python"),  # of the standard library
        ("$<frozen importlib._bootstrap_external>:1131 get_data", "python"),
        ("$my loader.py:12 next_batch", "input"),
        ("$queue.py:154 get", "wait"),
        ("$threading.py:637 wait", "wait"),
        ("$time sleep", "wait"),
        ("$<unknown> acquire", "wait"),
        ("$<built-in method sleep of module object at 0x7f>", "wait"),
        ("$pool.py:9 acquire", "python"),
        ("$<unknown> join", "python"),  # of texts
        ("$dataloader.py:701 __next__", "input"),
        ("$pxla.py:12 batched_device_put", "python"),
        ("$cache.py:154 get", "python"),
        ("$compiler.py:9 load_executable", "python"),
        # unknown
        ("forward", None),
        ("back-propagation", None),
        ("algsimp", None),
        ("ThreadpoolListener::Record", None),
    ],
)
def test_the_class_of_a_name(catalog: Catalog, name: str, expected: str | None) -> None:
    assert class_of(catalog, name) == expected


def test_values_after_a_name_are_not_part_of_it(catalog: Catalog) -> None:
    assert class_of(catalog, "XLAGraphExecutor::Compile#graph_hash=ab12#") == "compile"
    assert catalog.tags("StepMarker#step=3,loop=4#") == {"step_marker"}


def test_names_with_and_without_a_class_are_known_to_the_table(catalog: Catalog) -> None:
    assert all(catalog.knows(name) for name in ("StepMarker", "dce", "end: dot.3", "ThunkExecutor::Execute"))
    assert not any(
        catalog.knows(name) for name in ("forward", "Training_Step", "dce my tensors", "lr_scheduler")
    )


def test_another_process_knows_the_same_names(catalog: Catalog) -> None:
    """Workers that read hosts receive a catalogue with which other captures may have been read before."""
    assert not catalog.knows("forward")
    assert not pickle.loads(pickle.dumps(catalog)).knows("forward")


@pytest.mark.parametrize(
    ("tag", "names"),
    [
        ("step_marker", ["StepMarker"]),
        ("sync", ["SyncTensorsGraphInternal"]),
        ("launch", ["ExecuteComputation", "PjRtComputationClient::ExecuteReplicated",
                    "CommonPjRtLoadedExecutable::Execute", "CommonPjRtLoadedExecutable::Execute (jit_f)",
                    "TfrtTpuLoadedExecutable::Execute"]),
        ("run_start", ["PjRtCpuExecutable::ExecuteHelper", "[0] CommonPjRtLoadedExecutable::Execute (jit_f)",
                       "[0] CommonPjRtLoadedExecutable::Execute", "[12] CommonPjRtLoadedExecutable::Execute (jit_f)"]),
        ("enqueue", ["DoEnqueueProgram"]),
        ("dynamo", ["ExecuteComputationWithBarrier"]),
        ("read", ["TransferFromServer", "PjRtComputationClient::TransferFromDevice"]),
        ("blocks", ["$api.py:2479 block_until_ready", "CommonPjRtBuffer::Await", "PjRtFuture::Await"]),
        ("pass", ["algsimp", "while-loop-trip-count-annotator", "mlir::detail::OpToOpPassAdaptor"]),
        ("plumbing", ["ThreadpoolListener::StopRegion", "end: fusion.3", "ThunkExecutor::Execute"]),
    ],
)  # fmt: skip
def test_tags(catalog: Catalog, tag: str, names: list[str]) -> None:
    assert [name for name in names if tag not in catalog.tags(name)] == []
    assert tag not in catalog.tags("forward")


def test_parts_of_a_launch_are_no_launches(catalog: Catalog) -> None:
    parts = [
        "ExecuteReplicated_execute",
        "Scheduled TfrtTpuLoadedExecutable::Execute",
        "ExecuteComputationWithBarrier",
        "[0] CommonPjRtLoadedExecutable::Execute",
    ]
    assert not any("launch" in catalog.tags(name) for name in parts)


@pytest.mark.parametrize(
    "name", ["data_loading", "fetchBatch", "DataLoader", "prefetch_next", "INPUT", "loading", "HTTPData"]
)
def test_annotations_named_after_loading_are_input(catalog: Catalog, name: str) -> None:
    assert catalog.describes_loading(name)


@pytest.mark.parametrize(
    "name",
    [
        "payload",
        "workload",
        "upload",
        "update",
        "metadata",
        "Training_Step",
        "BatchNorm2d",
        "input_layernorm",
        "prepare_inputs",
        "run_batch",
        "forward_batch_generation 47",
        "",
    ],
)
def test_other_annotations_are_not_input(catalog: Catalog, name: str) -> None:
    assert not catalog.describes_loading(name)


def write_catalog(tmp_path: Path, document: object) -> str:
    path = tmp_path / "ours.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


def test_a_users_file_extends_and_overrides_the_table(tmp_path: Path) -> None:
    groups = [
        {"class": "input", "tags": ["loader"], "names": ["StepMarker"], "prefixes": ["shard::"]},
        {"class": "to_device", "prefixes": ["shard::push"], "suffixes": ["_toTpu"]},
        {"class": "input", "names": ["$next_batch"]},
    ]
    catalog = load_catalog(write_catalog(tmp_path, {"optional_prefixes": ["Our"], "groups": groups}))
    assert class_of(catalog, "StepMarker") == "input"
    assert catalog.tags("shard::read") == {"loader"}
    assert class_of(catalog, "shard::push_all") == "to_device", "the longest prefix wins"
    assert class_of(catalog, "a_toTpu") == "to_device"
    assert class_of(catalog, "OurTransferFromServer") == "from_device"
    assert class_of(catalog, "$loop.py:7 next_batch") == "input"
    assert class_of(catalog, "DeviceBarrier") == "wait"


@pytest.mark.parametrize(
    ("document", "location"),
    [
        ("{", "line 1, column 2"),
        ([], "top level"),
        (
            {"groups": [{"class": "dispatch", "names": ["a"]}, {"class": "idle", "names": ["a"]}]},
            "groups[1].class",
        ),
        ({"groups": [{"class": "unrecorded", "names": ["a"]}]}, "groups[0].class"),
        ({"groups": [{"names": ["a"]}]}, "groups[0]"),
        ({"groups": [{"class": "wait", "prefixes": [""]}]}, "groups[0].prefixes"),
        ({"groups": [{"class": "wait"}]}, "groups[0]"),
        (
            {"groups": [{"class": "input", "tags": ["loadr"], "names": ["a"]}]},
            "groups[0].tags: 'loadr' is not a tag",
        ),
        ({"groups": [3]}, "groups[0]"),
        ({"groups": [], "optional_prefixes": "Our"}, "optional_prefixes"),
    ],
)
def test_a_mistake_in_a_users_file_is_reported_with_its_location(
    tmp_path: Path, document: object, location: str
) -> None:
    path = write_catalog(tmp_path, document)
    with pytest.raises(InputError) as error:
        load_catalog(path)
    message = str(error.value)
    assert message.startswith(path)
    assert location in message
    assert "\n" not in message


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: cannot be read"):
        load_catalog(str(tmp_path / "none.json"))


def test_parts_of_a_compilation_are_distinguished_from_the_call_that_requests_it(catalog: Catalog) -> None:
    calls = (
        "XLAGraphExecutor::Compile",
        "backend_compile_and_load",
        "PjRtCpuClient::Compile",
        "TfrtTpuCompiler::Compile",
    )
    parts = (
        "FusionCompiler::Compile",
        "TpuCompiler::RunHloPasses",
        "HLO passes after layout assignment (jit_f)",
    )
    assert all(catalog.tags(name) == {"compile_call"} for name in calls)
    assert all(catalog.tags(name) == {"compile_part"} for name in parts)


def test_only_compiler_events_and_launches_are_recognised_by_the_text_before_a_module_name(
    catalog: Catalog,
) -> None:
    assert catalog.tags("dce (jit_f)") == {"pass"}
    assert catalog.tags("CommonPjRtLoadedExecutable::Execute (jit_f)") == {"launch"}
    assert not catalog.knows("TransferFromServer (jit_f)")
    assert not catalog.knows("forward (first)")
