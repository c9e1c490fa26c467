"""The compiled loop of HighwayHash, whose 64-bit values protect headers and data of Riegeli files.

Four lanes of 64 bits have a state of four words each. Every 32 bytes of the data change it, one word per lane.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy

_ORDER = cython.declare(uint8_t[16])
_ORDER[:] = [3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7]
"""How the bytes of two neighbouring lanes change places."""

_State = cython.struct(v0=uint64_t[4], v1=uint64_t[4], mul0=uint64_t[4], mul1=uint64_t[4])


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _swap_halves(word: uint64_t) -> uint64_t:
    return word << 32 | word >> 32


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _add_shuffled(target: cython.pointer[uint64_t], source: cython.pointer[uint64_t]) -> cython.void:
    """Adds the four words of `source`, with the bytes of each pair of lanes in another order, to those of `target`."""
    mixed = cython.declare(uint64_t[4])
    source_bytes = cython.cast(cython.pointer[uint8_t], source)
    mixed_bytes = cython.cast(cython.pointer[uint8_t], mixed)
    i: cython.int
    for i in range(16):
        mixed_bytes[i] = source_bytes[_ORDER[i]]
        mixed_bytes[16 + i] = source_bytes[16 + _ORDER[i]]
    for i in range(4):
        target[i] += mixed[i]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _update(state: cython.pointer[_State], words: cython.pointer[uint64_t]) -> cython.void:
    i: cython.int
    low: uint64_t = 0xFFFFFFFF
    for i in range(4):
        state.v1[i] += state.mul0[i] + words[i]
        state.mul0[i] ^= (state.v1[i] & low) * (state.v0[i] >> 32)
        state.v0[i] += state.mul1[i]
        state.mul1[i] ^= (state.v0[i] & low) * (state.v1[i] >> 32)
    _add_shuffled(state.v0, state.v1)
    _add_shuffled(state.v1, state.v0)


def highway_hash(data: bytes, key: bytes) -> int:
    """HighwayHash-64 of `data` with a key of 32 bytes."""
    if len(key) != 32:
        raise ValueError("the key must have 32 bytes")
    state = cython.declare(_State)
    words = cython.declare(uint64_t[4])
    block = cython.declare(uint8_t[32])
    start0: uint64_t[4] = [0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3]
    start1: uint64_t[4] = [0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377]
    content = cython.cast(cython.pointer[cython.const[uint8_t]], data)
    size: cython.Py_ssize_t = len(data)
    i: cython.int
    position: cython.Py_ssize_t
    memcpy(words, cython.cast(cython.pointer[cython.const[uint8_t]], key), 32)
    for i in range(4):
        state.mul0[i] = start0[i]
        state.mul1[i] = start1[i]
        state.v0[i] = start0[i] ^ words[i]
        state.v1[i] = start1[i] ^ _swap_halves(words[i])
    with cython.nogil:
        for position in range(0, size - size % 32, 32):
            memcpy(words, content + position, 32)
            _update(cython.address(state), words)
    rest: cython.int = size % 32
    if rest:
        tail = content + (size - rest)
        whole: cython.int = rest - rest % 4
        for i in range(4):
            state.v0[i] += cython.cast(uint64_t, rest) << 32 | rest
            low: uint32_t = cython.cast(uint32_t, state.v1[i])
            high: uint32_t = cython.cast(uint32_t, state.v1[i] >> 32)
            low = low << rest | low >> (32 - rest)
            high = high << rest | high >> (32 - rest)
            state.v1[i] = cython.cast(uint64_t, high) << 32 | low
        for i in range(32):
            block[i] = tail[i] if i < whole else 0
        if rest & 16:  # the last four bytes of the data
            for i in range(4):
                block[28 + i] = tail[rest - 4 + i]
        elif rest % 4:  # the first, the middle and the last of the bytes behind the last whole word
            block[16] = tail[whole]
            block[17] = tail[whole + (rest % 4 >> 1)]
            block[18] = tail[rest - 1]
        memcpy(words, block, 32)
        _update(cython.address(state), words)
    for _ in range(4):
        for i in range(4):
            words[i] = _swap_halves(state.v0[i ^ 2])
        _update(cython.address(state), words)
    return state.v0[0] + state.v1[0] + state.mul0[0] + state.mul1[0]
