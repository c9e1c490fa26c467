"""The sessions of a logdir and their names."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import fsspec
import pytest
from fsspec.registry import known_implementations
from helpers import ordinary_user

from tb_xla_insights.cli.main import main
from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.sessions import Root, SessionFiles, find_sessions, list_sessions, resolve, roots
from tb_xla_insights.routes.arguments import Arguments
from tb_xla_insights.routes.handlers import Handlers

STAMP = "2026_01_01_00_00_0"
"""The name of a session, without its last digit."""
UNREADABLE = 0o700 if os.geteuid() == 0 else 0
"""The mode of a directory that `ordinary_user` cannot read."""


def capture(directory: Path, host: str = "vm", content: bytes = b"") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{host}.xplane.pb"
    path.write_bytes(content)
    return path


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """A directory that every user may enter, unlike pytest's own."""
    with TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path
        for directory, children, _ in os.walk(path):
            for child in children:
                (Path(directory) / child).chmod(0o755)


def names(*logdirs: Root) -> list[str]:
    return [session.name for session in find_sessions(logdirs)]


def test_names_are_those_of_the_stock_plugin(tmp_path: Path) -> None:
    """The names that `generate_runs` of xprof 2.24 returns for the same tree."""
    capture(tmp_path / "plugins/profile" / f"{STAMP}1")
    capture(tmp_path / "train/plugins/profile" / f"{STAMP}3")
    capture(tmp_path / "new job/tensorboard/plugins/profile" / f"{STAMP}2")
    assert names(Root(str(tmp_path))) == [f"train/{STAMP}3", f"new job/tensorboard/{STAMP}2", f"{STAMP}1"]


def test_hosts_are_the_captures_by_name(tmp_path: Path) -> None:
    directory = tmp_path / "plugins/profile/s"
    capture(directory, "b", b"12")
    capture(directory, "a", b"1")
    (directory / "a.trace.json.gz").write_bytes(b"")
    (directory / ".xplane.pb").write_bytes(b"")
    [session] = find_sessions([Root(str(tmp_path))])
    assert [(host.name, host.file.bytes) for host in session.hosts] == [("a", 1), ("b", 2)]
    assert session.bytes == 3


def test_directories_without_a_capture_are_not_sessions(tmp_path: Path) -> None:
    (tmp_path / "plugins/profile/empty").mkdir(parents=True)
    (tmp_path / "plugins/profile/events.out.tfevents").write_bytes(b"")
    capture(tmp_path / "elsewhere")
    assert names(Root(str(tmp_path)), Root(str(tmp_path / "missing"))) == []


def test_the_newest_session_comes_first(tmp_path: Path) -> None:
    for number, name in enumerate(["copied", "b", "a"], start=1):
        path = capture(tmp_path / "plugins/profile" / name)
        os.utime(path, ns=(0, number * 10**18))
    # The time in a name precedes the file's time, which a copy does not preserve.
    path = capture(tmp_path / "plugins/profile/2099_01_01_00_00_00")
    os.utime(path, ns=(0, 0))
    assert names(Root(str(tmp_path))) == ["2099_01_01_00_00_00", "a", "b", "copied"]


def test_file_times_are_compared_with_names_in_local_time(tmp_path: Path) -> None:
    capture(tmp_path / "plugins/profile/2026_01_01_10_00_00")
    path = capture(tmp_path / "plugins/profile/renamed")
    seconds = int(datetime(2026, 1, 1, 17, tzinfo=UTC).timestamp())  # 09:00 in the time zone below
    os.utime(path, (seconds, seconds))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TZ", "PST8")
            time.tzset()
            listed = names(Root(str(tmp_path)))
    finally:
        time.tzset()
    assert listed == ["2026_01_01_10_00_00", "renamed"]


