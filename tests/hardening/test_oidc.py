"""Signing in by OpenID Connect against a provider that lies: whatever is not exactly as it should be signs nobody in. A
real provider is in tests/oidc."""

from __future__ import annotations

import hmac
import json
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from howsure.config import GroupRole, OidcSettings
from howsure.model.access_scope import AccessRole
from howsure.services.host import oidc
from unit.reports.northwind import refund_results
from web.pages_served import Served, serving
from web.stocked import OLDER, keep
from web.visiting import Reply, Visitor

Json = dict[str, Any]
SECRET = "HOWSURE_TEST_CLIENT_SECRET"
KEY = RSAKey.generate_key(2048, {"use": "sig", "kid": "one"})
OTHER = RSAKey.generate_key(2048, {"use": "sig", "kid": "one"})
NEWER = ECKey.generate_key("P-256", {"use": "sig", "kid": "two"})
ROLES = {
    "readers": GroupRole(role=AccessRole.VIEWER, organization="acme"),
    "runners": GroupRole(role=AccessRole.RUNNER, organization="acme"),
    "desk": GroupRole(role=AccessRole.EDITOR, organization="acme", agents=("desk",)),
    "operators": GroupRole(role=AccessRole.ADMIN),
}


class Provider:
    """Answers as it is told to: the token that it signs, what it says of itself, its keys."""

    def __init__(self) -> None:
        self.base = ""
        self.begin_anew()

    def begin_anew(self) -> None:
        self.keys: list[RSAKey | ECKey] = [KEY]
        self.claims: Json = {}
        self.metadata: Json = {}
        self.user_info: Json = {}
        self.sign: Callable[[Json], str] = lambda claims: jwt.encode({"alg": "RS256", "kid": "one"}, claims, KEY)
        self.nonce = ""
        self.challenge = ""
        self.used: set[str] = set()
        self.asked: list[str] = []
        self.body: bytes | None = None
        self.status = 200

    def answer(self, path: str, form: dict[str, str], authorization: str) -> tuple[int, bytes]:
        self.asked.append(path)
        if path.endswith("/openid-configuration"):
            return 200, json.dumps({**self._description(), **self.metadata}).encode()
        if path == "/jwks":
            return 200, json.dumps({"keys": [key.as_dict(private=False) for key in self.keys]}).encode()
        if path == "/userinfo":
            return 200, json.dumps(self.user_info).encode()
        return self._token(form, authorization)

    def _token(self, form: dict[str, str], authorization: str) -> tuple[int, bytes]:
        if self.body is not None:
            return self.status, self.body
        assert b64decode(authorization.removeprefix("Basic ")) == b"howsure:s3%26cret"
        hashed = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        if form["code"] in self.used or hashed != self.challenge:
            return 400, b'{"error": "invalid_grant"}'
        self.used.add(form["code"])
        now = int(time.time())
        claims = {
            "iss": self.base,
            "sub": "ana-1",
            "aud": "howsure",
            "iat": now,
            "exp": now + 300,
            "nonce": self.nonce,
            "name": "Ana",
            "groups": ["readers"],
        }
        claims |= self.claims
        token = self.sign({name: value for name, value in claims.items() if value is not None})
        return 200, json.dumps({"id_token": token, "access_token": "a", "token_type": "Bearer"}).encode()

    def _description(self) -> Json:
        return {
            "issuer": self.base,
            "authorization_endpoint": f"{self.base}/authorize",
            "token_endpoint": f"{self.base}/token",
            "jwks_uri": f"{self.base}/jwks",
            "userinfo_endpoint": f"{self.base}/userinfo",
            "end_session_endpoint": f"{self.base}/logout",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }


@contextmanager
def a_provider() -> Iterator[Provider]:
    told = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer({name: values[0] for name, values in parse_qs(body).items()})

        def _answer(self, form: dict[str, str]) -> None:
            status, body = told.answer(self.path, form, self.headers.get("Authorization", ""))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    told.base = f"http://127.0.0.1:{server.server_address[1]}"
    yield told
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Provider, Served]]:
    """One for all tests; whoever changes how the provider describes itself has one of their own."""
    with pytest.MonkeyPatch.context() as environ, a_provider() as provider:
        environ.setenv(SECRET, "s3&cret")
        with with_provider(tmp_path_factory.mktemp("oidc"), provider) as running:
            yield provider, running


