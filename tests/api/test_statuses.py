"""Every error that the description names of an operation is one that it answers. `test_schema.py` holds what each
answers where all is well, and that nothing else is answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from api.operations import FINISHED, MADE, a_bot, a_case
from api.served import BOT, QUICK
from api.shared import AGENT, NOBODY
from howsure.api.app import PREFIX, ServiceAccess, create_service
from howsure.api.middleware import UPLOADS
from howsure.config import ServiceSettings, Settings
from howsure.errors import Unreachable
from howsure.kit.plugins import builtin_kit
from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.policies.verdicts import builtin_profiles
from howsure.services.host.keys import OWNER, KeyRequest, make_key
from howsure.services.host.worker import Worker
from howsure.services.workspace import Host, Workspace
from howsure.store.documents import DocumentDraft, case_address
from howsure.store.keys import KeyScope

Json = dict[str, Any]
SETTINGS = ServiceSettings(target="bot", unknown_bots=True, hosts=(NOBODY,))
TARGETS = {"bot": {"kind": "function", "function": "api_bot:answer"}}
BODIES: dict[str, Json] = {
    "/runs": {"test_set_id": "none"},
    "/evaluations": {"bot_id": AGENT, "test_set_id": "none"},
    "/evaluate-transcript": {**FINISHED, "rubric_id": "none"},
    "/runs/{run_id}/labels": {"result_id": "i1", "grader": "criteria", "opinion": "pass"},
    "/bots/{id}/context": a_bot(),
    "/datasets/{id}/test-cases": {"case": a_case()},
    **{f"{path}/{{id}}": body() for path, (_, body) in MADE.items()},
}
TWICE = case_address("twice", "twice")
FILTERS = {"/stats": "run_id=none"}
"""What names something in the query of an operation."""


class FailingPart:
    """A part of a store of which everything fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> FailingPart:
        return self

    async def __call__(self, *_: Any, **__: Any) -> Any:
        raise self._error


class StoreWithoutKeys:
    """A store that cannot read its keys; one that is away cannot be written to either."""

    def __init__(self, store: Any, error: Exception) -> None:
        self._store = store
        self.keys = FailingPart(error)
        if isinstance(error, Unreachable):
            self.check_writable = self.keys

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def ask(
    app: Any, method: str, path: str, body: bytes = b"", *, stalls: bool = False, **headers: str
) -> tuple[str, bytes]:
    """The status and the answer, from the application itself. `stalls`: the body does not come."""
    status, answer, pieces = "", b"", [] if stalls else [body]
    path, _, query = path.partition("?")
    begun = asyncio.Event()

    async def receive() -> Json:
        if not pieces:
            await begun.wait()
            return {"type": "http.disconnect"}  # what is streamed for as long as somebody listens ends here
        return {"type": "http.request", "body": pieces.pop(), "more_body": False}

    async def send(message: Json) -> None:
        nonlocal status, answer
        if message["type"] == "http.response.start":
            status = str(message["status"])
            begun.set()
        answer += message.get("body", b"")

    kind = "application/x-ndjson" if path in UPLOADS else "application/json"
    given = {"host": "here", "content_length": str(len(body)), "content_type": kind, **headers}
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in given.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": raw}
    scope |= {"http_version": "1.1", "scheme": "http", "server": ("here", 80), "client": ("127.0.0.1", 1)}
    with suppress(RuntimeError):  # what broke is raised once more after it was answered, for the server's log
        async with asyncio.timeout(20):
            await app(scope, receive, send)
    return status, answer


def filled(path: str, ids: Json, result: str = "none") -> str:
    """The path with ids: `ids` by kind, else of nothing that is there."""
    kind = "/" + path.removeprefix(f"{PREFIX}/").split("/")[0]
    for name in ("{version}", "{a}", "{b}"):
        path = path.replace(name, "1")
    for name in ("{id}", "{run_id}", "{first}", "{second}"):
        path = path.replace(name, ids.get(kind, "none"))
    return path.replace("{result_id}", result).replace("{label_id}", "none")


