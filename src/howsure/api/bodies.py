"""Bodies that a caller sends, and what is allowed in them: pydantic reads them and OpenAPI shows them under these class
names. The parts of documents that are answered as they were sent (rules, items, questions, tools) are here too. What
the service answers is in `howsure.wire`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints

from howsure.model.case import FINISHED
from howsure.model.expectation import AnswerMatch

NO_NUL = r"^[^\x00]*$"
NOT_BLANK = r"^[^\x00]*[^\x00\s][^\x00]*$"
Text = Annotated[str, StringConstraints(pattern=NO_NUL, max_length=100_000)]
Name = Annotated[str, StringConstraints(pattern=NO_NUL, max_length=300)]
NonBlankText = Annotated[str, StringConstraints(pattern=NOT_BLANK, min_length=1, max_length=100_000)]
NonBlankName = Annotated[str, StringConstraints(pattern=NOT_BLANK, min_length=1, max_length=300)]
Key = Annotated[str, StringConstraints(pattern=r"^[^\x00/@\s]+$", min_length=1, max_length=200)]
Scope = Literal["prompt", "knowledge_base", "function", "general"]
VersionNumber = Annotated[int, Field(ge=1, le=2**31 - 1)]
Json = dict[str, Any]
DISTINCT = Field(json_schema_extra={"uniqueItems": True})


class OpenBody(BaseModel):
    """May have fields that are not written down here; they are kept."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())


