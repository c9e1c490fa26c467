"""Logdirs whose files are replaced, truncated, written and removed while they are read and viewed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import small_space, write_session

from tb_xla_insights.catalog import load_catalog
from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.sessions import Root, find_sessions
from tb_xla_insights.logdir.spool import Spool
from tb_xla_insights.logdir.store import FilesChangedError, Store, session_opener
from tb_xla_insights.routes.arguments import Arguments
from tb_xla_insights.routes.handlers import Handlers
from tb_xla_insights.tasks.host import read_host
from tb_xla_insights.tasks.progress import NOT_STARTED, shared_progress
from tb_xla_insights.trace.details import event_stats

SESSION = "2026_01_01_00_00_00"
STEP_PS = 10**10


@pytest.fixture
def path(logdir: Path) -> Path:
    """A capture of three steps."""
    return logdir / "plugins/profile" / SESSION / "vm.xplane.pb"


@pytest.fixture
def store(logdir: Path) -> Store:
    return Store(Listing([Root(str(logdir))]), session_opener())


def replace(path: Path, steps: int) -> None:
    copy = path.with_name("copied")
    small_space(steps).write(copy)
    copy.replace(path)


def steps_of(store: Store) -> int:
    return round(store.loaded(SESSION).choose(None).hosts.duration_ps / STEP_PS)


def steps_read_during(path: Path, change: Callable[[], Any]) -> int:
    """The number of steps read from a capture that changes while it is open."""
    calls: list[int] = []

    def progress(_: int, __: int) -> None:
        if not calls:
            change()
        calls.append(1)

    return round(read_host(str(path), "vm", load_catalog(), progress).span_ps[1] / STEP_PS)


def test_a_capture_replaced_during_reading_is_read_in_its_old_state(path: Path) -> None:
    assert steps_read_during(path, lambda: replace(path, 5)) == 3
    assert steps_read_during(path, lambda: None) == 5


def test_a_capture_that_is_removed_while_it_is_read_is_read(path: Path) -> None:
    assert steps_read_during(path, lambda: shutil.rmtree(path.parent)) == 3


def test_a_session_that_is_renamed_while_it_is_read_is_read(path: Path) -> None:
    assert steps_read_during(path, lambda: path.parent.rename(path.parent.with_name("other"))) == 3


@pytest.mark.parametrize("size", [0, 40, 10_000])
def test_a_capture_truncated_or_written_during_reading_is_never_a_mixture(path: Path, size: int) -> None:
    with pytest.raises(
        InputError, match="the file changed while it was read; read it again once writing has finished"
    ):
        steps_read_during(path, lambda: os.truncate(path, size))


def test_new_content_of_the_same_size_and_time_is_detected(path: Path, store: Store) -> None:
    loaded = store.loaded(SESSION).choose(None)
    status, content = path.stat(), path.read_bytes()
    path.write_bytes(content.replace(b"forward", b"reverse"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(InputError, match="the file has changed since it was read; reload the session"):
        event_stats(loaded.hosts.traces[0], 0)
    store.listing.refresh(wait=None, max_age=0)
    assert store.has_changed(store.load(SESSION))


@pytest.mark.parametrize("time_ns", [1, 4 * 10**18])
def test_a_replaced_capture_is_noticed_whatever_its_time_stamp(
    path: Path, store: Store, time_ns: int
) -> None:
    store.loaded(SESSION)
    replace(path, 5)
    os.utime(path, ns=(time_ns, time_ns))
    store.listing.refresh(wait=None, max_age=0)
    assert store.has_changed(store.load(SESSION))
    store.load(SESSION, reload=True)
    assert steps_of(store) == 5


def test_requests_with_an_old_fingerprint_are_refused(path: Path, store: Store) -> None:
    """The page shows rows of one capture; the session is released, and read again from another capture."""
    fingerprint = store.load(SESSION).fingerprint
    assert store.loaded(SESSION, fingerprint=fingerprint)
    replace(path, 5)
    assert steps_of(store) == 3  # while it is in memory, the answers match what the page shows
    store._loads.clear()
    routes = Handlers(store.listing, store).gets()
    for route in ("window", "overview", "timeline", "hosts"):
        arguments = {
            "session": SESSION,
            "fingerprint": fingerprint,
            "start_ps": "0",
            "end_ps": "5",
            "px": "9",
        }
        with pytest.raises(
            FilesChangedError, match="its files have changed, and it was read again; reload the page"
        ):
            routes[route](Arguments(f"data/{route}", arguments))
    assert routes["session"](Arguments("data/session", {"session": SESSION}))["fingerprint"] != fingerprint


def test_a_session_that_is_read_again_from_the_same_files_keeps_its_fingerprint(store: Store) -> None:
    fingerprint = store.load(SESSION).fingerprint
    store._loads.clear()
    assert store.loaded(SESSION, fingerprint=fingerprint)


def test_a_missing_session_is_an_error_and_is_read_when_it_is_back(path: Path, store: Store) -> None:
    store.listing.refresh(wait=None)
    moved = path.parent.rename(path.parents[1] / "moved")
    with pytest.raises(InputError, match="no such file; check the path"):
        store.loaded(SESSION)
    moved.rename(path.parent)
    assert steps_of(store) == 3


def test_a_session_removed_during_listing_hides_no_other(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = os.listdir

    def listdir(directory: str) -> list[str]:
        if SESSION in directory:
            shutil.rmtree(directory)
        return original(directory)

    monkeypatch.setattr("tb_xla_insights.logdir.files.os.listdir", listdir)
    assert [session.name for session in find_sessions([Root(str(logdir))])] == ["run/2026_01_02_00_00_00"]


def test_two_servers_of_a_logdir_give_the_same_fingerprints(path: Path, store: Store, logdir: Path) -> None:
    second_store = Store(Listing([Root(str(logdir))]), session_opener())
    assert steps_of(store) == steps_of(second_store) == 3
    assert store.load(SESSION).fingerprint == second_store.load(SESSION).fingerprint
    replace(path, 5)
    second_store.load(SESSION, reload=True)
    assert (steps_of(store), steps_of(second_store)) == (3, 5)


def test_a_host_whose_file_differs_from_that_of_the_report_is_not_shown(tmp_path: Path) -> None:
    directory = write_session(tmp_path / "plugins/profile/s", "a", "b", "c")
    loaded = Store(Listing([Root(str(tmp_path))]), session_opener(budget=1)).loaded("s")
    for host in "abc":
        replace(directory / f"{host}.xplane.pb", 5)
    (unread,) = set(range(3)) - set(loaded.choose(None).hosts.numbers)
    assert loaded.choose([str(unread)]).hosts.traces == []
    with pytest.raises(
        InputError, match=r"its trace cannot be shown: .*the file has changed since it was read"
    ):
        loaded.choose([str(unread)], strict=True)


@contextmanager
def full_disk(*_: Any, **__: Any) -> Iterator[str]:
    raise OSError(28, "No space left on device")
    yield


def test_hosts_are_read_even_if_no_temporary_file_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The progress is then known only for hosts that this process reads."""
    monkeypatch.setattr("tb_xla_insights.tasks.progress.TemporaryDirectory", full_disk)
    with shared_progress(2) as progress:
        progress.record(1, 5, 9)
    assert progress.snapshot() == [[NOT_STARTED, NOT_STARTED], [5, 9]]
    write_session(tmp_path / "plugins/profile/s", "a", "b")
    loaded = Store(Listing([Root(str(tmp_path))]), session_opener(budget=1)).loaded("s")
    assert len(loaded.choose(["all"]).hosts.traces) == 2


def test_a_temporary_file_that_cannot_be_written_is_a_one_line_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tb_xla_insights.logdir.spool._MAX_MEMORY_BYTES", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with (
        Spool() as spool,
        pytest.raises(InputError, match=r"^temporary files: .*; free some space for them, or specify"),
    ):
        spool.put("a", b"more than a byte")
