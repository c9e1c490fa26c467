"""The loops of the trace over events, compiled: how they nest, what led to what, which regions hold them.

Arrays are the caller's: those that a kernel only reads come first, those that it fills, or changes, come last.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.stdint import int32_t, int64_t
from cython.cimports.tb_xla_insights.arrays import (
    Bools,
    Int8,
    Int32,
    Int64,
    OutBools,
    OutInt8,
    OutInt16,
    OutInt32,
    OutInt64,
)

cython.declare(REGION_START=cython.int, REGION_STOP=cython.int, HELPER=cython.int, EXECUTE=cython.int)
cython.declare(
    COMPLETION=cython.int, END=cython.int, CANDIDATE=cython.int, TRANSPARENT=cython.int, PASS=cython.int
)
cython.declare(WHOLE=cython.int, READY=cython.int, NO=cython.int, YES=cython.int, THROUGH=cython.int)
from tb_xla_insights.trace.codes import (  # noqa: E402
    CANDIDATE,
    COMPLETION,
    END,
    EXECUTE,
    HELPER,
    NO,
    PASS,
    READY,
    REGION_START,
    REGION_STOP,
    THROUGH,
    TRANSPARENT,
    WHOLE,
    YES,
)


def nest(
    start: Int64, duration: Int64, first: int64_t, count: int64_t,
    depth: OutInt16, parent: OutInt32, stack: OutInt32, ends: OutInt64,
) -> None:  # fmt: skip
    """Nests the rows `first` to `first + count - 1`, which are sorted by start, the longer first.

    `stack` holds the open rows, `ends` where they end.
    """
    open_rows: cython.Py_ssize_t = 0
    with cython.nogil:
        for row in range(first, first + count):
            begin = start[row]
            finish = begin + duration[row]
            while (
                open_rows > 0
                and ends[open_rows - 1] <= begin
                and (finish > begin or ends[open_rows - 1] < begin or start[stack[open_rows - 1]] == begin)
            ):
                open_rows -= 1
            # Only an event that lies wholly inside another is its child; one that merely overlaps it stands
            # beside it.
            level = open_rows - 1
            while level >= 0 and ends[level] < finish:
                level -= 1
            parent[row] = stack[level] if level >= 0 else -1
            # Overlapping events stay open as well, so that what is drawn by depth never covers another.
            depth[row] = open_rows
            if open_rows == len(stack):
                open_rows -= 1  # deeper than any call stack: the deepest ones share a depth
            stack[open_rows], ends[open_rows] = row, finish
            open_rows += 1


def climb(parent: Int32, member: Bools, found: OutInt32) -> None:
    """Of each row itself or its nearest ancestor, whichever is a member; -1: neither is. Parents come before what they
    enclose."""
    with cython.nogil:
        for row in range(len(parent)):
            if member[row]:
                found[row] = row
            else:
                found[row] = found[parent[row]] if parent[row] >= 0 else -1


def span(start: Int64, duration: Int64) -> tuple[int, int]:
    """Start of the first and end of the last event; (0, 0) without events. NumPy would first make a column of ends."""
    first: int64_t = start[0] if len(start) else 0
    last: int64_t = first
    with cython.nogil:
        for row in range(len(start)):
            first = min(first, start[row])
            last = max(last, start[row] + duration[row])
    return first, last


def in_order(start: Int64, duration: Int64) -> bool:
    """Whether events are sorted by start, the longer first."""
    sorted_: cython.bint = True
    with cython.nogil:
        for row in range(1, len(start)):
            if start[row] < start[row - 1] or (
                start[row] == start[row - 1] and duration[row] > duration[row - 1]
            ):
                sorted_ = False
                break
    return sorted_


def self_times(
    start: Int64, duration: Int64, parent: Int32, first: int64_t, own: OutInt64, covered: OutInt64
) -> None:
    """Takes the children off `own`; they are covered up to `covered`, at first the events' starts."""
    with cython.nogil:
        for i in range(len(start)):
            above = parent[i] - first
            end = start[i] + duration[i]
            if above >= 0 and end > covered[above]:
                own[above] -= end - max(start[i], covered[above])
                covered[above] = end


def look_up(told: Int8, meta: Int32, found: OutInt8) -> None:
    """What is told of each event's entry."""
    with cython.nogil:
        for row in range(len(meta)):
            found[row] = told[meta[row]]


def look_up_texts(texts: Int32, meta: Int32, found: OutInt32) -> None:
    """The text of each event's entry; -1 stands for the last."""
    with cython.nogil:
        for row in range(len(meta)):
            found[row] = texts[meta[row]]


def count_entries(meta: Int32, found: OutInt64) -> None:
    """Adds up how many events are of each entry."""
    with cython.nogil:
        for row in range(len(meta)):
            found[meta[row]] += 1


