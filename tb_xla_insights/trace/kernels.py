"""The trace's loops over events, compiled: nesting, look-ups, flows, regions, annotations, and the times of ops.

The caller owns all arrays. Arrays that a kernel only reads come first, arrays that it writes last.
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
cython.declare(WHOLE_RUN=cython.int, READY=cython.int)
cython.declare(NOT_ANNOTATION=cython.int, ANNOTATION=cython.int, MAY_ENCLOSE=cython.int)
from tb_xla_insights.trace.codes import (  # noqa: E402
    ANNOTATION,
    CANDIDATE,
    COMPLETION,
    END,
    EXECUTE,
    HELPER,
    MAY_ENCLOSE,
    NOT_ANNOTATION,
    PASS,
    READY,
    REGION_START,
    REGION_STOP,
    TRANSPARENT,
    WHOLE_RUN,
)


def nest(
    start: Int64, duration: Int64, first: int64_t, count: int64_t,
    depth: OutInt16, parent: OutInt32, stack: OutInt32, ends: OutInt64,
) -> None:  # fmt: skip
    """Nests the rows `first` to `first + count - 1`, which are sorted by start, the longer first.

    `stack` is scratch memory for the open rows, `ends` for their ends.
    """
    open_rows: cython.Py_ssize_t = 0
    with cython.nogil:
        for row in range(first, first + count):
            begin = start[row]
            finish = begin + duration[row]
            # An instant at the very end of an open event is inside it, unless that event is an instant as well.
            while (
                open_rows > 0
                and ends[open_rows - 1] <= begin
                and (finish > begin or ends[open_rows - 1] < begin or start[stack[open_rows - 1]] == begin)
            ):
                open_rows -= 1
            # Only an event that lies wholly inside another is its child; one that merely overlaps it is a sibling.
            level = open_rows - 1
            while level >= 0 and ends[level] < finish:
                level -= 1
            parent[row] = stack[level] if level >= 0 else -1
            # Overlapping events stay open as well, so that events drawn by depth never cover each other.
            depth[row] = open_rows
            if open_rows == len(stack):
                open_rows -= 1  # deeper than any call stack: the deepest events share a depth
            stack[open_rows], ends[open_rows] = row, finish
            open_rows += 1


def find_nearest_members(parent: Int32, is_member: Bools, result: OutInt32) -> None:
    """For each row: itself if it is a member, else its nearest ancestor that is; -1: none. Parents precede their
    children."""
    with cython.nogil:
        for row in range(len(parent)):
            if is_member[row]:
                result[row] = row
            else:
                result[row] = result[parent[row]] if parent[row] >= 0 else -1


def span(start: Int64, duration: Int64) -> tuple[int, int]:
    """Start of the first and end of the last event; (0, 0) without events. NumPy would first build a column of ends."""
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


def own_times(
    start: Int64, duration: Int64, parent: Int32, first: int64_t, own_ps: OutInt64, covered: OutInt64
) -> None:
    """Subtracts the children from `own_ps`, initially the durations. `covered` is scratch memory: the end of the
    children so far, initially the events' starts."""
    with cython.nogil:
        for i in range(len(start)):
            outer = parent[i] - first
            end = start[i] + duration[i]
            if outer >= 0 and end > covered[outer]:
                own_ps[outer] -= end - max(start[i], covered[outer])
                covered[outer] = end


def look_up(values: Int8, metadata_index: Int32, result: OutInt8) -> None:
    """Looks up the value of each event's metadata; -1 stands for the last."""
    with cython.nogil:
        for row in range(len(metadata_index)):
            result[row] = values[metadata_index[row]]


def look_up_texts(texts: Int32, metadata_index: Int32, result: OutInt32) -> None:
    """Looks up the text of each event's metadata; -1 stands for the last."""
    with cython.nogil:
        for row in range(len(metadata_index)):
            result[row] = texts[metadata_index[row]]


def count_indices(indices: Int32, result: OutInt64) -> None:
    """Counts how many times each index occurs; -1 counts for the last."""
    with cython.nogil:
        for i in range(len(indices)):
            result[indices[i]] += 1


