"""The OpenAPI description, completed: what the framework does not know about our routes, and an example of every shape
and every error. The examples are in `examples.json`: tests check each against its shape, and send the bodies."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from fastapi import FastAPI
from msgspec import Struct

from howsure.api.errors import KINDS
from howsure.api.requests import IDEMPOTENCY_HEADER, MAX_KEY_LENGTH
from howsure.api.schemas import ERRORS

Json = dict[str, Any]
IDEMPOTENCY: Json = {
    "name": IDEMPOTENCY_HEADER,
    "in": "header",
    "required": False,
    "description": "A name of your own for the request: sent again within a day, it is done once and answered the same",
    "schema": {"type": "string", "maxLength": MAX_KEY_LENGTH, "pattern": "^[ -~]*$"},
}
LABEL_LINE = (
    '{"case_id": "pto-policy", "candidate": "", "repeat": 1, "grader": "rubric", "criterion_id": "BRIEF_RESPONSES", '
    '"label": "fail", "annotator": "ana"}\n'
)


class OpenApiExamples(Struct, frozen=True):
    """One example of each body and each answer, by the name of its shape; a line of a dataset; the id of a rubric."""

    bodies: dict[str, Json]
    answers: dict[str, Json]
    dataset_line: str
    rubric_id: str


@cache
def read_examples() -> OpenApiExamples:
    return msgspec.json.decode(files("howsure.api").joinpath("examples.json").read_bytes(), type=OpenApiExamples)


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
    entry = {"kind": "rubric", "id": examples.rubric_id, "document": examples.bodies["RubricGiven"]}
    # What comes as lines, by how its path ends.
    lines = {
        "/export": msgspec.json.encode(entry).decode() + "\n",
        "/import": msgspec.json.encode(entry).decode() + "\n",
        "/datasets/upload": examples.dataset_line,
        "/results.ndjson": msgspec.json.encode(examples.answers["ResultShape"]).decode() + "\n",
        "/labels.ndjson": LABEL_LINE,
    }
    for path, operations in description["paths"].items():
        line = next((text for end, text in lines.items() if path.endswith(end)), None)
        for method, operation in operations.items():
            if method == "post":
                operation.setdefault("parameters", []).append(IDEMPOTENCY)
            for status, answer in operation["responses"].items():
                if status[0] in "45" and "application/json" in answer.get("content", {}):
                    error = {"error": KINDS[int(status)], "detail": ERRORS[int(status)].lower()}
                    answer["content"]["application/json"]["example"] = error
            for part in (operation.get("requestBody", {}), operation["responses"].get("200", {})):
                if line and "application/x-ndjson" in part.get("content", {}):
                    part["content"]["application/x-ndjson"]["example"] = line
    return description
