"""Who may see what, and do what, on the pages: what the API holds, they hold; forms must be our own, and cookies cannot
be read, made or stolen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howsure.services.host.keys import KeyRequest, make_key
from howsure.store.keys import KeyScope
from unit.reports.northwind import refund_results
from web.pages_served import Served, serving
from web.stocked import NEWER, OLDER, PAGES, keep, stock
from web.visiting import Visitor

READING = [path for name, path in PAGES.items() if name != "missing"]
ELSEWHERE = "00000000-0000-4000-8000-0000000000ee"
DEEDS = ("cancel", "pause", "resume", "retry", "regrade", "delete")


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that asks for keys; one run belongs to another organisation."""
    with serving(tmp_path_factory.mktemp("locked"), keys_needed=True, working=False) as served:
        served.do(stock(served.store))
        served.do(keep(served.store, ELSEWHERE, refund_results(), name="theirs", organization_id="them"))
        yield served


def visitor(
    served: Served, *scopes: KeyScope, organization: str | None = None, agents: tuple[str, ...] | None = None
) -> Visitor:
    wanted = KeyRequest(name="somebody", scopes=scopes, organization_id=organization, agent_ids=agents)
    _, secret = served.do(make_key(served.store, wanted))
    return Visitor(served.base).sign_in(secret)


@pytest.mark.parametrize("path", READING)
def test_nobody_sees_a_page_without_signing_in(locked: Served, path: str) -> None:
    reply = Visitor(locked.base).get(path)
    assert reply.status == 303
    assert reply.leads_to.startswith("/sign-in?next=/")


@pytest.mark.parametrize("path", READING)
def test_who_may_read_sees_every_page(locked: Served, path: str) -> None:
    assert visitor(locked, KeyScope.READ).get(path).status == 200


@pytest.mark.parametrize("path", READING)
def test_who_may_only_write_or_run_reads_nothing(locked: Served, path: str) -> None:
    assert visitor(locked, KeyScope.RUN).get(path).status == 403


@pytest.mark.parametrize("deed", DEEDS)
def test_who_may_only_read_does_nothing(locked: Served, deed: str) -> None:
    reply = visitor(locked, KeyScope.READ).post(f"/runs/{OLDER}/{deed}")
    assert reply.status == 403
    scope, role = ("write", "editor") if deed == "delete" else ("run", "runner")
    assert f"it needs the scope &#39;{scope}&#39; (role {role})" in reply.text


def test_who_may_only_read_loads_no_demo(locked: Served) -> None:
    assert visitor(locked, KeyScope.READ).post("/demo").status == 403


@pytest.mark.parametrize(
    "path", ["", "?verdict=all", "/charts", "/triage", "/cases/0", "/cases/0/raw", "/case?id=refund-01"]
)
def test_another_organisation_is_as_if_it_were_not_there(locked: Served, path: str) -> None:
    reader = visitor(locked, KeyScope.READ, organization="us")
    assert reader.get(f"/runs/{ELSEWHERE}{path}").status == 404
    assert reader.get(f"/runs/{OLDER}{path}").status == 404
    assert visitor(locked, KeyScope.READ, organization="them").get(f"/runs/{ELSEWHERE}{path}").status in (200, 303)


@pytest.mark.parametrize("path", ["/compare", "/compare/case"])
def test_nothing_is_compared_with_what_one_may_not_see(locked: Served, path: str) -> None:
    theirs = visitor(locked, KeyScope.READ, organization="them")
    assert theirs.get(f"{path}?run={ELSEWHERE}&run={OLDER}&case=refund-01").status == 404


def test_lists_hold_only_what_one_may_see(locked: Served) -> None:
    theirs = visitor(locked, KeyScope.READ, organization="them")
    assert [line["name"] for line in theirs.data("/")["lines"]] == ["theirs"]
    assert theirs.data("/agents")["lines"] == []
    assert theirs.get("/agent?id=northwind-support").status == 404
    ours = visitor(locked, KeyScope.READ, agents=("northwind-support",))
    assert {line["name"] for line in ours.data("/")["lines"]} == {"support-v1", "support-v2"}


