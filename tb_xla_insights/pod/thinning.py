"""Limits the collectives of a long capture, with the same choice on every host. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.collective_columns import HostCollectives, occurrence_index

MAX_ROWS = 20_000
"""Rows of one host's collectives: 54 bytes each, so about 1 MB."""

_MAX_HALVINGS = 16


def limit_rows(host: HostCollectives, max_rows: int) -> HostCollectives:
    """Returns a host's collectives in at most `max_rows` rows.

    Every host makes the same choice without communication. First it keeps a half, a quarter, … of the instructions, by
    a hash of their names, and always the first and the last instruction of a program: a late host is late in the first.
    If that does not suffice, it drops the last repetitions of loops, then the last runs.
    """
    if len(host) <= max_rows:
        return host
    halvings, is_first_or_last = 0, _first_and_last(host)
    hashes = np.array(
        [crc32(f"{instruction.program}/{instruction.name}".encode()) for instruction in host.instructions],
        np.int64,
    )
    limited = host
    while len(limited) > max_rows and halvings < _MAX_HALVINGS:
        halvings += 1
        is_selected = is_first_or_last | (hashes & ((1 << halvings) - 1) == 0)
        limited = host.select(is_selected[host.instruction])
    while len(limited) > max_rows and limited.repetition.max():
        limited = limited.select(limited.repetition <= limited.repetition.max() // 2)
    if len(limited) > max_rows:
        end_run = int(np.sort(limited.run)[max_rows])
        limited = limited.select(limited.run < end_run)
    return limited


def _first_and_last(host: HostCollectives) -> NDArray[np.bool_]:
    """Returns, per instruction, whether it is the first or the last one in any run of its program."""
    order = np.lexsort((host.begin_ps, host.run, host.core))
    index_in_run = occurrence_index(host.core[order], host.run[order])
    first = np.flatnonzero(index_in_run == 0)
    last = np.append(first[1:], len(order)) - 1
    is_first_or_last = np.zeros(len(host.instructions), np.bool_)
    is_first_or_last[host.instruction[order[np.concatenate((first, last))]]] = True
    return is_first_or_last