@pytest.fixture
def provider(shared: tuple[Provider, Served]) -> Provider:
    shared[0].begin_anew()
    return shared[0]


@pytest.fixture
def served(shared: tuple[Provider, Served], provider: Provider) -> Served:
    return shared[1]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    """Somebody at a service and a provider of their own."""
    monkeypatch.setenv(SECRET, "s3&cret")
    with a_provider() as provider, with_provider(tmp_path, provider) as running:
        yield Person(running, provider)


@contextmanager
def with_provider(folder: Path, provider: Provider, **more: Any) -> Iterator[Served]:
    settings = OidcSettings(
        **{
            "issuer": provider.base,
            "client_id": "howsure",
            "client_secret": f"${{{SECRET}}}",
            "name": "Example ID",
            "roles": ROLES,
            **more,
        }
    )
    rules: Json = {"oidc": settings, "proxies": ("127.0.0.1",)}
    with serving(folder, keys_needed=True, working=False, **rules) as running:
        running.do(keep(running.store, OLDER, refund_results(), name="of acme", organization_id="acme"))
        yield running


_numbers = count(1)


class Person(Visitor):
    """Somebody who goes to the provider and comes back."""

    def __init__(self, served: Served, provider: Provider) -> None:
        super().__init__(served.base)
        self.served = served
        self.provider = provider
        self.sent: dict[str, str] = {}
        # Everybody has an address of their own: whoever fails too often has to wait.
        self._address = f"2001:db8:{next(_numbers):x}::1"

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        return super().ask(method, path, body, **{"X_Forwarded_For": self._address, **headers})

    def go(self, query: str = "?next=/agents") -> dict[str, str]:
        """What the browser is sent to the provider with."""
        reply = self.get(f"/sign-in/provider{query}")
        assert reply.status == 303, reply.text
        assert reply.leads_to.startswith(f"{self.provider.base}/authorize?")
        self.sent = {name: values[0] for name, values in parse_qs(urlsplit(reply.leads_to).query).items()}
        self.provider.nonce, self.provider.challenge = self.sent["nonce"], self.sent["code_challenge"]
        return self.sent

    def come(self, **answer: str | None) -> Reply:
        """Back with a code; what is None is left out."""
        query = {"code": f"code-{len(self.provider.used)}", "state": self.sent["state"], **answer}
        text = "&".join(f"{name}={value}" for name, value in query.items() if value is not None)
        return self.get(f"/sign-in/provider/callback?{text}")

    def is_in(self) -> bool:
        return self.get("/").status == 200


@pytest.fixture
def person(served: Served, provider: Provider) -> Person:
    return Person(served, provider)


def test_the_whole_way(served: Served, person: Person) -> None:
    assert "Sign in with Example ID" in person.get("/sign-in").text
    sent = person.go()
    assert {name: sent[name] for name in ("response_type", "client_id", "code_challenge_method", "scope")} == {
        "response_type": "code",
        "client_id": "howsure",
        "code_challenge_method": "S256",
        "scope": "openid profile groups",
    }
    assert sent["redirect_uri"] == f"{served.base}/sign-in/provider/callback"
    reply = person.come()
    assert reply.status == 200
    assert 'content="0;url=/agents"' in reply.text
    assert person.is_in()
    assert {path: person.get(path).status for path in (f"/runs/{OLDER}", "/start", "/settings")} == {
        f"/runs/{OLDER}": 200,
        "/start": 403,
        "/settings": 403,
    }
    (line,) = person.data("/settings/sessions")["lines"]
    assert line["organization"] == "acme"
    entries = served.do(served.store.audit.several())
    assert ("sign-in", f"oidc:{person.provider.base}#ana-1") in [(entry.action, entry.actor) for entry in entries]
    left = person.post("/sign-out")
    assert f"url={person.provider.base}/logout?client_id=howsure&amp;post_logout_redirect_uri=" in left.text
    assert not person.is_in()


def signed_by(key: Any, algorithm: str = "RS256", kid: str | None = "one") -> Callable[[Json], str]:
    header = {"alg": algorithm, **({"kid": kid} if kid else {})}
    return lambda claims: jwt.encode(header, claims, key, algorithms=[algorithm])


