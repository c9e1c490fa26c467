"""Picoseconds, and numbers that look measured but are the same on every machine."""

import hashlib
from zlib import crc32

NS, US, MS = 1_000, 1_000_000, 1_000_000_000


def ms(value: float) -> int:
    """Milliseconds as written in a table, six decimals at most, as exact picoseconds."""
    return round(value * 1_000_000) * NS


def jitter(key: str, reach_ps: int) -> int:
    """A whole number of nanoseconds between minus and plus `reach_ps`, decided by the key alone."""
    reach_ns = reach_ps // NS
    return (crc32(key.encode()) % (2 * reach_ns + 1) - reach_ns) * NS


def split(total_ps: int, parts: int, key: str) -> list[int]:
    """Uneven parts, whole nanoseconds each, that add up to the total; the key decides how uneven."""
    weights = [100 + crc32(f"{key}/{part}".encode()) % 300 for part in range(parts)]
    sizes = [total_ps * weight // sum(weights) // NS * NS for weight in weights]
    sizes[-1] += total_ps - sum(sizes)
    return sizes


def hash64(key: str) -> int:
    """A signed 64-bit number, as profilers use for flow ids and fingerprints."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little", signed=True)
