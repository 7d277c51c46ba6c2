"""A scripted model on loopback, speaking the OpenAI chat protocol: it answers whatever JSON Schema it is asked for, and
`Answer: A` where it is asked for none. Offered tools, it calls each of them once, with the order "A1", and then says
what the last one gave. The model `short` is cut off by its limit, the model `mute` says nothing.

`python model_server.py PORT-FILE [good|bad|garbage|flaky|slow|bad-day]` writes its port to the file and serves until it
is killed. `slow` takes 200 ms for each call; a `bad-day` too, and then one in ten is refused, one in ten breaks, one
in a hundred never ends. Asked to play a user it says three things and has what it wanted.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

from aiohttp import web


def filled(schema: dict[str, Any], mood: str) -> Any:
    """A value that fits the schema: full marks in a good mood, the lowest in a bad one."""
    if "enum" in schema:
        return schema["enum"][0 if mood == "bad" else -1]
    if "anyOf" in schema:
        return filled(schema["anyOf"][0], mood)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: filled(part, mood) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        inside = schema.get("items", {})
        return [filled(inside, mood)] if inside.get("type") == "object" or schema.get("minItems") else []
    if kind == "boolean":
        return mood != "bad"
    if kind in ("integer", "number"):
        return schema.get("minimum", 0) if mood == "bad" else schema.get("maximum", 1)
    return "because it says so"


ASKED_ABOUT = re.compile(r'^"(.+)":$', re.MULTILINE)


def listed(schema: dict[str, Any], body: dict[str, Any], mood: str) -> Any:
    """The verdicts of a batch: one for each id that the question lists."""
    verdict = schema["properties"]["verdicts"]["items"]
    names = ASKED_ABOUT.findall(body["messages"][-1]["content"])
    return {"verdicts": [filled(verdict, mood) | {"criterion_id": name} for name in names]}


def called(body: dict[str, Any]) -> dict[str, Any] | None:
    """The message of a model that was offered tools; none where it has nothing to do with them."""
    if not body.get("tools"):
        return None
    if body["messages"][-1]["role"] == "tool":
        return {"role": "assistant", "content": f"It says: {body['messages'][-1]['content']}"}
    names = [tool["function"]["name"] for tool in body["tools"]]
    calls = [
        {"id": f"call-{name}", "type": "function", "function": {"name": name, "arguments": '{"order": "A1"}'}}
        for name in names
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


ANSWERED = re.compile(r"^the agent:$", re.MULTILINE)
USER_SAYS = ("Okay, please go on.", "And what happens next?", "That is good to know, thanks.")


def played(body: dict[str, Any]) -> Any:
    """The next message of a user, by the number of answers seen so far."""
    seen = len(ANSWERED.findall(body["messages"][-1]["content"]))
    if seen > len(USER_SAYS):
        return {"reason": "all was told", "message": "", "ending": "goal_reached"}
    return {"reason": "there is more to know", "message": USER_SAYS[seen - 1], "ending": None}


class Server:
    def __init__(self, mood: str) -> None:
        self.mood = mood
        self.calls = 0
        self.answered = 0
        self.chance = random.Random(20261115)

    async def trouble(self) -> web.Response | None:
        drawn = self.chance.random()
        if drawn < 0.01:
            await asyncio.sleep(3600)
        if drawn < 0.11:
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "1"})
        return web.json_response({"error": {"message": "broken"}}, status=500) if drawn < 0.21 else None

    async def complete(self, request: web.Request) -> web.Response:
        self.calls += 1
        body = await request.json()
        if self.mood in ("slow", "bad-day"):
            await asyncio.sleep(0.2)
        if self.mood == "bad-day" and (trouble := await self.trouble()) is not None:
            return trouble
        self.answered += 1
        if self.mood == "flaky" and self.calls % 5 == 0:
            return web.json_response({"error": {"message": "overloaded"}}, status=(429, 500)[self.calls % 2])
        wanted = body.get("response_format", {}).get("json_schema", {}).get("schema")
        if self.mood == "garbage":
            text = "%% no idea %%"
        else:
            asked = list((wanted or {}).get("properties", {}))
            batch = wanted is not None and list(wanted.get("properties", {})) == ["verdicts"]
            value = listed(wanted, body, self.mood) if batch else filled(wanted or {}, self.mood)
            value = played(body) if "ending" in asked else value
            text = "Answer: A" if wanted is None else json.dumps(value)
        text = "" if body["model"] == "mute" else text
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        message = called(body) or {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "length" if body["model"] == "short" else "stop"}
        return web.json_response({"id": "x", "model": body["model"], "choices": [choice], "usage": usage})

    async def count(self, _: web.Request) -> web.Response:
        return web.json_response({"calls": self.calls, "answered": self.answered})


def application(mood: str) -> web.Application:
    """For `listening.in_a_thread`, where no process of its own is needed."""
    server = Server(mood)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.add_routes([web.post("/v1/chat/completions", server.complete), web.get("/count", server.count)])
    return app


async def serve(port_file: Path, mood: str) -> None:
    runner = web.AppRunner(application(mood))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port_file.write_text(str(runner.addresses[0][1]), encoding="utf-8")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "good"))
