"""The static copy: what the routes answer, in one file of limited size, without paths of this machine."""

from __future__ import annotations

import base64
import functools
import json
import re
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers import MS, write_session
from synthetic import pod
from synthetic.__main__ import LOGDIR
from synthetic.pod_schedule import Delay, Pod

import tb_xla_insights as xi
from tb_xla_insights.cli.main import main
from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.sessions import roots
from tb_xla_insights.logdir.store import Store, session_opener
from tb_xla_insights.routes.arguments import Arguments
from tb_xla_insights.routes.handlers import Handlers
from tb_xla_insights.static_copy import document
from tb_xla_insights.static_copy.document import packed_page, static_copy
from tb_xla_insights.text.json_text import json_bytes

PAGE = b"<script>@answers@</script>"
CASE = LOGDIR / "synthetic_case_study_8_tpu_cores"
VIEWS = (
    "session",
    "sessions",
    "overview",
    "counts",
    "gaps",
    "executions",
    "iterations",
    "compiles",
    "hosts",
    "propagation",
    "device",
)


def recorded(page: bytes) -> dict[str, Any]:
    """The answers of a copy, by request."""
    [packed] = re.findall(rb"<script>(.*)</script>", page)
    lines = zlib.decompress(base64.b64decode(packed, validate=True)).splitlines()
    return {
        json.loads(request): json.loads(answer)
        for request, answer in zip(lines[::2], lines[1::2], strict=True)
    }


def copy_of(path: Path, max_bytes: int = 10_000_000) -> bytes:
    session = xi.load(str(path))
    return static_copy(PAGE, session.hosts.files, session.opened, max_bytes)


@functools.cache
def answers_of(path: Path) -> dict[str, Any]:
    """The answers of a whole copy, by request. No test may change them."""
    return recorded(copy_of(path))


def test_a_servers_copy_has_its_iterations(shared_traces: Path) -> None:
    answers = answers_of(shared_traces / "serving/sched_sync")
    assert [kind["kind"] for kind in answers["iterations?"]["kinds"]] == ["decode", "mixed"]
    assert answers["counts?"]["counts"]["iterations"] == answers["iterations?"]["count"]