@pytest.mark.parametrize("time_ns", [10**21, -(10**21)])
def test_a_time_beyond_all_dates_hides_no_session(
    tmp_path: Path, time_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture(tmp_path / "plugins/profile/s")
    original = os.stat

    def stat(path: str) -> SimpleNamespace:
        status = original(path)
        attributes = ("st_mode", "st_dev", "st_ino", "st_size", "st_ctime_ns")
        return SimpleNamespace(**{name: getattr(status, name) for name in attributes}, st_mtime_ns=time_ns)

    monkeypatch.setattr("tb_xla_insights.logdir.files.os.stat", stat)
    [session] = find_sessions([Root(str(tmp_path))])
    assert session.modified_unix_ns == 0


def test_sessions_are_unequal_once_a_file_changes(tmp_path: Path) -> None:
    path = capture(tmp_path / "plugins/profile/s", content=b"1")
    before = find_sessions([Root(str(tmp_path))])
    assert find_sessions([Root(str(tmp_path))]) == before
    path.write_bytes(b"2")
    os.utime(path, ns=(0, 5))
    assert find_sessions([Root(str(tmp_path))]) != before


def test_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    logdir = tmp_path / "logdir"
    capture(tmp_path / "far/plugins/profile/s")
    logdir.mkdir()
    (logdir / "near").symlink_to(tmp_path / "far", target_is_directory=True)
    (logdir / "again").symlink_to(logdir, target_is_directory=True)
    (tmp_path / "far/back").symlink_to(logdir, target_is_directory=True)
    assert names(Root(str(logdir))) == ["near/s"]


def test_a_link_to_itself_hides_no_other_session(tmp_path: Path) -> None:
    capture(tmp_path / "plugins/profile/s")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert names(Root(str(tmp_path))) == ["s"]


def test_a_name_that_is_not_utf_8_is_listed_and_found_as_text(tmp_path: Path) -> None:
    raw = os.fsdecode(b"caf\xe9")
    capture(tmp_path / "plugins/profile" / raw, raw)
    [session] = find_sessions([Root(str(tmp_path))])
    assert (session.name, session.hosts[0].name) == ("caf\\udce9", "caf\\udce9")
    for name in (raw, session.name):
        assert resolve(str(tmp_path), name) == session
        assert resolve(session.path, name).name == session.name


def test_a_broken_link_is_a_host_that_cannot_be_read(tmp_path: Path) -> None:
    directory = tmp_path / "plugins/profile/s"
    directory.mkdir(parents=True)
    (directory / "gone.xplane.pb").symlink_to(tmp_path / "nowhere")
    [session] = find_sessions([Root(str(tmp_path))])
    assert [(host.name, host.file.bytes) for host in session.hosts] == [("gone", 0)]


def test_a_logdir_may_start_inside_the_known_folders(tmp_path: Path) -> None:
    capture(tmp_path / "run/plugins/profile/s")
    for folder in ("run", "run/plugins", "run/plugins/profile"):
        assert names(Root(str(tmp_path / folder))) == ["s"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("a:/x,b:/y/", [Root("/x", "a"), Root("/y", "b")]),
        ("/x,/y:z", [Root("/x"), Root("/y:z")]),
        ("a:gs://bucket/x,s3://bucket/y", [Root("gs://bucket/x", "a"), Root("s3://bucket/y")]),
        ("a:/x:y", [Root("/x:y", "a")]),
        ("file:///x,a:file:///y", [Root("/x"), Root("/y", "a")]),
        ("", []),
    ],
)
def test_a_logdir_spec_names_groups(spec: str, expected: list[Root]) -> None:
    assert roots("", spec) == expected


def test_a_logdir_is_one_directory_and_precedes_a_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/reader")
    assert roots("~/logs/") == [Root("/home/reader/logs")]
    assert roots("file:///x,y", "a:/z") == [Root("/x,y")]


def test_a_run_may_begin_with_dots(tmp_path: Path) -> None:
    capture(tmp_path / "..run/plugins/profile/s")
    assert names(Root(str(tmp_path))) == ["..run/s"]


