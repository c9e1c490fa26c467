"""Compiled programs of the synthetic sessions: their ops, in device order, and their HLO proto.

They imitate how scopes get lost on the way to a TPU. Ops traced on the main thread carry the whole scope path in their
metadata. A fusion may carry none, but its scope can be recovered from the fused instructions; that of a copy from its
operand. Ops of the backward pass have a bare op name, because scopes are per thread and autograd has its own thread.
Copies of parameters have no op name. The compiler orders ops by data flow, so the phases of the step are interleaved.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from synthetic.hlo import Computation, HloModule, Instruction
from synthetic.times import US, split
from synthetic.writer import EventMetadata, Plane, Stat, Uint

State = Literal["direct", "recovered", "bare", "none"]
SOURCE_ROOT = "/opt/demo/mmf/"
SHAPES = ("f32[128,768]{1,0}", "f32[128,3072]{1,0}", "bf16[8,100,256]{2,1,0}", "f32[8,256,25,34]{3,2,1,0}")
# The ops of each annotation in turn: opcode, operation as PyTorch/XLA names it, category as libtpu names it.
WORK: dict[str, tuple[tuple[str, str, str], ...]] = {
    "image_encoder": (
        ("convolution", "aten__convolution_overrideable", "convolution"),
        ("fusion", "aten__native_batch_norm", "loop fusion"),
        ("fusion", "aten__relu", "loop fusion"),
    ),
    "text_encoder": (
        ("dot", "aten__addmm", "convolution"),
        ("fusion", "aten__gelu", "loop fusion"),
        ("fusion", "aten__native_layer_norm", "loop fusion"),
    ),
    "decoder": (("dot", "aten__bmm", "convolution"), ("fusion", "aten___softmax", "loop fusion")),
    "losses": (("fusion", "aten__nll_loss_forward", "loop fusion"), ("reduce", "aten__sum", "reduce")),
    "reduce_gradients": (("all-reduce", "xla__cross_replica_sum", "all-reduce"),),
    "optimizer_step": (("fusion", "aten__add", "loop fusion"), ("fusion", "aten__addcdiv", "loop fusion")),
    "forward": (
        ("convolution", "aten__convolution_overrideable", "convolution"),
        ("fusion", "aten__native_batch_norm", "loop fusion"),
    ),
    "loss": (("fusion", "aten__nll_loss_forward", "loop fusion"), ("reduce", "aten__sum", "reduce")),
    "FINISH_UPDATE": (("fusion", "aten__add", "loop fusion"),),
    "Training_Step": (
        ("convolution", "aten__convolution_overrideable", "convolution"),
        ("fusion", "aten__relu", "loop fusion"),
    ),
    "": (
        ("convolution", "aten__convolution_backward_overrideable", "convolution"),
        ("fusion", "aten__threshold_backward", "loop fusion"),
        ("dot", "aten__mm", "convolution"),
    ),
}


@dataclass(frozen=True)
class Piece:
    """Consecutive ops of one program that belong to one scope (empty: none): their time by state."""

    scope: str
    direct_ps: int = 0
    recovered_ps: int = 0
    bare_ps: int = 0
    none_ps: int = 0

    @property
    def total_ps(self) -> int:
        return self.direct_ps + self.recovered_ps + self.bare_ps + self.none_ps


@dataclass(frozen=True)
class Op:
    """One op of a program. All runs of a program have the same ops; on a core that starts late, a collective is shorter
    than `duration_ps`."""

    name: str
    text: str
    duration_ps: int
    state: State
    scope: str
    stats: dict[str, Stat] = field(default_factory=dict)

    @property
    def is_collective(self) -> bool:
        return self.name.startswith("all-reduce")


class Program:
    """A module name, a program id, and ops laid end to end: a run has no idle moment inside."""

    def __init__(self, number: int, program_id: int, pieces: Sequence[Piece], op_ps: int = 800 * US) -> None:
        """`op_ps` is the approximate duration of an op, which determines the number of ops."""
        self.name = f"SyncTensorsGraph.{number}"
        self.program_id = program_id
        self.pieces = pieces
        self._op_ps = op_ps
        self.ops: list[Op] = []
        self._bodies: list[Computation] = []
        self._instructions: list[Instruction] = []
        for index, piece in enumerate(pieces):
            self._add_piece(index, piece)
        self.duration_ps = sum(op.duration_ps for op in self.ops)

    @property
    def event_name(self) -> str:
        return f"{self.name}({self.program_id})"

    @property
    def metadata_id(self) -> int:
        """The program id as the metadata plane keys it: reinterpreted as a signed number."""
        return self.program_id - (1 << 64) if self.program_id >= 1 << 63 else self.program_id

    def hlo(self) -> bytes:
        main = Computation(len(self._bodies) + 1, f"main.{self.name.rsplit('.')[-1]}", self._instructions)
        return HloModule(self.name, self.program_id, [*self._bodies, main]).to_bytes()

    def add_metadata(self, plane: Plane) -> list[EventMetadata]:
        """Adds the metadata of the ops to a device plane, and returns them in order."""
        first = len(plane.metadata) + 1
        return [
            plane.event_metadata(op.text, first + index, display_name=op.name, stats=op.stats)
            for index, op in enumerate(self.ops)
        ]

    def _add_piece(self, index: int, piece: Piece) -> None:
        times: tuple[tuple[State, int], ...] = (
            ("direct", piece.direct_ps),
            ("recovered", piece.recovered_ps),
            ("bare", piece.bare_ps),
            ("none", piece.none_ps),
        )
        ops: list[tuple[int, State, int]] = []  # position in the piece in thousandths, state, duration
        for state, total_ps in times:
            if total_ps:
                is_collective = piece.scope.endswith("reduce_gradients.1")
                count = 1 if is_collective else max(1, total_ps // self._op_ps)
                sizes = split(total_ps, count, f"{self.name}/{index}/{state}")
                ops += [(number * 1000 // count, state, size) for number, size in enumerate(sizes)]
        for _, state, size in sorted(ops, key=lambda op: op[0]):
            self._add_op(piece.scope, state, size)

    def _add_op(self, scope: str, state: State, duration_ps: int) -> None:
        index = len(self.ops)
        number = 37 + 13 * index + self.program_id % 97
        leaf = scope.rsplit("/")[-1].split(".")[0]
        opcode, torch_op, category = WORK[leaf][index % len(WORK[leaf])]
        if state == "recovered":
            opcode, category = ("copy", "copy") if index % 5 == 0 else ("fusion", "loop fusion")
        elif state == "none":
            opcode, category = "copy", "copy"
        name, shape = f"{opcode}.{number}", SHAPES[index % len(SHAPES)]
        path = f"{scope}/{torch_op}" if scope else torch_op
        instruction = Instruction(index + 1, name, opcode)
        operand = f"%param.{index}"
        if state in ("direct", "bare"):
            instruction.op_name, instruction.op_type = path, torch_op
            instruction.source_file, instruction.source_line = f"{SOURCE_ROOT}unit.py", 100 + index
        if opcode == "copy" and state == "recovered":  # its scope can be derived from its operand
            producer = next(op for op in reversed(self._instructions) if op.op_name.startswith(f"{scope}/"))
            instruction.operands, operand = [producer.id], f"%{producer.name}"
        text = f"%{name} = {shape} {opcode}({operand})"
        if opcode == "fusion":
            body = Computation(len(self._bodies) + 1, f"fused_computation.{number}")
            inner = Instruction(10_000 + index, f"multiply.{number}", "multiply")
            inner.op_name, inner.op_type = path, torch_op
            body.instructions.append(inner)
            self._bodies.append(body)
            instruction.calls = [body.id]
            text += f", kind=kLoop, calls=%{body.name}"
        elif opcode == "all-reduce":
            text += ", replica_groups={{0,1,2,3,4,5,6,7}}, to_apply=%add"
        self._instructions.append(instruction)
        self.ops.append(
            Op(name, text, duration_ps, state, scope, self._stats(instruction, category, duration_ps))
        )

    def _stats(self, instruction: Instruction, category: str, duration_ps: int) -> dict[str, Stat]:
        stats: dict[str, Stat] = {"hlo_category": category, "program_id": Uint(self.program_id)}
        stats["symbol_id"] = Uint(instruction.id)
        if category == "convolution":
            stats["flops"] = duration_ps // US * 21_000_000
        stats["bytes_accessed"] = duration_ps // US * 410_000
        if instruction.op_name:
            stats["tf_op"] = f"{instruction.op_name}:{instruction.op_type}"
            stats["source"] = f"{instruction.source_file}:{instruction.source_line}"
        return stats
