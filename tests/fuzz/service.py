"""The service as a fuzzing target: raw requests to the API and the pages, with cookies, form tokens, idempotency keys
and cursors. Whatever is sent, the answer has a status below 500."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import unquote_to_bytes

from api import operations
from api.shared import AGENT
from fuzz import seeds
from fuzz.target import Target, folder
from howsure.api.app import ServiceAccess, create_service
from howsure.config import ServiceSettings, Settings
from howsure.kit.plugins import builtin_kit
from howsure.policies.verdicts import builtin_profiles
from howsure.services.demo import DEMOS, demo_request
from howsure.services.run.start import start
from howsure.services.workspace import Host, Workspace
from howsure.web.app import create_pages

TOKEN = re.compile(rb'name="csrf"[^>]*value="([^"]+)"|value="([^"]+)"[^>]*name="csrf"')
HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
SECONDS = 20.0


class ServiceBroke(Exception):
    """The service answered with its own fault."""


class Answer:
    """What was sent back."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""


NOBODY = "127.0.0.1:9"
HOOK = {"url": f"http://{NOBODY}/hook", "events": ["run.failed", "label.added"]}
MADE = {
    b"@rubric": ("rubrics", operations.a_rubric, "rubric_id"),
    b"@tests": ("test-sets", operations.a_test_set, "test_set_id"),
    b"@questions": ("question-sets", operations.a_question_set, "question_set_id"),
    b"@config": ("evaluator-configs", operations.a_config, "config_id"),
    b"@dataset": ("datasets", operations.a_dataset, "dataset_id"),
}
"""Documents of the service, by what stands for their ids in a request."""


class FuzzedService:
    """A service on a database of its own, asked without a connection; no worker runs what is submitted. Without keys it
    holds a finished run and a document of each kind."""

    def __init__(self, *, keys_needed: bool) -> None:
        self._loop = asyncio.new_event_loop()
        self._stack = AsyncExitStack()
        self._ids: dict[bytes, bytes] = {}
        self._app = self._loop.run_until_complete(self._open(keys_needed))
        self._loop.run_until_complete(self._fill(keys_needed))

    async def _open(self, keys_needed: bool) -> Any:
        place = folder() / f"service-{keys_needed}"
        place.mkdir(exist_ok=True)
        settings = Settings(
            database=str(place / "howsure.db"), service=ServiceSettings(target="recorded", hosts=(NOBODY,))
        )
        work = Workspace(settings, builtin_kit(builtin_profiles()), place)
        if not keys_needed:
            demo = next(each for each in DEMOS if each.dialect == "test-set")
            handle = await start(work, demo_request(demo), lambda _: lambda __: None)
            self._ids[b"@run"] = handle.run.id.encode()
        host = Host(work, await self._stack.enter_async_context(await work.store()))
        pages = create_pages(host, keys_needed=keys_needed)
        return create_service(host, ServiceAccess(keys_needed=keys_needed), pages)

    async def _fill(self, keys_needed: bool) -> None:
        shown = await self._ask(b"GET", b"/sign-in", [], b"")
        self._ids[b"@cookie"] = next(value for name, value in shown.headers if name == b"set-cookie").partition(b";")[0]
        found = TOKEN.search(shown.body)
        self._ids[b"@csrf"] = next(filter(None, found.groups()), b"") if found else b""
        headers = [(b"content-type", b"application/json")]
        for name, (path, body, field) in ({} if keys_needed else MADE).items():
            made = await self._ask(b"POST", f"/api/v1/{path}".encode(), headers, seeds.text(body()))
            self._ids[name] = str(json.loads(made.body)[field]).encode()
        if not keys_needed:
            made = await self._ask(b"POST", b"/api/v1/webhooks", headers, seeds.text(HOOK))
            self._ids[b"@webhook"] = json.loads(made.body)["id"].encode()

    def parse(self, data: bytes) -> None:
        """A request: its first line, its headers, an empty line, its body. `@cookie`, `@csrf`, `@run` and so on stand
        for valid ones."""
        for name, value in self._ids.items():
            data = data.replace(name, value)
        head, _, body = data.partition(b"\n\n")
        first, *lines = head.split(b"\n")
        method, _, address = first.partition(b" ")
        # What no server lets through: names of methods and headers that are none.
        method = method.upper() if HEADER.fullmatch(method) else b"GET"
        headers = [
            (name.strip().lower(), value.strip())
            for name, colon, value in (line.partition(b":") for line in lines)
            if colon and HEADER.fullmatch(name.strip())
        ]
        named = {name for name, _ in headers}
        headers += [(b"content-length", str(len(body)).encode())] if b"content-length" not in named else []
        headers += [(b"content-type", b"application/json")] if b"content-type" not in named else []
        answer = self._loop.run_until_complete(self._ask(method, address or b"/", headers, body))
        if answer.status >= 500:
            raise ServiceBroke(f"{first[:80]!r}: {answer.status} {answer.body[:200]!r}")

    async def _ask(self, method: bytes, address: bytes, headers: list[tuple[bytes, bytes]], body: bytes) -> Answer:
        path, _, query = address.partition(b"?")
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method.decode("latin-1"),
            "scheme": "http",
            "path": unquote_to_bytes(path).decode("utf-8", "replace"),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": [(b"host", b"127.0.0.1"), *headers],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "state": {},
        }
        answer, parts = Answer(), iter([body])
        gone = asyncio.Event()

        async def receive() -> dict[str, Any]:
            part = next(parts, None)
            if part is None:
                async with asyncio.timeout(SECONDS):
                    await gone.wait()
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": part, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                answer.status, answer.headers = message["status"], list(message["headers"])
            elif len(answer.body) < 1_000_000:
                answer.body += message.get("body", b"")

        logging.disable(logging.CRITICAL)
        try:
            async with asyncio.timeout(SECONDS):
                await self._app(scope, receive, send)
        finally:
            logging.disable(logging.NOTSET)
        return answer