@pytest.mark.parametrize("deed", DEEDS)
def test_nobody_steers_what_they_may_not_see(locked: Served, deed: str) -> None:
    us = visitor(locked, KeyScope.RUN, KeyScope.WRITE, organization="us")
    assert us.post(f"/runs/{ELSEWHERE}/{deed}").status == 404


@pytest.mark.parametrize("token", ["", "0" * 64])
def test_a_form_that_is_not_ours_is_refused(locked: Served, token: str) -> None:
    somebody = visitor(locked, KeyScope.ADMIN)
    reply = somebody.ask("POST", f"/runs/{NEWER}/delete", f"csrf={token}".encode())
    assert reply.status == 403
    assert somebody.get(f"/runs/{NEWER}").status == 404 or "support-v2" in somebody.get(f"/runs/{NEWER}").text


def test_the_token_of_another_session_is_refused(locked: Served) -> None:
    stranger, somebody = Visitor(locked.base), visitor(locked, KeyScope.ADMIN)
    reply = somebody.ask("POST", "/demo", f"csrf={stranger.token()}".encode())
    assert reply.status == 403


def test_a_form_sent_from_elsewhere_is_refused(locked: Served) -> None:
    assert visitor(locked, KeyScope.ADMIN).post("/demo", Sec_Fetch_Site="cross-site").status == 403


def test_the_cookie_cannot_be_read_by_scripts_or_sent_along_from_elsewhere(locked: Served) -> None:
    found = Visitor(locked.base).get("/sign-in").headers["set-cookie"].lower()
    assert "httponly" in found and "samesite=strict" in found and "path=/" in found


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1] + ("0" if text[-1] != "0" else "1"),
        lambda text: "|".join(["x", *text.split("|")[1:]]),
        lambda _: "nonsense",
    ],
)
def test_a_cookie_that_was_tampered_with_opens_nothing(locked: Served, change: object) -> None:
    assert callable(change)
    somebody = visitor(locked, KeyScope.READ)
    changed = change(somebody.session_cookie)
    reply = Visitor(locked.base).get("/", Cookie=f"howsure_session={changed}")
    assert reply.status == 303


def test_signing_in_begins_a_new_session_and_out_ends_it(locked: Served) -> None:
    somebody = Visitor(locked.base)
    somebody.get("/sign-in")
    (before,) = [cookie.value for cookie in somebody.cookies]
    assert somebody.session_cookie == ""
    _, secret = locked.do(make_key(locked.store, KeyRequest(name="me", scopes=(KeyScope.READ,))))
    somebody.sign_in(secret)
    assert somebody.session_cookie not in ("", before)
    assert somebody.get("/").status == 200
    assert somebody.post("/sign-out").status == 303
    assert somebody.get("/").status == 303


def test_a_key_that_was_revoked_ends_the_session(locked: Served) -> None:
    key, secret = locked.do(make_key(locked.store, KeyRequest(name="me", scopes=(KeyScope.READ,))))
    somebody = Visitor(locked.base).sign_in(secret)
    assert somebody.get("/").status == 200
    locked.do(locked.store.keys.revoke(key.id))
    assert somebody.get("/").status == 303


@pytest.mark.parametrize("after", ["https://evil.invalid/", "//evil.invalid", "/\\evil.invalid", "javascript:alert(1)"])
def test_signing_in_leads_nowhere_else(locked: Served, after: str) -> None:
    _, secret = locked.do(make_key(locked.store, KeyRequest(name="me", scopes=(KeyScope.READ,))))
    assert Visitor(locked.base).post("/sign-in", {"key": secret, "next": after}).leads_to == "/"


def test_a_wrong_key_is_refused_in_words(locked: Served) -> None:
    reply = Visitor(locked.base).post("/sign-in", {"key": "nonsense"})
    assert reply.status == 401
    assert "This key is not known" in reply.text
