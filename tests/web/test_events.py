"""What goes on is told as it happens: when something is new and when nothing more comes, to those who may know it, for
as long as they may; a page shows it by itself, stays still while somebody is in it, and asks where nobody tells."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Route, expect

from howsure.model.job import RequestedState
from howsure.model.run import RunState
from howsure.services.host.keys import KeyRequest, make_key
from howsure.store.keys import KeyScope
from howsure.web.pages import events
from unit.reports.northwind import refund_results
from web.looking import Watched, needs_chromium
from web.pages_served import Served, serving
from web.stocked import GOING, OLDER, stock
from web.visiting import Visitor


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, working=False) as served:
        served.do(stock(served.store))
        yield served


class Listener:
    """Reads a stream event by event."""

    def __init__(self, served: Served, path: str, cookie: str = "") -> None:
        self._connection = HTTPConnection(urlsplit(served.base).netloc, timeout=20)
        self._connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
        self.response: HTTPResponse = self._connection.getresponse()

    def next(self) -> str:
        """The name of the next event; "" at the end."""
        name = ""
        while line := self.response.readline().decode():
            if line == "\n" and name:
                return name
            if line.startswith("event: "):
                name = line.removeprefix("event: ").strip()
        return ""

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def test_a_run_tells_what_is_new_and_when_it_has_ended(own: Served) -> None:
    with Listener(own, f"/runs/{GOING}/events") as heard:
        assert heard.response.status == 200
        assert heard.response.getheader("content-type", "").startswith("text/event-stream")
        assert heard.response.getheader("cache-control") == "no-store"
        assert heard.next() == "changed"
        own.do(own.store.save(GOING, refund_results()))
        assert heard.next() == "changed"
        own.do(own.store.set_state(GOING, RunState.COMPLETED))
        assert [heard.next(), heard.next(), heard.next()] == ["changed", "end", ""]


def test_a_run_that_has_ended_says_so_at_once(own: Served) -> None:
    with Listener(own, f"/runs/{OLDER}/events") as heard:
        assert [heard.next(), heard.next(), heard.next()] == ["changed", "end", ""]


def test_a_run_that_is_deleted_ends(own: Served) -> None:
    with Listener(own, f"/runs/{GOING}/events") as heard:
        assert heard.next() == "changed"
        own.do(own.store.set_state(GOING, RunState.CANCELLED))
        own.do(own.store.delete_run(GOING))
        told = [heard.next(), heard.next()]
        assert told[-1] == "end" or heard.next() == "end"


def test_the_list_tells_of_all_that_go_on(own: Served) -> None:
    with Listener(own, "/events") as heard:
        assert heard.next() == "changed"
        own.do(own.store.save(GOING, refund_results()))
        assert heard.next() == "changed"
        own.do(own.store.set_state(GOING, RunState.COMPLETED))
        told = [heard.next()]
        while told[-1] == "changed":
            told.append(heard.next())
        assert told[-1] == "end"


def test_a_run_that_another_worker_will_take_up_has_not_ended(own: Served) -> None:
    """Whoever worked on it was killed: its page would be loaded anew, again and again."""
    visitor = Visitor(own.base)
    visitor.post("/demo")
    run = next(line["id"] for line in visitor.data("/")["lines"] if line["name"] == "demo legal")
    own.do(own.store.set_state(run, RunState.INTERRUPTED))
    for path in (f"/runs/{run}/events", "/events"):
        with Listener(own, path) as heard:
            assert heard.next() == "changed"
            own.do(own.store.set_state(run, RunState.PENDING))
            assert heard.next() == "changed"
            own.do(own.store.set_state(run, RunState.INTERRUPTED))
    own.do(own.store.queue.wish(run, RequestedState.CANCEL))
    with Listener(own, f"/runs/{run}/events") as heard:
        assert [heard.next(), heard.next()] == ["changed", "end"]


def test_nothing_is_told_but_that_something_is_new(own: Served) -> None:
    assert {events.CHANGED, events.ENDED} == {b"event: changed\ndata: 1\n\n", b"event: end\ndata: 1\n\n"}


def test_boundaries_hold_and_a_revoked_key_hears_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEY_CHECK_SECONDS", 0.5)
    with serving(tmp_path, keys_needed=True, working=False) as served:
        served.do(stock(served.store))
        stranger = KeyRequest(name="stranger", scopes=[KeyScope.READ], organization_id="others")
        reader = KeyRequest(name="reader", scopes=[KeyScope.READ])
        (_, theirs), (key, ours) = (served.do(make_key(served.store, each)) for each in (stranger, reader))
        assert Visitor(served.base).get(f"/runs/{GOING}/events").leads_to.startswith("/sign-in")
        assert Visitor(served.base).sign_in(theirs).get(f"/runs/{GOING}/events").status == 404
        visitor = Visitor(served.base).sign_in(ours)
        cookie = "; ".join(f"{each.name}={each.value}" for each in visitor.cookies)
        with Listener(served, f"/runs/{GOING}/events", cookie) as heard:
            assert heard.next() == "changed"
            served.do(served.store.keys.revoke(key.id))
            assert heard.next() == ""


@needs_chromium
def test_the_list_stays_still_while_somebody_is_in_it_and_catches_up(browser: Browser, own: Served) -> None:
    with Watched(browser, own.base) as watched:
        page = watched.open("/")
        line = page.get_by_role("row", name="going on")
        expect(line.locator(".marks")).to_contain_text("= 12")
        page.get_by_label("pick going on").focus()
        own.do(own.store.save(GOING, refund_results()))
        expect(page.locator("[data-held]")).to_have_count(1)
        expect(line.locator(".marks .pending").first).to_have_text("9")
        page.get_by_placeholder("name, agent, id").focus()
        expect(line.locator(".marks .pending").first).to_have_text("0")
        assert watched.trouble == []


@needs_chromium
def test_where_nobody_tells_the_page_asks(browser: Browser, own: Served) -> None:
    def refuse(route: Route) -> None:
        route.abort()

    with Watched(browser, own.base) as watched:
        watched.page.route("**/events", refuse)
        page = watched.open(f"/runs/{GOING}")
        expect(page.locator(".counts")).to_contain_text("9 pending = 12")
        own.do(own.store.save(GOING, refund_results()))
        expect(page.locator(".counts")).to_contain_text("0 pending = 12", timeout=10_000)


@needs_chromium
def test_who_reads_in_a_run_is_told_that_it_has_ended_and_not_torn_away(browser: Browser, own: Served) -> None:
    with Watched(browser, own.base) as watched:
        page = watched.open(f"/runs/{GOING}")
        page.get_by_role("link", name="Runs").last.focus()
        own.do(own.store.save(GOING, refund_results()))
        own.do(own.store.set_state(GOING, RunState.COMPLETED))
        expect(page.get_by_text("It has ended.")).to_be_visible()
        page.get_by_role("link", name="Show all of it").click()
        expect(page.locator("[sse-connect]")).to_have_count(0)
        expect(page.get_by_role("link", name="Grade again")).to_be_visible()
        assert watched.trouble == []


@needs_chromium
def test_what_is_on_its_way_when_somebody_comes_into_a_run_waits_too(browser: Browser, own: Served) -> None:
    with Watched(browser, own.base) as watched:
        page = watched.open(f"/runs/{GOING}")
        expect(page.locator(".counts")).to_contain_text("9 pending = 12")
        late: list[Route] = []
        page.route(f"**/runs/{GOING}", lambda route: route.continue_() if late else late.append(route))
        own.do(own.store.save(GOING, refund_results()))
        while not late:
            page.wait_for_timeout(50)
        crumb = page.get_by_role("link", name="Runs").last
        crumb.focus()
        with page.expect_response(f"**/runs/{GOING}"):
            late[0].continue_()
        page.wait_for_timeout(300)
        expect(crumb).to_be_focused()
        expect(page.locator(".counts")).to_contain_text("9 pending = 12")
        crumb.blur()
        expect(page.locator(".counts")).not_to_contain_text("9 pending")
        assert watched.trouble == []


@needs_chromium
def test_a_page_that_nobody_looks_at_hangs_up_and_calls_again(browser: Browser, own: Served) -> None:
    looks = "Object.defineProperty(document, 'hidden', {value: HIDDEN, configurable: true});"
    turn = looks + "document.dispatchEvent(new Event('visibilitychange'));"
    with Watched(browser, own.base) as watched:
        page = watched.open(f"/runs/{GOING}")
        expect(page.locator(".counts")).to_contain_text("9 pending = 12")
        page.evaluate(turn.replace("HIDDEN", "true"))
        own.do(own.store.save(GOING, refund_results()))
        page.wait_for_timeout(1500)
        expect(page.locator(".counts")).to_contain_text("9 pending = 12")
        page.evaluate(turn.replace("HIDDEN", "false"))
        expect(page.locator(".counts")).to_contain_text("0 pending = 12")
        assert sum(url.endswith("/events") for url in watched.asked) == 2
        assert watched.trouble == []
