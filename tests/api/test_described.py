"""OpenAPI, whole: something to look at for every body, answer and error, each true; and headers that are ours."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from api.operations import OPERATIONS, World, a_dataset, a_rubric, entry
from api.shared import AGENT, Asker, Service
from howsure.api.access import ORGANIZATION_HEADER
from howsure.api.app import PREFIX
from howsure.api.errors import ERRORS
from howsure.api.openapi import read_examples
from howsure.api.requests import IDEMPOTENCY_HEADER, MAX_KEY_LENGTH

EXAMPLES = read_examples()

Json = dict[str, Any]
SHOWN = {**EXAMPLES.bodies, **EXAMPLES.answers}


@pytest.fixture(scope="module")
def described(services: Any) -> Json:
    service: Service = services("sqlite")
    found: Json = service.nobody()("GET", "/openapi.json").body
    return found


def operations(described: Json) -> list[tuple[str, str, Json]]:
    return [(method, path, each) for path, own in described["paths"].items() for method, each in own.items()]


def shapes_in(schema: Json) -> list[str]:
    """The shapes that a body or an answer is made of."""
    if "$ref" in schema:
        return [schema["$ref"].rpartition("/")[2]]
    return shapes_in(schema["items"]) if schema.get("type") == "array" else []


def test_every_body_and_answer_has_something_to_look_at(described: Json) -> None:
    schemas = described["components"]["schemas"]
    bare: list[str] = []
    for method, path, operation in operations(described):
        holders = [
            operation.get("requestBody", {}),
            *(operation["responses"].get(each, {}) for each in ("200", "201", "202")),
        ]
        for content in (holder.get("content", {}) for holder in holders):
            for kind, media in content.items():
                names = shapes_in(media.get("schema", {}))
                bare += [f"{method} {path}: {name}" for name in names if not schemas[name].get("examples")]
                if kind == "application/x-ndjson" and "example" not in media:
                    bare.append(f"{method} {path}: {kind}")
    assert bare == []


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_what_is_shown_is_of_its_shape(described: Json, name: str) -> None:
    schema = {"$ref": f"#/components/schemas/{name}", "components": described["components"]}
    assert [fault.message for fault in Draft202012Validator(schema).iter_errors(SHOWN[name])] == []
    assert described["components"]["schemas"][name]["examples"] == [SHOWN[name]]


@pytest.mark.parametrize("name", sorted(EXAMPLES.answers))
def test_an_answer_is_shown_with_all_its_fields(described: Json, name: str) -> None:
    fields = set(described["components"]["schemas"][name]["properties"])
    assert fields - set(EXAMPLES.answers[name]) == set()


SENT = [
    ("POST", "/rubrics", "RubricGiven", 201),
    ("POST", "/test-sets", "TestSetGiven", 201),
    ("POST", "/question-sets", "QuestionSetGiven", 201),
    ("POST", "/evaluator-configs", "ConfigGiven", 201),
    ("POST", "/datasets", "DatasetGiven", 201),
    ("PUT", f"/bots/{AGENT}/context", "BotGiven", 200),
    ("POST", "/evaluate-transcript", "TranscriptGiven", 200),
    ("POST", "/keys", "KeyGiven", 201),
]


@pytest.mark.parametrize(("method", "path", "name", "status"), SENT, ids=[each[2] for each in SENT])
def test_what_is_shown_can_be_sent(ask: Asker, method: str, path: str, name: str, status: int) -> None:
    reply = ask(method, path, EXAMPLES.bodies[name])
    assert reply.status == status, reply.body


@pytest.mark.parametrize(
    ("path", "name"),
    [("/runs", "RunGiven"), ("/evaluations", "EvaluationGiven"), ("/runs/{run}/regrade", "RegradeGiven")],
)
def test_what_names_others_can_be_sent_with_real_ones(ask: Asker, path: str, name: str) -> None:
    world = World(ask)
    ask("PUT", f"/bots/{AGENT}/context", EXAMPLES.bodies["BotGiven"])
    body = {**EXAMPLES.bodies[name], **world.body_fields(set(EXAMPLES.bodies[name]))}
    reply = ask("POST", path.format(run=world.one("/runs") if "{" in path else ""), body)
    assert reply.status == 202, reply.body


def test_a_case_is_added_as_it_is_shown(ask: Asker) -> None:
    made = ask.made("/datasets", {**EXAMPLES.bodies["DatasetGiven"], "name": "first.jsonl"})
    path = f"/datasets/{made['dataset_id']}/test-cases"
    more = {"case": {**EXAMPLES.bodies["CaseGiven"]["case"], "id": "notice-2"}}
    assert ask.made(path, more)["cases"] == 2


def test_lines_are_brought_in_as_they_are_shown(ask: Asker, described: Json) -> None:
    paths = described["paths"]
    shown = paths[f"{PREFIX}/import"]["post"]["requestBody"]["content"]["application/x-ndjson"]["example"]
    (told,) = ask("POST", "/import", shown.encode(), Content_Type="application/x-ndjson").body
    assert told["status"] == "created", told
    shown = paths[f"{PREFIX}/datasets/upload"]["post"]["requestBody"]["content"]["application/x-ndjson"]["example"]
    reply = ask("POST", "/datasets/upload?name=x.jsonl", shown.encode(), Content_Type="application/x-ndjson")
    assert (reply.status, reply.body["cases"]) == (201, 1)
    for name in ("results.ndjson", "labels.ndjson"):
        content = paths[f"{PREFIX}/runs/{{run_id}}/{name}"]["get"]["responses"]["200"]["content"]
        assert json.loads(content["application/x-ndjson"]["example"])


def test_every_error_is_shown_as_it_looks(described: Json) -> None:
    for method, path, operation in operations(described):
        for status, answer in operation["responses"].items():
            if status[0] in "45":
                shown = answer["content"]["application/json"]["example"]
                assert shown["error"] == ERRORS[int(status)][0], (method, path, status)
                assert shown["detail"]


def test_every_post_may_be_named_and_says_what_comes_of_a_name_used_twice(described: Json) -> None:
    for method, path, operation in operations(described):
        names = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "header"]
        assert (IDEMPOTENCY_HEADER in names) == (method == "post"), (method, path)
        if method == "post":
            assert "409" in operation["responses"], path


def test_every_operation_for_callers_may_name_the_organisation(described: Json) -> None:
    for method, path, operation in operations(described):
        names = [each["name"] for each in operation["parameters"] if each["in"] == "header"]
        is_public = path.removeprefix(PREFIX) in ("/health", "/ready")
        assert (ORGANIZATION_HEADER in names) != is_public, (method, path)


@pytest.mark.parametrize(
    ("name", "status"),
    [("a" * MAX_KEY_LENGTH, 201), ("a b~!", 201), ("a" * (MAX_KEY_LENGTH + 1), 422), ("\u00e9", 422)],
)
def test_a_name_is_what_the_description_says(ask: Asker, name: str, status: int) -> None:
    reply = ask("POST", "/rubrics", EXAMPLES.bodies["RubricGiven"], Idempotency_Key=name)
    assert reply.status == status, reply.body


def test_every_change_may_be_held_to_what_was_read(described: Json) -> None:
    for method, path, operation in operations(described):
        names = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "header"]
        if method == "put":
            assert "If-Match" in names, path
            assert "ETag" in operation["responses"]["200"]["headers"], path
            assert "412" in operation["responses"], path


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/export", "application/x-ndjson"),
        ("/runs/{run_id}/results.ndjson", "application/x-ndjson"),
        ("/runs/{run_id}/labels.ndjson", "application/x-ndjson"),
        ("/runs/{run_id}/events", "text/event-stream"),
        ("/datasets/{id}/versions/{version}/content", "application/octet-stream"),
        ("/metrics", "text/plain"),
    ],
)
def test_what_is_no_json_is_not_said_to_be(described: Json, path: str, kind: str) -> None:
    assert list(described["paths"][PREFIX + path]["get"]["responses"]["200"]["content"]) == [kind]


def test_the_description_is_of_what_is_there(described: Json) -> None:
    assert sorted((method.upper(), path) for method, path, _ in operations(described)) == OPERATIONS


def closed(schema: Any) -> Any:
    """The schema, where an object has no field but those that are described."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return (
        {**inner, "additionalProperties": False}
        if schema.get("additionalProperties") is True and "properties" in inner
        else inner
    )


