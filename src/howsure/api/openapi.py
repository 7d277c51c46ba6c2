"""The OpenAPI description, completed: what the framework does not know about our routes, and an example of every shape
and every error."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import FastAPI

from howsure.api.errors import KINDS
from howsure.api.examples import ANSWERS, BODIES, LINE, RUBRIC
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
ENTRY = msgspec.json.encode({"kind": "rubric", "id": RUBRIC, "document": BODIES["RubricGiven"]}).decode() + "\n"
LINES = {
    "/export": ENTRY,
    "/import": ENTRY,
    "/datasets/upload": LINE,
    "/results.ndjson": msgspec.json.encode(ANSWERS["ResultShape"]).decode() + "\n",
    "/labels.ndjson": '{"case_id": "pto-policy", "candidate": "", "repeat": 1, "grader": "rubric", "criterion_id": '
    '"BRIEF_RESPONSES", "label": "fail", "annotator": "ana"}\n',
}
"""What comes as lines, by how its path ends."""


class DescribedApp(FastAPI):
    """An application that describes itself whole."""

    def openapi(self) -> Json:
        if self.openapi_schema is None:
            self.openapi_schema = complete_description(super().openapi())
        return self.openapi_schema


def complete_description(description: Json) -> Json:
    """The same description, with everything that is missing in it. It is changed in place."""
    for name, shown in {**BODIES, **ANSWERS}.items():
        if name in (schemas := description["components"]["schemas"]):
            schemas[name]["examples"] = [shown]
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            if method == "post":
                operation.setdefault("parameters", []).append(IDEMPOTENCY)
            for status, answer in operation["responses"].items():
                _show_error(status, answer)
            _show_lines(path, operation)
    return description


def _show_error(status: str, answer: Json) -> None:
    if status[0] in "45" and "application/json" in answer.get("content", {}):
        shown = {"error": KINDS[int(status)], "detail": ERRORS[int(status)].lower()}
        answer["content"]["application/json"]["example"] = shown


def _show_lines(path: str, operation: Json) -> None:
    shown = next((text for end, text in LINES.items() if path.endswith(end)), None)
    holders = (operation.get("requestBody", {}), operation["responses"].get("200", {}))
    for content in (holder.get("content", {}) for holder in holders):
        for kind in content.keys() & {"application/x-ndjson"} if shown else ():
            content[kind]["example"] = shown