_STEP = cython.declare(cython.Py_ssize_t, 17)
"""Of the search in a table of flows. Odd, so that it leads to every slot; neighbours stay neighbours."""


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _slot(id_: int64_t, kind: int32_t, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where a flow stands in a hash table of 2^n slots. Writers count ids up: sixteen neighbours share a line of the
    processor's cache."""
    odd: int64_t = -7046029254386353131  # spreads neighbours over the table
    spread = ((id_ >> 4) * 31 + kind) * odd
    return ((spread >> 32) & ~15 | (id_ ^ spread >> 28) & 15) & (size - 1)


def enter_producers(kind: Int32, id_: Int64, head: OutInt32, slots: OutInt32) -> int:
    """Enters producers into a table of slots, a power of two of them, all -1. `head[i]`: the first producer with the
    flow of producer i (i itself for most). Returns how many are not the first one."""
    again: cython.Py_ssize_t = 0
    mask: cython.Py_ssize_t = len(slots) - 1
    with cython.nogil:
        for index in range(len(id_)):
            slot = _slot(id_[index], kind[index], len(slots))
            while slots[slot] >= 0 and (id_[slots[slot]] != id_[index] or kind[slots[slot]] != kind[index]):
                slot = (slot + _STEP) & mask
            if slots[slot] < 0:
                slots[slot] = index
            else:
                again += 1
            head[index] = slots[slot]
    return again


def find_producers(
    made_kind: Int32, made_id: Int64, slots: Int32, kind: Int32, id_: Int64, found: OutInt32
) -> None:
    """`found[i]`: the first producer with the flow of consumer i, -1 where there is none."""
    mask: cython.Py_ssize_t = len(slots) - 1
    with cython.nogil:
        for index in range(len(id_)):
            slot = _slot(id_[index], kind[index], len(slots))
            while slots[slot] >= 0 and (
                made_id[slots[slot]] != id_[index] or made_kind[slots[slot]] != kind[index]
            ):
                slot = (slot + _STEP) & mask
            found[index] = slots[slot]


def join_rows(made_row: Int32, used_row: Int32, found: OutInt32, consumer: OutInt32) -> int:
    """The rows of both ends of the flows that have two, and lead to another event; `found` becomes those of the
    producers. Returns how many they are."""
    made: cython.Py_ssize_t = 0
    with cython.nogil:
        for index in range(len(found)):
            if found[index] >= 0 and made_row[found[index]] != used_row[index]:
                found[made], consumer[made] = made_row[found[index]], used_row[index]
                made += 1
    return made


def find_regions(
    first: int64_t, count: int64_t, mark: Int8, start: Int64, duration: Int64, regions: int64_t, of_row: OutInt32,
    row: OutInt32, region_start: OutInt64, region_end: OutInt64, complete: OutInt64, outer: OutInt32,
    runs: OutBools, stack: OutInt32,
) -> int:  # fmt: skip
    """Finds the regions of one line, numbered from `regions` on. Returns the number of regions so far. `stack` holds
    the open ones, and `region_end` when each ends (-1: where its `StopRegion` is).

    Where a run ends whose beginning was not recorded, it began with the `ThunkExecutor::Execute` before, or with the
    waiting itself.
    """
    depth: cython.Py_ssize_t = 0
    executes: int64_t = -1
    with cython.nogil:
        for event in range(first, first + count):
            end = start[event] + duration[event]
            while depth > 0 and 0 <= region_end[stack[depth - 1]] <= start[event]:
                depth -= 1
            kind = mark[event]
            if kind == REGION_STOP:
                while (
                    depth > 0 and region_end[stack[depth - 1]] >= 0
                ):  # an inline run inside the region that ends
                    depth -= 1
                if depth > 0:
                    depth -= 1
                executes = -1
            elif (kind == REGION_START or kind == HELPER or kind == WHOLE) and depth < len(stack):
                row[regions], region_start[regions] = event, start[event]
                region_end[regions] = -1 if kind == REGION_START else end
                runs[regions] = kind == WHOLE
                complete[regions] = end if kind == WHOLE else 0
                outer[regions] = stack[depth - 1] if depth > 0 else -1
                stack[depth] = regions
                depth += 1
                regions += 1
                executes = -1
            elif kind == EXECUTE:
                executes = event
            elif kind == READY and depth > 0:
                if mark[row[stack[depth - 1]]] == WHOLE:
                    complete[stack[depth - 1]] = end
            elif kind == COMPLETION and depth > 0:
                runs[stack[depth - 1]] = True
                complete[stack[depth - 1]] = end
            elif kind == COMPLETION:
                begin = executes if executes >= 0 else event
                row[regions], region_start[regions], region_end[regions] = begin, start[begin], end
                outer[regions], runs[regions], complete[regions] = -1, True, end
                for inside in range(begin, event):
                    of_row[inside] = regions
                stack[depth] = regions
                depth += 1
                regions += 1
            of_row[event] = stack[depth - 1] if depth > 0 else -1
    return regions


def resolve_runs(outer: Int32, source: Int32, runs: Bools, of_row: Int32, run: OutInt32) -> None:
    """The run each region is part of: itself, or the one that its flow reaches first. A region starts from
    the event that its flow comes from, or else from the region around it."""
    with cython.nogil:
        for region in range(len(outer)):
            at: int32_t = region
            steps: cython.Py_ssize_t = 0
            while at >= 0 and not runs[at] and run[at] < 0 and steps <= len(outer):
                at = of_row[source[at]] if source[at] >= 0 else outer[at]
                steps += 1
            if at >= 0 and steps <= len(outer):
                run[region] = at if runs[at] else run[at]


def judge_annotations(
    states: Int8, marked: Bools, ops: Bools, parents: Int32, first: int64_t, verdict: OutInt8
) -> None:
    """Says for each event of a line whether it is an annotation; `parents` are rows of the trace, `first` the line's
    first. Verdicts begin as `NO`."""
    with cython.nogil:
        for i in range(len(states)):
            above = THROUGH if parents[i] < 0 else verdict[parents[i] - first]
            state = states[i]
            if marked[i]:
                verdict[i] = YES
            elif above == NO or ops[i]:
                verdict[i] = NO
            elif state == CANDIDATE or (state == PASS and above == YES):
                verdict[i] = YES
            elif state == TRANSPARENT:
                verdict[i] = THROUGH


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _before(row: int32_t, parent: Int32) -> int32_t:
    """The event before another one on its thread and level, -1: none; of a thread's first event it is one of another
    thread."""
    at = row - 1
    while at >= 0 and parent[at] != parent[row]:
        at = parent[at]
    return at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _repeats(
    row: int32_t, until: int64_t, execute: int32_t, start: Int64, parent: Int32, mark: Int8, meta: Int32
) -> cython.bint:
    """Whether an `Execute` is another round of a loop: an op that executes a program in its event (which ends at
    `until`), and in that the op with which the `Execute` begins."""
    first: cython.Py_ssize_t = execute + 1
    executes: cython.bint = False
    begins_alike: cython.bint = first >= len(start) or parent[first] != execute
    at: cython.Py_ssize_t = row + 1
    while at < len(start) and parent[at] >= row and start[at] < until:
        executes |= mark[meta[at]] == EXECUTE
        begins_alike |= first < len(start) and meta[at] == meta[first]
        at += 1
    return executes and begins_alike


def time_ops(
    ops: Int32, start: Int64, duration: Int64, parent: Int32, meta: Int32, mark: Int8, consumer_of: Int32,
    of_row: Int32, run_of: Int32, run_end: Int64, op_start: OutInt64, op_end: OutInt64, op_run: OutInt32,
) -> None:  # fmt: skip
    """When each op starts and ends, and its run, as `cpu_ops.op_times`."""
    with cython.nogil:
        for i in range(len(ops)):
            row = ops[i]
            region = of_row[row]
            run: int32_t = run_of[region] if region >= 0 else -1
            ended = consumer_of[row]
            until = start[row] + duration[row]
            if ended >= 0:
                event_end, until = until, start[ended]
                at = ended
                while at >= 0 and mark[meta[at]] == END and of_row[at] == of_row[ended]:
                    at = _before(at, parent)
                if (
                    at >= 0
                    and mark[meta[at]] == EXECUTE
                    and of_row[at] == of_row[ended]
                    and of_row[at] >= 0
                    and event_end <= start[at] < until
                    and not _repeats(row, event_end, at, start, parent, mark, meta)
                ):
                    until = start[at]
            if run >= 0:
                until = min(until, run_end[run])
            op_start[i], op_run[i] = start[row], run
            op_end[i] = max(until, start[row])  # flows of a damaged file may lead back in time


def find_launches(
    which: Int32, calls: Bools, inner: cython.bint, meta: Int32, parent: Int32, row: Int32, outer: Int32,
    source: Int32, of_row: Int32, runs: Bools, seen: OutInt32, found: OutInt32,
) -> None:  # fmt: skip
    """The outermost execute call on the way back from each run; with `inner` the innermost. The way of a flow ends at
    another run: a run that had to queue was let go by the run before it. `seen`: for which run each region was met
    last, at first -1."""
    with cython.nogil:
        for i in range(len(which)):
            region = which[i]
            while region >= 0 and seen[region] != i and (region == which[i] or not runs[region]):
                seen[region] = i
                record = source[region]
                at = record if record >= 0 else row[region]
                while at >= 0:
                    if calls[meta[at]] and not (inner and found[i] >= 0):
                        found[i] = at
                    at = parent[at]
                region = of_row[record] if record >= 0 else outer[region]
