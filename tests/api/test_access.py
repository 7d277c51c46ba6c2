"""Who may do what: every operation, tried with no key, with keys that do not open it, and with keys of others."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from api.operations import FOR_ANY_KEY, MADE, OPEN, OPERATIONS, World, a_dataset, a_rubric, a_test_set
from api.served import Reply
from api.shared import AGENT, Asker, Service, in_a_thread
from databases import IN_TURN
from howsure.api.app import PREFIX, ServiceAccess
from howsure.services.host.keys import KeyRequest, make_key
from howsure.store.keys import KeyScope

Json = dict[str, Any]
GUARDED = [each for each in OPERATIONS if each not in OPEN]
SCOPES = ("read", "write", "run")
OVERSEEN = ("/keys", "/webhooks", "/audit", "/metrics")
EVERYONES = ("/evaluators/types", "/evaluate-transcript")
"""What says nothing of anybody's things."""


def scope_of(method: str, path: str) -> str:
    """The scope that an operation needs, as the documentation has it."""
    kind = path.removeprefix(PREFIX)
    if kind.startswith(OVERSEEN):
        return "admin"
    if method == "GET":
        return "read"
    running = kind.startswith(("/evaluations", "/evaluate-transcript")) or (
        kind.startswith("/runs") and method == "POST" and not kind.endswith("/labels")
    )
    return "run" if running else "write"


class Homes:
    """Two organisations on one service; everything that is asked for is the first one's."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.owner = service.asker()
        self.world = World(self.owner)
        self.other = service.asker()
        self.elsewhere = service.asker(organization_id=self.owner.organization_id, agent_ids=["another-agent"])
        self.revoked = service.asker(organization_id=self.owner.organization_id)
        assert self.owner("DELETE", f"/keys/{self.revoked.key_id}").status == 200
        self.expired = self._expired()
        self.weak = {scope: self._without(scope) for scope in (*SCOPES, "admin")}

    def _expired(self) -> Asker:
        store, home = self.service.host.store, self.owner.organization_id
        wanted = KeyRequest(name="old", scopes=[KeyScope.ADMIN], organization_id=home)
        key, _ = self.service.wait(make_key(store, wanted))
        old = replace(key, id="expired-" + key.id, expires_at=datetime.now(UTC) - timedelta(seconds=1))
        self.service.wait(store.keys.add(old, "howsure_" + old.id))
        return Asker(self.service, "howsure_" + old.id, old.id, home)

    def _without(self, scope: str) -> Asker:
        return self.service.asker(
            *(each for each in SCOPES if each != scope), organization_id=self.owner.organization_id
        )

    def asked(self, ask: Asker, method: str, path: str) -> Reply:
        """The operation on the first one's things, as it is meant."""
        filled = path.removeprefix(PREFIX).format(**self.world.path_parameters("", path))
        wanted = self.world.good_requests(method, path)[0]
        body = wanted.get("body")
        if isinstance(body, dict):
            body = {**body, **self.world.body_fields(set(body))}
        query = "?name=x.json" if path.endswith("/upload") else ""
        kind = {"Content_Type": wanted["media_type"]} if isinstance(body, bytes) else {}
        return ask(method, filled + query, body, **kind)


@pytest.fixture(scope="session")
def homes(services: Callable[[str], Service]) -> Callable[[str], Homes]:
    known: dict[Service, Homes] = {}

    def made(kind: str) -> Homes:
        service = services(kind)
        if service not in known:
            known[service] = Homes(service)
        return known[service]

    return made


@pytest.fixture(params=IN_TURN)
def home(request: pytest.FixtureRequest, homes: Callable[[str], Homes]) -> Homes:
    return homes(request.param)


@pytest.mark.parametrize(("method", "path"), GUARDED, ids=lambda text: text.removeprefix(PREFIX))
def test_no_operation_is_open_to_those_it_is_not_for(home: Homes, method: str, path: str) -> None:
    for asker in (home.service.nobody(), home.revoked, home.expired, Asker(home.service, "howsure_guessed")):
        reply = home.asked(asker, method, path)
        assert (reply.status, reply.body["error"]) == (401, "unauthorized")
        assert reply.headers["www-authenticate"] == "Bearer"
    needed = scope_of(method, path)
    reply = home.asked(home.weak[needed], method, path)
    if (method, path) in FOR_ANY_KEY:
        assert reply.status == 200
    else:
        assert (reply.status, reply.body["error"]) == (403, "forbidden"), needed