def by_hand(algorithm: str, secret: bytes = b"") -> Callable[[Json], str]:
    """Signed as an attacker would who has no key of the provider."""

    def sign(claims: Json) -> str:
        parts = [json.dumps(each).encode() for each in ({"alg": algorithm, "kid": "one"}, claims)]
        text = ".".join(urlsafe_b64encode(each).decode().rstrip("=") for each in parts)
        made = hmac.new(secret, text.encode(), sha256).digest() if secret else b""
        return f"{text}.{urlsafe_b64encode(made).decode().rstrip('=')}"

    return sign


NOW = int(time.time())
LIES: dict[str, tuple[Json, Callable[[Json], str] | None]] = {
    "wrong nonce": ({"nonce": "another"}, None),
    "no nonce": ({"nonce": None}, None),
    "another audience": ({"aud": "another"}, None),
    "several audiences without azp": ({"aud": ["howsure", "another"]}, None),
    "azp of another": ({"aud": ["howsure", "another"], "azp": "another"}, None),
    "no audience": ({"aud": None}, None),
    "another issuer": ({"iss": "https://evil.example"}, None),
    "expired": ({"exp": NOW - 3600, "iat": NOW - 7200}, None),
    "no expiry": ({"exp": None}, None),
    "not yet": ({"nbf": NOW + 3600}, None),
    "from the future": ({"iat": NOW + 3600}, None),
    "nobody": ({"sub": None}, None),
    "a number for somebody": ({"sub": 7}, None),
    "unsigned": ({}, by_hand("none")),
    "another key": ({}, signed_by(OTHER)),
    "another key, unknown kid": ({}, signed_by(OTHER, kid="nobody")),
    "HS256 with the public key": ({}, by_hand("HS256", KEY.as_pem(private=False))),
    "HS256 with the client secret": ({}, by_hand("HS256", b"s3&cret")),
    "no token": ({}, lambda _: "not a token"),
    "an empty token": ({}, lambda _: ""),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_token_that_is_not_as_it_should_be_signs_nobody_in(person: Person, lie: str) -> None:
    claims, sign = LIES[lie]
    person.provider.claims = claims
    person.provider.sign = sign or person.provider.sign
    person.go()
    reply = person.come()
    assert (reply.status, "Example ID" in reply.text) == (401, True)
    assert not person.is_in()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"state": "0" * 64}, "does not belong to a sign-in of this browser"),
        ({"state": None}, "does not belong to a sign-in of this browser"),
        ({"iss": "https://evil.example"}, "comes from another provider"),
        ({"code": None, "error": "access_denied"}, "did not sign you in: access_denied"),
        ({"code": None}, "did not sign you in"),
        ({"code": ""}, "did not sign you in"),
    ],
    ids=["wrong state", "no state", "mixed-up issuer", "refused there", "no code", "empty code"],
)
def test_an_answer_that_is_not_as_it_should_be_signs_nobody_in(
    person: Person, answer: dict[str, str | None], said: str
) -> None:
    person.go()
    reply = person.come(**answer)
    assert (reply.status, said in reply.text) == (401, True)
    assert not person.is_in()


def test_a_provider_that_promises_its_name_must_give_it(own: Person) -> None:
    person = own
    person.provider.metadata = {"authorization_response_iss_parameter_supported": True}
    person.go()
    assert person.come().status == 401
    person.go()
    assert person.come(iss=person.provider.base).status == 200


def test_a_code_is_worth_nothing_the_second_time_or_in_another_browser(served: Served, person: Person) -> None:
    person.go()
    thief = Person(served, person.provider)
    thief.sent = person.sent
    assert thief.come(code="stolen").status == 401
    thief.go()
    assert thief.come(state=person.sent["state"], code="stolen").status == 401
    person.go()
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in person.cookies)
    assert person.come(code="once").status == 200
    query = f"code=once&state={person.sent['state']}"
    again = Visitor(served.base).get(f"/sign-in/provider/callback?{query}", Cookie=cookies)
    assert (again.status, "refused: invalid_grant" in again.text) == (401, True)


