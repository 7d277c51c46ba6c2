"""What rows talk to on loopback, in a thread of its own: a model that speaks the OpenAI chat protocol and a bot. Both
say what they were sent, so that a row sees the effect of a setting in the answer."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from contextlib import AbstractContextManager
from typing import Any

from aiohttp import web

from e2e.model_server import filled, listed
from listening import in_a_thread

SCALE = re.compile(r"number from (\d+) to (\d+)")
SHOWN_HEADERS = ("Authorization", "X-Case", "Content-Type")
RICH = {
    "said": {"plain": "Answer: A"},
    "log": [{"role": "assistant", "content": "Answer: A"}],
    "actions": [{"action": "look_up", "given": {"order": "42"}, "no": "n7", "outcome": "shipped"}],
    "vars": {"order": "42"},
    "metering": {"in": 11, "out": 7, "cached": 3, "thought": 2, "usd": 0.5},
    "who": "clerk",
    "fault": None,
}


class Loopback:
    """Models are told apart by their name: `echo` says what it was sent, `wrong` says B and the others A; as judges
    `strict` rules badly and the others well. `slow` takes 0.4 s, `flaky…` breaks two times of three, `cut` is cut
    off. Offered tools, they call the first of them once, `eager` twice."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    async def complete(self, request: web.Request) -> web.Response:
        body = await request.json()
        model = body["model"]
        self.seen[model] += 1
        if model == "slow":
            await asyncio.sleep(0.4)
        if model.startswith("flaky") and self.seen[model] % 3:
            await asyncio.sleep(0.05)
            return web.json_response({"error": {"message": "overloaded"}}, status=500, headers={"Retry-After": "0"})
        message = self._message(model, body)
        finish = "length" if model == "cut" else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        return web.json_response({"id": "x", "model": model, "choices": [choice], "usage": usage})

    def _message(self, model: str, body: dict[str, Any]) -> dict[str, Any]:
        value: dict[str, Any]
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        results = [message for message in body["messages"] if message["role"] == "tool"]
        if body.get("tools") and len(results) < (2 if model == "eager" else 1):
            name = body["tools"][0]["function"]["name"]
            call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": '{"order": "42"}'}}
            return {"role": "assistant", "content": None, "tool_calls": [call]}
        last = str(body["messages"][-1]["content"])
        mood = "bad" if model == "strict" else "good"
        if schema is None and model not in ("judge", "strict"):
            said = json.dumps(body) if model == "echo" else "Answer: B" if model == "wrong" else "Answer: A"
            return {"role": "assistant", "content": said}
        if "ending" in (schema or {}).get("properties", {}) or (schema is None and '"ending"' in last):
            value = {"reason": "it is told", "message": "", "ending": "goal_reached"}
            if last.count("the agent:") < 2:
                value |= {"message": "It is L-5512.", "ending": None}
        elif schema is None:
            low, high = (SCALE.findall(last) or [("0", "1")])[-1]
            value = {"reason": "so it is", "score": float(low if mood == "bad" else high)}
        else:
            batch = list(schema.get("properties", {})) == ["verdicts"]
            value = listed(schema, body, mood) if batch else filled(schema, mood)
            if "reason" in value and "Be kind." in str(body["messages"]):
                value["reason"] = "the agent was told to be kind"
        return {"role": "assistant", "content": json.dumps(value)}

    async def echo(self, request: web.Request) -> web.Response:
        """Says what it was sent."""
        text = await request.text()
        headers = {name: request.headers[name] for name in SHOWN_HEADERS if name in request.headers}
        sent = {"method": request.method, "path": request.path_qs, "headers": headers, "body": text}
        return web.json_response({"answer": json.dumps(sent)})

    async def rich(self, request: web.Request) -> web.Response:
        """An answer of a shape of its own; `?fault=x` with an error in it."""
        return web.json_response({**RICH, "fault": request.query.get("fault")})

    async def flaky(self, request: web.Request) -> web.Response:
        """Refuses every first request of a session."""
        body = await request.json()
        self.seen[body["session_id"]] += 1
        return web.json_response({"answer": "Answer: A"}, status=503 if self.seen[body["session_id"]] == 1 else 200)

    async def slow(self, request: web.Request) -> web.Response:
        await asyncio.sleep(0.4)
        return web.json_response({"answer": "Answer: A"})

    async def stream(self, request: web.Request) -> web.Response:
        """The answer in two pieces: as events, or as lines."""
        pieces = [json.dumps({"piece": piece}) for piece in ("Answer:", " A")]
        if request.match_info["kind"] == "sse":
            text = "".join(f"data: {piece}\n\n" for piece in pieces) + "data: [DONE]\n\n"
            return web.Response(text=text, content_type="text/event-stream")
        return web.Response(text="".join(f"{piece}\n" for piece in pieces), content_type="application/x-ndjson")

    async def session(self, request: web.Request) -> web.Response:
        """Opens (`no-7`) and closes a session; says how it was asked to."""
        sent = {"method": request.method, "case": request.headers.get("X-Case", ""), "body": await request.text()}
        return web.json_response({"made": {"no": "no-7"}, "left": {"closed_by": sent}})

    async def health(self, request: web.Request) -> web.Response:
        return web.json_response({}, status=200 if request.match_info["how"] == "well" else 500)

    async def bot(self, request: web.Request) -> web.Response:
        """Describes an agent; behind a lock, only to who has the key."""
        if "locked" in request.path and request.headers.get("Authorization") != "Bearer open sesame":
            return web.json_response({}, status=404)
        return web.json_response({"bot_id": request.match_info["id"], "bot_name": "Desk", "system_prompt": ""})

    async def adk(self, request: web.Request) -> web.Response:
        """An ADK API server with one app, which says who asked it."""
        path = request.path.removeprefix("/adk")
        if path == "/list-apps":
            return web.json_response(["shop", "sleepy"])
        if path in ("/run", "/run_sse"):
            body = await request.json()
            with_what = request.headers.get("X-Case", "nothing")
            said = f"user {body['user_id']} by {path} with {with_what} of {body['app_name']}"
            event = {"author": "desk", "content": {"role": "model", "parts": [{"text": said}]}}
            if body["app_name"] == "sleepy":
                await asyncio.sleep(0.3)
            if path == "/run":
                return web.json_response([event])
            return web.Response(text=f"data: {json.dumps(event)}\n\n", content_type="text/event-stream")
        if "/trace/" in path:
            return web.json_response([{"name": "invocation", "trace_id": 1, "span_id": 2, "attributes": {}}])
        return web.json_response({"id": "s1", "state": {}})

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self.complete)
        app.router.add_route("*", "/echo", self.echo)
        app.router.add_route("*", "/echo/{rest:.*}", self.echo)
        app.router.add_post("/rich", self.rich)
        app.router.add_post("/flaky", self.flaky)
        app.router.add_post("/slow", self.slow)
        app.router.add_post("/stream/{kind}", self.stream)
        app.router.add_route("*", "/session", self.session)
        app.router.add_get("/health/{how}", self.health)
        app.router.add_get("/bots/{id}", self.bot)
        app.router.add_get("/locked-bots/{id}", self.bot)
        app.router.add_route("*", "/adk/{rest:.*}", self.adk)
        return app


def loopback() -> AbstractContextManager[str]:
    """Its address."""
    return in_a_thread(Loopback().app())