@pytest.mark.parametrize(("method", "path"), GUARDED, ids=lambda text: text.removeprefix(PREFIX))
def test_nothing_of_others_is_seen_or_changed(home: Homes, method: str, path: str) -> None:
    kind = path.removeprefix(PREFIX)
    if kind.startswith(("/bots", *EVERYONES)) or kind == "/metrics":
        return
    for asker in (home.other, home.elsewhere):
        reply = home.asked(asker, method, path)
        if "{" in path or (method, kind) in (("POST", "/runs"), ("POST", "/evaluations")):
            # Whoever may write for some agents only is told so before anything is looked for.
            told = (422,) if asker is home.elsewhere and method in ("PUT", "PATCH") else ()
            assert reply.status in (403, 404, *told), (reply.status, reply.body)
        assert reply.status < 500
        leaks(home, reply)


def leaks(home: Homes, reply: Reply) -> None:
    """What the first organisation has made is nowhere in it, but in the words of whoever asked."""
    if reply.status >= 400:
        assert set(reply.body) <= {"error", "detail", "problems"}
        return
    told = json.dumps(reply.body)
    for kind in ("/rubrics", "/test-sets", "/datasets", "/runs", "/results", "/labels", "/keys"):
        assert home.world.one(kind) not in told, kind


@pytest.mark.parametrize("kind", [*MADE, "/runs", "/results", "/labels", "/audit"])
def test_lists_hold_ones_own_alone(home: Homes, kind: str) -> None:
    home.world.one("/rubrics" if kind == "/audit" else kind)
    assert home.owner("GET", kind).body
    listed = home.other("GET", kind)
    assert listed.status == 200
    leaks(home, listed)
    assert home.elsewhere("GET", kind).status == 403 if kind in OVERSEEN else home.elsewhere("GET", kind).body == []


def test_ids_of_others_in_a_body_are_not_found(home: Homes) -> None:
    mine = World(home.other)
    own = {"test_set_id": mine.one("/test-sets")}
    for name, kind in (("rubric_id", "/rubrics"), ("config_id", "/evaluator-configs")):
        assert home.other("POST", "/runs", {**own, name: home.world.one(kind)}).status == 404
    for name, kind in (
        ("test_set_id", "/test-sets"),
        ("dataset_id", "/datasets"),
        ("question_set_id", "/question-sets"),
    ):
        assert home.other("POST", "/runs", {name: home.world.one(kind)}).status == 404
    asked = {"bot_id": AGENT, **own, "mode": "transcript", "conversation_ids": [home.world.one("/results")]}
    assert home.other("POST", "/evaluations", asked).status == 404
    said = {"messages": [{"role": "user", "content": "hi"}], "success_criteria": ["kind"]}
    assert home.other("POST", "/evaluate-transcript", {**said, "rubric_id": home.world.one("/rubrics")}).status == 404
    assert (
        home.other("POST", "/evaluate-transcript", {**said, "test_set_id": home.world.one("/test-sets")}).status == 404
    )
    own_run, its_run = mine.one("/runs"), home.world.one("/runs")
    assert home.other("GET", f"/compare/{own_run}/{its_run}").status == 404
    assert home.other("POST", f"/runs/{own_run}/regrade", {"rubric_id": home.world.one("/rubrics")}).status == 404
    cursor = home.owner("GET", "/results?limit=1").headers["x-next-cursor"]
    assert home.world.one("/results") not in json.dumps(home.other("GET", f"/results?cursor={cursor}").body)


def test_the_same_agent_id_is_another_agent_elsewhere(home: Homes) -> None:
    """Two organisations may call an agent the same: neither sees, changes or runs the other's."""
    bot = "shared-name"
    models = ("secret-model", "open-model")
    for asker, model in zip((home.owner, home.other), models, strict=True):
        given = {"bot_name": model, "system_prompt": f"prompt of {model}", "llm_config": {"model": model}}
        assert asker("PUT", f"/bots/{bot}/context", given).status == 200
    for asker, model in zip((home.owner, home.other), models, strict=True):
        assert asker("GET", f"/bots/{bot}/context").body["system_prompt"] == f"prompt of {model}"
        key = asker.made("/test-sets", a_test_set(agent_id=bot))["test_set_id"]
        run = asker.finished(asker.made("/evaluations", {"bot_id": bot, "test_set_id": key}, 202)["run_id"])
        assert (run["bot_llm_model"], run["agent_id"]) == (model, bot)
        assert asker("GET", f"/datasets/{run['dataset_id']}").body["cases"] == 2


