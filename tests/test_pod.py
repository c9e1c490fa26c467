"""Sessions of many hosts in the tab: a report of all hosts, and traces of the selected ones."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from helpers import MS, small_space
from test_plugin import data, document, get, open_session, post, tensorboard
from webstore import Answer, Request, web_store
from werkzeug.test import Client

from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.host_choice import chosen_hosts
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.sessions import Root
from tb_xla_insights.logdir.store import Store, session_opener
from tb_xla_insights.tasks.host import Task

DEMO = Path(__file__).parents[1] / "demo_logs/synthetic_pod_16_hosts"
HOSTS = 12
LATE = 9


@pytest.fixture
def pod(tmp_path: Path) -> Path:
    """A logdir with one session of 12 hosts, `w-0` to `w-11`. Each has one step more than the previous one, and host 9
    begins a millisecond after the others."""
    folder = tmp_path / "plugins/profile/s"
    folder.mkdir(parents=True)
    for number in range(HOSTS):
        space = small_space(steps=2 + number)
        if number == LATE:
            for plane in space.planes:
                for line in plane.lines:
                    line.timestamp_ns += 1_000_000
        space.write(folder / f"w-{number}.xplane.pb")
    return tmp_path


@pytest.fixture
def client(pod: Path) -> Client:
    return tensorboard("--logdir", str(pod))


@pytest.fixture
def loaded_client(pod: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client of the same session with all hosts in memory."""
    monkeypatch.setattr("tb_xla_insights.logdir.session_hosts._MAX_HOSTS_IN_MEMORY", HOSTS)
    client = tensorboard("--logdir", str(pod))
    open_session(client, "s")
    monkeypatch.undo()
    return client


def test_two_hosts_are_in_memory_and_all_in_the_report(client: Client) -> None:
    ready = open_session(client, "s")
    assert [host["name"] for host in ready["session"]["hosts"]] == [f"w-{i}" for i in range(HOSTS)]
    assert len(ready["devices"]["host"]) == HOSTS
    assert (ready["hosts_read"], ready["hosts_total"]) == (HOSTS, HOSTS)
    assert len(ready["chosen_hosts"]) == 2
    assert {row["host"] for row in ready["rows"]} == {f"w-{i}" for i in ready["chosen_hosts"]}
    assert {int(row["id"].partition(".")[0][1:]) for row in ready["rows"]} == set(ready["chosen_hosts"])


def test_hosts_are_chosen_by_index_range_and_word(client: Client) -> None:
    default_hosts = open_session(client, "s")["chosen_hosts"]
    assert data(client, "session", session="s", hosts="slowest,median")["chosen_hosts"] == default_hosts
    assert data(client, "session", session="s", hosts="11,1-3")["chosen_hosts"] == [1, 2, 3, 11]
    assert data(client, "session", session="s", hosts="all")["chosen_hosts"] == list(range(HOSTS))
    for hosts in ("12", "3-1", "x", "-1"):
        answer = get(client, "data/session", session="s", hosts=hosts)
        assert answer.status_code == 400
        assert "12 hosts" in document(answer)["error"]


def test_views_of_all_hosts_do_not_depend_on_the_hosts_in_memory(
    client: Client, loaded_client: Client
) -> None:
    open_session(client, "s")
    for route in ("overview", "counts", "gaps", "executions", "compiles"):
        answer, expected = data(client, route, session="s"), data(loaded_client, route, session="s")
        for view in (answer, expected):
            view.pop("strip", None)  # it has only the selected hosts
            for name in ("work", "columns") if route == "overview" else ():
                view["steps"].pop(name)
        assert answer == expected, route


def test_steps_are_those_of_the_selected_hosts(client: Client, loaded_client: Client) -> None:
    selected_hosts = open_session(client, "s")["chosen_hosts"]
    columns = data(client, "overview", session="s")["steps"]["columns"]
    assert set(columns["host"]) == {f"w-{host}" for host in selected_hosts}
    all_steps = data(loaded_client, "overview", session="s")["steps"]["columns"]
    selected = [row for row, host in enumerate(all_steps["host"]) if host in columns["host"]]
    assert columns["index"] == [all_steps["index"][row] for row in selected]
    assert columns["duration_ps"] == [all_steps["duration_ps"][row] for row in selected]
    work, all_work = (
        data(server, "overview", session="s")["steps"]["work"] for server in (client, loaded_client)
    )
    devices = {row["device"] for row in work}
    assert work == [row for row in all_work if row["device"] in devices]
    assert {index for row in work for index in row["step"]} <= set(columns["index"])
    columns_of_one_host = data(client, "overview", session="s", hosts="4")["steps"]["columns"]
    assert set(columns_of_one_host["host"]) == {"w-4"}


