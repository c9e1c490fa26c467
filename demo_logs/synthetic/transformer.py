"""A transformer that keeps two TPU v6e cores busy: the FLOPs and bytes that its ops record are chosen.

PyTorch/XLA over PJRT. The session is generated. As in real programs, ops are near one of the two roofs, far from both,
or record neither FLOPs nor bytes; the tables below state their share of the roof.
"""

from dataclasses import dataclass
from pathlib import Path

from synthetic.flow_types import TPU_LAUNCH
from synthetic.hlo import Computation, HloModule, Instruction
from synthetic.times import MS, NS, US, jitter, ms
from synthetic.writer import EventMetadata, Plane, Space, Stat, Uint

RUN = "synthetic_transformer_2_tpu_cores"
SESSION = "2026_03_04_10_12_55_synthetic"
HOST = "t1v-n-31-w-0"
START_UNIX_NS = 1_772_619_175_000_000_000
NOTE = (
    "Written by demo_logs/synthetic, not recorded: a transformer on 2 TPU v6e cores, PyTorch/XLA over PJRT."
)
PROGRAM, PROGRAM_ID = "SyncTensorsGraph.7731", 9007199258811
CORES, STEPS, FIRST_STEP, LAYERS = 2, 6, 1201, 8
PERIOD_PS = 88 * MS
DEVICE_LAG_PS = 88_100 * US
"""How much later a step begins on the device than on the host, which launches it at the end of its own step."""

FLOPS_PER_PS, BYTES_PER_PS = 918, 1.638
STEP_SCOPE = "Training_Step.1/"
LAYER_SCOPE = f"{STEP_SCOPE}layers.4/"


@dataclass(frozen=True)
class Op:
    """An op of the program. `step_us` is the time of its `count` executions in a step, in microseconds. `intensity` is
    FLOPs per byte (0: no FLOPs; None: it records neither FLOPs nor bytes), and `roof_share` the share of the roof that
    it reaches."""

    name: str
    category: str
    scope: str
    count: int
    step_us: int
    intensity: float | None = None
    roof_share: float = 0.0
    source: str = ""

    @property
    def duration_ps(self) -> int:
        """The duration of one execution."""
        return self.step_us * US // self.count // NS * NS

    @property
    def amounts(self) -> tuple[int, int] | None:
        """FLOPs and bytes of one execution, None if it records neither."""
        if self.intensity is None:
            return None
        if not self.intensity:
            return 0, round(BYTES_PER_PS * self.roof_share * self.duration_ps)
        rate = min(FLOPS_PER_PS, self.intensity * BYTES_PER_PS) * self.roof_share
        return round(rate * self.duration_ps), round(rate * self.duration_ps / self.intensity)


def _layer(scope: str, file: str, *rows: tuple[str, str, int, float | None, float, int]) -> tuple[Op, ...]:
    return tuple(
        Op(name, category, LAYER_SCOPE + scope, 2 * LAYERS, step_us, intensity, roof_share,
             f"/opt/demo/model/{file}.py:{line}")
        for name, category, step_us, intensity, roof_share, line in rows
    )  # fmt: skip