@pytest.fixture(scope="module")
def pod_logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of six hosts, of which one is late in every step."""
    logdir = tmp_path_factory.mktemp("pod")
    folder = logdir / "plugins/profile/one"
    folder.mkdir(parents=True)
    training = Pod(hosts=6, cores=2, steps=8, ops=2, delays=(Delay(3, "input", 38 * MS),))
    for host, space in enumerate(pod.files(training)):
        space.write(folder / f"{pod.name_of(host)}.xplane.pb")
    return logdir


@pytest.mark.parametrize("is_pod", [False, True])
def test_the_answers_are_those_of_the_routes(is_pod: bool, pod_logdir: Path) -> None:
    """Of the routes with hundreds of answers, such as one for each gap, every tenth is compared."""
    path = pod_logdir if is_pod else CASE
    answers = answers_of(path)
    listing = Listing(roots(str(path), ""))
    store = Store(listing, session_opener())
    gets = Handlers(listing, store).gets()
    [name] = [session.name for session in listing.refresh(wait=None)]
    opened = store.loaded(name)
    opened.choose(None).find_more_rows()
    assert {request.partition("?")[0] for request in answers} >= {
        *VIEWS,
        *(("collective", "waits", "host_steps", "hosts_in_steps") if is_pod else ()),
        "timeline",
        "event",
        "gap",
        "window",
    }
    rows = ",".join(row["id"] for row in answers["session?"]["rows"])
    compared = Counter[str]()
    for request, answer in answers.items():
        route, _, query = request.partition("?")
        compared[route] += 1
        if compared[route] > 20 and compared[route] % 10:
            continue
        arguments = dict(pair.split("=", 1) for pair in query.split("&") if pair)
        if route in ("session", "sessions", "neighbor") or (route == "gap" and is_pod):
            continue  # with folders, of several requests, with a compared host
        if route == "timeline":
            arguments["rows"] = rows
        expected = gets[route](Arguments(route, {"session": name, **arguments}))
        assert answer == json.loads(json_bytes(expected)), request
    neighbors = [request for request in answers if request.startswith("neighbor?")]
    assert len(neighbors) > 1
    for request in neighbors:
        arguments = dict(pair.split("=", 1) for pair in request.partition("?")[2].split("&"))
        events = answers[request]["events"]
        for event, following in zip(events, [*events[1:], None], strict=True):
            values = {"session": name, **arguments, "start_ps": str(event["start_ps"]), "direction": "next"}
            assert gets["neighbor"](Arguments("neighbor", values))["event"] == following


def test_the_places_of_findings_and_their_timeline_are_recorded() -> None:
    answers = answers_of(CASE)
    overview = answers["overview?"]
    spans = [
        tuple(int(re.findall(rf"{name}=(\d+)", request)[0]) for name in ("start_ps", "end_ps"))
        for request in answers
        if request.startswith("timeline?")
    ]
    for explained in overview["explained_gaps"].values():
        for gap in explained["gaps"]:
            start, length = gap["start_ps"], gap["duration_ps"]
            detail = answers[f"gap?device={gap['device']}&start_ps={start}"]
            assert all(
                f"event?event={piece['event']}" in answers for piece in detail["chain"] if piece["event"]
            )
            duration = answers["session?"]["session"]["duration_ps"]
            shown = max(0, start - 6 * length), min(duration, start + 7 * length)
            assert any(s <= shown[0] and e >= shown[1] and e - s <= 16 * length for s, e in spans)


def test_a_copy_names_no_folder_of_this_machine() -> None:
    answers = answers_of(CASE)
    assert str(LOGDIR) not in json.dumps(answers)
    head = answers["session?"]["session"]
    assert (head["path"], head["hosts"][0]["file"]) == (head["name"], "t1v-n-8c41-w-0.xplane.pb")
    assert answers["sessions?"]["logdir"] == ""


@pytest.mark.parametrize("max_bytes", [100_000, 400_000])
def test_a_copy_keeps_to_its_size(max_bytes: int) -> None:
    page = copy_of(CASE, max_bytes)
    assert 0.5 * max_bytes < len(page) <= max_bytes
    assert "overview?" in recorded(page)


def test_a_copy_of_a_session_whose_hosts_are_not_all_in_memory(
    pod_logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tb_xla_insights.logdir.session_hosts._MAX_HOSTS_IN_MEMORY", 1)
    answers = recorded(copy_of(pod_logdir))
    assert len(answers["session?"]["chosen_hosts"]) == 2
    assert len(answers["hosts?"]["hosts"]["name"]) == 6


@pytest.mark.usefixtures("packed_page")
def test_the_command_writes_the_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, logdir = tmp_path / "report.html", str(write_session(tmp_path / "s", "vm"))
    assert main(["report", logdir, "--html", str(path)]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(
        rf"{path}: the page as a static copy, [\d.]+ kB\n", printed.err.replace("\u202f", " ")
    )
    assert main(["report", logdir, "--html", str(path), "--json"]) == 0
    assert capsys.readouterr().out.startswith("{")
    assert main(["report", logdir, "--html", str(tmp_path / "missing" / "report.html")]) == 3
    [line] = capsys.readouterr().err.splitlines()
    assert "can be written with --html" in line


@pytest.mark.usefixtures("packed_page")
def test_the_command_warns_of_an_unreadable_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipeline shows only what the command prints."""
    directory = write_session(tmp_path / "s", "a", "b")
    (directory / "b.xplane.pb").write_bytes(b"no capture")
    path = tmp_path / "report.html"
    assert main(["report", str(directory), "--html", str(path)]) == 0
    warning, note = capsys.readouterr().err.splitlines()
    assert warning.startswith("warning (b): ")
    assert note.startswith(f"{path}: ")


class TestInAPipeline:
    """The documentation's example, with a session in which a graph is compiled again."""

    @pytest.mark.usefixtures("packed_page")
    def test_the_command_fails_on_a_finding_of_the_given_severity(self, tmp_path: Path) -> None:
        run = str(LOGDIR / "synthetic_transformer_2_tpu_cores")
        html = ["--html", str(tmp_path / "report.html")]
        assert main(["report", run, "--fail-on", "warning", *html]) == 1
        assert (tmp_path / "report.html").stat().st_size > 10_000
        assert main(["report", run, "--fail-on", "critical"]) == 0

    def test_the_documented_example_is_that_command(self) -> None:
        documentation = (Path(__file__).parents[1] / "docs/command-line.md").read_text()
        assert re.search(r"xla-insights report \S+ --fail-on warning --html report\.html", documentation)


def test_without_a_packed_page_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "frontend").mkdir()
    monkeypatch.setattr(document, "page_folder", lambda: tmp_path / "frontend")
    with pytest.raises(InputError, match=r"frontend: the page is not packed; run npm ci && npm run pack in "):
        packed_page()
