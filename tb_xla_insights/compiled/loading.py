"""Machine code into memory.

The code of a kernel asks for nothing but the addresses of its own parts. Importing LLVM to fill those in takes longer
than decoding thirty megabytes; so this file does it for what Linux has on x86-64, and LLVM for everything else.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from functools import cache
from struct import Struct, pack_into
from typing import Any

from tb_xla_insights.errors import InputError

# Of the ELF format: the header up to the number of sections, a section, a symbol, a place to fill in.
_HEADER, _SECTION, _SYMBOL, _PLACE = (
    Struct(it) for it in ("<16sHHIQQQIHHHHHH", "<IIQQQQIIQQ", "<IBBHQQ", "<QIIq")
)
_KIND = b"\x7fELF\x02\x01", 1, 62
"""Of 64 bits, the lowest byte first; not linked yet; for x86-64."""
_CONTENT, _SYMBOLS, _PLACES = 1, 2, 4
"""Kinds of sections."""
_OTHER_PLACES = 9, 0x40000014
"""Kinds of sections that are left to LLVM."""
_WRITABLE, _IN_MEMORY = 1, 2
"""Flags of sections, the latter of those that the code needs when it runs."""
_WHOLE_ADDRESS = 1
"""The kind of place that takes an address of 64 bits."""


def load(code: bytes, name: str) -> int:
    """The address of the function `name` of an object file, which stays in memory for good. Raises InputError where
    the system lets nobody make code."""
    image = _image(code, name) if sys.platform == "linux" else None
    if image is not None:
        return _placed(*image)
    from llvmlite import binding

    engine = _engine()
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(name))


@cache
def _engine() -> Any:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_triple(binding.get_process_triple()).create_target_machine()
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


def _image(code: bytes, name: str) -> tuple[bytearray, list[tuple[int, int]], int] | None:
    """What has to be in memory; where in it which parts' places have to be filled in; and the function's place. None
    for code that asks for more."""
    kind, type_, machine, _, _, _, at, _, _, _, _, each, count, _ = _HEADER.unpack_from(code)
    if (kind[:6], type_, machine, each) != (*_KIND, _SECTION.size):
        return None
    sections = [_SECTION.unpack_from(code, at + i * each) for i in range(count)]
    image, begins, function = bytearray(), dict[int, int](), None
    for number, (_, type_, flags, _, start, size, _, _, alignment, _) in enumerate(sections):
        if flags & _IN_MEMORY and size:
            if type_ != _CONTENT or flags & _WRITABLE:
                return None
            image += bytes(-len(image) % max(alignment, 1))
            begins[number] = len(image)
            image += code[start : start + size]
    asked = []
    for _, type_, _, _, start, size, link, target, _, _ in sections:
        content = code[start : start + size]
        if type_ == _SYMBOLS:
            for text, _, _, section, value, _ in _SYMBOL.iter_unpack(content):
                if section in begins and code.startswith(name.encode() + b"\0", sections[link][4] + text):
                    function = begins[section] + value
        elif type_ in _OTHER_PLACES and target in begins:
            return None
        elif type_ == _PLACES and target in begins:
            for place, how, symbol, more in _PLACE.iter_unpack(content):
                _, _, _, section, value, _ = _SYMBOL.unpack_from(
                    code, sections[link][4] + symbol * _SYMBOL.size
                )
                if how != _WHOLE_ADDRESS or section not in begins:
                    return None
                asked.append((begins[target] + place, begins[section] + value + more))
    return None if function is None else (image, asked, function)


def _placed(image: bytearray, asked: list[tuple[int, int]], function: int) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    # Not Python's own map, which would go when the interpreter ends while a thread may still be in it.
    library.mmap.restype = ctypes.c_void_p
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    size = ctypes.c_size_t(len(image))
    address = library.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, private, -1, ctypes.c_long(0))
    if address == ctypes.c_void_p(-1).value:
        raise _refusal()
    for place, part in asked:
        pack_into("<Q", image, place, address + part)
    ctypes.memmove(address, bytes(image), len(image))
    if library.mprotect(ctypes.c_void_p(address), size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise _refusal()
    return int(address) + function


def _refusal() -> InputError:
    reason = os.strerror(ctypes.get_errno())
    return InputError(
        f"this system lets no code be made in memory ({reason}), as compiled loops are; "
        "allow that to the process (SELinux: execmem, systemd: MemoryDenyWriteExecute=no)"
    )
