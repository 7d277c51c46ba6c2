"""Settings: keys made, shown once and revoked; the log; what the service may reach; and who sees any of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hostile import HOSTILE, without_nul
from howsure.config import ServiceSettings
from howsure.errors import PlanRefused
from howsure.model.access_scope import AccessScope
from howsure.services.host.keys import OWNER, Caller, KeyRequest, make_key
from howsure.store.audit import AuditEntry
from howsure.store.keys import ApiKey, KeyScope
from howsure.web.pages.settings import action_words, read_key_form, settings_page
from store.making import NOON
from web.pages_served import Served, serving
from web.visiting import Visitor


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("settings"), working=False, hosts=("*.example.org",)) as running:
        yield running


@pytest.fixture
def visitor(served: Served) -> Visitor:
    return Visitor(served.base)


def a_key(name: str = "ci", **fields: Any) -> ApiKey:
    return ApiKey(**{"id": name, "name": name, "scopes": (KeyScope.READ,), "created_at": NOON, **fields})


@pytest.mark.parametrize(
    ("key", "state"),
    [
        (a_key(), "open"),
        (a_key(revoked_at=NOON), "revoked"),
        (a_key(expires_at=NOON + timedelta(days=1)), "open"),
        (a_key(expires_at=NOON - timedelta(days=1)), "ended"),
    ],
)
def test_the_state_of_a_key(key: ApiKey, state: str) -> None:
    page = settings_page([key], [], {}, ServiceSettings(), NOON)
    assert page.keys[0].state == state
    assert page.answer == f"{'1 key' if state == 'open' else '0 keys'} of 1 can open something."


def test_a_full_list_says_that_it_counts_itself_alone() -> None:
    page = settings_page([a_key(str(n)) for n in range(20)], [], {}, ServiceSettings(), NOON)
    assert page.answer == "20 keys of the 20 listed here can open something."


def test_of_a_target_only_name_and_kind_are_shown() -> None:
    blocks = {"bot": {"kind": "http", "url": "https://secret.example/", "headers": {"x": "$KEY"}}}
    rules = ServiceSettings(target="bot", bots={"moss": "bot"})
    page = settings_page([], [], blocks, rules, NOON)
    assert [(each.name, each.kind, each.used_for) for each in page.targets] == [
        ("bot", "http", "where none is named, agent moss")
    ]
    assert "secret.example" not in repr(page)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"scope": ["read"]}, "a key needs a name"),
        ({"name": ["x"], "scope": ["read"], "days": ["soon"]}, "found 'soon'"),
        ({"name": ["x"], "scope": ["read"], "days": ["0"]}, "found '0'"),
        ({"name": ["x"], "scope": ["read"], "days": ["99999"]}, "found '99999'"),
    ],
)
def test_a_key_that_cannot_be_made(form: dict[str, list[str]], said: str) -> None:
    with pytest.raises(PlanRefused, match=said):
        read_key_form(form, OWNER)


def test_a_key_opens_no_more_than_its_makers() -> None:
    asking = Caller("admin of acme", frozenset({KeyScope.ADMIN}), AccessScope(organization_id="acme"))
    form = {"name": ["x"], "scope": ["read", "admin", "made-up"], "organization": ["other"], "agents": ["a, b,"]}
    wanted = read_key_form(form, asking)
    assert (wanted.organization_id, wanted.agent_ids) == ("acme", ("a", "b"))
    assert list(wanted.scopes) == [KeyScope.READ, KeyScope.ADMIN]


def test_a_key_is_shown_once_and_can_be_revoked(served: Served, visitor: Visitor) -> None:
    reply = visitor.post("/settings/keys", [("name", "shown once"), ("scope", "read"), ("scope", "run"), ("days", "7")])
    assert reply.status == 201
    secret = reply.text.split('<code class="secret">')[1].split("<")[0]
    assert secret.startswith("howsure_")
    assert reply.headers["cache-control"] == "no-store"
    assert secret not in visitor.get("/settings").text
    kept = served.do(served.store.keys.by_secret(secret))
    assert kept is not None
    assert kept.scopes == (KeyScope.READ, KeyScope.RUN)
    assert kept.expires_at is not None
    assert visitor.post(f"/settings/keys/{kept.id}/revoke").leads_to == "/settings"
    lines = {line["id"]: line["state"] for line in visitor.data("/settings")["keys"]}
    assert lines[kept.id] == "revoked"


def test_a_refused_key_says_why(visitor: Visitor) -> None:
    reply = visitor.post("/settings/keys", {"name": "no scope"})
    assert reply.status == 422
    assert "a key needs a scope" in reply.text


def test_what_was_written_is_in_the_log(visitor: Visitor) -> None:
    visitor.post("/settings/keys", {"name": "noted", "scope": "read"})
    deed = visitor.data("/settings")["deeds"][0]
    assert (deed["actor"], deed["action"], deed["status"]) == ("local", "POST /settings/keys", 201)
    assert (deed["told"], deed["outcome"]) == ("keys: add", "done")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("POST /api/v1/runs", "runs: add"),
        ("POST /api/v1/runs/{run_id}/cancel", "runs: cancel"),
        ("POST /runs/{run_id}/{deed}", "runs: change"),
        ("POST /library/{shelf}/import", "library: import"),
        ("POST /library/{shelf}/{key}", "library: change"),
        ("PUT /api/v1/bots/{id}/context", "context: change"),
        ("DELETE /api/v1/webhooks/{id}", "webhooks: delete"),
        ("POST /start", "start"),
        ("sign-in", "sign in"),
    ],
)
def test_the_log_says_in_words_what_was_done(action: str, words: str) -> None:
    assert action_words(action) == words


def test_long_lists_go_on(served: Served, visitor: Visitor) -> None:
    async def deeds() -> None:
        for number in range(21):
            text = {"organization_id": "", "actor": "x", "action": "PUT", "subject": "y", "request_id": ""}
            await served.store.audit.add(
                AuditEntry(id=f"d{number}", at=NOON - timedelta(days=number), **text)  # type: ignore[arg-type]
            )

    served.do(deeds())
    page = visitor.data("/settings")
    assert len(page["deeds"]) == 20
    assert visitor.data(page["more_deeds"])["deeds"][-1]["at"] == "2026-02-09 12:00"


def test_who_sees_what(tmp_path: Path) -> None:
    with serving(tmp_path, keys_needed=True, working=False, hosts=("inside.example",)) as served:
        wanted = {
            "operator": KeyRequest(name="operator", scopes=[KeyScope.ADMIN]),
            "acme": KeyRequest(name="acme", scopes=[KeyScope.ADMIN], organization_id="acme"),
            "some agents": KeyRequest(name="some", scopes=[KeyScope.ADMIN], organization_id="acme", agent_ids=("a",)),
            "writer": KeyRequest(
                name="writer", scopes=[KeyScope.READ, KeyScope.WRITE, KeyScope.RUN], organization_id="acme"
            ),
        }
        known = {name: served.do(make_key(served.store, each)) for name, each in wanted.items()}
        visitors = {name: Visitor(served.base).sign_in(secret) for name, (_, secret) in known.items()}
        seen = {name: visitor.get("/settings").status for name, visitor in visitors.items()}
        assert seen == {"operator": 200, "acme": 200, "some agents": 200, "writer": 403}
        limited = visitors["some agents"].data("/settings")
        assert (limited["keys"], limited["deeds"]) == ([], [])
        assert {line["name"] for line in visitors["operator"].data("/settings")["keys"]} == {
            "operator",
            "acme",
            "some",
            "writer",
        }
        own = visitors["acme"].data("/settings")
        assert {line["name"] for line in own["keys"]} == {"acme", "some", "writer"}
        assert own["facts"] == []
        assert "inside.example" in visitors["operator"].get("/settings").text
        operator = known["operator"][0].id
        assert visitors["acme"].post(f"/settings/keys/{operator}/revoke").status == 404
        assert visitors["writer"].post("/settings/keys", {"name": "x", "scope": "admin"}).status == 403
        assert visitors["some agents"].post("/settings/keys", {"name": "x", "scope": "admin"}).status == 403
        assert visitors["some agents"].post(f"/settings/keys/{operator}/revoke").status == 403
        made = visitors["some agents"].post("/settings/keys", {"name": "x", "role": "viewer", "agents": "a"})
        assert made.status == 201
        mine = known["acme"][0].id
        visitors["acme"].post(f"/settings/keys/{mine}/revoke")
        assert visitors["acme"].get("/settings").leads_to.startswith("/sign-in")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_are_inert(served: Served, visitor: Visitor, hostile: str) -> None:
    name = without_nul(hostile).replace("\n", " ")
    served.do(make_key(served.store, KeyRequest(name=name, scopes=[KeyScope.READ], organization_id=name)))
    page = visitor.get("/settings").text
    for bad in ("<script>alert", "<img src=x", "<svg/onload", "<iframe", "\x1b", "\u202e", "<b>out", "<injected"):
        assert bad not in page
