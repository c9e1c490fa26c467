"""Reads from a capture the programs that ran."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.hlo_scopes import ProgramOrigins
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.source import Frames
from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.files.source import Source
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.xplane.hlo import read_program
from tb_xla_insights.xplane.hlo_copies import ParameterCopy, undonated_copies
from tb_xla_insights.xplane.hlo_memory import DamagedBuffersError, ProgramMemory, program_memory
from tb_xla_insights.xplane.open_capture import open_capture


def module_names(trace: Trace) -> dict[str, str]:
    """The module's name by program id (an unsigned decimal string), for the programs of runs."""
    names = {id_: name for name, id_ in find_launches(trace).programs if id_}
    return {str(int(id_) % 2**64): name for id_, name in names.items()}


def programs_have_scopes(trace: Trace) -> bool:
    """Whether a program that ran has a scope. False unless all devices are derived from host events, whose ops have no
    scopes of their own."""
    modules = module_names(trace)
    if not trace.programs or not all(device.from_host_events for device in trace.devices):
        return False
    with ProgramReader(trace, host_annotations(trace).paths.names, modules) as reader:
        programs = (reader.program(id_) for id_ in modules if int(id_) in trace.programs)
        return any(program is not None and any(program.working_scopes()) for program in programs)


@dataclass(frozen=True)
class ScopedMemory:
    """The memory of one program. `scopes`: of each of `needs.live`, the scope of its value; of a parameter, the op name
    that it has instead."""

    needs: ProgramMemory
    scopes: list[str]


class ProgramReader:
    """Reads programs, collects their scopes, frames, copies and memory, and records problems. `names`: the names of the
    user's annotations; `modules`: see `module_names`."""

    def __init__(self, trace: Trace, names: frozenset[str], modules: dict[str, str]) -> None:
        self.working_scopes: set[str] = set()
        self.frames: dict[str, Frames] = {}
        self.undonated_copies: dict[str, dict[str, ParameterCopy]] = {}
        self.memory: dict[str, ScopedMemory] = {}
        self._trace, self._names, self._modules = trace, names, modules
        # For a TPU's ops, the file itself has bytes and shapes.
        self._with_shapes = not any("bytes_accessed" in stats for stats in trace.metadata.stats)
        self._source: Source | None = None
        self._open_error = ""
        self._problems: dict[str, list[str]] = {}
        self._memory_problems: dict[str, list[str]] = {}

    def __enter__(self) -> ProgramReader:
        try:
            if self._trace.programs:
                self._source = open_capture(self._trace.path)
                if self._source.fingerprint != self._trace.fingerprint:
                    self._open_error = "the file has changed since it was read; reload the session"
        except InputError as error:
            self._open_error = str(error)
        return self

    def __exit__(self, *_: object) -> None:
        if self._source is not None:
            self._source.close()

    def program(self, id_: str) -> ProgramOrigins | None:
        """The program with an id; None if it could not be read, which is recorded for `diagnostics`."""
        location = self._trace.programs.get(int(id_))
        if location is None:
            self._record_problem("are not in the file", id_)
            return None
        if self._open_error or self._source is None:
            self._record_problem(f"could not be read ({self._open_error})", id_)
            return None
        try:
            proto = read_program(self._source, location)
        except InputError:
            self._record_problem("are truncated or damaged", id_)
            return None
        module = proto.hlo_module
        if id_ in self._modules and module.name and module.name != self._modules[id_]:
            self._record_problem("belong to other programs", id_)
            return None
        return ProgramOrigins(module, self._names, self._with_shapes, proto.buffer_assignment)

    def collect(self, id_: str, program: ProgramOrigins) -> None:
        """Collects the scopes, frames, copies and memory of a program, so that the program itself can be freed."""
        self.working_scopes |= program.working_scopes()
        self.frames[id_] = Frames(program.module.stack_frame_index)
        self.undonated_copies[id_] = undonated_copies(program.module)
        if program.damaged:
            self._record_problem(
                "have computations that call themselves, or calls of computations that do not exist", id_
            )
        self.collect_memory(id_, program)

    def programs_without(self, ids: Iterable[str]) -> list[str]:
        """The ids of the programs that ran and are in the file, except for some."""
        others = self._modules.keys() - ids
        return [id_ for id_ in self._modules if id_ in others and int(id_) in self._trace.programs]

    def collect_memory(self, id_: str, program: ProgramOrigins) -> None:
        """Collects the memory of a program."""
        try:
            memory = program_memory(program.buffers, program.module)
        except DamagedBuffersError as error:
            self._record(self._memory_problems, str(error), id_)
            return
        if memory is not None:
            # A tuple has a buffer for each of its parts.
            scope_of_value = cache(program.scope_of_value)
            scopes = [
                program.origin(buffer.instruction).op_name
                if buffer.is_parameter
                else scope_of_value(buffer.instruction)
                for buffer in memory.live
            ]
            self.memory[id_] = ScopedMemory(memory, scopes)
            if memory.damaged:
                self._record(self._memory_problems, memory.damaged, id_)

    def _record_problem(self, problem: str, id_: str) -> None:
        self._record(self._problems, problem, id_)

    def _record(self, problems: dict[str, list[str]], problem: str, id_: str) -> None:
        problems.setdefault(problem, []).append(self._modules.get(id_, f"program {id_}"))

    def diagnostics(self) -> list[Diagnostic]:
        """At most one diagnostic for all programs with problems, and one for all with problems of memory."""
        diagnostics = []
        if self._trace.programs or self._open_error:
            diagnostics += self._diagnostic(
                "no_hlo_scopes", "HLO protos", self._problems, "Scopes of their ops may be missing."
            )
        return diagnostics + self._diagnostic(
            "damaged_buffers",
            "Buffer assignments",
            self._memory_problems,
            "Their peak of memory is not known.",
        )

    def _diagnostic(
        self, id_: str, what: str, problems: dict[str, list[str]], consequence: str
    ) -> list[Diagnostic]:
        texts = []
        for problem, programs in problems.items():
            names = ", ".join(programs[:3]) + (", …" if len(programs) > 3 else "")
            texts.append(f"{what} of {len(programs)} of the programs that ran {problem}: {names}")
        text = f"{'; '.join(texts)}. {consequence}"
        return (
            [Diagnostic(id_, "warning", text, self._trace.host, variant="; ".join(problems))] if texts else []
        )
