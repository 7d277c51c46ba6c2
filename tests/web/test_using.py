"""What people do with the pages, in a real browser: choose, open, go on to the next failure, compare, watch a run live,
begin with nothing; once with the keyboard alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from howsure.model.run import RunState
from unit.reports.northwind import refund_results
from web.looking import Watched, needs_chromium
from web.pages_served import Served, serving
from web.stocked import AGAIN, GOING, NEWER, OLDER, SUPPORT, stock
from web.visiting import Visitor

pytestmark = needs_chromium


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Served]:
    """A stocked service that a test may change."""
    with serving(tmp_path, working=False) as served:
        served.do(stock(served.store))
        yield served


def test_with_nothing_there_one_click_loads_the_demo_and_progress_is_seen(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as served, Watched(browser, served.base) as watched:
        page = watched.open("/")
        expect(page.locator("main")).to_contain_text("No runs yet.")
        page.get_by_role("button", name="Load the demo").click()
        expect(page.locator("tbody tr")).to_have_count(5)
        # Nobody reloads the page: it does that by itself until all five have ended.
        expect(page.locator("#lines .answer")).to_have_text("5 runs, none going on.", timeout=60_000)
        expect(page.get_by_role("row", name="demo legal")).to_contain_text("completed")
        assert Visitor(served.base).post("/demo").leads_to == "/"
        assert Visitor(served.base).data("/")["total"] == 5
        assert watched.trouble == []


def test_a_run_is_watched_while_it_goes_on(browser: Browser, own: Served) -> None:
    with Watched(browser, own.base) as watched:
        page = watched.open(f"/runs/{GOING}")
        expect(page.locator(".counts")).to_contain_text("9 pending = 12")
        own.do(own.store.save(GOING, refund_results()))
        expect(page.locator(".counts")).to_contain_text("0 pending = 12")
        own.do(own.store.set_state(GOING, RunState.COMPLETED))
        expect(page.locator("[sse-connect]")).to_have_count(0)
        assert watched.trouble == []


def test_cases_are_chosen_and_the_address_says_how(browser: Browser, stocked: Served) -> None:
    with Watched(browser, stocked.base) as watched:
        page = watched.open(f"/runs/{OLDER}")
        expect(page.locator(".case-lines .id")).to_have_text(["refund-03", "refund-06", "refund-08"])
        headline = page.locator(".answer").inner_text()
        page.get_by_label("tag or label").select_option("difficulty: easy")
        page.wait_for_url("**tag=difficulty**")
        assert page.locator(".answer").inner_text() == headline
        expect(page.locator(".showing")).to_have_text("1–7 of 7 that match, of 12 results")
        page.get_by_role("link", name="without tag").click()
        page.locator(".chip", has_text="errored").click()
        expect(page.locator(".case-lines .id")).to_have_text(["refund-11"])
        page.goto(f"{stocked.base}/runs/{OLDER}?q=gift")
        expect(page.locator(".case-lines .id")).to_have_text(["refund-04"])


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("verdict=all&order=file", "refund-01 refund-02 refund-03 refund-04 refund-05 refund-06"),
        ("verdict=all", "refund-03 refund-06 refund-08 refund-11 refund-12 refund-01"),
        ("verdict=all&order=slowest", "refund-10 refund-09 refund-08 refund-07 refund-06 refund-05"),
        ("verdict=failed&grader=tool_usage_accuracy", "refund-03 refund-06 refund-08"),
        ("grader=nothing", ""),
        ("tag=difficulty%3A+hard", "refund-03 refund-06 refund-08"),
        ("verdict=nonsense&order=nonsense", "refund-03 refund-06 refund-08"),
        ("q=REFUND-1", "refund-11 refund-12 refund-10"),
    ],
)
def test_every_filter_works_by_its_address(stocked: Served, query: str, shown: str) -> None:
    found = Visitor(stocked.base).data(f"/runs/{OLDER}?{query}")
    assert [case["called"] for case in found["cases"]][:6] == shown.split()


def test_what_goes_wrong_is_counted_over_the_run_and_leads_to_its_cases(browser: Browser, stocked: Served) -> None:
    with Watched(browser, stocked.base) as watched:
        page = watched.open(f"/runs/{OLDER}?verdict=passed")
        first = page.locator(".wrong a").first
        expect(first).to_contain_text("3tool usage accuracy")
        first.click()
        expect(page.locator(".case-lines .id")).to_have_text(["refund-03", "refund-06", "refund-08"])


def test_repeats_are_one_line_and_the_flaky_one_is_marked(browser: Browser, stocked: Served) -> None:
    with Watched(browser, stocked.base) as watched:
        page = watched.open(f"/runs/{AGAIN}?verdict=all&flaky=yes")
        expect(page.locator(".case-lines .id")).to_have_text(["refund-03"])
        expect(page.locator(".case-lines .who")).to_contain_text("1/2 ≈")
        page.locator(".case-lines a").click()
        expect(page.locator("[data-repeat]")).to_have_count(2)
        page.keyboard.press("]")
        expect(page.locator("[data-repeat][aria-current]")).to_contain_text("repeat 2")


def test_evidence_is_marked_in_the_talk_and_each_leads_to_the_other(browser: Browser, stocked: Served) -> None:
    with Watched(browser, stocked.base) as watched:
        page = watched.open(f"/runs/{OLDER}/cases/2")
        expect(page.locator(".talk mark")).to_have_count(1)
        page.locator("[data-cite='1']").click()
        expect(page.locator(".talk mark.shown")).to_have_count(1)
        page.wait_for_url("**#quote-1")


def test_from_one_failure_to_the_next_within_the_filter(browser: Browser, stocked: Served) -> None:
    with Watched(browser, stocked.base) as watched:
        page = watched.open(f"/runs/{OLDER}")
        page.locator(".case-lines a").first.click()
        expect(page.locator(".actions")).to_contain_text("1 of 3")
        page.keyboard.press("n")
        expect(page.locator(".crumb code")).to_have_text("refund-06")
        page.keyboard.press("n")
        expect(page.locator(".crumb code")).to_have_text("refund-08")
        expect(page.locator("[data-next]")).to_have_count(0)
        page.keyboard.press("p")
        expect(page.locator(".crumb code")).to_have_text("refund-06")
        page.keyboard.press("u")
        page.wait_for_url(f"**/runs/{OLDER}#case-*")
        expect(page.locator("[data-line]:has(:focus) .id")).to_have_text("refund-06")


def test_a_result_is_copied_whole(browser: Browser, stocked: Served) -> None:
    with Watched(browser, stocked.base, permissions=["clipboard-read", "clipboard-write"]) as watched:
        page = watched.open(f"/runs/{OLDER}/cases/2")
        page.get_by_role("button", name="Copy as JSON").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
        assert (copied["case"]["id"], copied["verdict"]) == ("refund-03", "failed")


def test_charts_and_triage_come_when_they_are_opened(browser: Browser, stocked: Served) -> None:
    with Watched(browser, stocked.base) as watched:
        page = watched.open(f"/runs/{OLDER}")
        assert not any("/charts" in url or "/triage" in url for url in watched.asked)
        page.get_by_role("heading", name="Cost and latency").click()
        expect(page.locator("#charts figure")).to_have_count(1)
        page.get_by_role("heading", name="Triage").click()
        expect(page.locator("#triage")).to_contain_text("Answerable")
        assert watched.trouble == []


def test_two_runs_are_picked_and_compared_and_a_flip_is_seen_side_by_side(browser: Browser, stocked: Served) -> None:
    with Watched(browser, stocked.base) as watched:
        page = watched.open("/?q=support")
        button = page.locator("[data-compare]")
        expect(button).to_be_disabled()
        page.get_by_label("pick support-v1").check()
        page.get_by_label("pick support-v2").check()
        button.click()
        expect(page.locator("h1")).to_have_text("A support-v1 → B support-v2")
        expect(page.locator(".against .answer")).to_contain_text("Cannot tell yet whether support-v2 is better")
        page.get_by_role("link", name="refund-01").click()
        expect(page.locator("h1")).to_have_text("It passed in A and failed in B.")
        expect(page.locator("ins").first).to_be_visible()
        assert watched.trouble == []


def test_what_cannot_be_compared_says_why(stocked: Served) -> None:
    found = Visitor(stocked.base).data(f"/compare?run={OLDER}&run={SUPPORT}")
    assert found["answer"] == "These runs cannot be compared."
    assert "have no case in common" in found["refused"]


def test_a_view_is_saved_and_found_again(browser: Browser, stocked: Served) -> None:
    with Watched(browser, stocked.base) as watched:
        page = watched.open("/?q=support")
        watched.answers = ["support only"]
        page.get_by_role("button", name="save this view").click()
        page.goto(f"{stocked.base}/")
        page.get_by_role("link", name="support only").click()
        page.wait_for_url("**/?q=support")
        page.get_by_role("button", name="forget this view").click()
        expect(page.get_by_role("link", name="support only")).to_have_count(0)


def test_with_the_keyboard_alone_from_the_list_to_a_reason_and_a_comparison(browser: Browser, own: Served) -> None:
    with Watched(browser, own.base) as watched:
        page = watched.open("/?q=support")
        press = page.keyboard.press
        press("?")
        expect(page.locator("#help")).to_be_visible()
        press("Escape")
        # Until it is gone, keys are its own.
        expect(page.locator("#help")).to_be_hidden()
        press("/")
        expect(page.locator("[data-search]")).to_be_focused()
        press("Escape")
        page.evaluate("document.activeElement.blur()")
        press("j")
        press("x")
        press("j")
        press("x")
        expect(page.locator("[data-picked]")).to_have_text("2 picked")
        press("c")
        page.wait_for_url("**/compare?**")
        press("u")
        page.wait_for_url(f"{own.base}/")
        press("j")
        press("j")
        press("Enter")
        page.wait_for_url("**/runs/*")
        press("g")
        press("a")
        page.wait_for_url("**/agents")
        press("j")
        press("Enter")
        expect(page.locator("h1")).not_to_have_text("Agents")
        assert watched.trouble == []


def test_a_run_is_deleted_only_after_a_question(browser: Browser, own: Served) -> None:
    with Watched(browser, own.base) as watched:
        page = watched.open(f"/runs/{NEWER}")
        page.get_by_role("button", name="Delete").click()
        assert watched.trouble == ["Delete this run and all its results?"]
        watched.trouble.clear()
        watched.answers = [""]
        page.get_by_role("button", name="Delete").click()
        page.wait_for_url(f"{own.base}/")
        expect(page.locator("tbody")).not_to_contain_text("support-v2")


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/runs/nonsense", 404, "there is no run nonsense"),
        (f"/runs/{OLDER}/cases/99", 404, "has no result at position 99"),
        (f"/runs/{OLDER}/cases/x", 404, "has no result at position x"),
        ("/compare?run=1", 422, "choose two runs to compare"),
        ("/agent?id=nobody", 404, "there is no agent nobody"),
        ("/nowhere", 404, "No page has the address /nowhere"),
        (f"/runs/{OLDER}?after=A", 422, "this address does not lead into the list any more"),
    ],
)
def test_what_is_not_there_is_said_on_a_page(stocked: Served, path: str, status: int, said: str) -> None:
    reply = Visitor(stocked.base).get(path)
    assert reply.status == status
    assert said in reply.text