class Statuses:
    """What the operations of one service answer to requests with one thing wrong."""

    def __init__(self, host: Host) -> None:
        def service(store: Any = host.store, **access: Any) -> Any:
            return create_service(Host(host.work, store), ServiceAccess(host_names=("here",), **access))

        self.host = host
        self.plain = service(chunk_seconds=0.05)
        self.locked = service(keys_needed=True)
        self.throttled = service(wrong_keys=1)
        self.broken = service(StoreWithoutKeys(host.store, RuntimeError("broken")))
        self.away = service(StoreWithoutKeys(host.store, Unreachable("away")))
        self.ids: Json = {}
        self.secret = ""

    async def stock(self) -> None:
        """A document of each kind, an agent, a finished run and one that waits, what two organisations call the same,
        and a key of one organisation and one agent."""
        for path, (name, body) in MADE.items():
            self.ids[path] = (await self._made("POST", path, body()))[name]
        await self._made("PUT", f"/bots/{AGENT}/context", a_bot())
        asked = {"dataset_id": self.ids["/datasets"], "limit": 1}
        self.ids["repeated"] = (await self._made("POST", "/runs", {**asked, "repeat": 2}))["run_id"]
        await self._work()
        self.ids |= {"/bots": AGENT, "/runs": (await self._made("POST", "/runs", asked))["run_id"]}
        for kind, organization in product(DocumentKind, ("two", "three")):
            draft = DocumentDraft(body=b"{}", agent_id="", name="twice", case_ids=("twice",))
            await self.host.store.documents.create(kind, "twice", draft, AccessScope(organization_id=organization))
        cases = await ask(self.plain, "GET", f"{PREFIX}/datasets/{self.ids['/datasets']}/test-cases?limit=1")
        self.ids["case"] = json.loads(cases[1])[0]["test_case_id"]
        await ask(self.throttled, "GET", f"{PREFIX}/runs", x_api_key="howsure_wrong")
        wanted = KeyRequest(name="one", scopes=(KeyScope.ADMIN,), organization_id="one", agent_ids=("other",))
        self.secret = (await make_key(self.host.store, wanted))[1]

    async def _made(self, method: str, path: str, body: Json) -> Json:
        status, answer = await ask(self.plain, method, PREFIX + path, json.dumps(body).encode())
        assert status[0] == "2", (path, answer)
        made: Json = json.loads(answer)
        return made

    async def _work(self) -> None:
        """Until nothing waits."""
        stop = asyncio.Event()
        working = asyncio.create_task(Worker(self.host, QUICK).run(stop))
        while json.loads((await ask(self.plain, "GET", f"{PREFIX}/runs"))[1])[0]["status"] in ("pending", "running"):
            await asyncio.sleep(0.05)
        stop.set()
        await working

    async def answered(self, method: str, path: str) -> set[str]:
        """The errors of an operation."""
        nowhere, here, kind = filled(path, {}), filled(path, self.ids), path.removeprefix(PREFIX)
        twice = filled(
            path,
            {**dict.fromkeys((*MADE, "/bots"), "twice"), "/test-cases": TWICE, "/runs": self.ids["repeated"]},
            self.ids["case"],
        )
        body = b"" if method in ("GET", "DELETE") else json.dumps(BODIES.get(kind, {})).encode()
        await self.host.store.answers.begin(f"{OWNER.within.home}/{OWNER.id}", f"{method} {path}", "another request")
        asked = [
            ask(self.plain, method, nowhere, body, host="elsewhere"),
            ask(self.plain, method, nowhere, content_length="9999999999"),
            ask(self.plain, method, nowhere, b"x=1", content_type="text/html"),
            ask(self.plain, method, f"{nowhere}?no_such=1", body),
            ask(self.plain, method, f"{nowhere}?{FILTERS.get(kind, '')}", body),
            ask(self.plain, method, nowhere, stalls=True),
            ask(self.plain, method, nowhere, body, idempotency_key=f"{method} {path}"),
            ask(self.plain, method, here, body, if_match='"99"'),
            ask(self.plain, method, twice, body),
            ask(self.locked, method, nowhere, body),
            ask(self.locked, method, nowhere, body, x_organization="two", authorization=f"Bearer {self.secret}"),
            ask(self.locked, method, here, body, authorization=f"Bearer {self.secret}"),
            ask(self.throttled, method, nowhere, body, x_api_key="howsure_wrong"),
            ask(self.broken, method, nowhere, body, x_api_key="howsure_wrong"),
            ask(self.away, method, nowhere, body, x_api_key="howsure_wrong"),
        ]
        return {status for status, _ in await asyncio.gather(*asked)}


def operations(described: Json) -> Iterator[tuple[str, str, set[str]]]:
    """Every operation with the errors that are described, first those that change nothing."""
    found = [
        (method.upper(), path, {status for status in operation["responses"] if status[0] in "45"})
        for path, own in described["paths"].items()
        for method, operation in own.items()
    ]
    order = ("GET", "POST", "PUT", "PATCH", "DELETE")
    yield from sorted(found, key=lambda each: order.index(each[0]))


@pytest.mark.thorough
async def test_every_error_that_is_described_is_answered(tmp_path: Path) -> None:
    """And, at the end, the successes of what needs another state: `test_runs.py` has the rest of them."""
    (tmp_path / "api_bot.py").write_text(BOT)
    settings = Settings(database=str(tmp_path / "howsure.db"), targets=TARGETS, service=SETTINGS)
    work = Workspace(settings, builtin_kit(builtin_profiles()), tmp_path)
    async with await work.store() as store:
        statuses = Statuses(Host(work, store))
        await statuses.stock()
        described = json.loads((await ask(statuses.plain, "GET", f"{PREFIX}/openapi.json"))[1])
        missing: list[str] = []
        unsaid: list[str] = []
        for method, path, wanted in operations(described):
            answered, name = await statuses.answered(method, path), f"{method} {path.removeprefix(PREFIX)}"
            missing += [f"{name}: {status}" for status in sorted(wanted - answered)]
            unsaid += [f"{name}: {status}" for status in sorted(answered - wanted) if status[0] in "45"]
        brought_back = [
            (await ask(statuses.plain, method, f"{PREFIX}{path}/{statuses.ids[path]}{what}"))[0]
            for path in ("/rubrics", "/test-sets", "/question-sets", "/evaluator-configs", "/datasets")
            for method, what in (("DELETE", ""), ("POST", "/undelete"))
        ]
        steered = [
            (await ask(statuses.plain, "POST", f"{PREFIX}/runs/{statuses.ids['/runs']}/{what}"))[0]
            for what in ("pause", "resume", "cancel")
        ]
    assert (missing, unsaid) == ([], [])
    assert (brought_back, steered) == (["204", "200"] * 5, ["200", "202", "200"])
