"""The OpenAPI description, completed: what the framework does not know about our routes, and an example of every shape
and every error. The examples are in `examples.json`: tests check each against its shape, and send the bodies. What
fields mean that do not describe themselves is in `meanings.json`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, get_origin

import msgspec
from fastapi import FastAPI
from fastapi.routing import APIRoute
from msgspec import Struct

from howsure.api.access import ORGANIZATION_HEADER
from howsure.api.counters import PREFIX
from howsure.api.errors import ERRORS
from howsure.api.requests import IDEMPOTENCY_HEADER, MAX_KEY_LENGTH

Json = dict[str, Any]
IDEMPOTENCY: Json = {
    "name": IDEMPOTENCY_HEADER,
    "in": "header",
    "required": False,
    "description": "A name of your own for the request: sent again within a day, it is done once and answered the same",
    "schema": {"type": "string", "maxLength": MAX_KEY_LENGTH, "pattern": "^[ -~]*$"},
}
ORGANIZATION: Json = {
    "name": ORGANIZATION_HEADER,
    "in": "header",
    "required": False,
    "description": "The organisation that a key for the whole service speaks for; other keys leave it out",
    "schema": {"type": "string"},
}


class OpenApiExamples(Struct, frozen=True):
    """One example of each body and each answer, by the name of its shape; lines of files; the id of a rubric."""

    bodies: dict[str, Json]
    answers: dict[str, Json]
    dataset_line: str
    label_line: str
    rubric_id: str


class FieldMeanings(Struct, frozen=True):
    """What fields mean: by their name, in one shape alone, and as parameters."""

    fields: dict[str, str]
    shapes: dict[str, dict[str, str]]
    parameters: dict[str, str]


@cache
def read_meanings() -> FieldMeanings:
    return msgspec.json.decode(files("howsure.api").joinpath("meanings.json").read_bytes(), type=FieldMeanings)


@cache
def read_examples() -> OpenApiExamples:
    found = msgspec.json.decode(files("howsure.api").joinpath("examples.json").read_bytes(), type=OpenApiExamples)
    shown = found.answers
    shown["RunReportShape"] = {"run": shown["RunShape"], "results": [shown["ResultShape"]]}
    return found


OPERATIONS = {
    "POST /evaluate-transcript": "evaluations_transcript",
    "GET /compare/{first}/{second}": "runs_compare",
    "POST /datasets/upload": "datasets_upload",
    "GET /runs/{run_id}/results": "runs_results_list",
    "GET /whoami": "whoami",
    "GET /health": "health",
    "GET /ready": "ready",
    "GET /metrics": "metrics",
    "GET /export": "documents_export",
    "POST /import": "documents_import",
}
"""Names of operations that their paths do not give."""
VERBS = {"PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def operation_id(route: APIRoute) -> str:
    """What programs made from the description call an operation: `rubrics_list`, `runs_create`, `runs_cancel`."""
    (method, *_) = sorted(route.methods or ())
    if name := OPERATIONS.get(f"{method} {route.path.removeprefix(PREFIX)}"):
        return name
    parts = route.path.removeprefix(PREFIX).strip("/").split("/")
    words = [part.replace("-", "_").replace(".", "_") for part in parts if not part.startswith("{")]
    ends_in_name = not parts[-1].startswith("{")
    if method == "GET":
        answered = route.responses.get(200, {}).get("model")
        kind = "list" if get_origin(answered) is list else "get"
        verb = "" if "diff" in words or (ends_in_name and not answered) else kind
    elif method == "POST":
        # What is done to one thing is called by its own name.
        is_action = ends_in_name and len(parts) > 2 and route.status_code != 201
        verb = "" if is_action or words[-1] in ACTIONS else "create"
    else:
        verb = VERBS[method]
    return "_".join([*words, verb] if verb else words)


ACTIONS = ("restore", "undelete")


def unanswered_statuses(method: str, path: str, has_caller: bool) -> tuple[str, ...]:
    """The common errors that this operation cannot have: a GET has no body of a wrong type, and a public operation
    checks neither key nor query."""
    if has_caller:
        return ("415",) if method == "get" else ()
    rest = ("401", "403", "408", "415", "422", "429", "500")
    return rest if path.endswith("/ready") else (*rest, "503")


class DescribedApp(FastAPI):
    """An application that describes itself whole."""

    def openapi(self) -> Json:
        if self.openapi_schema is None:
            self.openapi_schema = complete_description(super().openapi())
        return self.openapi_schema


def complete_description(description: Json) -> Json:
    """The same description, with everything that is missing in it. It is changed in place."""
    examples, schemas = read_examples(), description["components"]["schemas"]
    for name, example in {**examples.bodies, **examples.answers}.items():
        if name in schemas:
            schemas[name]["examples"] = [example]
    _add_meanings(schemas)
    entry = {"kind": "rubric", "id": examples.rubric_id, "document": examples.bodies["RubricGiven"]}
    # What comes as lines, by how its path ends.
    lines = {
        "/export": msgspec.json.encode(entry).decode() + "\n",
        "/import": msgspec.json.encode(entry).decode() + "\n",
        "/datasets/upload": examples.dataset_line,
        "/results.ndjson": msgspec.json.encode(examples.answers["ResultShape"]).decode() + "\n",
        "/labels.ndjson": examples.label_line,
    }
    for path, operations in description["paths"].items():
        line = next((text for end, text in lines.items() if path.endswith(end)), None)
        for method, operation in operations.items():
            for status in unanswered_statuses(method, path, "security" in operation):
                operation["responses"].pop(status, None)
            headers = [ORGANIZATION] if "security" in operation else []
            headers += [IDEMPOTENCY] if method == "post" else []
            operation["parameters"] = [*operation.get("parameters", ()), *headers]
            for each in operation["parameters"]:
                if meaning := read_meanings().parameters.get(each["name"]):
                    each.setdefault("description", meaning)
            for status, answer in operation["responses"].items():
                if status[0] in "45" and "application/json" in answer.get("content", {}):
                    kind, about = ERRORS[int(status)]
                    answer["content"]["application/json"]["example"] = {"error": kind, "detail": about.lower()}
            for part in (operation.get("requestBody", {}), operation["responses"].get("200", {})):
                if line and "application/x-ndjson" in part.get("content", {}):
                    part["content"]["application/x-ndjson"]["example"] = line
    return description


def _add_meanings(schemas: Json) -> None:
    """To fields that do not describe themselves."""
    meanings = read_meanings()
    for name, schema in schemas.items():
        for key, field in schema.get("properties", {}).items():
            meaning = meanings.shapes.get(name, {}).get(key) or meanings.fields.get(key)
            if meaning and "$ref" not in field:
                field.setdefault("description", meaning)