def test_names_begin_with_their_group(tmp_path: Path) -> None:
    capture(tmp_path / "x/plugins/profile/s")
    capture(tmp_path / "y/run/plugins/profile/s")
    assert sorted(names(Root(str(tmp_path / "x"), "a"), Root(str(tmp_path / "y"), "b"))) == ["a/s", "b/run/s"]


def test_equal_names_under_two_roots_are_distinguished(tmp_path: Path) -> None:
    capture(tmp_path / "x/plugins/profile/s")
    capture(tmp_path / "y/plugins/profile/s")
    listed = names(Root(str(tmp_path / "x")), Root(str(tmp_path / "y")))
    assert sorted(listed) == sorted(["s", f"{str(tmp_path).strip('/')}/y/s"])


@pytest.fixture
def bucket() -> str:
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    for path in (
        "logs/plugins/profile/s1/vm.xplane.pb",
        "logs/run/plugins/profile/s2/vm.xplane.pb",
        "logs/other/x",
    ):
        system.pipe_file(f"/{path}", b"12345")
    return "memory://logs"


def test_a_remote_logdir_reads_like_a_local_one(bucket: str) -> None:
    sessions = find_sessions([Root(bucket)])
    assert sorted(session.name for session in sessions) == ["run/s2", "s1"]
    assert {session.bytes for session in sessions} == {5}
    assert all(session.path.startswith("memory://") for session in sessions)
    assert all(session.modified_unix_ns > 10**18 for session in sessions)


def test_a_date_before_1970_is_an_unknown_time(bucket: str) -> None:
    """Some stores send the year 1."""
    for file in fsspec.filesystem("memory").store.values():
        file.created = datetime(1, 1, 1, tzinfo=UTC)
    assert {session.modified_unix_ns for session in find_sessions([Root(bucket)])} == {0}


def test_every_way_to_name_a_remote_session(bucket: str) -> None:
    assert resolve(bucket, "run/s2").hosts[0].name == "vm"
    assert resolve(f"{bucket}/plugins/profile/s1/").name == "s1"
    assert resolve(f"{bucket}/plugins/profile/s1/vm.xplane.pb").name == "s1"
    with pytest.raises(InputError, match="no such file or directory"):
        resolve(f"{bucket}/nowhere")


def test_an_error_about_a_missing_file_system_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    implementation = {"class": "absent.FileSystem", "err": "Install absent to read it"}
    monkeypatch.setitem(known_implementations, "absent", implementation)
    for url, message in (("absent://x", r".*Install absent to read it"), ("nothing://x", "")):
        with pytest.raises(InputError, match=rf"^{url}: {message}"):
            find_sessions([Root(url)])


def name_and_hosts(session: SessionFiles) -> tuple[str, list[str]]:
    return session.name, [host.name for host in session.hosts]


def test_every_way_to_name_a_local_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "run/plugins/profile" / f"{STAMP}1"
    capture(directory, "a")
    capture(directory, "b")
    capture(tmp_path / "plugins/profile" / f"{STAMP}0")
    assert name_and_hosts(resolve(str(directory / "a.xplane.pb"))) == (f"{STAMP}1", ["a"])
    assert name_and_hosts(resolve(str(directory))) == (f"{STAMP}1", ["a", "b"])
    assert name_and_hosts(resolve(str(tmp_path))) == (f"run/{STAMP}1", ["a", "b"])
    assert name_and_hosts(resolve(str(tmp_path), f"{STAMP}0")) == (f"{STAMP}0", ["vm"])
    monkeypatch.chdir(directory)
    assert name_and_hosts(resolve(".")) == (f"{STAMP}1", ["a", "b"])
    assert name_and_hosts(resolve("a.xplane.pb")) == (f"{STAMP}1", ["a"])


def test_a_capture_outside_a_logdir_names_its_session(tmp_path: Path) -> None:
    assert name_and_hosts(resolve(str(capture(tmp_path, "somewhere")))) == ("somewhere", ["somewhere"])


