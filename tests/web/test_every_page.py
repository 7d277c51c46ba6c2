"""Every page and every action that the pages have, taken from the routes themselves: each can be read by everybody, in
the light and in the dark, wide and narrow; asks nothing of another host; and lets in exactly those it is for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from howsure.model.access_scope import EVERYWHERE
from howsure.services.host.keys import KeyRequest, make_key
from howsure.services.host.roles import OPENED_BY, Permission, permits
from howsure.store.keys import KeyScope
from howsure.web.app import PAGES
from howsure.web.routes import PageRoute
from web.everything import NOT_PAGES, READ, SHOWN, WRITTEN, Everything, fill
from web.looking import LARGEST, Watched, needs_chromium
from web.pages_served import Served, serving
from web.visiting import Visitor

GUARDED = [page for page in PAGES if page.permission is not Permission.PUBLIC]
NOBODYS = ("/library/{shelf}", "/library/{shelf}/new", "/library/{shelf}/check", "/library/{shelf}/{key}/check")
"""What is about nothing that is kept: an empty text, or the one that is sent along."""
THEIRS = [page for page in GUARDED if "{" in page.path and page.path not in NOBODYS]
"""What is about one thing, which belongs to somebody."""


def called(page: PageRoute) -> str:
    return f"{page.method} {page.path}"


@pytest.fixture(scope="module")
def open_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Everything]]:
    with serving(tmp_path_factory.mktemp("open"), working=False) as served:
        yield served, served.do(fill(served))


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Everything]]:
    with serving(tmp_path_factory.mktemp("locked"), keys_needed=True, working=False) as served:
        yield served, served.do(fill(served))


@needs_chromium
@pytest.mark.parametrize("path", SHOWN)
def test_a_page_can_be_read_by_everybody(browser: Browser, open_house: tuple[Served, Everything], path: str) -> None:
    served, there = open_house
    check_readable(browser, served, there.filled(path))


@needs_chromium
@pytest.mark.parametrize("place", range(13))
def test_and_so_can_its_other_forms(browser: Browser, open_house: tuple[Served, Everything], place: int) -> None:
    served, there = open_house
    assert len(there.others) == 13
    check_readable(browser, served, there.others[place])


def check_readable(browser: Browser, served: Served, address: str) -> None:
    with Watched(browser, served.base, color_scheme="light", viewport={"width": 1440, "height": 900}) as watched:
        response = watched.visit(address)
        assert response.status == 200
        assert len(response.body()) < LARGEST
        policy = response.headers["content-security-policy"]
        assert "script-src 'self';" in policy and "unsafe" not in policy
        assert watched.page.locator("h1").count() == 1
        # Some of it comes when the page is there, and some when its fold is opened.
        watched.page.wait_for_load_state("networkidle")
        watched.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        watched.page.wait_for_load_state("networkidle")
        assert watched.findings() == []
        watched.page.emulate_media(color_scheme="dark")
        assert watched.findings() == []
        watched.page.set_viewport_size({"width": 390, "height": 844})
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert watched.strangers == []
        assert watched.trouble == []


@pytest.mark.parametrize("path", [path for path in SHOWN if path != "/sign-in"])
def test_every_page_also_answers_json(open_house: tuple[Served, Everything], path: str) -> None:
    served, there = open_house
    found = Visitor(served.base).data(there.filled(path))
    assert isinstance(found, dict) and "answer" in found


@pytest.mark.parametrize("page", GUARDED, ids=called)
def test_nobody_comes_in_without_signing_in(locked: tuple[Served, Everything], page: PageRoute) -> None:
    served, there = locked
    visitor = Visitor(served.base)
    reply = visitor.get(there.filled(page.path)) if page.method == "GET" else visitor.post(there.filled(page.path))
    assert (reply.status, reply.leads_to.partition("?")[0]) == (303, "/sign-in")


@pytest.mark.parametrize("page", GUARDED, ids=called)
@pytest.mark.parametrize("scope", [KeyScope.READ, KeyScope.LABEL, KeyScope.WRITE, KeyScope.RUN])
def test_a_scope_opens_what_it_says_and_nothing_else(
    visitors: dict[KeyScope, Visitor], locked: tuple[Served, Everything], page: PageRoute, scope: KeyScope
) -> None:
    if permits([scope], EVERYWHERE, page.permission):
        return
    visitor, address = visitors[scope], locked[1].filled(page.path)
    reply = visitor.get(address) if page.method == "GET" else visitor.post(address)
    assert reply.status == 403
    needed = next(each for each, opened in OPENED_BY.items() if page.permission in opened)
    assert f"it needs the scope &#39;{needed.value}&#39;" in reply.text


@pytest.fixture(scope="module")
def visitors(locked: tuple[Served, Everything]) -> dict[KeyScope, Visitor]:
    served, _ = locked
    made = {
        scope: served.do(make_key(served.store, KeyRequest(name=scope.value, scopes=[scope]))) for scope in KeyScope
    }
    return {scope: Visitor(served.base).sign_in(secret) for scope, (_, secret) in made.items()}


@pytest.mark.parametrize("path", SHOWN)
def test_who_may_sees_it(visitors: dict[KeyScope, Visitor], locked: tuple[Served, Everything], path: str) -> None:
    (permission,) = {page.permission for page in PAGES if page.path == path and page.method == "GET"}
    scope = next(each for each in KeyScope if permits([each], EVERYWHERE, permission))
    assert visitors[scope].get(locked[1].filled(path)).status == 200


@pytest.mark.parametrize("page", THEIRS, ids=called)
@pytest.mark.parametrize("limits", [{"organization_id": "others"}, {"agent_ids": ("another-agent",)}], ids=str)
def test_what_belongs_to_others_is_as_if_it_were_not_there(
    locked: tuple[Served, Everything], page: PageRoute, limits: dict[str, object]
) -> None:
    served, there = locked
    wanted = KeyRequest(name="stranger", scopes=[KeyScope.ADMIN], **limits)  # type: ignore[arg-type]
    _, secret = served.do(make_key(served.store, wanted))
    visitor, address = Visitor(served.base).sign_in(secret), there.filled(page.path)
    reply = visitor.get(address) if page.method == "GET" else visitor.post(address, {"version": "1", "text": "{}"})
    # A text or a file that is nobody's is looked at before anything is looked for.
    assert reply.status in (403, 404, 422), (page.path, reply.status)
    assert "House rules" not in reply.text and "refund" not in reply.text


@pytest.mark.parametrize("path", WRITTEN)
@pytest.mark.parametrize("token", ["", "0" * 64])
def test_no_form_is_taken_that_is_not_ours(
    visitors: dict[KeyScope, Visitor], locked: tuple[Served, Everything], path: str, token: str
) -> None:
    reply = visitors[KeyScope.ADMIN].ask("POST", locked[1].filled(path), f"csrf={token}".encode())
    assert reply.status == 403
    assert "this form is not one of ours" in reply.text


@pytest.mark.parametrize("path", WRITTEN)
def test_no_form_is_taken_from_elsewhere(
    visitors: dict[KeyScope, Visitor], locked: tuple[Served, Everything], path: str
) -> None:
    reply = visitors[KeyScope.ADMIN].post(locked[1].filled(path), Sec_Fetch_Site="cross-site")
    assert (reply.status, "was sent from elsewhere" in reply.text) == (403, True)


def test_nothing_is_left_out() -> None:
    assert set(READ) == {*SHOWN, *NOT_PAGES, *(path for path in READ if path.endswith(("/raw", "/{number}")))}
    assert len(SHOWN) > 20 and len(WRITTEN) > 10
