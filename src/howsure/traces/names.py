"""The attribute names that tracing libraries write, old and new, each list in order of trust. Only names live here.

Upstream keeps renaming its constants and calls none of them stable, so these are our own.
"""

from __future__ import annotations

SPAN_KIND = "openinference.span.kind"
OPERATION = "gen_ai.operation.name"
OBSERVATION_TYPE = "langfuse.observation.type"
TRACELOOP_KIND = "traceloop.span.kind"
REQUEST_TYPE = "llm.request.type"
HTTP_METHODS = ("http.method", "http.request.method")
EMITTER_TARGET = "target"

LLM_REQUEST = "gcp.vertex.agent.llm_request"
LLM_RESPONSE = "gcp.vertex.agent.llm_response"
EVENT_ID = "gcp.vertex.agent.event_id"

MODELS = (
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.model_name",
    "langfuse.observation.model.name",
    "llm.request.model",
    "model_name",
)
AGENTS = ("gen_ai.agent.name", "agent.name", "agent_name")
AGENT_ID = "gen_ai.agent.id"

TOOLS = ("gen_ai.tool.name", "tool.name", "tool_name")
CALL_IDS = ("gen_ai.tool.call.id", "tool_call.id", "tool_call_id")
ARGUMENTS = (
    "gcp.vertex.agent.tool_call_args",
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "tool.parameters",
    "input.value",
    "traceloop.entity.input",
    "langfuse.observation.input",
)
TOOL_RESPONSE = "gcp.vertex.agent.tool_response"
RESPONSES = (
    TOOL_RESPONSE,
    "gen_ai.tool.call.result",
    "tool_response",
    "output.value",
    "traceloop.entity.output",
    "langfuse.observation.output",
)
INPUTS = (LLM_REQUEST, "input.value", "langfuse.observation.input", "gen_ai.input.messages", "gen_ai.prompt")
OUTPUTS = (LLM_RESPONSE, "output.value", "langfuse.observation.output")
SAID = ("gen_ai.output.messages", "gen_ai.completion", "gen_ai.completion.0.content")

ERRORS = ("error.type", "exception.type", "exception.message", "error.message")
STATUSES = ("otel.status_code", "status_code", "status.code", "langfuse.observation.level")

COSTS = ("gen_ai.usage.cost", "operation.cost", "llm.cost.total")
USAGE_DETAILS = "langfuse.observation.usage_details"

#: ADK writes this if a tool returns nothing.
NOT_SPECIFIED = "<not specified>"
#: ADK closes parallel tool calls with one more tool span, which is not a call.
MERGED = frozenset({"(merged tools)", "(merged)"})