def test_an_old_attempt_is_over(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    person.go()
    monkeypatch.setattr(oidc, "ATTEMPT_SECONDS", 0)
    assert person.come().status == 401


_FAR = urlsafe_b64encode(b'{"secret": "%s", "begun": %s, "after": "/"}' % (b"x" * 50, b"9" * 400)).decode()


@pytest.mark.parametrize("cookie", ["", "nonsense", "e30=", "W10=", "ü", "eyJzZWNyZXQiOiIifQ==", _FAR])
def test_a_made_up_cookie_signs_nobody_in(served: Served, cookie: str) -> None:
    header = f"howsure_sign_in={cookie}".encode().decode("latin-1")
    reply = Visitor(served.base).get("/sign-in/provider/callback?code=x&state=y", Cookie=header)
    assert reply.status == 401


@pytest.mark.parametrize("after", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_it_leads_to_our_own_pages_alone(person: Person, after: str) -> None:
    person.go(f"?next={after}")
    assert 'content="0;url=/"' in person.come().text


def test_an_unknown_key_does_not_make_us_ask_the_provider_at_will(own: Person) -> None:
    person = own
    person.go()
    assert person.come().status == 200
    person.provider.keys = [KEY, NEWER]
    person.provider.sign = signed_by(NEWER, "ES256", "two")
    before = person.provider.asked.count("/jwks")
    for _ in range(2):
        person.go()
        assert person.come().status == 401
    # The keys were fetched less than a minute ago.
    assert person.provider.asked.count("/jwks") - before == 0


async def test_a_new_key_is_found_after_a_minute(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, "s3&cret")
    settings = OidcSettings(issuer=provider.base, client_id="howsure", client_secret=f"${{{SECRET}}}", roles=ROLES)
    clock = [time.time()]
    client = oidc.OidcProvider(settings, {SECRET: "s3&cret"}, lambda: clock[0])

    async def signed_in() -> oidc.OidcIdentity:
        attempt = oidc.SignInAttempt.begin("/")
        url = await client.authorization_url(attempt, "http://here.example/")
        sent = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        provider.nonce, provider.challenge = sent["nonce"], sent["code_challenge"]
        code = f"code {len(provider.used)}"
        return await client.identity(attempt, {"code": code, "state": sent["state"]}, "http://here.example/")

    assert (await signed_in()).subject == "ana-1"
    provider.keys, provider.sign = [NEWER], signed_by(NEWER, "ES256", "two")
    clock[0] += 61
    assert (await signed_in()).subject == "ana-1"
    assert provider.asked.count("/jwks") == 2


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"issuer": "https://evil.example"}, "names another issuer"),
        ({"token_endpoint": "http://evil.example/token"}, "describes itself wrongly"),
        ({"jwks_uri": None}, "describes itself wrongly"),
    ],
)
def test_a_provider_that_is_another_one_is_not_used(own: Person, metadata: Json, said: str) -> None:
    own.provider.metadata = metadata
    reply = own.get("/sign-in/provider")
    assert (reply.status, said in reply.text) == (503, True)


@pytest.mark.parametrize(
    ("status", "body", "answered"),
    [
        (200, b"x" * 600_000, 503),
        (200, b"not json", 503),
        (200, b"[]", 503),
        (200, b"[" * 100_000, 503),
        (302, b"{}", 503),
        (500, b"{}", 503),
        (400, b'{"error": "<script>alert(1)</script>"}', 401),
        (200, b"{}", 401),
    ],
    ids=["huge", "no json", "a list", "deep", "redirect", "broken", "hostile words", "no token"],
)
def test_a_provider_that_answers_badly(person: Person, status: int, body: bytes, answered: int) -> None:
    person.provider.status, person.provider.body = status, body
    person.go()
    reply = person.come()
    assert (reply.status, "<script>alert" in reply.text) == (answered, False)
    assert not person.is_in()


def test_a_provider_that_is_away_is_named(served: Served, tmp_path: Path) -> None:
    gone = Provider()
    gone.base = "http://127.0.0.1:1"
    with with_provider(tmp_path, gone) as running:
        reply = Visitor(running.base).get("/sign-in/provider")
        assert (reply.status, "Example ID cannot be reached just now" in reply.text) == (503, True)


