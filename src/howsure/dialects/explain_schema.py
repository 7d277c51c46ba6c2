"""The JSON Schema of one line of an Explain dataset, as `howsure schema explain` prints it, and the names it knows.

Evals may be spelt in any case and under an alias; explain_rows.py brings them to the names used here first.
"""

from __future__ import annotations

from howsure.dialects.problems import NOT_BLANK
from howsure.dialects.strict_json import Json

WORKFLOW_AGENTS = ("preparation-workflow-multi-agent", "preparation-workflow-single-agent")
PHASE_AGENTS = ("learning-path-curator", "study-plan-generator", "engagement-agent", "readiness-assessment-agent")
AGENTS = (*PHASE_AGENTS, *WORKFLOW_AGENTS)
TOPIC_FAMILIES = ("AZ-900", "AZ-104", "AI-102", "SC-900", "DP-900", "AZ-305", "AZ-204", "PL-300")
PROFILES = ("prep_default", "assessment_strict")
RAG_MODE = "non-rag"

REPEATS = {
    "input": "model_answer",
    "question": "question",
    "context": "context",
    "relevantContext": "relevant_context",
    "goal": "task_goal",
    "availableTools": "available_tools",
    "invokedTools": "invoked_tool_calls",
}
"""The keys of eval payloads, and the fields that they repeat."""

PAYLOADS: dict[str, tuple[str, ...]] = {
    "RelevanceExplain": ("input", "question", "context"),
    "CoherenceExplain": ("input", "question"),
    "PerceivedIntelligenceExplain": ("input", "question", "context"),
    "FluencyExplain": ("input", "question"),
    "EmpathyExplain": ("input", "question"),
    "HelpfulnessExplain": ("input", "question"),
    "IntentResolutionExplain": ("input", "question", "relevantContext"),
    "ToolCallAccuracyExplain": ("input", "question", "availableTools", "invokedTools"),
    "TaskAdherenceExplain": ("input", "question", "goal"),
}
"""The nine evals, and what each takes. Perceived intelligence takes a `rag_mode` too, which is always the same."""

RAG_EVAL = "PerceivedIntelligenceExplain"
ALIASES = {"PerceivedIntelligenceNonRagExplain": RAG_EVAL}
DEFAULT_EVALS = (
    "IntentResolutionExplain",
    "TaskAdherenceExplain",
    "RelevanceExplain",
    "CoherenceExplain",
    "HelpfulnessExplain",
)

_TEXT: Json = {"type": "string", "pattern": NOT_BLANK}
_ANY_TEXT: Json = {"type": "string"}
_ARGUMENTS: Json = {"type": ["object", "string"], "description": "an object, or the text of one"}
_TOOL_LIST: Json = {"type": ["array", "string"], "description": "a list, or the JSON text of one"}


_MODE: Json = {RAG_EVAL: {"rag_mode": {"const": RAG_MODE}}}


def _words(*allowed: str) -> Json:
    return {"enum": list(allowed)}


def _calls(comment: str) -> Json:
    fields = {"tool": _TEXT, "arguments": _ARGUMENTS, comment: _ANY_TEXT}
    return {"type": "array", "items": {"type": "object", "required": ["tool"], "properties": fields}}


SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "One line of an Explain dataset",
    "type": "object",
    "required": [
        "case_id",
        "scenario_id",
        "agent_name",
        "difficulty",
        "quality_band",
        "topic_family",
        "learner_level",
        "question",
    ],
    "properties": {
        "case_id": {**_TEXT, "description": "the agent's name, a hyphen and three or more digits"},
        "scenario_id": {**_TEXT, "description": "an id of the scenario catalog"},
        "agent_name": {**_TEXT, "description": "the agent under test"},
        "phase": _words("preparation", "assessment"),
        "difficulty": _words("easy", "medium", "hard"),
        "quality_band": _words("excellent", "good", "mixed", "poor"),
        "topic_family": _TEXT,
        "learner_level": _words("beginner", "intermediate", "advanced"),
        "question": {**_TEXT, "description": "what the user asks"},
        "context": _ANY_TEXT,
        "model_answer": {**_ANY_TEXT, "description": "the recorded answer; leave it out to ask a live agent"},
        "reference_answer": _ANY_TEXT,
        "task_goal": _ANY_TEXT,
        "relevant_context": _ANY_TEXT,
        "available_tools": {"type": "array", "items": _TEXT},
        "expected_tool_calls": _calls("reason"),
        "invoked_tool_calls": _calls("outcome"),
        "explain_inputs": {
            "type": "object",
            "properties": {
                eval: {
                    "type": "object",
                    "required": [*keys, *_MODE.get(eval, {})],
                    "properties": {key: _TOOL_LIST if key.endswith("Tools") else _ANY_TEXT for key in keys}
                    | _MODE.get(eval, {}),
                }
                for eval, keys in PAYLOADS.items()
            },
        },
        "required_evals": {"type": "array", "items": _words(*PAYLOADS)},
        "threshold_profile": {**_TEXT, "description": "a profile that is built in or in howsure.yaml"},
        "expected_contract": {**_ANY_TEXT, "description": "the JSON Schema that the answer must fulfil; empty: none"},
        "mutations": {"type": "array", "items": _TEXT, "description": "how the answer was made worse on purpose"},
    },
}


def _closed(schema: Json) -> Json:
    """The schema without room for unknown fields in the objects whose fields it names."""
    closed = {
        key: {name: _closed(rule) for name, rule in value.items()}
        if key == "properties"
        else _closed(value)
        if key == "items"
        else value
        for key, value in schema.items()
    }
    return {**closed, "additionalProperties": False} if "properties" in schema else closed


def _nested(levels: int) -> Json:
    """A value in which lists and objects are nested at most `levels` deep."""
    if not levels:
        return {"type": ["string", "number", "boolean", "null"]}
    inner = _nested(levels - 1)
    return {"items": inner, "additionalProperties": inner}


_PLAIN_CALL = {"items": {"properties": {"arguments": {"type": "object", **_nested(5)}}}}
PLAIN_SCHEMA = {
    **_closed(SCHEMA),
    "allOf": [
        {
            "required": ["model_answer", "required_evals", "explain_inputs"],
            "properties": {
                "agent_name": {"enum": list(AGENTS)},
                "topic_family": {"enum": list(TOPIC_FAMILIES)},
                "required_evals": {"minItems": 1, "uniqueItems": True},
                "expected_tool_calls": _PLAIN_CALL,
                "invoked_tool_calls": _PLAIN_CALL,
            },
        }
    ],
}
"""The schema of a line in the usual form: known names, no unknown field, an answer, and the evals named with their
payloads; tools are lists, and arguments are objects that are not deeply nested."""
