"""The timeline follows a selected annotation to the devices: what is drawn, its card and its table."""

from __future__ import annotations

from browser.driver import Xi
from browser.tables import column, ps
from playwright.sync_api import Page, expect

ENCODER = {"w": "1015+440", "sel": "ev:h0.ann@1037.111685/2"}
PATH = "Training_Step/forward/image_encoder"


def check_the_card_says_what_an_annotation_became(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="timeline", **ENCODER)
    expect(page.get_by_test_id("on-the-device")).to_have_text(
        "On the device: 41.9\u202fms, 48\u00a0ops, 5\u00a0pieces, on each of 8 cores."
    )
    panel = page.get_by_test_id("selection-panel")
    expect(panel).to_contain_text("Launched by ExecuteReplicated as SyncTensorsGraph.41937 on 8\u00a0cores")
    pieces = page.get_by_test_id("device-pieces")
    assert sum(ps(column(pieces, "Time"))) == 41_882_000_000
    assert sum(int(text) for text in column(pieces, "Ops").all_text_contents()) == 48
    expect(column(pieces, "Line").nth(1)).to_have_text("/opt/demo/mmf/unit.py:115")
    assert xi.link()["an"] == PATH


def check_pieces_and_their_run_keep_their_colours(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="timeline", **ENCODER)
    page.wait_for_function("xi.drawn.follow?.pieces.length === 5")
    follow = xi.drawn("follow")
    (run,) = follow["runs"]
    assert all(
        run["start_ps"] <= piece["start_ps"] < piece["end_ps"] <= run["end_ps"] for piece in follow["pieces"]
    )
    assert {"h0.ann/2", "h0.d0.modules/0", "h0.d0.scopes/2"} <= set(follow["rows"])
    assert "h0.d0.scopes/1" not in follow["rows"]
    xi.press("Escape")
    page.wait_for_function("!xi.drawn.follow")
    assert "an" not in xi.link()


def check_a_piece_outside_of_the_window_is_a_row_away(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="timeline", w="1015+100", sel=ENCODER["sel"])
    row = page.get_by_test_id("device-pieces").locator("tbody tr").nth(2)
    row.focus()
    xi.press("Enter")
    window, piece = xi.drawn("window"), xi.drawn("follow")["pieces"][2]
    assert window["start_ps"] < piece["start_ps"] < piece["end_ps"] < window["end_ps"]
    assert xi.link()["sel"] == ENCODER["sel"]


def check_an_annotation_without_ops_says_why(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="timeline", sel="ev:h0.ann@882.695692/1")
    expect(page.get_by_test_id("on-the-device")).to_contain_text(
        "Not on the device: autograd thread. Scopes are"
    )
    expect(page.get_by_test_id("device-pieces")).to_have_count(0)


def check_a_scope_of_ops_is_followed_too(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="timeline", **ENCODER)
    page.wait_for_function("xi.drawn.follow?.pieces.length === 5")
    start = xi.drawn("follow")["pieces"][1]["start_ps"]
    xi.click(xi.slices(row="h0.d0.scopes", depth=2, start_ps=start)[0])
    expect(page.get_by_test_id("on-the-device")).to_contain_text("41.9\u202fms, 48\u00a0ops, 5\u00a0pieces")


def check_a_call_names_its_program_and_cores(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="timeline", q="name:TPUExecute")
    xi.search("name:TPUExecute")
    page.get_by_test_id("timeline-search").press("Enter")
    expect(page.get_by_test_id("selection-panel").locator(".facts")).to_contain_text(
        "SyncTensorsGraph.41937 on TPU:"
    )


def check_a_link_with_a_path_follows_it(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="timeline", w="1015+440", an=PATH)
    page.wait_for_function("xi.drawn.selection?.start_ps === 1037111685000")
    page.get_by_role("button", name="Ops in Device").click()
    xi.ready()
    assert (xi.link()["v"], xi.link()["an"]) == ("device", PATH)


def test_an_annotation_is_followed_to_the_devices(xi: Xi, page: Page, case_study: str) -> None:
    check_the_card_says_what_an_annotation_became(xi, page, case_study)
    check_pieces_and_their_run_keep_their_colours(xi, page, case_study)
    check_a_piece_outside_of_the_window_is_a_row_away(xi, page, case_study)
    check_an_annotation_without_ops_says_why(xi, page, case_study)
    check_a_scope_of_ops_is_followed_too(xi, page, case_study)
    check_a_call_names_its_program_and_cores(xi, page, case_study)
    check_a_link_with_a_path_follows_it(xi, page, case_study)
