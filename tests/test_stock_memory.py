"""The memory of programs compared with that of the stock profile plugin, on the same real files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from captures import real_trace
from test_stock_profiler import stock

from tb_xla_insights.files.open import open_source
from tb_xla_insights.xplane.hlo import read_program
from tb_xla_insights.xplane.hlo_memory import ProgramMemory, program_memory

MIB = 1 << 20


def our_memory(capture: Path) -> dict[str, ProgramMemory]:
    """The memory of all programs of a capture, whether they ran or not, by name and id."""
    trace = real_trace(capture)
    result = {}
    with open_source(trace.path) as source:
        for id_, location in trace.programs.items():
            proto = read_program(source, location)
            if memory := program_memory(proto.buffer_assignment, proto.hlo_module):
                result[f"{proto.hlo_module.name}({id_})"] = memory
    return result


def stock_memory(tmp_path: Path, capture: Path, module: str) -> Any:
    (original,) = capture.rglob("*.xplane.pb")
    copy = tmp_path / original.name
    if not copy.exists():
        shutil.copy(original, copy)
        stock.xspace_to_tool_names([str(copy)])  # extracts the programs
    data, _ = stock.xspace_to_tool_data([str(copy)], "memory_viewer", {"module_name": module})
    return json.loads(data)


@pytest.mark.parametrize(
    "capture",
    [
        "engines/hbm_peak", "public/tpu_v6e_jax", "public/gpu_mi300_jax", "other/mi300_jax08_attention",
        "other/mi355_te_fused_attn", "other/reactant_2xnvidia", "other/jax0.7.2_pmap", "other/jax0.9.2_block",
        "other/jax0.10.2_gc_pause", "torch_xla/spmd_fsdp_debug", "torch_xla/tiny_dynamic", "serving/sync",
    ],
)  # fmt: skip
def test_the_memory_of_all_programs_is_the_same(shared_traces: Path, tmp_path: Path, capture: str) -> None:
    memory = our_memory(shared_traces / capture)
    assert memory
    for name, ours in memory.items():
        theirs = stock_memory(tmp_path, shared_traces / capture, name)
        assert ours.total_bytes == theirs.get("totalBufferAllocationMib", 0) * MIB
        peak_bytes = theirs.get("peakHeapMib", 0) * MIB
        if ours.peak_bytes is None:
            assert ours.lasting_bytes == peak_bytes
            continue
        assert ours.peak_bytes == peak_bytes
        padding_bytes = sum(buffer.padding_bytes for buffer in ours.live)
        assert ours.peak_bytes - padding_bytes == theirs.get("peakUnpaddedHeapMib", 0) * MIB
