"""Everything that has versions (rubrics, test sets, question sets, evaluator configs, datasets, agents), the cases of a
dataset, and what differs between two versions. What rules, items and questions look like is in `api/bodies.py`: the
client hands them on as they are."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from howsure.wire.base import OMITTABLE, Json, WireShape

DifferenceKind = Annotated[str, Meta(extra_json_schema={"enum": ["added", "removed", "changed", "moved"]})]


class Revision(Struct, frozen=True, kw_only=True):
    """Who wrote a version, when and why."""

    version: int
    created_at: datetime
    author: Annotated[str | None, Meta(examples=["ana"])]
    note: Annotated[str | None, Meta(examples=["The tone was too strict"])]


Changelog = Annotated[
    list[Revision] | None, Meta(description="The newest versions, newest first; lists leave it out"), OMITTABLE
]


class VersionedDocument(WireShape, frozen=True, kw_only=True):
    """What all documents with versions share."""

    agent_id: str | None
    version: int
    name: str
    created_at: datetime
    updated_at: datetime
    author: Annotated[str | None, OMITTABLE] = None
    note: Annotated[str | None, OMITTABLE] = None
    latest_version: int = 0
    deleted: bool = False
    changelog: Changelog = None


class Rubric(VersionedDocument, frozen=True, kw_only=True):
    """A rubric, in one of its versions."""

    rubric_id: str
    description: str | None = None
    severity_definitions: Annotated[dict[str, str] | None, Meta(description="What `high`, `medium` and `low` mean")] = (
        field(default_factory=dict)
    )
    rules: list[Json]


class TestSet(VersionedDocument, frozen=True, kw_only=True):
    """A test set, in one of its versions."""

    __test__ = False

    test_set_id: str
    description: str | None = None
    items: list[Json]


class QuestionSet(VersionedDocument, frozen=True, kw_only=True):
    """A question set, in one of its versions."""

    question_set_id: str
    description: str | None = None
    questions: list[Json]


class EvaluatorConfig(VersionedDocument, frozen=True, kw_only=True):
    """A list of graders."""

    config_id: str
    evaluators: list[Json]


class UploadedDataset(VersionedDocument, frozen=True, kw_only=True):
    """An uploaded dataset, in one of its versions. `cases` is how many its newest version has."""

    dataset_id: str
    dialect: str
    cases: int | None
    bytes: int
    sha256: str
    author: str | None = None
    note: str | None = None


class DatasetCase(WireShape, frozen=True, kw_only=True):
    """A case of a dataset. `id` is its address here; `test_case_id` is its id in the file, as results name it."""

    id: str
    test_case_id: str
    dataset_id: str
    item_name: str | None
    input_kind: str
    input: Json
    expected: list[Any]
    tags: list[str]
    labels: Json


class BotContext(WireShape, frozen=True, kw_only=True):
    """The description of an agent (BotContext)."""

    bot_id: str
    bot_name: str
    organization_id: str | None
    organization_name: str | None
    system_prompt: str | None
    llm_config: Json | None
    tools: list[Json]
    knowledge_bases: list[Json]
    harness_context: Json | None


class BotVersion(BotContext, frozen=True, kw_only=True):
    """The description of an agent, in one of its versions."""

    version: int
    updated_at: datetime
    author: str | None
    note: str | None
    latest_version: int
    changelog: Changelog = None


class EvaluatorType(WireShape, frozen=True, kw_only=True):
    """A grader that runs may have."""

    type: str
    description: str


class DocumentDifference(WireShape, frozen=True, kw_only=True):
    """One place that is not as it was."""

    path: Annotated[str, Meta(examples=["rules[BRIEF_RESPONSES].severity"])]
    kind: DifferenceKind
    before: Annotated[Any, OMITTABLE] = None
    after: Annotated[Any, OMITTABLE] = None