_services: dict[bool, FuzzedService] = {}


def _service(keys_needed: bool) -> FuzzedService:
    if keys_needed not in _services:
        _services[keys_needed] = FuzzedService(keys_needed=keys_needed)
    return _services[keys_needed]


def ask(data: bytes) -> None:
    _service(False).parse(data)


def ask_with_keys(data: bytes) -> None:
    _service(True).parse(data)


_FORM = b"\nCookie: @cookie\nX-CSRF-Token: @csrf\nContent-Type: application/x-www-form-urlencoded\n\n"
API = (
    *(
        f"POST /api/v1/{path}\nIdempotency-Key: {path}\n\n".encode() + seeds.text(body())
        for path, body, _ in MADE.values()
        if path != "datasets"
    ),
    *(
        f"PUT /api/v1/{path}/".encode() + name + b'\nIf-Match: "1"\n\n' + seeds.text(body())
        for name, (path, body, _) in MADE.items()
        if path != "datasets"
    ),
    b"POST /api/v1/datasets\n\n"
    + seeds.text({"name": "a.jsonl", "content": seeds.demo("legal/compliance.jsonl", 1).decode()}),
    b"POST /api/v1/datasets/upload?name=a.jsonl&dialect=legal\nContent-Type: application/x-ndjson\n\n"
    + seeds.demo("legal/compliance.jsonl", 2),
    b"POST /api/v1/runs\n\n" + seeds.text({"dataset_id": "@dataset", "target": "recorded", "gates": ["errors <= 1"]}),
    b"POST /api/v1/runs\n\n" + seeds.text({"test_set_id": "@tests", "target": "http://127.0.0.1:99999/", "repeat": 2}),
    b"POST /api/v1/evaluations\n\n" + seeds.text({"bot_id": AGENT, "test_set_id": "@tests"}),
    b"POST /api/v1/runs/@run/labels\n\n" + seeds.text(operations.LABEL),
    b"POST /api/v1/runs/@run/regrade\n\n" + seeds.text({"rubric_id": "@rubric"}),
    b"POST /api/v1/keys\n\n" + seeds.text({"name": "k", "scopes": ["read"]}),
    f"PUT /api/v1/bots/{AGENT}/context\n\n".encode() + seeds.text(operations.a_bot()),
    b"POST /api/v1/datasets/@dataset/test-cases\n\n" + seeds.text({"case": {"id": "x"}}),
    b"POST /api/v1/webhooks\n\n" + seeds.text(HOOK),
    b"PATCH /api/v1/webhooks/@webhook\n\n" + seeds.text({"url": HOOK["url"], "events": [], "active": False}),
    b"POST /api/v1/webhooks/@webhook/test\n\n",
    b"GET /api/v1/webhooks/@webhook/deliveries?limit=3&cursor=MQ==",
    b"POST /api/v1/erasures\n\n" + seeds.text({"user_id": "u1", "dry_run": True}),
    b"PATCH /api/v1/runs/@run\n\n" + seeds.text({"name": "n", "tags": ["a"], "note": "x"}),
    b"GET /api/v1/runs/@run/labels/next?number=5&by=doubt",
    b"GET /api/v1/runs/@run/agreement",
    b"GET /api/v1/runs/@run/gates?gate=errors<=1",
    b"GET /api/v1/runs/@run/report?format=html",
    b"GET /api/v1/runs/@run/triage",
    b"GET /api/v1/audit?limit=3&cursor=MQ==",
    b"GET /api/v1/labels?labeler=ann&agent_id=a",
    b"GET /api/v1/runs?limit=3&agent_id=a&status=completed",
    b"GET /api/v1/runs/@run/results?limit=1&cursor=MQ==&verdict=failed",
    b"GET /api/v1/datasets/@dataset/test-cases?cursor=Mw==&limit=2",
    b"GET /api/v1/runs/@run/compare/@run",
    b"GET /api/v1/rubrics/@rubric/versions?cursor=MQ==",
    b"DELETE /api/v1/rubrics/r1",
)
PAGES = (
    b"GET /docs",
    b"GET /settings\nCookie: @cookie",
    b"GET /?after=MTIz&agent=a&state=completed&q=x\nCookie: @cookie",
    b"GET /runs/@run?verdict=failed&after=3\nCookie: @cookie",
    b"GET /runs/@run/cases/1?candidate=a&repeat=1\nCookie: @cookie",
    b"GET /runs/@run/case?id=x\nCookie: @cookie",
    b"GET /runs/@run/charts\nCookie: @cookie",
    b"GET /runs/@run/triage\nCookie: @cookie",
    b"GET /compare?a=@run&b=@run\nCookie: @cookie",
    b"GET /library/test-sets/@tests?version=1\nCookie: @cookie",
    b"GET /library/rubrics/@rubric/difference?a=1&b=1\nCookie: @cookie",
    b"GET /agent?id=a1\nCookie: @cookie",
    b"GET /label/@run?grader=criteria\nCookie: @cookie",
    b"GET /label/@run/agreement\nCookie: @cookie",
    b"POST /label/@run" + _FORM + b"grader=criteria&result=1&value=pass&name=ann",
    b"POST /library/rubrics" + _FORM + b"text=%7B%22name%22%3A%22x%22%7D&version=1",
    b"POST /library/rubrics/@rubric/check" + _FORM + b"text=%7B%22name%22%3A%22x%22%7D&version=1",
    b"POST /start" + _FORM + b"test_set=@tests&target=http%3A%2F%2F127.0.0.1%3A99999%2F&judge=offline",
    b"POST /settings/keys" + _FORM + b"name=a&scope=read&days=3",
    b"POST /runs/@run/cancel" + _FORM + b"x=1",
)
SIGN_IN = (
    b"GET /sign-in/provider/callback?code=x&state=y&iss=z\nCookie: howsure_sign_in=e30=",
    b"POST /sign-in" + _FORM + b"name=ann&password=x&next=%2Fruns",
    b"POST /sign-in" + _FORM + b"key=hs_123&next=%2F%2Fevil",
    b"POST /sign-out\nCookie: @cookie\nContent-Type: application/x-www-form-urlencoded\n\ncsrf=@csrf",
    b"GET /runs\nCookie: howsure_session=a|b|9999999999.0123",
    b"GET /api/v1/runs\nAuthorization: Bearer hs_1_2",
    b"GET /api/v1/runs\nX-API-Key: hs_1_2",
)
TARGETS = (
    Target(name="requests to the api", seeds=API, parse=ask, answers=(), seconds=30.0, share=4.0),
    Target(name="requests to the pages", seeds=PAGES, parse=ask, answers=(), seconds=30.0, share=4.0),
    Target(name="sign-in, cookies and keys", seeds=SIGN_IN, parse=ask_with_keys, answers=(), seconds=30.0, share=4.0),
)
