"""A long capture's collectives made fewer, the same ones on every host. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.collective_columns import HostCollectives, counted

MOST_ROWS = 20_000
"""Rows of one host's collectives: 54 bytes each, so about 1 MB."""


def thinned(host: HostCollectives, most_rows: int) -> HostCollectives:
    """A host's collectives in at most so many rows. Every host makes the same choice without asking the others: a half,
    a quarter, … of the instructions, by a hash of their names, and always the first and the last one of a program, as
    a host that comes late does so in the first; then the last repetitions of loops; then the last runs."""
    if len(host) <= most_rows:
        return host
    level, ends = 0, _first_and_last(host)
    hashes = np.array([crc32(f"{it.program}/{it.name}".encode()) for it in host.instructions], np.int64)
    kept = host
    while len(kept) > most_rows and level < 16:
        level += 1
        some = ends | (hashes & ((1 << level) - 1) == 0)
        kept = host.chosen(some[host.instruction])
    while len(kept) > most_rows and kept.repetition.max():
        kept = kept.chosen(kept.repetition <= kept.repetition.max() // 2)
    if len(kept) > most_rows:
        latest = int(np.sort(kept.run)[most_rows])
        kept = kept.chosen(kept.run < latest)
    return kept


def _first_and_last(host: HostCollectives) -> NDArray[np.bool_]:
    """Which instructions come first or last in runs of their program."""
    order = np.lexsort((host.begin_ps, host.run, host.core))
    of_run = counted(host.core[order], host.run[order])
    first = np.flatnonzero(of_run == 0)
    last = np.append(first[1:], len(order)) - 1
    chosen = np.zeros(len(host.instructions), np.bool_)
    chosen[host.instruction[order[np.concatenate((first, last))]]] = True
    return chosen