def test_no_answer_has_a_field_that_is_not_described(described: Json, ask: Asker) -> None:
    ask("PUT", f"/bots/{AGENT}/context", EXAMPLES.bodies["BotGiven"])
    scenario = {
        "persona": "A client",
        "initial_message": "hello",
        "max_turns": 2,
        "goal": "a voucher",
        "facts": {"order": "17"},
    }
    items = [
        entry(1),
        {**entry(2), "type": "scenario", "inputs": {**scenario, "conversation_plan": "Ask twice."}},
        {**entry(3), "type": "transcript", "inputs": {"messages": [{"role": "user", "content": "hi", "start_ms": 0}]}},
        {**entry(4), "inputs": {"message": "break it"}},
    ]
    key = ask.made("/test-sets", {"name": "All", "agent_id": AGENT, "items": items})["test_set_id"]
    rubric = ask.made("/rubrics", a_rubric())["rubric_id"]
    asked = {"bot_id": AGENT, "test_set_id": key, "rubric_id": rubric, "gates": ["pass_rate > 0.5"], "repeat": 2}
    run = ask.finished(ask.made("/evaluations", asked, 202)["run_id"])["run_id"]
    dataset = ask.made("/datasets", a_dataset())["dataset_id"]
    older = ask.finished(ask.made("/runs", {"dataset_id": dataset}, 202)["run_id"])["run_id"]
    ids = {"/runs": run, "/rubrics": rubric, "/test-sets": key, "/bots": AGENT, "/datasets": dataset}
    undescribed: list[str] = []
    for template, operations in described["paths"].items():
        path = template.removeprefix("/api/v1").replace("{version}", "1").replace("{a}", "1").replace("{b}", "1")
        path = path.replace("{run_id}", run).replace("{first}", run).replace("{second}", older)
        path = path.replace("{id}", ids.get("/" + path.split("/")[1], "{id}"))
        if "get" not in operations or "{" in path or path.endswith("/events"):
            continue
        reply = ask("GET", path)
        content = operations["get"]["responses"]["200"]["content"].get("application/json")
        if reply.status != 200 or content is None:
            continue
        schema = {**closed(content["schema"]), "components": closed(described["components"])}
        undescribed += [
            f"{path}: {fault.message[:300]}" for fault in Draft202012Validator(schema).iter_errors(reply.body)
        ]
    assert undescribed == []
