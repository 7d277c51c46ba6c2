"""The adk target against a loopback server that speaks as ADK's does, on good days and bad ones."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from howsure.engine.converse import assemble_transcript
from howsure.errors import ConfigInvalid, TargetFailed, TargetTimedOut
from howsure.model.case import Case, Script, SingleTurn, user_turns
from howsure.model.transcript import Message, Role, ToolResult, Transcript, Usage
from howsure.targets.adk.target import AdkKind, AdkSettings, AdkTarget
from howsure.targets.base import CheckableTarget, StartableTarget, TargetRequest
from howsure.targets.settings import Headers

Json = dict[str, Any]
COUNTED = {"promptTokenCount": 5, "candidatesTokenCount": 2}


def spoken(text: str) -> Json:
    return {"author": "desk", "content": {"role": "model", "parts": [{"text": text}]}, "usageMetadata": COUNTED}


class Server:
    """An API server with one app. `answers` are what /run gives, a turn each; `traces`: where the spans are."""

    def __init__(self) -> None:
        self.answers: list[list[Json] | Callable[[], web.StreamResponse]] = []
        self.sessions: dict[str, Json] = {}
        self.asked: list[Json] = []
        self.seen: list[tuple[str, str, Any]] = []
        self.apps: Any = ["library", "shop"]
        self.traces = ""
        self.collection = True
        self.url = ""

    def routes(self) -> list[web.RouteDef]:
        place = "/apps/{app}/users/{user}/sessions"
        return [
            web.get("/list-apps", self.list_apps),
            web.get("/apps/{app}/app-info", self.info),
            web.post(place, self.create),
            web.post(place + "/{session}", self.create_named),
            web.get(place + "/{session}", self.session),
            web.post("/run", self.run),
            web.post("/run_sse", self.stream),
            web.get("/{rest:.*}", self.trace),
        ]

    async def list_apps(self, request: web.Request) -> web.Response:
        return web.Response(status=404) if self.apps is None else web.json_response(self.apps)

    async def info(self, request: web.Request) -> web.Response:
        return web.json_response({"name": "shop", "rootAgentName": "desk"})

    async def create(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.seen.append(("create", request.match_info["user"], body))
        if not self.collection:
            return web.Response(status=405)
        return self.made(body.get("session_id"), body.get("state"))

    async def create_named(self, request: web.Request) -> web.Response:
        return self.made(request.match_info["session"], await request.json())

    def made(self, session: str, state: Json) -> web.Response:
        if session in self.sessions:
            return web.json_response({"detail": f"Session already exists: {session}"}, status=409)
        self.sessions[session] = {"id": session, "state": {**state, "__llm_request_key__": {"x": 1}}}
        return web.json_response(self.sessions[session])

    async def session(self, request: web.Request) -> web.Response:
        return web.json_response(self.sessions[request.match_info["session"]])

    async def run(self, request: web.Request) -> web.StreamResponse:
        answer = await self.answer(request)
        return web.json_response(answer) if isinstance(answer, list) else answer

    async def stream(self, request: web.Request) -> web.StreamResponse:
        answer = await self.answer(request)
        if not isinstance(answer, list):
            return answer
        lines = "".join(f"data: {json.dumps(event)}\n\n" for event in answer)
        return web.Response(text=f": a comment\r\n\r\n{lines}", content_type="text/event-stream")

    async def answer(self, request: web.Request) -> list[Json] | web.StreamResponse:
        body = await request.json()
        self.asked.append({**body, "authorization": request.headers.get("Authorization", "")})
        if body["app_name"] != "shop":
            return web.json_response({"detail": f"Agent not found: {body['app_name']}"}, status=404)
        answer = self.answers.pop(0)
        return answer() if callable(answer) else answer

    async def trace(self, request: web.Request) -> web.Response:
        self.seen.append(("trace", request.path, None))
        session = request.path.rpartition("/")[2]
        if self.traces and request.path == self.traces.format(session=session):
            return web.json_response([{"name": "invocation", "trace_id": 1, "span_id": 2, "attributes": {}}])
        return web.json_response({"detail": "Not Found"}, status=404)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    adk = Server()
    app = web.Application()
    app.add_routes(adk.routes())
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    adk.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield adk
    await runner.cleanup()


async def talk(wish: TargetRequest, case: Case) -> Transcript:
    target = AdkKind().make(wish)
    await target.start()
    try:
        session = await target.open(case)
        replies = [(text, await session.send(text)) for text in user_turns(case.input)]
        return assemble_transcript(replies, await session.close())
    finally:
        await target.stop()


def a_wish(server: Server, **settings: Any) -> TargetRequest:
    return TargetRequest(
        name="shop", settings={"url": server.url, "app_name": "shop", **settings}, state={"tier": "gold"}
    )


def a_script(*turns: str, **state: Any) -> Case:
    return Case(id="1", input=Script(turns=turns), state=state)


CALL = {"functionCall": {"id": "c1", "name": "lookup_order", "args": {"order_id": "A1"}}}
FOUND = {"functionResponse": {"id": "c1", "name": "lookup_order", "response": {"status": "shipped"}}}
LOOKED = [
    {"author": "desk", "content": {"parts": [{"text": "Let me look."}, CALL]}, "usageMetadata": COUNTED},
    {"author": "desk", "content": {"parts": [FOUND]}},
    spoken("It is shipped."),
]


@pytest.mark.parametrize("stream", [False, True], ids=["/run", "/run_sse"])
async def test_a_conversation_is_one_session_with_its_state(server: Server, stream: bool) -> None:
    server.answers = [LOOKED, [spoken("Bye.")]]
    found = await talk(a_wish(server, stream=stream), a_script("Where is it?", "Thanks", tier="silver", order="A1"))
    assert found.answer == "Bye."
    assert [call.result for call in found.tool_calls] == [ToolResult(content={"status": "shipped"})]
    assert found.state == {"tier": "silver", "order": "A1"}
    assert found.usage == Usage(prompt_tokens=15, completion_tokens=6)
    assert found.spans is None
    assert len({asked["session_id"] for asked in server.asked}) == 1
    assert [asked["new_message"]["parts"][0]["text"] for asked in server.asked] == ["Where is it?", "Thanks"]
    assert {asked["streaming"] for asked in server.asked} == {stream}


async def test_thinking_beside_a_call_is_not_the_answer(server: Server) -> None:
    server.answers = [LOOKED[:2]]
    assert (await talk(a_wish(server), a_script("Where is it?"))).answer == ""


async def test_every_conversation_has_a_user_of_its_own_unless_one_is_set(server: Server) -> None:
    server.answers = [[spoken("a")], [spoken("b")], [spoken("c")]]
    for settings in ({}, {}, {"user_id": "ann"}):
        await talk(a_wish(server, **settings), a_script("Hi"))
    first, second, third = (asked["user_id"] for asked in server.asked)
    assert first != second and third == "ann"


@pytest.mark.parametrize("traces", ["/dev/apps/shop/debug/trace/session/{session}", "/debug/trace/session/{session}"])
async def test_spans_come_from_where_the_server_keeps_them(server: Server, traces: str) -> None:
    server.answers, server.traces = [[spoken("a")]], traces
    found = await talk(a_wish(server), a_script("Hi"))
    assert found.spans is not None and [span.name for span in found.spans] == ["invocation"]


async def test_spans_are_not_asked_for_when_they_are_not_wanted(server: Server) -> None:
    server.answers = [[spoken("a")]]
    assert (await talk(a_wish(server, trace=False), a_script("Hi"))).spans is None
    assert [what for what, _, _ in server.seen] == ["create"]


async def test_app_state_that_other_sessions_wrote_is_none_of_this_conversation(server: Server) -> None:
    """A server shares it between all sessions."""
    wrote = {**spoken("a"), "actions": {"stateDelta": {"app:looks": 1, "x": 1}}}

    def others_write() -> web.StreamResponse:
        for session in server.sessions.values():
            session["state"] |= {"x": 1, "app:looks": 5, "app:other": 1}
        return web.json_response([wrote])

    server.answers = [others_write]
    found = await talk(a_wish(server), a_script("Hi", **{"app:shop": "Moss"}))
    assert found.state == {"tier": "gold", "x": 1, "app:shop": "Moss", "app:looks": 1}


async def test_older_servers_make_a_session_at_the_address_of_its_id(server: Server) -> None:
    server.collection, server.answers = False, [[spoken("a")]]
    assert (await talk(a_wish(server), a_script("Hi"))).state == {"tier": "gold"}


async def test_an_earlier_conversation_and_context_go_along(server: Server) -> None:
    server.answers = [[spoken("Yes.")]]
    history = (Message(role=Role.USER, content="Hi"), Message(role=Role.ASSISTANT, content="Hello"))
    case = Case(id="1", input=SingleTurn(message="May he?", context="He is ten.", history=history))
    told = await talk(a_wish(server), case)
    assert told.sent is not None
    assert [message.content for message in told.sent.messages] == ["Hi", "Hello", "He is ten.\n\nMay he?"]
    created = next(body for what, _, body in server.seen if what == "create")
    assert [(event["author"], event["content"]["parts"]) for event in created["events"]] == [
        ("user", [{"text": "Hi"}]),
        ("desk", [{"text": "Hello"}]),
    ]
    assert server.asked[0]["new_message"]["parts"] == [{"text": "He is ten.\n\nMay he?"}]


async def test_headers_are_sent_and_their_secrets_are_never_shown(server: Server) -> None:
    server.answers = [lambda: web.Response(status=500, text="bad key: swordfish")]
    settings = {"url": server.url, "app_name": "shop", "headers": {"Authorization": "Bearer ${SHOP_KEY}"}}
    wish = TargetRequest(name="shop", settings=settings, environ={"SHOP_KEY": "swordfish"})
    with pytest.raises(TargetFailed) as caught:
        await talk(wish, a_script("Hi"))
    assert server.asked[0]["authorization"] == "Bearer swordfish"
    assert str(caught.value).endswith("bad key: [secret]")


@pytest.mark.parametrize(
    ("stream", "answer", "said"),
    [
        (False, lambda: web.Response(status=500, text="x" * 600), "HTTP 500 from {url}: " + "x" * 500),
        (True, lambda: web.Response(status=503, text=""), "HTTP 503 from {url}: an empty body"),
        (False, lambda: web.Response(text="<html>"), "{url}: expected JSON, found <html>"),
        (False, lambda: web.Response(text='{"a": 1}'), '{url}: expected a list of events, found {"a": 1}'),
        (True, lambda: web.Response(text="garbage"), "{url}: expected a stream of events, found garbage"),
        (True, lambda: web.Response(text="data: {broken\n\n"), "{url}: expected JSON, found {broken"),
        (True, [{"error": "RuntimeError: it broke"}], "the ADK server broke off: RuntimeError: it broke"),
        (False, [{"author": "desk", "errorCode": "X", "errorMessage": "y"}], "agent 'desk' reported an error: X: y"),
    ],
    ids=["500", "503 in a stream", "html", "no list", "no stream", "broken", "broke off", "error event"],
)
async def test_a_bad_answer_fails_the_turn_with_what_was_found(
    server: Server, stream: bool, answer: Any, said: str
) -> None:
    server.answers = [answer]
    with pytest.raises(TargetFailed) as caught:
        await talk(a_wish(server, stream=stream), a_script("Hi"))
    assert str(caught.value).endswith(said.replace("{url}", server.url))


async def test_a_wrong_app_name_is_answered_with_the_right_ones(server: Server) -> None:
    said = f"no app 'shopp' on the ADK server at {server.url}; did you mean 'shop'? it has: library, shop"
    with pytest.raises(TargetFailed) as caught:
        await talk(a_wish(server, app_name="shopp"), a_script("Hi"))
    assert str(caught.value).startswith(said)
    with pytest.raises(TargetFailed) as caught:
        await AdkKind().make(a_wish(server, app_name="shopp")).check()
    assert str(caught.value).startswith(said)


async def test_the_check_says_what_is_there(server: Server) -> None:
    target = AdkKind().make(TargetRequest(name="shop", rest=f"{server.url}/shop"))
    offered: Any = target
    assert isinstance(offered, StartableTarget)
    assert isinstance(offered, CheckableTarget)
    assert await target.check() == f"the ADK server at {server.url} has the app 'shop' (2 in all)"
    server.apps = None
    assert await target.check() == f"the server at {server.url} answers, but does not list its apps"


async def test_a_server_that_is_not_there_is_named() -> None:
    target = AdkKind().make(TargetRequest(name="shop", rest="http://127.0.0.1:1/shop"))
    with pytest.raises(TargetFailed, match=r"cannot reach http://127\.0\.0\.1:1: .*is the server running"):
        await target.check()


async def test_a_session_that_exists_is_not_taken_for_a_new_one(server: Server) -> None:
    server.sessions["taken"] = {"id": "taken", "state": {}}
    settings = AdkSettings(url=server.url, app_name="shop")
    target = AdkTarget(TargetRequest(name="shop"), settings, Headers({}), new_id=lambda: "taken")
    with pytest.raises(TargetFailed, match="session 'taken' exists already"):
        await target.open(a_script("Hi"))
    await target.stop()


async def test_a_turn_has_a_limit(server: Server) -> None:
    async def late(request: web.Request) -> list[Json] | web.StreamResponse:
        await asyncio.sleep(5)
        return []

    server.answer = late  # type: ignore[method-assign]
    with pytest.raises(TargetTimedOut, match=r"no answer in 0\.2 s"):
        await talk(a_wish(server, turn_seconds=0.2), a_script("Hi"))


async def test_a_connection_that_breaks_is_said_to_have_broken(server: Server) -> None:
    async def broken(request: web.Request) -> list[Json] | web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return []

    server.answer = broken  # type: ignore[method-assign]
    with pytest.raises(TargetFailed, match=rf"the connection to {server.url} broke"):
        await talk(a_wish(server), a_script("Hi"))


@pytest.mark.parametrize(
    ("rest", "url", "app"),
    [
        ("http://127.0.0.1:8000/shop", "http://127.0.0.1:8000", "shop"),
        ("http://127.0.0.1:8000/shop/", "http://127.0.0.1:8000", "shop"),
        ("https://agents.test/adk/shop", "https://agents.test/adk", "shop"),
    ],
)
def test_the_last_part_of_the_address_is_the_app(rest: str, url: str, app: str) -> None:
    settings = AdkKind().make(TargetRequest(name="adk", rest=rest))._settings
    assert (settings.url, settings.app_name) == (url, app)


@pytest.mark.parametrize("rest", ["http://127.0.0.1:8000", "shop", "127.0.0.1:8000/shop"])
def test_a_spec_without_address_or_app_is_refused(rest: str) -> None:
    with pytest.raises(ConfigInvalid, match="expected adk:http://"):
        AdkKind().make(TargetRequest(name="adk", rest=rest))


def test_every_wrong_setting_is_named_at_once() -> None:
    settings = {"url": "ftp://x", "stream": "yes", "turn_seconds": 0, "port": 1, "headers": {"X-Key": "${NO_KEY}"}}
    with pytest.raises(ConfigInvalid) as caught:
        AdkKind().make(TargetRequest(name="shop", settings=settings))
    fields = ("stream", "port", "url", "app_name", "turn_seconds", "headers.X-Key")
    assert [part.partition(":")[0] for part in str(caught.value).split("; `")] == [
        f"{'`' if at == 0 else ''}targets.shop.{field}`" for at, field in enumerate(fields)
    ]


def test_the_kind_is_registered_without_loading_an_http_client() -> None:
    script = "import sys, howsure.targets.adk.target; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
