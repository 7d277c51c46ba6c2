"""Everything that has versions, agents, and what differs between two versions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, field

from howsure.client.wire.base import Json, Shape


class Change(Struct, frozen=True, kw_only=True):
    """Who wrote a version, when and why."""

    version: int
    created_at: datetime
    author: str
    note: str


class Document(Shape, frozen=True, kw_only=True):
    """What everything that has versions shares."""

    agent_id: str | None
    version: int
    name: str
    created_at: datetime
    updated_at: datetime
    author: str | None = None
    note: str | None = None
    latest_version: int = 0
    deleted: bool = False
    changelog: list[Change] | None = None


class Rubric(Document, frozen=True, kw_only=True):
    """An agent's standing rules, in one of their versions."""

    rubric_id: str
    rules: list[Json]
    description: str | None = ""
    severity_definitions: dict[str, str] = field(default_factory=dict)


class TestSet(Document, frozen=True, kw_only=True):
    """Things to try, in one of their versions."""

    __test__ = False

    test_set_id: str
    items: list[Json]
    description: str | None = ""


class QuestionSet(Document, frozen=True, kw_only=True):
    """Questions and their expected answers, in one of their versions."""

    question_set_id: str
    questions: list[Json]
    description: str | None = ""


class EvaluatorConfig(Document, frozen=True, kw_only=True):
    """Which graders a run has."""

    config_id: str
    evaluators: list[Json]


class Dataset(Document, frozen=True, kw_only=True):
    """An uploaded file; `cases` is known of its newest version."""

    dataset_id: str
    dialect: str
    cases: int | None
    bytes: int
    sha256: str


class DatasetCase(Shape, frozen=True, kw_only=True):
    """A case of a dataset: `id` is its address in the service, `test_case_id` its id in the file."""

    id: str
    test_case_id: str
    dataset_id: str
    item_name: str | None
    input_kind: str
    input: Json
    expected: list[Any]
    tags: list[str]
    labels: Json


class Bot(Shape, frozen=True, kw_only=True):
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


class BotEdition(Bot, frozen=True, kw_only=True):
    """The description of an agent, in one of its versions."""

    version: int
    updated_at: datetime
    author: str | None
    note: str | None
    latest_version: int
    changelog: list[Change] | None = None


class EvaluatorType(Shape, frozen=True, kw_only=True):
    """A grader that runs may have."""

    type: str
    description: str


class Difference(Shape, frozen=True, kw_only=True):
    """One place that is not as it was."""

    path: str
    kind: str
    before: Any = None
    after: Any = None