_STEP = cython.declare(cython.Py_ssize_t, 17)
"""The step of probing in a table of flows; odd, so that probing reaches every slot, and larger than the sixteen slots
that neighbouring ids share."""


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _slot(id_: int64_t, kind: int32_t, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The first slot to probe for a flow, in a hash table of 2^n slots. Writers number flows consecutively: sixteen
    neighbouring ids share a line of the processor's cache."""
    multiplier: int64_t = -7046029254386353131  # spreads neighbours over the table
    spread = ((id_ >> 4) * 31 + kind) * multiplier
    return ((spread >> 32) & ~15 | (id_ ^ spread >> 28) & 15) & (size - 1)


def enter_producers(kind: Int32, id_: Int64, first_producer: OutInt32, slots: OutInt32) -> int:
    """Enters producers into a table of 2^n slots, initially -1. `first_producer[i]` becomes the first producer with the
    flow of producer i (usually i itself). Returns how many producers are not the first of their flow."""
    repeats: cython.Py_ssize_t = 0
    mask: cython.Py_ssize_t = len(slots) - 1
    with cython.nogil:
        for index in range(len(id_)):
            slot = _slot(id_[index], kind[index], len(slots))
            while slots[slot] >= 0 and (id_[slots[slot]] != id_[index] or kind[slots[slot]] != kind[index]):
                slot = (slot + _STEP) & mask
            if slots[slot] < 0:
                slots[slot] = index
            else:
                repeats += 1
            first_producer[index] = slots[slot]
    return repeats


def find_producers(
    producer_kind: Int32, producer_id: Int64, slots: Int32, kind: Int32, id_: Int64, result: OutInt32
) -> None:
    """Finds the first producer with the flow of each consumer, -1: none."""
    mask: cython.Py_ssize_t = len(slots) - 1
    with cython.nogil:
        for index in range(len(id_)):
            slot = _slot(id_[index], kind[index], len(slots))
            while slots[slot] >= 0 and (
                producer_id[slots[slot]] != id_[index] or producer_kind[slots[slot]] != kind[index]
            ):
                slot = (slot + _STEP) & mask
            result[index] = slots[slot]


def list_flow_rows(producer_row: Int32, consumer_row: Int32, result: OutInt32, consumer: OutInt32) -> int:
    """Lists the rows of both ends of the flows that have a producer and lead to another event: producers in `result`
    (which it overwrites), consumers in `consumer`. Returns the number of these flows."""
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        for index in range(len(result)):
            if result[index] >= 0 and producer_row[result[index]] != consumer_row[index]:
                result[count], consumer[count] = producer_row[result[index]], consumer_row[index]
                count += 1
    return count


def find_regions(
    first: int64_t, count: int64_t, code: Int8, start: Int64, duration: Int64, regions: int64_t, of_row: OutInt32,
    row: OutInt32, region_start: OutInt64, region_end: OutInt64, complete: OutInt64, outer: OutInt32,
    has_run: OutBools, stack: OutInt32,
) -> int:  # fmt: skip
    """Finds the regions of one line, numbered from `regions` on. Returns the number of regions so far. `stack` is
    scratch memory for the open regions; `region_end` is the end of each (-1: at its `StopRegion`).

    A run whose start was not recorded begins with the preceding `ThunkExecutor::Execute`, or with the wait itself.
    """
    depth: cython.Py_ssize_t = 0
    last_execute: int64_t = -1
    with cython.nogil:
        for event in range(first, first + count):
            end = start[event] + duration[event]
            while depth > 0 and 0 <= region_end[stack[depth - 1]] <= start[event]:
                depth -= 1
            name_code = code[event]
            if name_code == REGION_STOP:
                # Inline runs inside the region end with it.
                while depth > 0 and region_end[stack[depth - 1]] >= 0:
                    depth -= 1
                if depth > 0:
                    depth -= 1
                last_execute = -1
            elif (name_code == REGION_START or name_code == HELPER or name_code == WHOLE_RUN) and depth < len(
                stack
            ):
                row[regions], region_start[regions] = event, start[event]
                region_end[regions] = -1 if name_code == REGION_START else end
                has_run[regions] = name_code == WHOLE_RUN
                complete[regions] = end if name_code == WHOLE_RUN else 0
                outer[regions] = stack[depth - 1] if depth > 0 else -1
                stack[depth] = regions
                depth += 1
                regions += 1
                last_execute = -1
            elif name_code == EXECUTE:
                last_execute = event
            elif name_code == READY and depth > 0:
                if code[row[stack[depth - 1]]] == WHOLE_RUN:
                    complete[stack[depth - 1]] = end
            elif name_code == COMPLETION and depth > 0:
                has_run[stack[depth - 1]] = True
                complete[stack[depth - 1]] = end
            elif name_code == COMPLETION:
                begin = last_execute if last_execute >= 0 else event
                row[regions], region_start[regions], region_end[regions] = begin, start[begin], end
                outer[regions], has_run[regions], complete[regions] = -1, True, end
                for inner in range(begin, event):
                    of_row[inner] = regions
                stack[depth] = regions
                depth += 1
                regions += 1
            of_row[event] = stack[depth - 1] if depth > 0 else -1
    return regions


def resolve_runs(outer: Int32, source: Int32, has_run: Bools, of_row: Int32, run: OutInt32) -> None:
    """Finds the run of each region: itself, or the first run on the way back along flows. The way leads from a region
    to that of the event that its flow comes from, or else to the region around it."""
    with cython.nogil:
        for region in range(len(outer)):
            current: int32_t = region
            steps: cython.Py_ssize_t = 0
            while current >= 0 and not has_run[current] and run[current] < 0 and steps <= len(outer):
                current = of_row[source[current]] if source[current] >= 0 else outer[current]
                steps += 1
            if current >= 0 and steps <= len(outer):
                run[region] = current if has_run[current] else run[current]


def classify_annotations(
    name_codes: Int8, is_root: Bools, is_op: Bools, parents: Int32, first: int64_t, result: OutInt8
) -> None:
    """Decides for each event of a line whether it is an annotation; `parents` are rows of the trace, `first` is the
    line's first row. `is_root`: the event carries `_r`. `result` is initially NOT_ANNOTATION."""
    with cython.nogil:
        for i in range(len(name_codes)):
            parent_result = MAY_ENCLOSE if parents[i] < 0 else result[parents[i] - first]
            name_code = name_codes[i]
            if is_root[i]:
                result[i] = ANNOTATION
            elif parent_result == NOT_ANNOTATION or is_op[i]:
                result[i] = NOT_ANNOTATION
            elif name_code == CANDIDATE or (name_code == PASS and parent_result == ANNOTATION):
                result[i] = ANNOTATION
            elif name_code == TRANSPARENT:
                result[i] = MAY_ENCLOSE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _previous_sibling(row: int32_t, parent: Int32) -> int32_t:
    """The preceding event with the same parent, -1: none. For a thread's first event the result is an event of another
    thread."""
    sibling = row - 1
    while sibling >= 0 and parent[sibling] != parent[row]:
        sibling = parent[sibling]
    return sibling


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_loop_iteration(
    row: int32_t,
    until: int64_t,
    execute: int32_t,
    start: Int64,
    parent: Int32,
    code: Int8,
    metadata_index: Int32,
) -> cython.bint:
    """Whether an `Execute` is another iteration of a loop op. That is so if the op's event, which ends at `until`,
    contains an `Execute`, and also the op with which this `Execute` begins, if it has ops."""
    first_op: cython.Py_ssize_t = execute + 1
    has_execute: cython.bint = False
    has_first_op: cython.bint = first_op >= len(start) or parent[first_op] != execute
    inner: cython.Py_ssize_t = row + 1
    while inner < len(start) and parent[inner] >= row and start[inner] < until:
        has_execute |= code[metadata_index[inner]] == EXECUTE
        has_first_op |= first_op < len(start) and metadata_index[inner] == metadata_index[first_op]
        inner += 1
    return has_execute and has_first_op


def time_ops(
    ops: Int32, start: Int64, duration: Int64, parent: Int32, metadata_index: Int32, code: Int8, consumer_of: Int32,
    of_row: Int32, run_of: Int32, run_end: Int64, op_start: OutInt64, op_end: OutInt64, op_run: OutInt32,
) -> None:  # fmt: skip
    """Finds the start, end and run of each op, see `cpu_ops.op_times`."""
    with cython.nogil:
        for i in range(len(ops)):
            row = ops[i]
            region = of_row[row]
            run: int32_t = run_of[region] if region >= 0 else -1
            end_event = consumer_of[row]
            until = start[row] + duration[row]
            if end_event >= 0:
                event_end, until = until, start[end_event]
                before = end_event
                while (
                    before >= 0
                    and code[metadata_index[before]] == END
                    and of_row[before] == of_row[end_event]
                ):
                    before = _previous_sibling(before, parent)
                if (
                    before >= 0
                    and code[metadata_index[before]] == EXECUTE
                    and of_row[before] == of_row[end_event]
                    and of_row[before] >= 0
                    and event_end <= start[before] < until
                    and not _is_loop_iteration(row, event_end, before, start, parent, code, metadata_index)
                ):
                    until = start[before]
            if run >= 0:
                until = min(until, run_end[run])
            op_start[i], op_run[i] = start[row], run
            op_end[i] = max(until, start[row])  # flows of a damaged file may lead back in time


def find_launches(
    region_of_run: Int32, is_call: Bools, innermost: cython.bint, metadata_index: Int32, parent: Int32, row: Int32,
    outer: Int32, source: Int32, of_row: Int32, has_run: Bools, visited_by: OutInt32, result: OutInt32,
) -> None:  # fmt: skip
    """Finds the outermost call (`is_call`, by event metadata) on the way back from each run along flows; with
    `innermost` the innermost. The way ends at another run: a queued run is released by the run before it. `visited_by`
    is scratch memory: the run for which each region was visited last, initially -1."""
    with cython.nogil:
        for i in range(len(region_of_run)):
            region = region_of_run[i]
            while (
                region >= 0
                and visited_by[region] != i
                and (region == region_of_run[i] or not has_run[region])
            ):
                visited_by[region] = i
                producer = source[region]
                event = producer if producer >= 0 else row[region]
                while event >= 0:
                    if is_call[metadata_index[event]] and not (innermost and result[i] >= 0):
                        result[i] = event
                    event = parent[event]
                region = of_row[producer] if producer >= 0 else outer[region]