def test_a_gap_can_be_shown_with_that_of_another_host_in_the_same_step() -> None:
    client = tensorboard("--logdir", str(DEMO))
    name = data(client, "sessions")["sessions"][0]["name"]
    slowest, median = (open_session(client, name)["ranks"][word] for word in ("slowest", "median"))
    gaps = data(client, "gaps", session=name)["items"]
    gap = next(gap for gap in gaps if gap["host"].endswith(f"-{slowest}"))
    arguments = {"session": name, "device": gap["device"], "start_ps": gap["start_ps"]}
    assert data(client, "gap", **arguments)["gap_of_other_host"] is None
    counterpart = data(client, "gap", **arguments, other_host=median)["gap_of_other_host"]
    assert counterpart["device"] == gap["device"].replace(f"-{slowest}/", f"-{median}/")
    details = data(
        client, "gap", session=name, device=counterpart["device"], start_ps=counterpart["start_ps"]
    )
    assert details["step_number"] == gap["step_number"]
    assert (details["duration_ps"], details["by_class_ps"]) == (
        counterpart["duration_ps"],
        counterpart["by_class_ps"],
    )
    assert sum(counterpart["chain_ps"].values()) == counterpart["duration_ps"] < gap["duration_ps"]
    assert data(client, "gap", **arguments, other_host=slowest)["gap_of_other_host"] is None


def test_requests_for_rows_events_gaps_and_steps_load_their_host(
    client: Client, loaded_client: Client
) -> None:
    open_session(client, "s")
    window = {"start_ps": 0, "end_ps": 50 * MS, "px": 1000, "rows": "h4.ann,h11.ann,h11.d0.ops"}
    assert data(client, "timeline", session="s", **window) == data(
        loaded_client, "timeline", session="s", **window
    )
    requests: list[tuple[str, dict[str, Any]]] = [
        ("event", {"event": "7.3"}),
        ("event", {"row": "h9.ann", "start_ps": 21 * MS}),
        ("neighbor", {"row": "h10.ann", "depth": 0, "start_ps": 0, "direction": "next"}),
        ("search", {"q": "forward", "rows": "h3.ann,h4.ann"}),
        ("window", {"start_ps": 0, "end_ps": 20 * MS, "device": "w-8/TPU:0"}),
        ("executions", {"step": 40}),
        ("propagation", {"step": 40}),
    ]
    columns = data(client, "overview", session="s")["devices"]
    devices = {host: f"{host}/{name}" for host, name in zip(columns["host"], columns["name"], strict=True)}
    for route, arguments in requests:
        if "device" in arguments:
            arguments["device"] = devices["w-8"]
        answer, expected = (
            data(server, route, session="s", **arguments) for server in (client, loaded_client)
        )
        if route == "propagation":
            for view in (answer, expected):
                for name in ("hosts", "means", "tree", "unannotated"):  # these cover only the selected hosts
                    view.pop(name)
        assert answer == expected, (route, arguments)
    gaps = data(loaded_client, "gaps", session="s")["items"]
    for gap in gaps[:3]:
        position = {"device": gap["device"], "start_ps": gap["start_ps"]}
        assert data(client, "gap", session="s", **position) == data(
            loaded_client, "gap", session="s", **position
        )


def test_the_least_recently_used_hosts_are_released(pod: Path) -> None:
    loaded = Store(Listing([Root(str(pod))]), session_opener(budget=1), 1).loaded("s")
    first = loaded.choose(["3"]).hosts
    assert loaded.choose(["3"]).hosts is first
    loaded.choose(["5"])
    second = loaded.choose(["3"]).hosts
    assert second is not first
    assert second.traces[0] is not first.traces[0]