class StrictBody(BaseModel):
    """Fields that are not written down here are refused, not ignored."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class EvaluationCriteria(OpenBody):
    """What makes a rule pass or fail."""

    pass_conditions: list[NonBlankText] = Field(default_factory=list)
    fail_conditions: list[NonBlankText] = Field(default_factory=list)


class Examples(OpenBody):
    """How a rule looks when it is broken, and when it is kept."""

    violation: Text | None = None
    correct: Text | None = None


class RuleShape(OpenBody):
    """One standing rule of an agent."""

    id: Key = Field(examples=["BRIEF_RESPONSES"], description="Its own among the rules")
    name: NonBlankName
    severity: Literal["high", "medium", "low"]
    category: Name | None = None
    description: Text | None = None
    prompt_reference: Text | None = None
    evaluation_criteria: EvaluationCriteria | None = None
    examples: Examples | None = None
    component_scope: Scope | None = None
    component_ids: list[Key] | None = None
    component_names: list[NonBlankName] | None = None
    outcome_check: Json | None = None


class RubricGiven(OpenBody):
    """A rubric as its author writes it. What was read before may be sent back changed: ids, versions and times in it
    are left aside."""

    name: Annotated[NonBlankName, Field(examples=["Refund desk rubric"])]
    agent_id: Key | None = Field(default=None, examples=["64f0c2a1e4b0a1b2c3d4e5f6"])
    description: Text | None = None
    severity_definitions: dict[Name, Text] = Field(default_factory=dict)
    rules: Annotated[list[RuleShape], Field(min_length=1)]
    note: Text | None = Field(default=None, description="Why this version was made")


class Inputs(OpenBody):
    """`message` for a single turn; `persona`, `initial_message` and `max_turns` for a scenario; `messages` for a
    finished conversation (`transcript`, `voice_simulation`): `role`, `content`, and `start_ms` and `end_ms` if known.
    """

    message: Text | None = None
    persona: Text | None = None
    initial_message: Text | None = None
    starting_prompt: Text | None = Field(default=None, description="Another name of `initial_message`")
    max_turns: Annotated[int, Field(ge=1, le=1000)] | None = None
    goal: Text | None = None
    facts: Json | list[Json] | None = None
    conversation_plan: Text | list[Text | Json] | None = None
    state: Json | None = None
    messages: Annotated[list[Json], Field(min_length=1)] | None = None
    tool_calls: list[Json] | None = None
    voice_metrics: Json | None = None


class ItemExpectations(OpenBody):
    """What is expected of the agent."""

    __qualname__ = "Expected"
    model_config = ConfigDict(title="Expected")

    success_criteria: Annotated[list[NonBlankText], DISTINCT] = Field(default_factory=list)
    should_use_tools: Annotated[list[NonBlankName], DISTINCT] = Field(default_factory=list)
    should_not_use_tools: Annotated[list[NonBlankName], DISTINCT] = Field(default_factory=list)
    expected_outcome: Text | None = None
    reference_data: dict[str, Any] | None = Field(
        default=None, description="Expected calls, trajectory and final state, as in golden questions"
    )


def _with(*names: str) -> dict[str, Any]:
    return {"required": list(names), "properties": {name: {"type": "string", "pattern": NOT_BLANK} for name in names}}


def _when(kind: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """What the inputs of a type of entry cannot be without."""
    return {"if": {"properties": {"type": {"const": kind}}}, "then": {"properties": {"inputs": inputs}}}


OPENING = {"anyOf": [_with("initial_message"), _with("starting_prompt")]}
"""Either name of what a scenario begins with will do."""
SAID = {"required": ["messages"], "properties": {"messages": {"type": "array", "minItems": 1}}}
INPUTS_OF_TYPES: Any = [
    _when("single_turn", _with("message")),
    _when("scenario", {**_with("persona"), **OPENING}),
    *(_when(kind, SAID) for kind in FINISHED),
]


class EntryShape(OpenBody):
    """One thing to try."""

    model_config = ConfigDict(json_schema_extra={"allOf": INPUTS_OF_TYPES})

    item_id: Key | None = Field(default=None, description="Made where it is missing")
    type: Literal["single_turn", "scenario", "transcript", "voice_simulation"]
    name: NonBlankName
    inputs: Inputs
    expected: ItemExpectations
    tags: list[NonBlankName] = Field(default_factory=list)
    priority: Name | None = None


class TestSetGiven(OpenBody):
    """A test set as its author writes it. What was read before may be sent back changed."""

    name: Annotated[NonBlankName, Field(examples=["Refund desk test set"])]
    agent_id: Key | None = Field(default=None, examples=["64f0c2a1e4b0a1b2c3d4e5f6"])
    description: Text | None = None
    items: Annotated[list[EntryShape], Field(min_length=1)]
    note: Text | None = Field(default=None, description="Why this version was made")


HELD_AGAINST: list[Any] = [
    {"required": ["expected_answer"], "properties": {"expected_answer": {"type": "string", "minLength": 1}}},
    {
        "required": ["criteria"],
        "properties": {"criteria": {"type": "array", "items": {"type": "string"}, "minItems": 1}},
    },
]


class QuestionShape(OpenBody):
    """A question, and what its answer is held against: an expected answer, criteria, or both."""

    # Within `allOf`, so that makers of clients see one shape and not two.
    model_config = ConfigDict(json_schema_extra={"allOf": [{"anyOf": HELD_AGAINST}]})

    question_id: Key | None = Field(default=None, description="Made where it is missing")
    question: NonBlankText
    expected_answer: NonBlankText | None = None
    criteria: list[NonBlankText] | None = None
    context: NonBlankText | None = None
    tags: list[NonBlankName] | None = None


class QuestionSetGiven(OpenBody):
    """A question set as its author writes it."""

    name: NonBlankName
    agent_id: Key | None = None
    description: Text | None = None
    questions: Annotated[list[QuestionShape], Field(min_length=1)]
    note: Text | None = None


Content = Annotated[str, StringConstraints(min_length=1, pattern=NOT_BLANK)]
DialectName = Annotated[
    Name, Field(description="Found out where it is not said", examples=["legal", "plain", "golden"])
]


class DatasetGiven(StrictBody):
    """A file of any dialect, as text."""

    name: Annotated[NonBlankName, Field(examples=["compliance.jsonl"])]
    agent_id: Key | None = None
    dialect: DialectName | None = None
    content: Content
    note: Text | None = None


class CaseGiven(StrictBody):
    """A case as the dataset's dialect writes it."""

    case: Annotated[Json, Field(description="One line of a JSONL dialect, or one element of a JSON one")]


class ModelShape(OpenBody):
    """The model that answers for an agent."""

    provider: Name | None = Field(default=None, examples=["openai"])
    model: Name | None = Field(default=None, examples=["gpt-4.1"])
    parameters: Json | None = None


class ToolShape(OpenBody):
    """A tool that an agent may call."""

    id: Name | None = None
    name: Name | None = None
    tool_name: NonBlankName
    type: Name | None = Field(default=None, examples=["human_handoff"])
    description: Text | None = None
    output_instructions: Text | None = None


