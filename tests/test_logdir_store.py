"""Sessions in memory: read once, in the background, and released when memory runs short."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, cast

import fsspec
import numpy as np
import pytest
from helpers import joining_threads, raising, write_session

from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.loaded_hosts import LoadedHosts
from tb_xla_insights.logdir.memory_gate import MemoryGate
from tb_xla_insights.logdir.opened_session import OpenedSession
from tb_xla_insights.logdir.session_hosts import estimate_memory
from tb_xla_insights.logdir.sessions import Root, SessionList, find_sessions, list_sessions
from tb_xla_insights.logdir.store import (
    Load,
    StillReadingError,
    Store,
    UnknownSessionError,
    default_budget,
    session_opener,
)

OLD, NEW = "2026_01_01_00_00_00", "run/2026_01_02_00_00_00"


class Opener:
    """Opens sessions of a given size once `may_go_on` is set. Records the names of requested and of opened ones."""

    def __init__(self, size: int = 10) -> None:
        self.size = size
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.requested: list[str] = []
        self.opened: list[str] = []

    def __call__(self, load: Load) -> OpenedSession:
        self.requested.append(load.files.name)
        self.may_go_on.wait()
        self.opened.append(load.files.name)
        report = {"column": np.empty(self.size, np.uint8), "stopped": load.is_stopped}
        return OpenedSession(LoadedHosts(load.files, cast(Any, report), cast(Any, None)))


def store_of(logdir: Path, opener: Any, budget: int = 10**9) -> Store:
    return Store(Listing([Root(str(logdir))]), opener, budget)


def test_a_session_is_read_once_for_concurrent_requests(logdir: Path) -> None:
    opener = Opener()
    opener.may_go_on.clear()
    store = store_of(logdir, opener)
    loads: list[Load] = []
    threads = [threading.Thread(target=lambda: loads.append(store.load(OLD))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 8
    assert len(set(map(id, loads))) == 1
    assert not loads[0].wait(0)
    opener.may_go_on.set()
    assert store.loaded(OLD) is store.loaded(OLD)
    assert opener.opened == [OLD]


def test_a_reload_reads_again_but_never_twice_at_a_time(logdir: Path) -> None:
    opener = Opener()
    store = store_of(logdir, opener)
    first = store.loaded(OLD)
    opener.may_go_on.clear()
    reload = store.load(OLD, reload=True)
    assert store.load(OLD, reload=True) is reload
    opener.may_go_on.set()
    assert store.loaded(OLD) is not first
    assert opener.opened == [OLD, OLD]


def test_a_session_that_was_not_listed_is_unknown(logdir: Path) -> None:
    store = store_of(logdir, Opener())
    for name in ("nothing", "", "../" + OLD, str(logdir / "plugins/profile" / OLD)):
        with pytest.raises(UnknownSessionError, match="no such session"):
            store.load(name)


def test_changed_files_are_noticed_and_read_on_reload(logdir: Path) -> None:
    opener = Opener()
    store = store_of(logdir, opener)
    store.loaded(OLD)
    assert not store.has_changed(store.load(OLD))
    write_session(logdir / "plugins/profile" / OLD, "another")
    store.listing.refresh(wait=None, max_age=0)
    assert store.has_changed(store.load(OLD))
    reloaded = store.load(OLD, reload=True)
    assert reloaded.wait(None)
    assert [host.name for host in reloaded.files.hosts] == ["another", "vm"]
    assert not store.has_changed(reloaded)


def test_the_least_recently_used_session_is_evicted_when_memory_runs_short(logdir: Path) -> None:
    for name in ("a", "b", "c"):
        write_session(logdir / "plugins/profile" / name, "vm")
    opener = Opener(size=10**6)
    store = store_of(logdir, opener, budget=2 * 10**6 + 10**5)
    with joining_threads():  # a load evicts others after it is done
        for name in ("a", "b", "a", "c", "a"):
            store.loaded(name)
    assert opener.opened == ["a", "b", "c"]
    store.loaded("b")
    assert opener.opened == ["a", "b", "c", "b"]


def test_the_last_used_session_is_never_evicted(logdir: Path) -> None:
    opener = Opener(size=10**9)
    store = store_of(logdir, opener, budget=1)
    assert store.loaded(OLD) is store.loaded(OLD)
    store.loaded(NEW)
    store.loaded(OLD)
    assert opener.opened == [OLD, NEW, OLD]


def test_a_failed_load_stays_an_error_until_it_is_reloaded(logdir: Path) -> None:
    outcome: list[Any] = [raising(InputError("x.xplane.pb: byte 3: no field; record again"))]
    store = store_of(logdir, lambda load: outcome[0](load))
    for _ in range(2):
        with pytest.raises(InputError, match="byte 3"):
            store.loaded(OLD)
    outcome[0] = Opener()
    assert store.load(OLD, reload=True).wait(None)
    assert store.loaded(OLD)


def test_a_bug_is_a_one_line_error(logdir: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = store_of(logdir, raising(ZeroDivisionError("two\nlines")))
    with pytest.raises(InputError) as caught:
        store.loaded(OLD)
    assert "\n" not in str(caught.value)
    assert "ZeroDivisionError" in str(caught.value)
    assert "Traceback" in caplog.text


def test_sessions_that_would_not_fit_together_are_read_one_after_the_other(logdir: Path) -> None:
    sizes = {session.name: estimate_memory(session) for session in find_sessions([Root(str(logdir))])}
    opener = Opener()
    opener.may_go_on.clear()
    store = store_of(logdir, opener, budget=max(sizes.values()))
    first = store.load(OLD)
    while not opener.requested:
        first.wait(0.01)
    second = store.load(NEW)
    while not store._memory_gate._waiting and len(opener.requested) < 2:
        second.wait(0.01)
    assert opener.requested == [OLD]
    assert store.stop(NEW)  # notifies readers that wait for memory
    opener.may_go_on.set()
    assert cast(Any, store.loaded(NEW).choose(None).view)["stopped"]
    assert not cast(Any, store.loaded(OLD).choose(None).view)["stopped"]


def test_memory_is_granted_in_order_of_request() -> None:
    gate, order, inside = MemoryGate(10), [], [threading.Event() for _ in range(3)]
    leave = [threading.Event() for _ in range(3)]

    def take(number: int, needed: int) -> None:
        with gate.acquire(needed, lambda: False):
            order.append(number)
            inside[number].set()
            leave[number].wait()

    threads = [threading.Thread(target=take, args=reader) for reader in enumerate((6, 99, 4))]
    threads[0].start()
    inside[0].wait()
    for number in (1, 2):
        threads[number].start()
        while len(gate._waiting) < number:
            gate.wake_waiting()
    assert order == [0]  # the last one fits, but is queued behind one that does not
    leave[0].set()
    inside[1].wait()
    assert (order, gate.used_bytes) == ([0, 1], 99)  # a single reader gets any amount
    for event in leave:
        event.set()
    for thread in threads:
        thread.join()
    assert (order, gate.used_bytes) == ([0, 1, 2], 0)


def test_memoised_results_of_views_count_as_memory_of_their_session(logdir: Path) -> None:
    now = [0.0]
    store = Store(Listing([Root(str(logdir))]), Opener(10**6), 3 * 10**6, clock=lambda: now[0])
    old, new = store.loaded(OLD), store.loaded(NEW)
    cast(Any, new.choose(None).view)["views"] = np.empty(10**7, np.uint8)
    now[0] = 60.0
    with joining_threads():
        assert store.loaded(NEW) is new
    assert store.loaded(OLD) is not old


def test_a_failed_load_is_retried_once_its_files_change(logdir: Path) -> None:
    [capture] = (logdir / "plugins/profile" / OLD).iterdir()
    whole = capture.read_bytes()
    capture.write_bytes(b"")
    store = store_of(logdir, session_opener())
    for _ in range(2):
        with pytest.raises(InputError, match="is empty"):
            store.loaded(OLD)
    failed = store.load(OLD)
    assert store.load(OLD) is failed
    capture.write_bytes(whole)
    assert store.loaded(OLD)


def test_a_failed_load_of_a_remote_session_is_retried_once_other_files_are_listed(logdir: Path) -> None:
    [capture] = (logdir / "plugins/profile" / OLD).iterdir()
    bucket = fsspec.filesystem("memory")
    path = f"/retried/plugins/profile/{OLD}/vm.xplane.pb"
    bucket.pipe_file(path, b"")
    store = Store(Listing([Root("memory://retried")]), session_opener(), 10**9)
    try:
        with pytest.raises(InputError, match="is empty"):
            store.loaded(OLD)
        failed = store.load(OLD)
        store.listing.refresh(wait=None, max_age=0)
        assert store.load(OLD) is failed
        bucket.pipe_file(path, capture.read_bytes())
        store.listing.refresh(wait=None, max_age=0)
        assert store.loaded(OLD)
    finally:
        bucket.rm("/retried", recursive=True)


def test_a_load_reads_the_current_files_not_the_listed_ones(logdir: Path) -> None:
    store = store_of(logdir, session_opener())
    store.listing.refresh(wait=None)
    write_session(logdir / "plugins/profile" / OLD, "another")
    loaded = store.loaded(OLD)
    assert [host.name for host in loaded.files.hosts] == ["another", "vm"]
    assert not store.has_changed(store.load(OLD))
    store.listing.refresh(wait=None, max_age=0)
    assert not store.has_changed(store.load(OLD))


def test_waiting_for_a_session_ends(logdir: Path) -> None:
    opener = Opener()
    opener.may_go_on.clear()
    with pytest.raises(StillReadingError, match="still being read"):
        store_of(logdir, opener).loaded(OLD, wait=0)
    opener.may_go_on.set()


def test_stop_reaches_the_reader_and_only_while_it_reads(logdir: Path) -> None:
    opener = Opener()
    opener.may_go_on.clear()
    store = store_of(logdir, opener)
    assert not store.stop(OLD)
    store.load(OLD)
    assert store.stop(OLD)
    opener.may_go_on.set()
    assert cast(Any, store.loaded(OLD).choose(None).view)["stopped"]
    assert not store.stop(OLD)


def test_reading_building_and_drawing_have_shares_of_the_progress(logdir: Path) -> None:
    now = [100.0]
    [session] = [listed for listed in Listing([Root(str(logdir))]).refresh(wait=None) if listed.name == NEW]
    load = Load(session, clock=lambda: now[0])

    def after(seconds: float) -> tuple[Any, ...]:
        now[0] += seconds
        progress = load.progress()
        return progress["stage"], progress["done_share"], progress["seconds_left"]

    first, second = load.readings
    first.update(200, 400)
    second.bytes = 400
    assert after(0) == ("reading", 0.0875, None)  # too early to estimate the time left
    assert after(2) == ("reading", 0.0875, 20.9)
    assert [host["state"] for host in load.progress()["hosts"]] == ["reading", "waiting"]
    first.update(400, 400)
    assert after(0) == ("reading", 0.175, 9.4)
    second.update(400, 400)
    assert after(2)[:2] == ("building", 0.4597)  # the first host has built for a while
    first.state = second.state = "ready"
    assert after(0)[:2] == ("building", 0.6)
    load.stage_progress.begin_drawing()
    stages, shares = zip(*(after(1)[:2] for _ in range(10)), strict=True)
    assert set(stages) == {"drawing"}
    assert sorted(set(shares)) == list(shares)
    assert 0.6 < shares[0] < shares[-1] < 1
    assert after(0)[2] < 1


def test_the_default_budget_is_a_share_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_budget() >= 512 << 20
    monkeypatch.setattr("tb_xla_insights.system.memory._CGROUP", tmp_path)
    (tmp_path / "memory.max").write_text("1800000000\n")  # the limit of a container
    assert default_budget() == 600_000_000


def test_a_refresh_is_shared_and_not_repeated_within_a_second(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listings, now, may_go_on = [], [0.0], threading.Event()

    def slow_list(roots: Any) -> Any:
        listings.append(roots)
        may_go_on.wait()
        return list_sessions(roots)

    monkeypatch.setattr("tb_xla_insights.logdir.listing.list_sessions", slow_list)
    listing = Listing([Root(str(logdir))], clock=lambda: now[0])
    assert listing.refresh(wait=0) == ()
    assert listing.refresh(wait=0) == ()
    assert listing.message == f"Looking for profiles under {logdir}."
    may_go_on.set()
    assert [session.name for session in listing.refresh(wait=None)] == [NEW, OLD]
    now[0] += 0.9
    listing.refresh(wait=None)
    assert len(listings) == 1
    now[0] += 0.2
    write_session(logdir / "plugins/profile/2026_01_03_00_00_00", "vm")
    assert len(listing.refresh(wait=None)) == 3
    assert len(listings) == 2


def test_a_known_session_is_found_during_a_refresh(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listing, may_go_on = Listing([Root(str(logdir))]), threading.Event()
    listing.refresh(wait=None)

    def slow_list(_: Any) -> SessionList:
        may_go_on.wait(60)
        return SessionList()

    monkeypatch.setattr("tb_xla_insights.logdir.listing.list_sessions", slow_list)
    listing.refresh(wait=0, max_age=0)
    assert listing.find(OLD) is not None
    may_go_on.set()


def test_an_empty_logdir_is_reported(tmp_path: Path) -> None:
    listing = Listing([Root(str(tmp_path))])
    assert listing.refresh(wait=None) == ()
    assert listing.message == f"No profile under this logdir: {tmp_path}."
    two = Listing([Root(str(tmp_path), "a"), Root(str(tmp_path), "b")])
    two.refresh(wait=None)
    assert two.message == f"No profile under these logdirs: a:{tmp_path}, b:{tmp_path}."
    assert Listing([]).message == "No logdir: start TensorBoard with --logdir PATH."


def test_a_logdir_that_cannot_be_listed_is_reported() -> None:
    listing = Listing([Root("nothing://x")])
    assert listing.refresh(wait=None) == ()
    assert str(listing.message).startswith("nothing://x: ")


def test_sessions_stay_listed_when_a_refresh_fails(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listing = Listing([Root(str(logdir))])
    sessions = listing.refresh(wait=None)
    refuse = raising(InputError("gs://x: access refused"))
    monkeypatch.setattr("tb_xla_insights.logdir.listing.list_sessions", refuse)
    assert listing.refresh(wait=None, max_age=0) == sessions
    assert [session.name for session in sessions] == [NEW, OLD]
    assert listing.message == "gs://x: access refused"


def test_a_reader_whose_wait_fails_does_not_hold_up_later_ones() -> None:
    gate, interrupt = MemoryGate(10), cast(Any, raising(KeyboardInterrupt()))
    with gate.acquire(6, lambda: False):
        with pytest.raises(KeyboardInterrupt), gate.acquire(6, interrupt):
            pass
        assert not gate._waiting
        with gate.acquire(4, lambda: True):
            assert gate.used_bytes == 10
    assert gate.used_bytes == 0
