"""What the document that this API began with has. The reference marks everything else as added; a client written to
that document needs none of it."""

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