@pytest.mark.parametrize("name", [None, "s"])
def test_an_error_about_a_path_without_sessions_names_it(tmp_path: Path, name: str | None) -> None:
    with pytest.raises(InputError, match=f"^{tmp_path}/missing: no such file or directory"):
        resolve(str(tmp_path / "missing"), name)
    with pytest.raises(InputError, match=f"^{tmp_path}: no profile under this directory"):
        resolve(str(tmp_path), name)


def test_unreadable_directories_are_named_if_there_are_no_sessions(public_directory: Path) -> None:
    for run in ("a", "b"):
        capture(public_directory / run / "plugins/profile/s").parents[3].chmod(UNREADABLE)
    with ordinary_user(), pytest.raises(InputError) as error:
        resolve(str(public_directory))
    assert str(error.value) == (
        f"{public_directory}: no profile found, and {public_directory}/a and 1 more are not readable for this "
        "user; permit reading"
    )


def test_a_session_without_permission_hides_no_other(public_directory: Path) -> None:
    for session in (f"{STAMP}1", f"{STAMP}2"):
        capture(public_directory / "plugins/profile" / session)
    hidden = public_directory / "plugins/profile" / f"{STAMP}2"
    hidden.chmod(UNREADABLE)
    with ordinary_user():
        listed = list_sessions([Root(str(public_directory))])
    assert [session.name for session in listed.sessions] == [f"{STAMP}1"]
    assert listed.note == f"Sessions may be missing: {hidden} is not readable for this user; permit reading."


def test_unreadable_directories_are_named_with_the_sessions(
    public_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture(public_directory / "plugins/profile" / f"{STAMP}1")
    for run in ("a", "b"):
        (public_directory / run).mkdir(mode=UNREADABLE)
    listing = Listing([Root(str(public_directory))])
    with ordinary_user():
        answer = Handlers(listing, cast(Any, None)).sessions(Arguments("sessions", {}))
        assert main(["sessions", "--json", str(public_directory)]) == 0
    printed = capsys.readouterr()
    note = f"Sessions may be missing: {public_directory}/a and 1 more are not readable for this user; permit reading."
    assert printed.err == f"{note}\n"
    for document in (answer, json.loads(printed.out)):
        assert (document["note"], [row["name"] for row in document["sessions"]]) == (note, [f"{STAMP}1"])


def test_an_unreadable_session_directory_is_an_error_with_the_remedy(public_directory: Path) -> None:
    session = capture(public_directory / "plugins/profile/s").parent
    session.chmod(UNREADABLE)
    with (
        ordinary_user(),
        pytest.raises(InputError, match="permission denied; make it readable for this user"),
    ):
        resolve(str(session))


def test_a_store_of_two_schemes_is_listed_under_the_given_one(monkeypatch: pytest.MonkeyPatch) -> None:
    system = fsspec.filesystem("memory")
    monkeypatch.setattr(type(system), "protocol", ("other", "memory"))
    system.pipe_file("/schemes/plugins/profile/s/vm.xplane.pb", b"")
    try:
        session = resolve("memory:///schemes/plugins/profile/s")
        assert (session.name, session.path) == ("s", "memory:///schemes/plugins/profile/s")
        assert session.hosts[0].file.path == "memory:///schemes/plugins/profile/s/vm.xplane.pb"
    finally:
        system.rm("/schemes", recursive=True)


def test_an_unknown_session_names_the_known_ones(tmp_path: Path) -> None:
    for number in range(7):
        capture(tmp_path / "plugins/profile" / f"{STAMP}{number}")
    with pytest.raises(InputError, match=f"no session x; there are {STAMP}6, .* and 2 more$"):
        resolve(str(tmp_path), "x")
    with pytest.raises(InputError, match=f"is session {STAMP}1, not x"):
        resolve(str(tmp_path / f"plugins/profile/{STAMP}1"), "x")