class KnowledgeBaseShape(OpenBody):
    """Where an agent can look things up."""

    id: NonBlankName
    name: NonBlankName
    type: Name | None = Field(default=None, examples=["file"])
    document_count: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None


class StepShape(OpenBody):
    """One step of how an agent is executed."""

    step: int | None = None
    node: str | None = None
    description: str | None = None


class HarnessShape(OpenBody):
    """How an agent is executed; what of it matters for judging."""

    version: str | None = None
    description: str | None = None
    execution_flow: list[StepShape] | None = None
    key_behaviors: list[str] | None = None
    evaluation_notes: list[str] | None = None


class BotGiven(OpenBody):
    """The description of an agent (BotContext), without its id, which is in the path."""

    bot_name: NonBlankName
    organization_id: Key | None = None
    organization_name: Name | None = None
    system_prompt: Text | None = None
    llm_config: ModelShape | None = None
    tools: list[ToolShape] = Field(default_factory=list)
    knowledge_bases: list[KnowledgeBaseShape] = Field(default_factory=list)
    harness_context: HarnessShape | None = None


class EvaluatorShape(OpenBody):
    """One grader of a list."""

    type: Annotated[Name, Field(description="Its name; with + or - before every name, a change to the usual graders")]
    enabled: StrictBool = True


class ConfigGiven(OpenBody):
    """Which graders a run has. What was read before may be sent back changed."""

    name: NonBlankName
    agent_id: Key | None = None
    evaluators: Annotated[list[EvaluatorShape], Field(min_length=1)]
    note: Text | None = None


Payload = Annotated[dict[Name, Any], Field(description="Variables that every conversation starts with")]
Repeats = Annotated[int, Field(ge=1, le=100)]
Many = Annotated[int, Field(ge=1, le=10_000_000)]
Concurrency = Annotated[int, Field(ge=1, le=1000)]


Tag = Annotated[NonBlankName, StringConstraints(max_length=100)]
Tags = Annotated[list[Tag], Field(max_length=50, description="Words to find it by")]


class RunChange(StrictBody):
    """What can be changed of an existing run: its name and its tags."""

    name: NonBlankName | None = None
    tags: Tags | None = None


class RunOptionsBody(StrictBody):
    """The options that every kind of run has."""

    rubric_id: Key | None = None
    rubric_version: VersionNumber | None = None
    rubric_ids: list[Key] = Field(default_factory=list, description="Further rubrics, each in its newest version")
    config_id: Key | None = Field(default=None, description="Which graders: an evaluator config")
    concurrency: Concurrency | None = None
    eval_model: Name | None = Field(default=None, description="The judge; it must be one that the service offers")
    target: Name | None = Field(default=None, description="How the agent is reached; one that the service offers")
    simulator: Name | None = Field(default=None, description="Who plays the users of scenarios")
    profile: Name | None = None
    limit: Many | None = None
    item_ids: list[Key] = Field(default_factory=list, description="Only these cases")
    repeat: Repeats = 1
    budget: Name | None = Field(default=None, examples=["2USD", "500ktok", "10m"])
    initial_payload: Payload = Field(default_factory=dict)
    component_scope: Scope | None = None
    component_ids: list[Key] = Field(default_factory=list)
    gates: list[Name] = Field(default_factory=list, examples=[["pass_rate >= 0.9"]])
    until_sure: Name | None = Field(default=None, description="Stop when this gate is decided; cases in a random order")
    name: Name | None = None
    tags: Tags = Field(default_factory=list)
    engine: Literal["local", "ray"] | None = Field(default=None, description="Where it runs; as the operator says")


class RunGiven(RunOptionsBody):
    """A run over a dataset or a question set (the older scores), or over a test set."""

    dataset_id: Key | None = None
    question_set_id: Key | None = None
    question_set_version: VersionNumber | None = None
    test_set_id: Key | None = None
    test_set_version: VersionNumber | None = None
    agent_id: Key | None = None
    map: dict[Name, Name] = Field(
        default_factory=dict, description="For a plain table: the column of each role", examples=[{"input": "question"}]
    )
    match: AnswerMatch | None = Field(
        default=None, description="For a plain table: the program that compares answers; null: the judge"
    )


