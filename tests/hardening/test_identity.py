"""Sessions, sign-in and ids: the breaks 6, 7, 8 and 11 of the first edition, and what an organisation may use."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from databases import IN_TURN, a_database
from hosts import hosted
from howsure.api.middleware import client_address
from howsure.config import OrganizationSettings, load
from howsure.errors import ConfigInvalid, PlanRefused
from howsure.model.access_scope import AccessScope
from howsure.services.host.keys import KeyRequest, make_key, set_password
from howsure.services.host.run_requests import (
    allowed_judge,
    allowed_simulator,
    allowed_target,
    offered_judges,
    offered_targets,
)
from howsure.store.keys import ApiKey, KeyScope
from unit.reports.northwind import refund_results
from web.pages_served import Served, serving
from web.stocked import OLDER, going, keep
from web.visiting import TOKEN, Visitor

GOOD = "correct horse battery"
RUBRIC = {"name": "Theirs", "rules": [{"id": "KIND", "name": "Be kind", "severity": "low", "description": "Kind."}]}


@contextmanager
def locked(folder: Path, kind: str = "sqlite", **rules: Any) -> Iterator[Served]:
    with (
        a_database(kind, folder) as where,
        serving(folder, keys_needed=True, working=False, database=where, **rules) as served,
    ):
        yield served


@pytest.fixture(params=IN_TURN)
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    with locked(tmp_path, request.param) as running:
        running.do(keep(running.store, OLDER, refund_results(), name="finished"))
        yield running


def a_key(
    served: Served, *scopes: KeyScope, name: str = "me", organization_id: str | None = None
) -> tuple[ApiKey, str]:
    return served.do(
        make_key(
            served.store, KeyRequest(name=name, scopes=scopes or (KeyScope.READ,), organization_id=organization_id)
        )
    )


def copied_cookie(visitor: Visitor) -> str:
    return f"howsure_session={visitor.session_cookie}"


def test_break_6_a_run_key_deletes_no_finished_run_on_the_page(served: Served) -> None:
    _, secret = a_key(served, KeyScope.RUN, KeyScope.READ)
    runner = Visitor(served.base).sign_in(secret)
    reply = runner.post(f"/runs/{OLDER}/delete")
    assert (reply.status, "it needs the scope &#39;write&#39; (role editor)" in reply.text) == (403, True)
    assert runner.get(f"/runs/{OLDER}").status == 200
    assert "/delete" not in runner.get(f"/runs/{OLDER}").text
    asked = runner.ask("DELETE", f"/api/v1/runs/{OLDER}", None, Authorization=f"Bearer {secret}")
    assert (asked.status, asked.json["detail"]) == (
        403,
        "this key may not do that: it needs the scope 'write' (role editor)",
    )
    _, secret = a_key(served, KeyScope.WRITE, KeyScope.READ)
    assert Visitor(served.base).sign_in(secret).post(f"/runs/{OLDER}/delete").leads_to == "/"


def test_break_7_sign_out_ends_the_session_at_once_wherever_its_cookie_is(served: Served) -> None:
    _, secret = a_key(served)
    somebody, thief = Visitor(served.base).sign_in(secret), Visitor(served.base)
    cookie = copied_cookie(somebody)
    assert thief.get("/", Cookie=cookie).status == 200
    assert somebody.post("/sign-out").leads_to == "/sign-in"
    assert thief.get("/", Cookie=cookie).leads_to.startswith("/sign-in")


def test_a_link_on_another_site_leaves_the_session_of_the_browser_as_it_is(served: Served) -> None:
    """The browser keeps strict cookies back on the way from another site, and brings them along with the next form."""
    _, secret = a_key(served, KeyScope.READ, KeyScope.WRITE)
    somebody, without_cookies = Visitor(served.base).sign_in(secret), Visitor(served.base)
    shown = without_cookies.get("/sign-in?next=/", Sec_Fetch_Site="cross-site")
    assert "howsure_session" not in shown.headers["set-cookie"]
    for cookie in without_cookies.cookies:
        somebody.cookies.set_cookie(cookie)
    assert somebody.get("/").status == 200
    (token,) = set(TOKEN.findall(shown.text))
    sent = somebody.ask("POST", "/sign-in", urlencode({"key": secret, "csrf": token}).encode())
    assert sent.leads_to == "/"
    refused = somebody.ask("POST", f"/runs/{OLDER}/delete", urlencode({"csrf": token}).encode())
    assert (refused.status, "this form is not one of ours" in refused.text) == (403, True)


def test_the_store_holds_no_token(served: Served) -> None:
    _, secret = a_key(served)
    somebody = Visitor(served.base).sign_in(secret)
    (session,) = served.do(served.store.sessions.several(timedelta(hours=1)))
    assert somebody.session_cookie not in repr(session)
    assert (session.address, session.browser.startswith("Python-urllib")) == ("127.0.0.1", True)


def test_sign_out_ends_open_streams_within_seconds(tmp_path: Path) -> None:
    with locked(tmp_path) as served:
        served.do(going(served.store))
        _, secret = a_key(served)
        somebody = Visitor(served.base).sign_in(secret)
        stream = HTTPConnection(urlsplit(served.base).netloc, timeout=60)
        stream.request("GET", "/events", headers={"Cookie": copied_cookie(somebody)})
        response = stream.getresponse()
        assert response.readline() == b"event: changed\n"
        somebody.post("/sign-out")
        begun = time.monotonic()
        response.read()
        assert time.monotonic() - begun < 50
        stream.close()


def test_sessions_are_listed_and_ended_one_by_one_and_everywhere(served: Served) -> None:
    _, secret = a_key(served)
    first, second, third = (Visitor(served.base).sign_in(secret) for _ in range(3))
    lines = first.data("/settings/sessions")["lines"]
    assert [line["is_this"] for line in lines] == [True, False, False]
    own = {line["id"] for line in lines}
    theirs = next(line["id"] for line in second.data("/settings/sessions")["lines"] if line["is_this"])
    assert first.post(f"/settings/sessions/{theirs}/end").leads_to == "/settings/sessions"
    assert [visitor.get("/").status for visitor in (first, second, third)] == [200, 303, 200]
    _, other = a_key(served, name="stranger")
    stranger = Visitor(served.base).sign_in(other)
    assert {line["name"] for line in stranger.data("/settings/sessions")["lines"]} == {"stranger"}
    assert stranger.post(f"/settings/sessions/{own.pop()}/end").status == 404
    everywhere = first.post(f"/settings/sessions/{lines[0]['id']}/end", {"everywhere": "1"})
    assert everywhere.status == 303
    assert [visitor.get("/").status for visitor in (first, third, stranger)] == [303, 303, 200]


def test_an_administrator_ends_sessions_of_their_organisation_alone(served: Served) -> None:
    signed_in = {}
    for name, organization, scope in (
        ("root", None, KeyScope.ADMIN),
        ("boss", "acme", KeyScope.ADMIN),
        ("ana", "acme", KeyScope.READ),
        ("bo", "beta", KeyScope.READ),
    ):
        _, secret = a_key(served, scope, name=name, organization_id=organization)
        signed_in[name] = Visitor(served.base).sign_in(secret)
    seen = {line["name"]: line["id"] for line in signed_in["root"].data("/settings/sessions")["lines"]}
    assert set(seen) == {"root", "boss", "ana", "bo"}
    assert {line["name"] for line in signed_in["boss"].data("/settings/sessions")["lines"]} == {"boss", "ana"}
    for name, status in (("bo", 404), ("root", 404), ("ana", 303)):
        assert signed_in["boss"].post(f"/settings/sessions/{seen[name]}/end").status == status
    alive = {name: visitor.get("/settings/sessions").status for name, visitor in signed_in.items()}
    assert alive == {"root": 200, "boss": 200, "ana": 303, "bo": 200}


@pytest.mark.thorough
def test_a_session_ends_when_nobody_uses_it_when_its_time_is_over_and_with_its_key(tmp_path: Path) -> None:
    with locked(tmp_path, session_idle_minutes=1.0, session_hours=0.001) as served:
        key, secret = a_key(served)
        somebody = Visitor(served.base).sign_in(secret)
        assert somebody.get("/").status == 200
        time.sleep(4)
        assert somebody.get("/").status == 303
    with locked(tmp_path, session_idle_minutes=0.02) as served:
        somebody = Visitor(served.base).sign_in(secret)
        assert somebody.get("/").status == 200
        time.sleep(1.5)
        assert somebody.get("/").status == 303
    with locked(tmp_path) as served:
        somebody = Visitor(served.base).sign_in(secret)
        served.do(served.store.keys.revoke(key.id))
        assert somebody.get("/").status == 303
        assert served.do(served.store.sessions.several(timedelta(hours=1))) == []


def test_a_restart_signs_nobody_out(tmp_path: Path) -> None:
    with locked(tmp_path) as served:
        _, secret = a_key(served)
        somebody = Visitor(served.base).sign_in(secret)
    with serving(tmp_path, keys_needed=True, working=False) as served:
        again = Visitor(served.base)
        assert again.get("/", Cookie=copied_cookie(somebody)).status == 200


def test_sign_in_and_sign_out_are_in_the_audit_log_by_ids(served: Served) -> None:
    key, secret = a_key(served)
    somebody = Visitor(served.base).sign_in(secret)
    somebody.post("/sign-out")
    entries = served.do(served.store.audit.several())
    told = [(entry.action, entry.actor) for entry in entries if entry.action.startswith("sign")]
    assert told == [("sign-out", key.id), ("sign-in", key.id)]


def test_break_8_many_wrong_sign_ins_lock_nobody_else_out(served_behind_proxy: Served) -> None:
    served = served_behind_proxy
    served.do(set_password(served.store, KeyRequest(name="ana", scopes=[KeyScope.READ]), GOOD))
    attacker = Visitor(served.base)
    token = attacker.token()

    def guess(number: int) -> int:
        # Without a password nothing is hashed, which saves time here; it counts all the same.
        form = f"name=ana{number % 60}&password=&csrf={token}".encode()
        return attacker.ask("POST", "/sign-in", form, X_Forwarded_For="203.0.113.9").status

    with ThreadPoolExecutor(4) as pool:
        tries = list(pool.map(guess, range(110)))
    assert (tries.count(401), tries.count(429)) == (50, 60)
    form = {"name": "ana", "password": GOOD}
    assert attacker.post("/sign-in", form, X_Forwarded_For="203.0.113.9").status == 429
    assert Visitor(served.base).post("/sign-in", form, X_Forwarded_For="198.51.100.4").status == 303


@pytest.fixture
def served_behind_proxy(tmp_path: Path) -> Iterator[Served]:
    with locked(tmp_path, proxies=("127.0.0.1",)) as running:
        yield running


def test_the_pages_answer_while_passwords_are_checked(served_behind_proxy: Served) -> None:
    served = served_behind_proxy
    visitor = Visitor(served.base)
    token = visitor.token()

    def guess(number: int) -> int:
        form = f"name=n{number}&password=wrong&csrf={token}".encode()
        return visitor.ask("POST", "/sign-in", form, X_Forwarded_For=f"203.0.113.{number}").status

    with ThreadPoolExecutor(12) as pool:
        guesses = [pool.submit(guess, number) for number in range(12)]
        assert Visitor(served.base).get("/api/v1/health").status == 200
        assert not all(each.done() for each in guesses), "the service answered after it had checked every password"
        assert {each.result() for each in guesses} == {401}


@pytest.mark.parametrize(
    ("peer", "forwarded", "proxies", "address"),
    [
        ("192.0.2.1", "", (), "192.0.2.1"),
        ("192.0.2.1", "203.0.113.9", (), "192.0.2.1"),
        ("127.0.0.1", "203.0.113.9", (), "127.0.0.1"),
        ("127.0.0.1", "203.0.113.9", ("127.0.0.1",), "203.0.113.9"),
        ("127.0.0.1", "1.1.1.1, 203.0.113.9", ("127.0.0.1",), "203.0.113.9"),
        ("127.0.0.1", "1.1.1.1, 203.0.113.9, 10.0.0.4", ("127.0.0.1", "10.0.0.0/8"), "203.0.113.9"),
        ("192.0.2.1", "10.0.0.4", ("10.0.0.0/8",), "192.0.2.1"),
        ("127.0.0.1", ",", ("127.0.0.1",), "127.0.0.1"),
    ],
    ids=[
        "no proxy",
        "anybody may write the header",
        "this machine is no proxy unless it is listed",
        "a listed proxy is believed",
        "what came before it is not",
        "two proxies",
        "not a proxy",
        "nothing in it",
    ],
)
def test_only_listed_proxies_say_who_is_asking(
    peer: str, forwarded: str, proxies: tuple[str, ...], address: str
) -> None:
    assert client_address(peer, forwarded, proxies) == address


def test_break_11_an_id_that_two_organisations_have_is_not_guessed(served: Served) -> None:
    keys = {name: a_key(served, KeyScope.ADMIN, name=name, organization_id=name)[1] for name in ("acme", "zeta")}
    keys["all"] = a_key(served, KeyScope.ADMIN, name="all")[1]
    ask = Visitor(served.base).ask

    def asked(key: str, method: str, path: str, body: object = None, **headers: str) -> tuple[int, object]:
        content = None if body is None else json.dumps(body).encode()
        kind = {"Content_Type": "application/json"} if body is not None else {}
        reply = ask(method, f"/api/v1{path}", content, Authorization=f"Bearer {keys[key]}", **kind, **headers)
        return reply.status, reply.json if reply.text.strip() else None

    _, made = asked("zeta", "POST", "/rubrics", RUBRIC)
    assert isinstance(made, dict)
    path = f"/rubrics/{made['rubric_id']}"
    assert asked("all", "GET", path)[0] == 200
    line = json.dumps({"kind": "rubric", "id": made["rubric_id"], "document": {**RUBRIC, "name": "A copy"}}).encode()
    headers = {"Authorization": f"Bearer {keys['acme']}", "Content_Type": "application/x-ndjson"}
    assert ask("POST", "/api/v1/import", line, **headers).json[0]["status"] == "created"
    for method, body in (("GET", None), ("PUT", {**RUBRIC, "name": "Changed"}), ("DELETE", None)):
        status, told = asked("all", method, path, body)
        assert status == 409
        assert isinstance(told, dict)
        assert "several organisations have rubric" in told["detail"] and "acme, zeta" in told["detail"]
    named = {name: asked("all", "GET", path, X_Organization=name)[1] for name in ("acme", "zeta")}
    assert {name: isinstance(each, dict) and each["name"] for name, each in named.items()} == {
        "acme": "A copy",
        "zeta": "Theirs",
    }
    assert asked("acme", "GET", path, X_Organization="zeta")[0] == 403
    assert asked("acme", "GET", path)[0] == 200


def test_break_11_what_the_whole_service_owns_cannot_be_shadowed(served: Served) -> None:
    keys = {"": a_key(served, KeyScope.ADMIN, name="all")[1]}
    keys["acme"] = a_key(served, KeyScope.ADMIN, name="acme", organization_id="acme")[1]
    ask = Visitor(served.base).ask
    for owner, name in (("", "Ours"), ("acme", "A copy")):
        line = json.dumps({"kind": "rubric", "id": "shared", "document": {**RUBRIC, "name": name}}).encode()
        head = {"Authorization": f"Bearer {keys[owner]}", "Content_Type": "application/x-ndjson"}
        assert ask("POST", "/api/v1/import", line, **head).json[0]["status"] == "created"
    got = ask("GET", "/api/v1/rubrics/shared", None, Authorization=f"Bearer {keys['']}")
    assert (got.status, got.json["name"]) == (200, "Ours")


async def test_an_organisation_uses_only_what_is_listed_for_it(tmp_path: Path) -> None:
    acme, beta = AccessScope(organization_id="acme"), AccessScope(organization_id="beta")
    rules = {"acme": OrganizationSettings(targets=("other",), judges=("openai:small",))}
    async with hosted(
        tmp_path,
        "def answer(text): return text",
        targets={"other": {"kind": "http", "url": "https://other.example/"}},
        judges=("openai:small", "openai:large"),
        hosts=("bots.example",),
        organizations=rules,
    ) as host:
        assert (offered_targets(host, acme), offered_targets(host, beta)) == (("other",), ("bot", "other"))
        assert offered_judges(host, acme) == ("openai:small", "offline")
        assert offered_judges(host, beta) == ("offline", "openai:small", "openai:large")
        assert allowed_target(host, "other", "", acme) == "other"
        assert allowed_target(host, "recorded", "", acme) == "recorded"
        for target in ("", "bot", "http://bots.example/chat", "replay:bot"):
            with pytest.raises(PlanRefused, match="is not one that acme may use; it may use: other"):
                allowed_target(host, target, "", acme)
            assert allowed_target(host, target, "", beta) == (target or "bot")
        assert allowed_judge(host, "", acme) == "openai:small"
        assert allowed_judge(host, "offline", acme) == "offline"
        for choose in (allowed_judge, allowed_simulator):
            with pytest.raises(PlanRefused, match="openai:large"):
                choose(host, "openai:large", acme)
            assert choose(host, "openai:large", beta) == "openai:large"


@pytest.mark.parametrize(
    ("service", "said"),
    [
        ("{session_hours: 0}", "`service.session_hours`: expected more than 0"),
        ("{session_idle_minutes: .nan}", "`service.session_idle_minutes`: expected more than 0"),
        ("{proxies: [nginx]}", "`service.proxies`: expected an address or a network such as 10.0.0.0/8, found 'nginx'"),
        (
            "{oidc: {issuer: 'http://evil.example', client_id: x, roles: {a: {role: viewer}}}}",
            "`service.oidc.issuer`: expected an https address",
        ),
        (
            "{oidc: {issuer: 'http://127.0.0.1.evil.example', client_id: x, roles: {a: {role: viewer}}}}",
            "`service.oidc.issuer`: expected an https address",
        ),
        (
            "{oidc: {issuer: 'https://id.example', client_id: x, client_secret: hunter2, roles: {a: {role: viewer}}}}",
            "`service.oidc.client_secret`: a secret may not stand in a file",
        ),
        ("{oidc: {issuer: 'https://id.example', client_id: x}}", "`service.oidc.roles`: expected one group or more"),
        (
            "{oidc: {issuer: 'https://id.example', client_id: x, roles: {a: {role: owner}}}}",
            "Invalid enum value 'owner'",
        ),
    ],
)
def test_settings_of_sign_in_that_cannot_be_meant(tmp_path: Path, service: str, said: str) -> None:
    (tmp_path / "howsure.yaml").write_text(f"service: {service}\n")
    with pytest.raises(ConfigInvalid) as refused:
        load(tmp_path, {})
    assert said in str(refused.value)
