"""The fields of the document that this API began with, and descriptions for fields whose names say too little. The
reference marks all other fields as added; a client written to that document needs none of them."""

from __future__ import annotations

PUBLISHED_OPERATIONS = frozenset(
    """
    GET /runs/{run_id}; GET /runs; GET /runs/{run_id}/results; GET /bots/{id}/context
    GET /rubrics/{id}; PUT /rubrics/{id}; GET /rubrics/{id}/versions; GET /rubrics/{id}/versions/{version}
    GET /test-sets/{id}; PUT /test-sets/{id}; GET /test-sets/{id}/versions; GET /test-sets/{id}/versions/{version}
    """.strip()
    .replace("\n    ", "; ")
    .split("; ")
)

_RULES = "name agent_id description severity_definitions rules"
_ITEMS = "name agent_id description items"
_AGENT = "bot_name organization_id organization_name system_prompt llm_config tools knowledge_bases harness_context"
_FIELDS = {
    "RunShape": "run_id dataset_id agent_id status total completed passed failed concurrency started_at completed_at "
    "error rubric_id rubric_version test_set_id test_set_version component_scope_filter component_ids_filter "
    "component_scores criteria_passed criteria_total rubric_rules_passed rubric_rules_total bot_llm_provider "
    "bot_llm_model created_at",
    "ComponentScore": "score total passed",
    "ResultShape": "result_id run_id test_case_id langsmith_run_id input output scores item_name item_type "
    "criteria_scores criteria_passed rubric_scores rubric_passed passed duration_ms created_at",
    "InputShape": "persona initial_message max_turns",
    "OutputShape": "messages",
    "MessageShape": "role content",
    "ScoreShape": "score comment",
    "CriterionScore": "criterion passed score reasoning",
    "RuleScore": "rule_id rule_name severity passed score reasoning",
    "RubricShape": f"rubric_id version created_at updated_at {_RULES}",
    "RubricGiven": _RULES,
    "RuleShape": "id name severity category description prompt_reference evaluation_criteria examples component_scope "
    "component_ids component_names",
    "EvaluationCriteria": "pass_conditions fail_conditions",
    "Examples": "violation correct",
    "TestSetShape": f"test_set_id version created_at updated_at {_ITEMS}",
    "TestSetGiven": _ITEMS,
    "EntryShape": "item_id type name inputs expected tags priority",
    "Inputs": "message persona initial_message max_turns",
    "Expected": "success_criteria should_use_tools should_not_use_tools expected_outcome",
    "BotShape": f"bot_id {_AGENT}",
    "ModelShape": "provider model parameters",
    "ToolShape": "id name tool_name type description output_instructions",
    "KnowledgeBaseShape": "id name type document_count",
    "HarnessShape": "version description execution_flow key_behaviors evaluation_notes",
    "StepShape": "step node description",
}
PUBLISHED_FIELDS = {shape: frozenset(names.split()) for shape, names in _FIELDS.items()}
"""The fields that the document has, by the names of shapes here. A shape that is not named is added whole."""

MEANINGS = {
    "agent_id": "The agent that it is about",
    "author": "Who wrote this version",
    "candidate": "What was tried, where a run has several candidates",
    "completed": "Those that have a result, passed or not",
    "component_scope_filter": "Only rules of this `component_scope` were used",
    "component_ids_filter": "Only rules of these components were used",
    "damaged": "Results that cannot be read",
    "deleted": "Whether it was deleted; `…/undelete` brings it back",
    "errored": "Those that ended in an error of the agent, the judge or a tool: neither passed nor failed",
    "latest_version": "The number of the newest version",
    "note": "Why this version was made",
    "pass_rate": "Of those that passed or failed",
    "pass_rate_if_decided": "The rate if everything that errored had failed, or passed",
    "pass_rate_interval": "The 95 % interval of the rate",
    "pending": "Those that have no result yet",
    "sha256": "Of the content",
    "skipped": "Those that had nothing to check",
    "test_case_id": "The `item_id` of the item, or the id of the case",
    "ComparedDifferenceShape.lowered": "Pairs whose value is lower in the second",
    "ComparedDifferenceShape.method": "How interval and p-value were worked out",
    "ComparedDifferenceShape.n": "Pairs with a value on both sides",
    "ComparedDifferenceShape.raised": "Pairs whose value is higher in the second",
    "EntryShape.type": "`single_turn` sends one message, `scenario` has a simulated user talk",
    "EvaluationShape.items_count": "Items of the test set",
    "EvaluationShape.rules_count": "Rules of the rubric",
    "ResultShape.criteria_passed": "Whether all hold, or as many as the profile asks; null: none, or not decided",
    "ResultShape.langsmith_run_id": "The run there that the answer is from",
    "ResultShape.passed": "Null where it was not decided: `verdict` says why",
    "ResultShape.repeat": "The number of this try of the case",
    "ResultShape.rubric_passed": "Whether no rule of high severity is broken; null: no rubric, or not decided",
    "RootCauseReportShape.note": "Why no model was asked",
    "RuleShape.component_scope": "The kind of component that the rule is about; null: none in particular",
    "RuleShape.component_ids": "The components that the rule is about",
    "RuleShape.prompt_reference": "Where the prompt of the agent asks for it",
    "RuleShape.severity": "If a `high` one is broken, the whole item fails",
    "RunShape.concurrency": "How many cases are tried at a time",
    "RunShape.criteria": "Checks of criteria, counted",
    "RunShape.criteria_from": "The test set that finished conversations were held against",
    "RunShape.dataset_id": "Of the dataset or question set; else an id made from the content of the cases",
    "RunShape.judge": "Who judged",
    "RunShape.limit": "Only the first so many cases were tried",
    "RunShape.normalization": "How weighted criteria become a value from 0 to 1",
    "RunShape.profile": "The marks that graders must reach, as `GET /profiles` has them",
    "RunShape.repeat": "How often each case is tried",
    "RunShape.rubric_rules": "Checks of rules, counted",
    "RunShape.simulator": "Who plays the user",
    "RunShape.target": "Who is asked",
    "ToolShape.tool_name": "What the agent calls it by",
}
"""By the name of a field, or of one shape's field; for fields that do not describe themselves."""