def test_the_first_hosts_are_shown_while_others_are_read(pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    may_go_on, started = threading.Event(), threading.Event()
    original = Task.__call__

    def block_at_w_5(task: Any, host: Any) -> Any:
        if host.name == "w-5":
            started.set()
            may_go_on.wait()
        return original(task, host)

    monkeypatch.setattr(Task, "__call__", block_at_w_5)
    # However slow the machine is, reports are built only after 1, 2, 4, … hosts.
    monkeypatch.setattr("tb_xla_insights.logdir.partial_reports._MIN_INTERVAL_S", 3600.0)
    client = tensorboard("--logdir", str(pod))
    data(client, "session", session="s")
    started.wait()
    answer = data(client, "session", session="s")
    assert answer["state"] == "loading"
    assert answer["partial"] == {"hosts_read": 5, "hosts_total": HOSTS, "hosts_covered": 4}
    assert "head" not in answer
    head = data(client, "session", session="s", seen=3)["head"]
    assert [host["name"] for host in head["session"]["hosts"]] == [f"w-{i}" for i in range(4)]
    assert len(head["devices"]["host"]) == 4
    assert (head["rows"], head["chosen_hosts"]) == ([], [])
    assert "head" not in data(client, "session", session="s", seen=4)
    overview = data(client, "overview", session="s")
    assert overview["partial"] == {"hosts_read": 4, "hosts_total": HOSTS}
    assert set(overview["devices"]["host"]) == {f"w-{i}" for i in range(4)}
    assert data(client, "executions", session="s")["runs"] is None
    assert document(post(client, "stop", session="s")) == {"stopped": True}
    may_go_on.set()
    ready = open_session(client, "s")
    assert [host["name"] for host in ready["session"]["hosts"]] == [f"w-{i}" for i in range(6)]
    skipped = [diagnostic for diagnostic in ready["diagnostics"] if diagnostic["id"] == "skipped_host"]
    assert len(skipped) == HOSTS - 6
    assert all("reading was stopped" in diagnostic["message"] for diagnostic in skipped)
    open_session(client, "s", reload=True)
    overview = data(client, "overview", session="s")
    assert "partial" not in overview
    assert len(overview["devices"]["host"]) == HOSTS


def test_the_slowest_and_the_median_host_are_those_of_the_report() -> None:
    rows = [
        {"name": name, "step_ps": step, "others_wait_ps": None}
        for name, step in zip("abcde", (3, 9, None, 5, 4), strict=True)
    ]
    report: dict[str, Any] = {"session": {"hosts": rows}, "hosts": rows, "findings": []}
    assert chosen_hosts(["slowest"], report) == [1]
    assert chosen_hosts(["median"], report) == [4]
    report["hosts"] = [*rows, *({**row, "step_ps": None} for row in rows)]
    assert chosen_hosts(["median"], report) == [4]  # not one without steps
    report["hosts"] = rows
    rows[3]["others_wait_ps"] = 7
    report["findings"] = [{"id": "straggler", "evidence": {"median_host": "a"}}]
    assert chosen_hosts(["slowest"], report) == [3]
    assert chosen_hosts(["median"], report) == [0]
    with pytest.raises(InputError, match="none of the 5 hosts"):
        chosen_hosts(["5"], report)


def test_hosts_of_a_failing_store_are_reported_and_the_data_read_before_is_shown(pod: Path) -> None:
    """The store sends the files of six hosts once. It resets the requests for the others, and those that read one of
    the six again to draw it."""
    with web_store() as store:
        for path in pod.rglob("*.pb"):
            store.files[f"/logs/{path.relative_to(pod)}"] = path.read_bytes()

        def fail_later(answer: Answer, request: Request) -> bool:
            host = int(request.path.rpartition("-")[2].partition(".")[0])
            return (
                request.method == "GET"
                and (host > 5 or len(store.requests_of(request.path)) > 1)
                and answer.reset()
            )

        store.faults = dict.fromkeys(store.files, fail_later)
        client = tensorboard("--logdir", f"{store.address}/logs")
        ready = open_session(client, "s")
        hosts_by_id: dict[str, list[str]] = {name: [] for name in ("skipped_host", "unread_trace")}
        for diagnostic in ready["diagnostics"]:
            if diagnostic["id"] in hosts_by_id:
                hosts_by_id[diagnostic["id"]].append(diagnostic["host"])
                assert "Connection reset" in diagnostic["message"]
        assert hosts_by_id["skipped_host"] == [f"w-{i}" for i in range(6, HOSTS)]
        assert len(hosts_by_id["unread_trace"]) == 2
        assert (len(ready["devices"]["host"]), ready["chosen_hosts"], ready["rows"]) == (6, [], [])
        for route in ("overview", "counts", "gaps", "executions", "compiles", "hosts"):
            assert get(client, f"data/{route}", session="s").status_code == 200
        for route in ("propagation", "scopes"):
            answer = get(client, f"data/{route}", session="s")
            assert answer.status_code == 400
            assert "its trace cannot be shown" in document(answer)["error"]
