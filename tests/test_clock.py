"""One time base for all lines of a file, and for all hosts of a session."""

from __future__ import annotations

from build import MemorySource
from captures import CATALOG
from synthetic.writer import Space

from tb_xla_insights.trace.build import build_session
from tb_xla_insights.trace.model import SessionTrace, Trace
from tb_xla_insights.trace.read_trace import read_trace

EPOCH = 1_763_680_000_123_456_789
"""A time in 2025. In picoseconds it does not fit 64 bits."""


def host(*lines: tuple[int, int], profile_start: int | None = None, name: str = "vm") -> Trace:
    """A host with one event per line. A line is its time stamp in nanoseconds and its event's offset in picoseconds."""
    space = Space()
    plane = space.plane("/host:CPU")
    for time, offset in lines:
        plane.line("t", timestamp_ns=time).event("e", offset, 5)
    if profile_start is not None:
        space.plane("Task Environment", stats={"profile_start_time": profile_start})
    return read_trace(MemorySource(space.to_bytes()), CATALOG, host=name)


def session(*traces: Trace) -> SessionTrace:
    return build_session("s", "s", list(traces), [])


def starts(trace: Trace) -> list[int]:
    return [int(start) for start in trace.start_ps]


def diagnostic_ids(trace: Trace) -> list[str]:
    return [diagnostic.id for diagnostic in trace.diagnostics]


def test_epoch_times_keep_their_picoseconds() -> None:
    trace = host((EPOCH, 7), (EPOCH + 3, 1), (EPOCH - 2, 0))
    assert starts(trace) == [2007, 5001, 0]
    assert trace.base_unix_ns == EPOCH - 2
    assert diagnostic_ids(trace) == []


def test_times_from_the_profiles_start() -> None:
    trace = host((0, 7), (3, 1), profile_start=EPOCH)
    assert starts(trace) == [0, 2994]
    assert trace.base_unix_ns == EPOCH


def test_without_any_clock() -> None:
    trace = host((5, 7), (3, 1))
    assert starts(trace) == [2006, 0]
    assert trace.base_unix_ns == 0
    assert diagnostic_ids(trace) == []


def test_epoch_times_and_relative_ones_are_related_by_the_profiles_start() -> None:
    trace = host((EPOCH + 10, 0), (4, 0), profile_start=EPOCH)
    assert starts(trace) == [6000, 0]
    assert trace.base_unix_ns == EPOCH + 4
    assert diagnostic_ids(trace) == []


def test_lines_of_unrelated_time_bases_are_reported() -> None:
    # 12 is no epoch time, and EPOCH // 2 is decades before that of the line.
    for profile_start in (None, 12, EPOCH // 2):
        trace = host((EPOCH + 10, 0), (4, 0), profile_start=profile_start)
        assert diagnostic_ids(trace) == ["clock_unknown"]


def test_a_line_without_events_does_not_affect_the_time_base() -> None:
    space = Space()
    plane = space.plane("/host:CPU")
    plane.line("empty")
    plane.line("t", timestamp_ns=EPOCH).event("e", 1, 5)
    plane.line("empty", timestamp_ns=EPOCH // 2)
    trace = read_trace(MemorySource(space.to_bytes()), CATALOG, host="vm")
    assert starts(trace) == [0]
    assert trace.base_unix_ns == EPOCH
    assert diagnostic_ids(trace) == []


def test_one_damaged_line_does_not_move_the_others() -> None:
    for timestamp_ns in (EPOCH // 2, 1 << 62, -(1 << 62), 1 << 56):
        trace = host((EPOCH, 0), (timestamp_ns, 4), (EPOCH + 1, 0))
        assert starts(trace) == [0, 4, 1000]
        assert diagnostic_ids(trace) == ["clock_unknown"]


def test_hosts_start_at_their_clocks_times() -> None:
    late_host, early_host = (
        host((EPOCH + 9, 0), name="late"),
        host((2, 0), (5, 0), profile_start=EPOCH, name="early"),
    )
    session_trace = session(late_host, early_host)
    assert [(trace.host, starts(trace)) for trace in session_trace.traces] == [
        ("early", [0, 3000]),
        ("late", [7000]),
    ]
    assert session_trace.start_unix_ns == EPOCH + 2
    assert {trace.base_unix_ns for trace in session_trace.traces} == {EPOCH + 2}
    assert session_trace.duration_ps == 7005
    assert session_trace.diagnostics == []


def test_a_host_without_a_clock_starts_with_the_session_and_is_reported() -> None:
    session_trace = session(host((EPOCH, 0), name="a"), host((700, 0), name="b"))
    assert [starts(trace) for trace in session_trace.traces] == [[0], [0]]
    assert [(diagnostic.id, diagnostic.host) for diagnostic in session_trace.diagnostics] == [
        ("clock_unknown", "b")
    ]
    assert session(host((700, 0), name="b")).diagnostics == []  # a single host needs no clock


def test_a_host_of_another_year_starts_with_the_session_and_is_reported() -> None:
    year = 365 * 86_400 * 10**9
    session_trace = session(*(host((EPOCH + shift, 0), name=f"{shift}") for shift in (1, 0, -30 * year)))
    assert {trace.host: starts(trace) for trace in session_trace.traces} == {
        "1": [1000], "0": [0], f"{-30 * year}": [0],
    }  # fmt: skip
    assert [(diagnostic.id, diagnostic.host) for diagnostic in session_trace.diagnostics] == [
        ("clock_unknown", f"{-30 * year}")
    ]
    first_in_order = host((EPOCH - 30 * year, 0), name="a")
    assert session(first_in_order, host((EPOCH, 0), name="b")).start_unix_ns == EPOCH


def test_a_host_captured_more_than_an_hour_apart_starts_with_the_session_and_is_reported() -> None:
    hour = 3600 * 10**9
    session_trace = session(host((EPOCH, 0), name="a"), host((EPOCH + hour, 0), name="b"))
    assert [starts(trace) for trace in session_trace.traces] == [[0], [hour * 1000]]
    assert session_trace.diagnostics == []
    usual = [host((EPOCH, 0), name=name) for name in "ab"]
    session_trace = session(*usual, host((EPOCH + hour + 1, 0), name="c"))
    assert [starts(trace) for trace in session_trace.traces] == [[0], [0], [0]]
    assert [(diagnostic.id, diagnostic.host) for diagnostic in session_trace.diagnostics] == [
        ("clock_unknown", "c")
    ]


def test_devices_move_with_their_host() -> None:
    space = Space()
    space.plane("/device:TPU:0").line("XLA Ops", timestamp_ns=EPOCH + 5).event("dot", 0, 8)
    trace = read_trace(MemorySource(space.to_bytes()), CATALOG, host="a")
    assert trace.end_ps[:].tolist() == [8]
    session(trace, host((EPOCH, 0), name="b"))
    (device,) = trace.devices
    assert device.ops.start_ps.tolist() == starts(trace) == [5000]
    assert device.ops.end_ps.tolist() == trace.end_ps[:].tolist() == [5008]


def test_a_host_without_events_counts_with_its_profiles_start() -> None:
    session_trace = session(host((EPOCH + 5, 0), name="a"), host(profile_start=EPOCH, name="b"))
    assert session_trace.start_unix_ns == EPOCH
    assert [starts(trace) for trace in session_trace.traces] == [[5000], []]