@pytest.mark.parametrize(
    ("groups", "opens"),
    [
        (["readers"], {"/": 200, "/start": 403, "/settings": 403}),
        ("readers", {"/": 200, "/start": 403, "/settings": 403}),
        (["readers", "runners", "unknown"], {"/": 200, "/start": 200, "/settings": 403}),
        (["operators"], {"/": 200, "/start": 200, "/settings": 200}),
        (["desk"], {"/": 200, "/start": 403, f"/runs/{OLDER}": 404}),
    ],
    ids=["one group", "a word", "roles add up", "admin of everything", "some agents"],
)
def test_groups_give_roles(person: Person, groups: object, opens: dict[str, int]) -> None:
    person.provider.claims = {"groups": groups}
    person.go()
    assert person.come().status == 200
    assert {path: person.get(path).status for path in opens} == opens


@pytest.mark.parametrize("groups", [[], ["unknown"], None, {"readers": True}, 7, [["readers"]], "READERS"])
def test_whoever_is_in_no_listed_group_is_refused_in_words(person: Person, groups: object) -> None:
    person.provider.claims = {"groups": groups}
    person.provider.user_info = {"sub": "ana-1"}
    person.go()
    reply = person.come()
    assert (reply.status, "None of your groups may use this service" in reply.text) == (401, True)
    assert not person.is_in()


def test_roles_in_several_places_do_not_mix_one_is_chosen(person: Person) -> None:
    person.provider.claims = {"groups": ["readers", "desk"]}
    person.go()
    reply = person.come()
    assert not person.is_in()
    assert "Choose where you want to work now." in reply.text
    assert "choice=acme%2C%20agents%20desk" in reply.text
    person.go("?choice=acme")
    person.come()
    assert {path: person.get(path).status for path in (f"/runs/{OLDER}", "/library/rubrics/new")} == {
        f"/runs/{OLDER}": 200,
        "/library/rubrics/new": 403,
    }
    person.go("?choice=acme%2C%20agents%20desk")
    person.come()
    assert {path: person.get(path).status for path in (f"/runs/{OLDER}", "/library/rubrics/new")} == {
        f"/runs/{OLDER}": 404,
        "/library/rubrics/new": 200,
    }


def test_groups_may_come_from_the_user_info_of_the_same_person(person: Person) -> None:
    person.provider.claims = {"groups": None}
    person.provider.user_info = {"sub": "somebody else", "groups": ["operators"]}
    person.go()
    assert person.come().status == 401
    person.provider.user_info = {"sub": "ana-1", "groups": ["readers"]}
    person.go()
    assert person.come().status == 200
    assert person.get("/settings").status == 403


def test_a_name_or_an_address_is_not_an_identity(served: Served, person: Person) -> None:
    person.go()
    person.come()
    twin = Person(served, person.provider)
    person.provider.claims = {"sub": "another", "email": "ana@example.com"}
    twin.go()
    twin.come()
    first, second = ({line["name"] for line in each.data("/settings/sessions")["lines"]} for each in (person, twin))
    assert (len(first), len(second), first & second) == (1, 1, set())


def test_whoever_signs_in_where_no_provider_is_set_finds_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, keys_needed=True, working=False) as served:
        visitor = Visitor(served.base)
        assert "/sign-in/provider" not in visitor.get("/sign-in").text
        assert visitor.get("/sign-in/provider").status == 404


def test_sessions_of_a_provider_end_with_it(tmp_path: Path, own: Person) -> None:
    person = own
    person.go()
    person.come()
    (cookie,) = (each for each in person.cookies if each.name == "howsure_session")
    assert person.is_in()
    (tmp_path / "other").mkdir()
    with serving(tmp_path / "other", keys_needed=True, working=False, database=str(tmp_path / "howsure.db")) as without:
        assert Visitor(without.base).get("/", Cookie=f"{cookie.name}={cookie.value}").status == 303


def test_other_claims_other_scopes_and_no_logout_there(tmp_path: Path, provider: Provider, served: Served) -> None:
    with with_provider(tmp_path, provider, groups_claim="teams", scopes=("openid", "email"), logout=False) as running:
        person = Person(running, provider)
        assert person.go()["scope"] == "openid email"
        provider.claims = {"teams": ["readers"]}
        assert person.come().status == 200
        assert person.post("/sign-out").leads_to == "/sign-in"
