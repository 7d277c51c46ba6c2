"""Every operation of the service, and real things for them to be tried on."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from itertools import count
from typing import Any

from fastapi.routing import APIRoute

from api.shared import AGENT, NOBODY, Asker
from howsure.api.app import PREFIX, routers

Json = dict[str, Any]
OPERATIONS = sorted(
    (method, PREFIX + route.path)
    for router in routers()
    for route in router.routes
    if isinstance(route, APIRoute)
    for method in route.methods or ()
)
OPEN = {("GET", f"{PREFIX}/health"), ("GET", f"{PREFIX}/ready")}
"""Those that need no key."""
FOR_ANY_KEY = {("GET", f"{PREFIX}/whoami")}
"""Those that every key opens."""
DEMO = files("howsure") / "demo"


def entry(number: int, message: str = "") -> Json:
    return {
        "item_id": f"i{number}",
        "type": "single_turn",
        "name": f"Greeting {number}",
        "inputs": {"message": message or f"hello {number}"},
        "expected": {"success_criteria": [f"The answer says hello {number}"]},
        "tags": ["greeting"],
    }


def rule(name: str = "KIND", **more: Any) -> Json:
    return {"id": name, "name": f"Be {name.lower()}", "severity": "low", "description": "The answer is kind", **more}


def a_rubric(**more: Any) -> Json:
    return {"name": "Kindness", "agent_id": AGENT, "rules": [rule()], **more}


def a_test_set(*entries: Json, **more: Any) -> Json:
    return {"name": "Greetings", "agent_id": AGENT, "items": list(entries or (entry(1), entry(2))), **more}


def a_question_set(**more: Any) -> Json:
    question = {"question_id": "q1", "question": "Who are you?", "expected_answer": "A bot"}
    return {"name": "Questions", "agent_id": AGENT, "questions": [question], **more}


def a_config(**more: Any) -> Json:
    return {"name": "Just criteria", "agent_id": AGENT, "evaluators": [{"type": "criteria"}], **more}


def a_dataset(**more: Any) -> Json:
    content = (DEMO / "legal" / "compliance.jsonl").read_text(encoding="utf-8")
    return {"name": "compliance.jsonl", "agent_id": AGENT, "content": content, **more}


def a_bot(**more: Any) -> Json:
    return {"bot_name": "Greeter", "llm_config": {"provider": "openai", "model": "gpt-4.1"}, **more}


MADE: dict[str, tuple[str, Callable[[], Json]]] = {
    "/rubrics": ("rubric_id", a_rubric),
    "/test-sets": ("test_set_id", a_test_set),
    "/question-sets": ("question_set_id", a_question_set),
    "/evaluator-configs": ("config_id", a_config),
    "/datasets": ("dataset_id", a_dataset),
    "/keys": ("id", lambda: {"name": "made", "scopes": ["read"]}),
    "/webhooks": ("id", lambda: {"url": f"http://{NOBODY}:9/hook", "events": ["run.failed"]}),
}


class World:
    """Real things of one organisation, made when they are first asked for."""

    def __init__(self, ask: Asker) -> None:
        self.ask = ask
        self._known: dict[str, str] = {}

    def one(self, kind: str) -> str:
        """A thing that stays: `/rubrics`, `/runs`, `/results`, `/bots`, `/test-cases` …"""
        if kind not in self._known:
            self._known[kind] = self.new(kind)
        return self._known[kind]

    def new(self, kind: str) -> str:
        """A thing of its own, which may be deleted."""
        if kind in MADE:
            name, body = MADE[kind]
            key: str = self.ask.made(kind, body())[name]
            if kind not in ("/keys", "/datasets", "/webhooks"):
                assert self.ask("PUT", f"{kind}/{key}", body()).status == 200
            return key
        known = {"/runs": self._run, "/others": self._run, "/results": self._result, "/bots": self._bot}
        known["/labels"] = self._label
        return {**known, "/test-cases": self._case}[kind]()

    def _run(self) -> str:
        asked = self.ask.made("/runs", {"test_set_id": self.one("/test-sets"), "agent_id": AGENT}, 202)
        return str(self.ask.finished(asked["run_id"])["run_id"])

    def _result(self) -> str:
        return str(self.ask("GET", f"/runs/{self.one('/runs')}/results").body[0]["result_id"])

    def _label(self) -> str:
        """Of the run that stays; taken back, it is given again."""
        return str(self.ask.made(f"/runs/{self.one('/runs')}/labels", LABEL)["label_id"])

    def _bot(self) -> str:
        key = f"bot-{next(_numbers)}" if "/bots" in self._known else AGENT
        assert self.ask("PUT", f"/bots/{key}/context", a_bot()).status == 200
        return key

    def _case(self) -> str:
        key = self.new("/datasets")
        return str(self.ask("GET", f"/datasets/{key}/test-cases?limit=1").body[0]["id"])

    def path_parameters(self, method: str, path: str) -> dict[str, Any]:
        """Those of an operation, so that it finds something."""
        kind = "/" + path.removeprefix(f"{PREFIX}/").partition("/")[0]
        find = self.new if method == "DELETE" and "{label_id}" not in path else self.one
        found: dict[str, Callable[[], Any]] = {
            "{id}": lambda: find(kind),
            "{run_id}": lambda: find(kind),
            "{result_id}": lambda: self.one("/results"),
            "{label_id}": lambda: self.new("/labels"),
            "{version}": lambda: 1,
            "{a}": lambda: 1,
            "{b}": lambda: 1 if kind in ("/datasets", "/bots") else 2,
            "{first}": lambda: self.one("/runs"),
            "{second}": lambda: self.one("/others"),
        }
        return {name.strip("{}"): make() for name, make in found.items() if name in path}

    def body_fields(self, fields: set[str]) -> dict[str, Any]:
        """Real ids for those fields of a body that name something."""
        found = {
            "rubric_id": "/rubrics",
            "test_set_id": "/test-sets",
            "dataset_id": "/datasets",
            "question_set_id": "/question-sets",
            "config_id": "/evaluator-configs",
            "bot_id": "/bots",
            "agent_id": "/bots",
        }
        return {name: self.one(kind) for name, kind in found.items() if name in fields}

    def good_requests(self, method: str, path: str) -> list[Json]:
        """What an operation is made for, besides its path; ids are put in by `body_fields`."""
        kind = path.removeprefix(PREFIX)
        shelf = "/" + kind.split("/")[1]
        if kind == "/datasets/upload":
            content = (DEMO / "golden" / "moss_support_golden.json").read_bytes()
            return [{"query": {"name": "moss.json"}, "body": content, "media_type": "application/octet-stream"}]
        if kind == "/import":
            line = json.dumps({"kind": "rubric", "id": "imported", "document": a_rubric()})
            return [{"body": line.encode(), "media_type": "application/x-ndjson"}]
        if (method, kind) in (
            ("POST", shelf),
            ("PUT", f"{shelf}/{{id}}"),
            ("PATCH", f"{shelf}/{{id}}"),
        ) and shelf in MADE:
            return [in_json(MADE[shelf][1]())]
        return [in_json(body) for body in self._bodies().get(f"{method} {kind}", ())] or [{}]

    def _bodies(self) -> dict[str, list[Json]]:
        return {
            "POST /runs": [{"test_set_id": ""}, {"dataset_id": ""}],
            "POST /runs/{run_id}/regrade": [{"rubric_id": ""}],
            "POST /evaluations": [{"bot_id": "", "test_set_id": "", "rubric_id": ""}],
            "POST /evaluate-transcript": [FINISHED],
            "POST /runs/{run_id}/labels": [LABEL],
            "PUT /bots/{id}/context": [a_bot()],
            "PATCH /bots/{id}/context": [{"system_prompt": "Be brief."}],
            "PATCH /runs/{run_id}": [{"name": "nightly", "tags": ["a", "b"]}],
            "POST /erasures": [{"user_id": "nobody"}],
            "POST /datasets/{id}/test-cases": [{"case": a_case()}],
        }


LABEL: Json = {"result_id": "i1", "grader": "criteria", "criterion_id": "The answer says hello 1", "opinion": "pass"}


def in_json(body: Json) -> Json:
    return {"body": body, "media_type": "application/json"}


FINISHED: Json = {
    "messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "Good day"}],
    "success_criteria": ["The answer is a greeting"],
}


def a_case() -> Json:
    """A line of the dataset, under an id of its own."""
    line = json.loads((DEMO / "legal" / "compliance.jsonl").read_text(encoding="utf-8").splitlines()[0])
    return {**line, "id": f"more-{next(_numbers)}"}


_numbers = count(1)