def test_a_key_for_some_agents_writes_and_runs_for_them_alone(service: Service) -> None:
    owner = service.asker()
    ours = service.asker("read", "write", "run", organization_id=owner.organization_id, agent_ids=["a1"])
    assert ours("POST", "/rubrics", a_rubric(agent_id="a2")).status == 422
    assert ours("POST", "/datasets", a_dataset(agent_id=None)).status == 422
    dataset = ours.made("/datasets", a_dataset(agent_id="a1"))["dataset_id"]
    assert ours("PUT", f"/datasets/{dataset}", a_dataset(agent_id="a2")).status == 422
    rubric = ours.made("/rubrics", a_rubric(agent_id="a1"))["rubric_id"]
    assert ours("PUT", f"/rubrics/{rubric}", a_rubric(agent_id="a2")).status == 422
    assert ours("PUT", f"/rubrics/{rubric}", a_rubric(agent_id=None)).status == 422
    assert ours("PUT", "/bots/a2/context", {"bot_name": "x"}).status == 404
    assert ours("GET", "/bots/a2/context").status == 404
    key = ours.made("/test-sets", a_test_set(agent_id="a1"))["test_set_id"]
    assert ours("POST", "/evaluations", {"bot_id": "a2", "test_set_id": key}).status == 404
    run = ours.finished(ours.made("/runs", {"test_set_id": key}, 202)["run_id"])
    assert run["agent_id"] == "a1"
    results = [each["result_id"] for each in ours("GET", f"/runs/{run['run_id']}/results").body]
    asked = {"bot_id": "a1", "test_set_id": key, "mode": "transcript", "conversation_ids": results}
    assert ours.finished(ours.made("/evaluations", asked, 202)["run_id"])["total"] == 2
    assert ours("POST", "/evaluations", {**asked, "bot_id": "a2"}).status == 404
    assert [each["agent_id"] for each in owner("GET", "/runs").body] == ["a1", "a1"]


def test_keys_open_no_more_than_their_makers(service: Service) -> None:
    owner = service.asker()
    limited = service.asker(organization_id=owner.organization_id, agent_ids=["a1"])
    wanted = {"name": "new", "scopes": ["read"]}
    assert owner("POST", "/keys", {**wanted, "organization_id": "another"}).status == 403
    assert limited("POST", "/keys", wanted).status == 403
    assert limited("POST", "/keys", {**wanted, "agent_ids": ["a1", "a2"]}).status == 403
    made = limited.made("/keys", {**wanted, "agent_ids": ["a1"], "days": 1})
    assert (made["organization_id"], made["agent_ids"]) == (owner.organization_id, ["a1"])
    assert made["secret"].startswith("howsure_")
    listed = owner("GET", "/keys").body
    assert made["id"] in [each["id"] for each in listed]
    assert not any("secret" in each or made["secret"] in json.dumps(each) for each in listed)
    for path in ("/keys", "/audit", "/metrics"):
        assert limited("GET", path).status == 403
    assert limited("DELETE", f"/keys/{owner.key_id}").status == 403
    assert owner("GET", "/metrics").status == 403
    theirs = service.asker()
    assert theirs("DELETE", f"/keys/{made['id']}").status == 404


def test_a_secret_is_shown_once_even_to_a_repeated_request(ask: Asker) -> None:
    wanted = {"name": "once", "scopes": ["read"]}
    first = ask("POST", "/keys", wanted, Idempotency_Key="k")
    again = ask("POST", "/keys", wanted, Idempotency_Key="k")
    assert (again.status, again.body["id"], again.body["secret"]) == (201, first.body["id"], None)
    assert first.body["secret"]