MATMUL, FUSION = "convolution fusion", "loop fusion"
NORM = _layer(
    "norm.5", "norm",
    ("fusion.98", FUSION, 3_900, 1.6, 0.89, 19), ("fusion.1180", FUSION, 1_360, 1.1, 0.86, 23),
)  # fmt: skip
ATTENTION = _layer(
    "attention.6", "attention",
    ("dot.902", MATMUL, 4_200, 1180, 0.663, 61), ("custom-call.12", "custom-call", 1_744, None, 0, 73),
    ("dot.310", MATMUL, 6_850, 262, 0.46, 84), ("fusion.1042", FUSION, 11_620, 9, 0.56, 88),
    ("dot.318", MATMUL, 6_020, 148, 0.64, 91), ("fusion.1051", FUSION, 620, 2.1, 0.31, 95),
    ("transpose.7", "data formatting", 540, 0, 0.55, 96), ("fusion.1060", FUSION, 440, 3.4, 0.22, 97),
)  # fmt: skip
MLP = _layer(
    "mlp.7", "mlp",
    ("dot.411", MATMUL, 14_900, 1420, 0.81, 40), ("fusion.1077", FUSION, 3_900, 0.6, 0.91, 42),
    ("dot.417", MATMUL, 8_100, 3100, 0.78, 44), ("fusion.1081", FUSION, 906, 1.2, 0.35, 47),
)  # fmt: skip
EMBED = (
    Op("gather.4", "gather", f"{STEP_SCOPE}embed.3", 1, 1_012, 0.2, 0.41, "/opt/demo/model/embed.py:31"),
)
LOSS = (
    Op("dot.77", MATMUL, f"{STEP_SCOPE}loss.8", 2, 4_400, 890, 0.74, "/opt/demo/train.py:97"),
    Op("fusion.31", FUSION, f"{STEP_SCOPE}loss.8", 2, 1_700, 2.4, 0.88, "/opt/demo/train.py:101"),
    Op("reduce.6", "reduce", f"{STEP_SCOPE}loss.8", 2, 302, 1, 0.22, "/opt/demo/train.py:103"),
)
GRADIENTS, OPTIMIZER = (
    f"{STEP_SCOPE}FINISH_UPDATE.9/reduce_gradients.10",
    f"{STEP_SCOPE}FINISH_UPDATE.9/optimizer_step.11",
)
UPDATE = (
    Op("all-reduce.77", "all-reduce", GRADIENTS, 1, 4_914, source="/opt/demo/train.py:112"),
    Op("fusion.5001", FUSION, OPTIMIZER, 1, 4_606, 0.9, 0.92, "/opt/demo/optim/adamw.py:58"),
    Op("copy.12", "copy", "", 8, 1_400, 0, 0.84),
    Op("fusion.9", FUSION, "", 4, 866, 0.5, 0.18),
)  # fmt: skip
OPS = (*EMBED, *NORM, *ATTENTION, *MLP, *LOSS, *UPDATE)


@dataclass(frozen=True)
class TransformerTruth:
    """For one step on one core: own time by annotation (empty: none), FLOPs and bytes of all ops that record them, and
    the time of ops that record none."""

    own_ps: dict[str, int]
    flops: int
    nbytes: int
    uncounted_ps: int


def truth() -> TransformerTruth:
    own_ps: dict[str, int] = {}
    flops = nbytes = uncounted = 0
    for op in OPS:
        path = "/".join(segment.split(".")[0] for segment in op.scope.split("/")) if op.scope else ""
        own_ps[path] = own_ps.get(path, 0) + op.count * op.duration_ps
        if op.amounts is None:
            uncounted += op.count * op.duration_ps
        else:
            flops += op.count * op.amounts[0]
            nbytes += op.count * op.amounts[1]
    return TransformerTruth(own_ps, flops, nbytes, uncounted)


def path() -> Path:
    """The session's file, relative to the logdir."""
    return Path(RUN) / "plugins" / "profile" / SESSION / f"{HOST}.xplane.pb"


def build() -> Space:
    """The whole file."""
    space = Space(hostnames=[HOST])
    for core in range(CORES):
        _device(space, core)
    module = HloModule(PROGRAM, PROGRAM_ID, [Computation(1, "main", [*map(_instruction, range(len(OPS)))])])
    metadata = space.plane("/host:metadata", id=0)
    metadata.event_metadata(f"{PROGRAM}({PROGRAM_ID})", PROGRAM_ID, stats={"Hlo Proto": module.to_bytes()})
    _host(space.plane("/host:CPU", id=CORES + 1))
    environment = space.plane("Task Environment", id=CORES + 2)
    environment.stats["profile_start_time"] = Uint(START_UNIX_NS)
    environment.stats["synthetic"] = 1
    environment.stats["synthetic_note"] = NOTE
    return space


