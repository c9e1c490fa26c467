"""Logdirs behind URLs: which directories are listed, and URLs that are missing or refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from test_remote import HOSTS, SESSION
from webstore import WebStore, web_store

from tb_xla_insights.cli.main import main
from tb_xla_insights.logdir.sessions import Root, find_sessions, resolve


@pytest.fixture
def store() -> Iterator[WebStore]:
    """A store with a session of four hosts, whose files are empty."""
    with web_store() as store:
        store.files = dict.fromkeys(HOSTS, b"")
        yield store


def test_a_logdir_over_http_is_listed_directory_by_directory_and_no_capture_is_read(store: WebStore) -> None:
    for number in range(30):
        path = f"/logs/other/plugins/profile/2026_01_01_00_00_{number:02}"
        store.files |= {f"{path}/vm.xplane.pb": b"", f"{path}/deep/x/more.txt": b""}
    sessions = find_sessions([Root(f"{store.address}/logs")])
    assert len(sessions) == 31
    assert (sessions[0].name, [host.name for host in sessions[0].hosts]) == (
        "run/2026_01_02_00_00_00",
        ["a", "b", "c", "d"],
    )
    paths = [request.path for request in store.requests]
    # The logdir, `run` and `other` with their `plugins` and `profile`, and the sessions.
    assert len(paths) == len(set(paths)) == 1 + 2 * 3 + 31
    assert not [path for path in paths if path.endswith(".pb") or "deep" in path]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/nothing", "no such file or directory; check the path"),
        (f"{SESSION}/x.xplane.pb", "no such file or directory; check the path"),
        ("/empty", "no profile under this directory; captures are in "),
    ],
)
def test_a_missing_url_is_a_one_line_error(
    store: WebStore, capsys: pytest.CaptureFixture[str], path: str, message: str
) -> None:
    store.files["/empty/notes.txt"] = b""
    for command in ("report", "sessions"):
        assert main([command, f"{store.address}{path}"]) == 3
        output = capsys.readouterr()
        assert output.out == ""
        assert output.err.startswith(f"xla-insights: {store.address}{path}: {message}")
        assert output.err.count("\n") == 1


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_logdir_that_cannot_be_listed_is_a_one_line_error(
    store: WebStore, capsys: pytest.CaptureFixture[str], status: int
) -> None:
    store.faults["/logs"] = lambda answer, _: answer.refuse(status)
    assert main(["sessions", f"{store.address}/logs"]) == 3
    errors = capsys.readouterr().err
    reason = "cannot be read" if status == 500 else "access refused"
    assert re.fullmatch(rf"xla-insights: {store.address}/logs: {reason} \({status} .*\); check .*\n", errors)


def test_a_directory_that_is_refused_hides_no_other(store: WebStore) -> None:
    store.files["/logs/secret/plugins/profile/s/vm.xplane.pb"] = b""
    store.faults["/logs/secret/"] = lambda answer, _: answer.refuse(403)
    assert [session.name for session in find_sessions([Root(f"{store.address}/logs")])] == [
        "run/2026_01_02_00_00_00"
    ]


def test_names_are_those_of_the_files_not_of_their_addresses(store: WebStore) -> None:
    session = "/logs/run%20a/plugins/profile/s%23100%25"
    store.files[f"{session}/ho%20st.xplane.pb"] = b""
    root = f"{store.address}/logs"
    assert {listed.name for listed in find_sessions([Root(root)])} == {
        "run a/s#100%",
        "run/2026_01_02_00_00_00",
    }
    named = resolve(root, "run a/s#100%")
    assert named.hosts[0].file.path == f"{store.address}{session}/ho%20st.xplane.pb"
    for resolved in (named, resolve(named.path), resolve(named.hosts[0].file.path)):
        assert (resolved.name.rpartition("/")[2], [host.name for host in resolved.hosts]) == (
            "s#100%",
            ["ho st"],
        )


def test_a_signed_address_of_a_capture_does_not_appear_in_its_names(store: WebStore) -> None:
    path = f"{SESSION}/vm.xplane.pb?X-Amz-Signature=ab&X-Amz-Expires=60"
    store.files[path] = b""
    session = resolve(f"{store.address}{path}")
    assert (session.name, [host.name for host in session.hosts]) == ("2026_01_02_00_00_00", ["vm"])
    assert session.hosts[0].file.path == f"{store.address}{path}"
