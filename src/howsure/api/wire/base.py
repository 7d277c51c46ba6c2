"""What all shapes share: text that every database can hold, times in UTC, the shape of an error."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

NO_NUL = r"^[^\x00]*$"
Text = Annotated[str, StringConstraints(pattern=NO_NUL, max_length=100_000)]
Name = Annotated[str, StringConstraints(pattern=NO_NUL, max_length=300)]
SAID = r"^[^\x00]*[^\x00\s][^\x00]*$"
Said = Annotated[str, StringConstraints(pattern=SAID, min_length=1, max_length=100_000)]
Label = Annotated[str, StringConstraints(pattern=SAID, min_length=1, max_length=300)]
"""Text, and a name, with something in it."""
Key = Annotated[str, StringConstraints(pattern=r"^[^\x00/@\s]+$", min_length=1, max_length=200)]
Moment = Annotated[datetime, Field(description="UTC, with its suffix", examples=["2026-11-15T09:30:00Z"])]
Json = dict[str, Any]


DISTINCT = Field(json_schema_extra={"uniqueItems": True})


class Shape(BaseModel):
    """Something the service answers."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())


class Given(BaseModel):
    """Something a caller sends: what it does not know is refused, not ignored."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class ChangeShape(Shape):
    """Who wrote a version, when and why."""

    version: int
    created_at: Moment
    author: str = Field(examples=["ana"])
    note: str = Field(examples=["The tone was too strict"])


Changelog = Annotated[
    list[ChangeShape] | None, Field(description="The newest versions, newest first; lists leave it out")
]


class ProblemShape(Shape):
    """One thing that is wrong with what was sent."""

    code: str
    field: str
    message: str
    line: int | None = None
    hint: str | None = None


class ErrorShape(Shape):
    """Every error of the API."""

    error: str = Field(examples=["not_found"])
    detail: str = Field(examples=["there is no rubric 7c9e6679-7425-40de-944b-e07fc1f90ae7"])
    problems: list[ProblemShape] | None = None


ERRORS = {
    400: "The request makes no sense",
    401: "No key, or one that opens nothing",
    403: "The key does not open this",
    404: "There is no such thing, or none that the key may see",
    408: "The body did not come in time",
    409: "It is not in a state for this, or somebody else changed it",
    412: "It is not at the version in If-Match",
    413: "The body is too large",
    415: "The body is not of a type that is read here",
    422: "What was sent cannot be used: `problems` says where and why",
    429: "Too many requests",
    500: "The service broke",
    503: "The database cannot be reached",
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of an operation, for OpenAPI. Every operation may find the caller unknown, the request malformed or
    too large, and the service out of order."""
    always = (400, 401, 403, 408, 413, 415, 422, 429, 500, 503)
    return {status: _error(status) for status in sorted({*always, *statuses})}


def _error(status: int) -> dict[str, Any]:
    """The shape is a model once for each operation: a model for each of a thousand answers takes seconds to make."""
    if status == 422:
        return {"model": ErrorShape, "description": ERRORS[status]}
    shape = {"schema": {"$ref": f"#/components/schemas/{ErrorShape.__name__}"}}
    return {"description": ERRORS[status], "content": {"application/json": shape}}