def _execution_order() -> list[Op]:
    """The executions of a step: forward through all layers, and back again."""
    layers = [op for _ in range(LAYERS) for op in (*NORM, *ATTENTION, *MLP)]
    rest = [op for op in UPDATE for _ in range(op.count)]
    return [*EMBED, *layers, *LOSS, *LOSS, *layers, *rest]


def _opcode(op: Op) -> str:
    return op.name.rsplit(".", 1)[0]


def _instruction(index: int) -> Instruction:
    op = OPS[index]
    file, _, line = op.source.partition(":")
    name = f"{op.scope}/aten__{_opcode(op)}" if op.scope else ""
    return Instruction(index + 1, op.name, _opcode(op), name, "", file, int(line or 0))


def _op_metadata(plane: Plane, op: Op) -> EventMetadata:
    stats: dict[str, Stat] = {"hlo_category": op.category, "program_id": Uint(PROGRAM_ID)}
    if op.amounts:
        stats |= {"flops": op.amounts[0], "model_flops": op.amounts[0], "bytes_accessed": op.amounts[1]}
    if op.scope:
        stats |= {"tf_op": f"{op.scope}/aten__{_opcode(op)}:", "source": op.source}
    text = f"%{op.name} = bf16[8,2048,4096]{{2,1,0}} {_opcode(op)}(%param.1)"
    return plane.event_metadata(text, display_name=op.name, stats=stats)


def _device(space: Space, core: int) -> None:
    plane = space.plane(f"/device:TPU:{core}", id=core + 1)
    plane.stats["device_type_string"] = "TPU v6 Lite"
    plane.stats["peak_teraflops_per_second"] = 918.0
    plane.stats["peak_hbm_bw_gigabytes_per_second"] = 1638.0
    modules, ops = plane.line("XLA Modules", 2), plane.line("XLA Ops", 3)
    metadata = {op.name: _op_metadata(plane, op) for op in OPS}
    executions = _execution_order()
    run_ps = sum(op.duration_ps for op in executions)
    for step in range(-1, STEPS):  # the first run was launched before the capture
        start = step * PERIOD_PS + DEVICE_LAG_PS + jitter(f"core {core} step {step}", 40 * US)
        flow = (step + 1) * CORES + core + 1
        modules.event(
            f"{PROGRAM}({PROGRAM_ID})", start, run_ps, run_id=Uint(500 + step), _ct=TPU_LAUNCH, _c=flow
        )
        for op in executions:
            ops.event(metadata[op.name], start, op.duration_ps)
            start += op.duration_ps


# The annotations and calls of a step on the host: name, begin and end in milliseconds; enclosing ones come first.
PHASES = (
    ("data_loading", 0.1, 1.9), ("embed", 2.0, 3.0), ("layers", 3.0, 19.0), ("loss", 19.0, 20.5),
    ("FINISH_UPDATE", 29.0, 36.0), ("reduce_gradients", 29.2, 30.4), ("optimizer_step", 30.4, 35.6),
    ("DeviceBarrier", 36.1, 84.5), ("StepMarker", 84.6, 87.7), ("SyncLiveTensorsGraph", 84.7, 87.6),
)  # fmt: skip


def _host(plane: Plane) -> None:
    main = plane.line("python", 7)
    for step in range(STEPS):
        start = step * PERIOD_PS
        main.event("Training_Step", start, PERIOD_PS - 100 * US, _r=1, step_num=FIRST_STEP + step)
        events = [(name, ms(begin), ms(end)) for name, begin, end in PHASES]
        for layer in range(LAYERS):
            begin = ms(3) + layer * 2 * MS
            parts = (("norm", 0, 200), ("attention", 200, 1_300), ("mlp", 1_300, 1_950))
            events += [(name, begin + first * US, begin + last * US) for name, first, last in parts]
        for name, begin, end in sorted(events, key=lambda event: (event[1], -event[2])):
            main.event(name, start + begin, end - begin)
        for core in range(CORES):
            flow = (step + 1) * CORES + core + 1
            main.event(
                "DoEnqueueProgram", start + ms(87.75) + core * 20 * US, 10 * US, _pt=TPU_LAUNCH, _p=flow
            )