class EvaluationGiven(RunOptionsBody):
    """A run over a test set. `mode: transcript` grades finished conversations instead of calling the bot."""

    bot_id: Key
    test_set_id: Key
    test_set_version: VersionNumber | None = None
    keep: StrictBool = Field(default=True, description="Keep the cases as a dataset of their own")
    mode: Literal["transcript"] | None = None
    conversation_ids: list[Key] = Field(default_factory=list, description="Results whose conversations are graded")


class RegradeGiven(StrictBody):
    """Grades the answers of a run again. What is not sent stays as the run had it."""

    rubric_id: Key | None = None
    rubric_version: VersionNumber | None = Field(default=None, description="Without rubric_id: of the run's own rubric")
    test_set_version: VersionNumber | None = Field(default=None, description="Of the run's own test set")
    eval_model: Name | None = None
    profile: Name | None = None
    name: Name | None = None


class TranscriptMessage(OpenBody):
    """One thing that was said."""

    role: Literal["user", "assistant", "system"]
    content: Text


class TranscriptGiven(StrictBody):
    """A finished conversation, and what it is graded by: criteria, those of a test set, a rubric, or several of
    these."""

    messages: Annotated[list[TranscriptMessage], Field(min_length=1)]
    tool_calls: list[Json] = Field(default_factory=list)
    state: Json | None = Field(default=None, description="The state at its end, for rules with an `outcome_check`")
    success_criteria: list[Text] = Field(default_factory=list)
    test_set_id: Key | None = None
    rubric_id: Key | None = None
    bot_id: Key | None = None
    eval_model: Name | None = None
    component_scope: Scope | None = None
    component_ids: list[Key] = Field(default_factory=list)


OpinionName = Literal["pass", "fail", "not_applicable", "cannot_tell"]


class LabelGiven(StrictBody):
    """What somebody says of one criterion, one rule or one eval of one answer."""

    result_id: NonBlankName = Field(description="The result's id, or its case's where that names only one")
    grader: NonBlankName = Field(description="Whose grade it is about: a name in the result's `scores`")
    criterion_id: NonBlankName | None = Field(
        default=None, description="`criterion_id` or `rule_id`, or the exact text; null: what the case got as a whole"
    )
    opinion: OpinionName
    why: Annotated[str, StringConstraints(pattern=NO_NUL, max_length=2000)] | None = None
    blind: StrictBool = Field(default=True, description="Whether they had not seen the judge's word")
    labeler: NonBlankName | None = Field(
        default=None, description="Whose word it is: one's own, unless an admin brings it in"
    )
    drawn: Annotated[float, Field(ge=1e-9, le=1e9)] | None = Field(
        default=None, description="How likely the answer was to be drawn, as `labels/next` says; null: it was chosen"
    )


ScopeName = Literal["read", "label", "write", "run", "admin"]
RoleName = Literal["viewer", "labeller", "editor", "runner", "admin"]


class ErasureGiven(StrictBody):
    """The person whose conversations are erased."""

    user_id: Annotated[Key, Field(min_length=1)]
    dry_run: StrictBool = Field(default=False, description="Only report what would be erased")


WebhookUrl = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=NO_NUL)]
EventName = Literal["run.completed", "run.failed", "gate.failed", "label.added"]
EventNames = Annotated[list[EventName], Field(min_length=1)]


class WebhookGiven(StrictBody):
    """An address that receives events."""

    url: WebhookUrl = Field(description="http or https, on a host that the service may call")
    events: EventNames
    active: StrictBool = True


class WebhookChange(StrictBody):
    """The fields of a webhook that change."""

    url: WebhookUrl | None = None
    events: EventNames | None = None
    active: StrictBool | None = None


class KeyGiven(StrictBody):
    """A key to be made."""

    name: Annotated[Name, Field(min_length=1)]
    scopes: Annotated[list[ScopeName], Field(min_length=1)] | None = Field(
        default=None, description="What the key may do: scopes, or a role"
    )
    role: RoleName | None = Field(default=None, description="In place of scopes")
    organization_id: Key | None = Field(default=None, description="Your own, unless you may see every one")
    agent_ids: list[Key] | None = Field(default=None, description="Only these agents")
    days: Annotated[float, Field(gt=0, le=36500)] | None = Field(default=None, description="How long it opens anything")
