"""What a span is, by its attributes, its name, or what it carries."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.transcript import Span
from howsure.traces.spans import SpanKind, agent_name, kind_of, tool_name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("invocation", SpanKind.INVOCATION),
        ("invocation [hello_app]", SpanKind.INVOCATION),
        ("invoke_agent billing", SpanKind.AGENT),
        ("agent_run [billing]", SpanKind.AGENT),
        ("agent_run", SpanKind.AGENT),
        ("call_llm", SpanKind.LLM),
        ("generate_content gemini-2.5-flash", SpanKind.LLM),
        ("chat gpt-4o", SpanKind.LLM),
        ("llm.chat", SpanKind.LLM),
        ("execute_tool lookup_order", SpanKind.TOOL),
        ("execute_tool", SpanKind.TOOL),
        ("tool_call", SpanKind.TOOL),
        ("tool_call [lookup_order]", SpanKind.TOOL),
        ("running tool: lookup_order", SpanKind.TOOL),
        ("tool.HelloTool", SpanKind.TOOL),
        ("tool_response", SpanKind.TOOL_RESPONSE),
        ("tool_response [lookup_order]", SpanKind.TOOL_RESPONSE),
        ("running 3 tools", SpanKind.OTHER),
        ("execute_tool (merged)", SpanKind.OTHER),
        ("agent_runner", SpanKind.OTHER),
        ("tool_calls", SpanKind.OTHER),
        ("GET /orders", SpanKind.OTHER),
        ("should_continue", SpanKind.OTHER),
        ("", SpanKind.OTHER),
    ],
)
def test_a_bare_span_is_what_its_name_says(name: str, kind: SpanKind) -> None:
    assert kind_of(Span(name=name)) is kind


@pytest.mark.parametrize(
    ("name", "attributes", "kind"),
    [
        ("ChatCompletion", {"openinference.span.kind": "LLM"}, SpanKind.LLM),
        ("x", {"openinference.span.kind": "llm"}, SpanKind.LLM),
        ("duckduckgo", {"openinference.span.kind": "TOOL"}, SpanKind.TOOL),
        ("Agent.run", {"openinference.span.kind": "AGENT"}, SpanKind.AGENT),
        ("invocation [app]", {"openinference.span.kind": "CHAIN"}, SpanKind.INVOCATION),
        ("iteration-2", {"openinference.span.kind": "CHAIN"}, SpanKind.OTHER),
        ("call_llm", {"openinference.span.kind": "EMBEDDING"}, SpanKind.OTHER),
        ("update-13", {"openinference.span.kind": "AGENT", "target": "agent.react.update"}, SpanKind.OTHER),
        ("x", {"gen_ai.operation.name": "chat"}, SpanKind.LLM),
        ("x", {"gen_ai.operation.name": "execute_tool"}, SpanKind.TOOL),
        ("x", {"gen_ai.operation.name": "invoke_agent"}, SpanKind.AGENT),
        ("agent.f9f7", {"gen_ai.operation.name": "create_agent", "gen_ai.request.model": "gpt-4o"}, SpanKind.OTHER),
        ("x", {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e"}, SpanKind.OTHER),
        ("x", {"langfuse.observation.type": "generation"}, SpanKind.LLM),
        ("x", {"langfuse.observation.type": "tool"}, SpanKind.TOOL),
        ("x", {"langfuse.observation.type": "span"}, SpanKind.OTHER),
        ("x", {"traceloop.span.kind": "tool"}, SpanKind.TOOL),
        ("x", {"llm.request.type": "chat"}, SpanKind.LLM),
        ("POST", {"http.method": "POST"}, SpanKind.OTHER),
        ("POST", {"http.request.method": "POST", "gen_ai.request.model": "gpt-4o"}, SpanKind.OTHER),
        ("chat gpt-4o", {"gen_ai.operation.name": "chat", "http.request.method": "POST"}, SpanKind.LLM),
        ("lookup", {"gen_ai.tool.name": "lookup"}, SpanKind.TOOL),
        ("lookup", {"tool.name": "lookup"}, SpanKind.TOOL),
        ("x", {"gcp.vertex.agent.llm_response": '{"a": 1}'}, SpanKind.LLM),
        ("x", {"gcp.vertex.agent.llm_response": "{}"}, SpanKind.OTHER),
        ("x", {"llm.model_name": "gpt-4o"}, SpanKind.LLM),
        ("joke_agent run", {"gen_ai.agent.name": "joke_agent", "gen_ai.usage.input_tokens": 1}, SpanKind.AGENT),
        ("call_llm", {"gen_ai.agent.name": "root"}, SpanKind.LLM),
        ("Web-Search", {"output.value": {"type": "tool", "tool_call_id": "1"}}, SpanKind.TOOL),
        ("Web-Search", {"output.value": '{"type": "tool", "tool_call_id": "1"}'}, SpanKind.TOOL),
        ("tools", {"output.value": {"messages": [{"type": "tool", "tool_call_id": "1"}]}}, SpanKind.OTHER),
        ("x", {"gen_ai.tool.name": "(merged tools)", "gen_ai.operation.name": "execute_tool"}, SpanKind.OTHER),
    ],
)
def test_what_a_span_declares_goes_before_its_name(name: str, attributes: dict[str, Any], kind: SpanKind) -> None:
    assert kind_of(Span(name=name, attributes=attributes)) is kind


@pytest.mark.parametrize(
    ("name", "attributes", "tool"),
    [
        ("execute_tool a", {"gen_ai.tool.name": "b", "tool.name": "c"}, "b"),
        ("execute_tool a", {"tool.name": "c"}, "c"),
        ("execute_tool a", {}, "a"),
        ("tool_call [a]", {}, "a"),
        ("tool_call: a", {}, "a"),
        ("running tool: a", {}, "a"),
        ("tool.search.web", {}, "search.web"),
        ("tool_call", {}, "tool_call"),
        ("duckduckgo", {}, "duckduckgo"),
    ],
)
def test_a_tool_has_the_name_somebody_wrote_down(name: str, attributes: dict[str, Any], tool: str) -> None:
    assert tool_name(Span(name=name, attributes=attributes)) == tool


@pytest.mark.parametrize(
    ("name", "attributes", "agent"),
    [
        ("invoke_agent a", {"gen_ai.agent.name": "b"}, "b"),
        ("invoke_agent a", {}, "a"),
        ("agent_run [a]", {}, "a"),
        ("run.6f8d", {"gen_ai.agent.id": "f9f7"}, "f9f7"),
        ("Hello world", {}, "Hello world"),
        ("joke run", {"agent_name": "joker"}, "joker"),
    ],
)
def test_an_agent_has_the_name_somebody_wrote_down(name: str, attributes: dict[str, Any], agent: str) -> None:
    assert agent_name(Span(name=name, attributes=attributes)) == agent