def test_what_one_caller_was_answered_another_is_not(service: Service) -> None:
    """The same request with the same key of its own, from somebody who may not do it."""
    owner = service.asker()
    reader = service.asker("read", organization_id=owner.organization_id)
    first = owner("POST", "/rubrics", a_rubric(), Idempotency_Key="same")
    assert first.status == 201
    assert reader("POST", "/rubrics", a_rubric(), Idempotency_Key="same").status == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X_API_Key": "{key}"}, 200),
        ({"Authorization": "bearer {key}"}, 200),
        ({"Authorization": "Basic {key}"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Bearer {key} extra"}, 401),
        ({"Authorization": "Bearer", "X_API_Key": "{key}"}, 401),
        ({"Cookie": "key={key}"}, 401),
    ],
    ids=["own header", "lower case", "basic", "no key", "two", "a broken one beats a good one", "cookie"],
)
def test_how_a_key_is_sent(ask: Asker, headers: dict[str, str], status: int) -> None:
    sent = {name: value.format(key=ask.key) for name, value in headers.items()}
    assert ask.service.nobody()("GET", "/rubrics", **sent).status == status


def test_a_page_from_elsewhere_is_not_obeyed_where_no_key_is_needed(tmp_path: Path) -> None:
    """A browser sends such requests without asking: they have no body, and nobody's key is needed."""
    with in_a_thread(
        tmp_path, "", ServiceAccess(host_names=("localhost", "127.0.0.1")), origins=("https://ours.test",)
    ) as service:
        ask = service.nobody()
        key = ask.made("/rubrics", a_rubric())["rubric_id"]
        restore = f"/rubrics/{key}/versions/1/restore"
        assert ask("POST", restore, Origin="https://evil.test").status == 403
        assert ask("POST", restore, Origin="null").status == 403
        assert ask("POST", restore, Origin="https://ours.test").status == 201
        assert ask("POST", restore, Origin=service.base.removesuffix(PREFIX)).status == 201
        assert ask("GET", "/rubrics", Host="evil.test").status == 400
        assert ask("GET", "/rubrics", Host="localhost:8002").status == 200
        preflight = {"Access_Control_Request_Method": "POST"}
        told = ask("OPTIONS", "/rubrics", Origin="https://ours.test", **preflight)
        assert told.headers["access-control-allow-origin"] == "https://ours.test"
        assert (
            "access-control-allow-origin"
            not in ask("OPTIONS", "/rubrics", Origin="https://evil.test", **preflight).headers
        )


def test_no_other_origin_is_let_in_by_default(ask: Asker) -> None:
    reply = ask("GET", "/rubrics", Origin="https://evil.test")
    assert "access-control-allow-origin" not in reply.headers
    assert ask("OPTIONS", "/rubrics", Origin="https://evil.test", Access_Control_Request_Method="POST").status == 405


def test_writes_are_noted(ask: Asker) -> None:
    key = ask.made("/rubrics", a_rubric())["rubric_id"]
    ask("PUT", f"/rubrics/{key}", a_rubric(), X_Request_ID="mine-1")
    ask("GET", "/rubrics")
    ask("DELETE", f"/rubrics/{key}")
    noted = ask("GET", "/audit").body
    assert [(each["action"], each["status"]) for each in noted] == [
        (f"DELETE {PREFIX}/rubrics/{{id}}", 204),
        (f"PUT {PREFIX}/rubrics/{{id}}", 200),
        (f"POST {PREFIX}/rubrics", 201),
    ]
    assert noted[1]["request_id"] == "mine-1"
    assert {each["actor"] for each in noted} == {"tester"}
    assert noted[0]["subject"] == f"{PREFIX}/rubrics/{key}"


def test_counters_are_told_to_prometheus(service: Service) -> None:
    operator = service.asker(organization_id=None)
    operator("GET", "/rubrics/nothing")
    told = operator("GET", "/metrics")
    assert told.headers["content-type"].startswith("text/plain")
    lines = told.raw.decode().splitlines()
    wanted = f'howsure_http_requests_total{{method="GET",route="{PREFIX}/rubrics/{{id}}",status="404"}}'
    assert any(line.startswith(wanted) for line in lines)
    assert any(line.startswith('howsure_runs{state="queued"}') for line in lines)


def test_keys_are_revoked_at_once_and_for_good(service: Service) -> None:
    owner = service.asker()
    made = service.asker("read", organization_id=owner.organization_id)
    assert made("GET", "/runs").status == 200
    for _ in range(2):
        assert owner("DELETE", f"/keys/{made.key_id}").status == 200
    assert made("GET", "/runs").status == 401
