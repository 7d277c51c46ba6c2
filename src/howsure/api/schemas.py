"""What OpenAPI shows of answers: models made from the shapes in `howsure.wire`, under the names that were published,
and the shape of every error. They are for the description only: the service does not validate its own answers."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from msgspec import Meta, Struct, UnsetType
from msgspec.structs import fields
from pydantic import BaseModel, ConfigDict, Field, create_model

from howsure.api.bodies import (
    EntryShape,
    EvaluatorShape,
    HarnessShape,
    KnowledgeBaseShape,
    ModelShape,
    OpenBody,
    QuestionShape,
    RuleShape,
    ToolShape,
)
from howsure.api.errors import ERRORS
from howsure.wire import admin, documents, labels, results, runs

Responses = dict[int | str, dict[str, Any]]
Moment = Annotated[datetime, Field(description="UTC, with its suffix", examples=["2026-11-15T09:30:00Z"])]
ETAG: dict[str, Any] = {"ETag": {"description": "The version, for If-Match", "schema": {"type": "string"}}}

NAMES: dict[type[Struct], str] = {
    runs.ComponentScore: "ComponentScore",
    runs.CandidateTotals: "TotalsShape",
    runs.ModelSpending: "SpentShape",
    runs.DatasetPin: "PinShape",
    runs.AgentStatus: "StandingShape",
    results.CriterionScore: "CriterionScore",
    results.RuleScore: "RuleScore",
    results.ResultInput: "InputShape",
    results.ResultMessage: "MessageShape",
    results.ResultOutput: "OutputShape",
    results.GraderScore: "ScoreShape",
    documents.Revision: "ChangeShape",
    documents.EvaluatorConfig: "ConfigShape",
    documents.UploadedDataset: "DatasetShape",
    documents.DatasetCase: "CaseShape",
    documents.BotContext: "BotShape",
    documents.BotVersion: "BotEditionShape",
    documents.EvaluatorType: "TypeShape",
    documents.DocumentDifference: "DifferenceShape",
    labels.HumanLabel: "LabelShape",
    labels.LabelTask: "LabelTaskShape",
    labels.ConfusionCounts: "ConfusionShape",
    labels.AnnotatorAgreement: "TogetherShape",
    labels.RunAgreement: "ConcordShape",
    admin.ApiKey: "KeyShape",
    admin.NewApiKey: "NewKeyShape",
    admin.AuditEntry: "DeedShape",
    admin.ServiceHealth: "HealthShape",
    admin.ImportedDocument: "ImportedShape",
}
"""Names in OpenAPI that are not the shape's own with `Shape` behind it. Programs generated from it know them."""

SENT_BACK: dict[str, Any] = {
    "rules": list[RuleShape],
    "items": list[EntryShape],
    "questions": list[QuestionShape],
    "evaluators": list[EvaluatorShape],
    "llm_config": ModelShape | None,
    "tools": list[ToolShape],
    "knowledge_bases": list[KnowledgeBaseShape],
    "harness_context": HarnessShape | None,
}
"""Fields of documents that are answered as they were sent."""


@cache
def model_of(shape: type[Struct]) -> type[BaseModel]:
    """The model that describes a shape."""
    is_document = issubclass(shape, documents.VersionedDocument | documents.BotContext)
    types = {each.name: each.type for each in fields(shape)}
    required = {each.name for each in fields(shape) if each.required}
    described: dict[str, Any] = {}
    for name in _field_order(shape):
        kind = SENT_BACK[name] if is_document and name in SENT_BACK else _described(types[name])
        metadata = getattr(types[name], "__metadata__", ())
        is_omittable = any("omittable" in (meta.extra or {}) for meta in metadata)
        is_omittable |= shape.__struct_config__.omit_defaults and name not in required
        described[name] = (kind, None if is_omittable else ...)
    config = ConfigDict(extra="allow", protected_namespaces=())
    model: type[BaseModel] = create_model(
        NAMES.get(shape, f"{shape.__name__}Shape"), __config__=config, __doc__=shape.__doc__, **described
    )
    return model


def _field_order(shape: type[Struct]) -> list[str]:
    """The order that was published: totals first, and the content of a document between its name and its times."""
    names = [name for name in shape.__struct_fields__ if name != "more"]
    if shape in (runs.Tally, runs.CandidateTotals):
        first = ("total", "passed", "failed", "errored", "skipped")
        return [*first, *(name for name in names if name not in first)]
    if not issubclass(shape, documents.VersionedDocument):
        return names
    shared = [name for name in documents.VersionedDocument.__struct_fields__ if name != "more"]
    place = shared.index("created_at")
    id_name, *content = [name for name in names if name not in shared]
    return [id_name, *shared[:place], *content, *shared[place:]]


def _described(kind: Any) -> Any:
    """A type of a shape as pydantic describes it."""
    if kind is datetime:
        return Moment
    if isinstance(kind, type) and issubclass(kind, Struct):
        return model_of(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        metas: list[Meta] = [meta for meta in arguments[1:] if isinstance(meta, Meta)]
        extra = {key: value for meta in metas for key, value in (meta.extra or {}).items()}
        described = _described(extra.get("documented_as", arguments[0]))
        for meta in metas:
            limits = {name: getattr(meta, name) for name in ("description", "examples", "ge", "le")}
            stated = {name: value for name, value in limits.items() if value is not None}
            described = Annotated[described, Field(json_schema_extra=meta.extra_json_schema, **stated)]
        return described
    if origin in (Union, UnionType):
        return Union[tuple(_described(each) for each in arguments if each is not UnsetType)]  # noqa: UP007 (made of a tuple)
    if origin is tuple:
        return list[_described(arguments[0])]  # type: ignore[misc]
    if origin in (list, dict):
        return origin[tuple(_described(each) for each in arguments)]
    return kind


def answer(shape: type[Struct], status: int = 200, *, headers: dict[str, Any] | None = None) -> Responses:
    """An operation that answers one shape."""
    return {status: {"model": model_of(shape), **({"headers": headers} if headers else {})}}


def list_answer(
    shape: type[Struct], *, page: type[Struct] | None = None, headers: dict[str, Any] | None = None
) -> Responses:
    """An operation that answers an array, or on demand a `page` with its account."""
    model: Any = model_of(shape)
    answered: Any = list[model] if page is None else list[model] | model_of(page)
    return {200: {"model": answered, **({"headers": headers} if headers else {})}}


class ProblemShape(OpenBody):
    """One thing that is wrong with what was sent."""

    code: str
    field: str
    message: str
    line: int | None = None
    column: int | None = None
    expected: str | None = None
    found: str | None = None
    hint: str | None = None


class ErrorShape(OpenBody):
    """Every error of the API."""

    error: str = Field(examples=["not_found"])
    detail: str = Field(examples=["there is no rubric 7c9e6679-7425-40de-944b-e07fc1f90ae7"])
    problems: list[ProblemShape] | None = None


def errors(*statuses: int) -> Responses:
    """The errors of an operation. Every operation may find the caller unknown, the request malformed or too large, and
    the service out of order."""
    always = (400, 401, 403, 408, 413, 415, 422, 429, 500, 503)
    return {status: _error(status) for status in sorted({*always, *statuses})}


def _error(status: int) -> dict[str, Any]:
    # A model only once for each operation: a model for each of a thousand answers takes seconds to make.
    if status == 422:
        return {"model": ErrorShape, "description": ERRORS[status][1]}
    shape = {"schema": {"$ref": f"#/components/schemas/{ErrorShape.__name__}"}}
    return {"description": ERRORS[status][1], "content": {"application/json": shape}}
