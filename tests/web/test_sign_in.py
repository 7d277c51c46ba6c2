"""Signing in with a name and a password: what it opens, what is refused and how often, and cookies that travel over TLS
alone where the operator says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from hostile import HTML
from howsure.services.host.keys import KeyRequest, set_password
from howsure.store.keys import ApiKey, KeyScope
from web.looking import Watched, needs_chromium
from web.pages_served import Served, serving
from web.stocked import OLDER, stock
from web.visiting import Visitor

GOOD = "correct horse battery"


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, keys_needed=True, working=False) as served:
        served.do(stock(served.store))
        yield served


def person(served: Served, name: str = "ana", *scopes: KeyScope, organization: str | None = None) -> ApiKey:
    wanted = KeyRequest(name=name, scopes=scopes or (KeyScope.READ,), organization_id=organization)
    return served.do(set_password(served.store, wanted, GOOD))


def signed_in(served: Served, name: str = "ana", password: str = GOOD) -> Visitor:
    visitor = Visitor(served.base)
    assert visitor.post("/sign-in", {"name": name, "password": password}).status == 303
    return visitor


def test_a_password_opens_what_its_scopes_say(locked: Served) -> None:
    person(locked)
    ana = signed_in(locked)
    assert ana.get("/").status == 200
    assert ana.get("/settings").status == 403
    assert ana.post(f"/runs/{OLDER}/delete").status == 403
    person(locked, "bo", KeyScope.ADMIN)
    assert signed_in(locked, "bo").get("/settings").status == 200


def test_organisations_hold_for_passwords(locked: Served) -> None:
    person(locked, "ana", KeyScope.READ, organization="others")
    assert signed_in(locked).get(f"/runs/{OLDER}").status == 404


@pytest.mark.parametrize(("name", "password"), [("ana", "wrong password"), ("bo", GOOD), ("", GOOD), ("ana", "")])
def test_a_wrong_one_is_refused_in_the_same_words(locked: Served, name: str, password: str) -> None:
    person(locked)
    reply = Visitor(locked.base).post("/sign-in", {"name": name, "password": password})
    assert reply.status == 401
    assert "Nobody of this name has this password" in reply.text
    assert Visitor(locked.base).get("/").status == 303


def test_after_some_tries_one_waits_and_others_do_not(locked: Served) -> None:
    person(locked)
    person(locked, "bo")
    visitor = Visitor(locked.base)
    tries = [visitor.post("/sign-in", {"name": "ana", "password": f"guess number {n}"}).status for n in range(7)]
    assert tries == [401] * 5 + [429] * 2
    reply = visitor.post("/sign-in", {"name": "ana", "password": GOOD})
    assert (reply.status, "Too many tries that failed: wait " in reply.text) == (429, True)
    assert signed_in(locked, "bo").get("/").status == 200


def test_a_password_does_not_open_the_api(locked: Served) -> None:
    person(locked, "ana", KeyScope.ADMIN)
    for secret in (GOOD, f"ana:{GOOD}"):
        assert Visitor(locked.base).get("/api/v1/runs", Authorization=f"Bearer {secret}").status == 401


def test_a_revoked_password_ends_the_session(locked: Served) -> None:
    key = person(locked)
    ana = signed_in(locked)
    locked.do(locked.store.keys.revoke(key.id))
    assert ana.get("/").leads_to.startswith("/sign-in")
    assert Visitor(locked.base).post("/sign-in", {"name": "ana", "password": GOOD}).status == 401


def test_signing_in_by_password_begins_a_new_session_and_leads_nowhere_else(locked: Served) -> None:
    person(locked)
    visitor = Visitor(locked.base)
    visitor.get("/sign-in")
    (before,) = [cookie.value for cookie in visitor.cookies]
    reply = visitor.post("/sign-in", {"name": "ana", "password": GOOD, "next": "//evil.invalid"})
    assert (reply.leads_to, visitor.session_cookie not in ("", before)) == ("/", True)


@pytest.mark.parametrize("hostile", HTML)
def test_a_hostile_name_comes_back_inert(locked: Served, hostile: str) -> None:
    page = Visitor(locked.base).post("/sign-in", {"name": hostile, "password": "x", "next": hostile}).text
    for bad in ("<script>alert", "<img src=x", "<svg/onload", "<iframe"):
        assert bad not in page


def test_an_administrator_gives_a_password_and_nobody_is_shown_it(locked: Served) -> None:
    person(locked, "root", KeyScope.ADMIN)
    root = signed_in(locked, "root")
    fields = [("name", "cem"), ("password", "a long enough one"), ("scope", "read")]
    reply = root.post("/settings/keys", fields)
    assert (reply.status, reply.leads_to) == (303, "/settings")
    assert {line["name"]: line["kind"] for line in root.data("/settings")["keys"]} == {
        "root": "password",
        "cem": "password",
    }
    assert signed_in(locked, "cem", "a long enough one").get("/").status == 200
    assert "a long enough one" not in root.get("/settings").text
    short = root.post("/settings/keys", [("name", "dee"), ("password", "short"), ("scope", "read")])
    assert (short.status, "10 to 1,024 characters" in short.text) == (422, True)


@needs_chromium
def test_in_a_browser_one_signs_in_and_out(browser: Browser, locked: Served) -> None:
    person(locked, "ana", KeyScope.READ, KeyScope.WRITE)
    with Watched(browser, locked.base) as watched:
        page = watched.open(f"/runs/{OLDER}")
        page.get_by_label("name").fill("ana")
        page.get_by_label("password").fill(GOOD)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/runs/{OLDER}")
        expect(page.get_by_role("button", name="Sign out ana")).to_be_visible()
        page.get_by_role("button", name="Sign out ana").click()
        expect(page.locator("h1")).to_have_text("Sign in")
        assert watched.trouble == []


@needs_chromium
def test_the_list_of_sessions_can_be_read_by_everybody(browser: Browser, locked: Served) -> None:
    person(locked, "ana", KeyScope.ADMIN)
    signed_in(locked)
    with Watched(browser, locked.base, viewport={"width": 1440, "height": 900}) as watched:
        page = watched.open("/settings/sessions")
        page.get_by_label("name").fill("ana")
        page.get_by_label("password").fill(GOOD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/settings/sessions")
        expect(page.locator(".answer")).to_have_text("2 sessions of your organisation open now.")
        assert watched.findings() == []
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_role("button", name="everywhere").first.click()
        expect(page.locator("h1")).to_have_text("Sign in")
        assert watched.trouble == []


@pytest.mark.parametrize("https", [True, False])
def test_cookies_travel_over_tls_alone_where_the_operator_says_so(tmp_path: Path, https: bool) -> None:
    with serving(tmp_path, keys_needed=True, working=False, https=https) as served:
        person(served)
        visitor = Visitor(served.base)
        begun = visitor.get("/sign-in").headers["set-cookie"].lower()
        assert ("secure" in begun, "httponly" in begun, "samesite=strict" in begun) == (https, True, True)
