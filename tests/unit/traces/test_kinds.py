"""What a span is, by its attributes, its name, or what it carries."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.transcript import Span
from howsure.traces.kinds import Kind, agent_name, kind_of, tool_name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("invocation", Kind.INVOCATION),
        ("invocation [hello_app]", Kind.INVOCATION),
        ("invoke_agent billing", Kind.AGENT),
        ("agent_run [billing]", Kind.AGENT),
        ("agent_run", Kind.AGENT),
        ("call_llm", Kind.LLM),
        ("generate_content gemini-2.5-flash", Kind.LLM),
        ("chat gpt-4o", Kind.LLM),
        ("llm.chat", Kind.LLM),
        ("execute_tool lookup_order", Kind.TOOL),
        ("execute_tool", Kind.TOOL),
        ("tool_call", Kind.TOOL),
        ("tool_call [lookup_order]", Kind.TOOL),
        ("running tool: lookup_order", Kind.TOOL),
        ("tool.HelloTool", Kind.TOOL),
        ("tool_response", Kind.TOOL_RESPONSE),
        ("tool_response [lookup_order]", Kind.TOOL_RESPONSE),
        ("running 3 tools", Kind.OTHER),
        ("execute_tool (merged)", Kind.OTHER),
        ("agent_runner", Kind.OTHER),
        ("tool_calls", Kind.OTHER),
        ("GET /orders", Kind.OTHER),
        ("should_continue", Kind.OTHER),
        ("", Kind.OTHER),
    ],
)
def test_a_bare_span_is_what_its_name_says(name: str, kind: Kind) -> None:
    assert kind_of(Span(name=name)) is kind


@pytest.mark.parametrize(
    ("name", "attributes", "kind"),
    [
        ("ChatCompletion", {"openinference.span.kind": "LLM"}, Kind.LLM),
        ("x", {"openinference.span.kind": "llm"}, Kind.LLM),
        ("duckduckgo", {"openinference.span.kind": "TOOL"}, Kind.TOOL),
        ("Agent.run", {"openinference.span.kind": "AGENT"}, Kind.AGENT),
        ("invocation [app]", {"openinference.span.kind": "CHAIN"}, Kind.INVOCATION),
        ("iteration-2", {"openinference.span.kind": "CHAIN"}, Kind.OTHER),
        ("call_llm", {"openinference.span.kind": "EMBEDDING"}, Kind.OTHER),
        ("update-13", {"openinference.span.kind": "AGENT", "target": "agent.react.update"}, Kind.OTHER),
        ("x", {"gen_ai.operation.name": "chat"}, Kind.LLM),
        ("x", {"gen_ai.operation.name": "execute_tool"}, Kind.TOOL),
        ("x", {"gen_ai.operation.name": "invoke_agent"}, Kind.AGENT),
        ("agent.f9f7", {"gen_ai.operation.name": "create_agent", "gen_ai.request.model": "gpt-4o"}, Kind.OTHER),
        ("x", {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e"}, Kind.OTHER),
        ("x", {"langfuse.observation.type": "generation"}, Kind.LLM),
        ("x", {"langfuse.observation.type": "tool"}, Kind.TOOL),
        ("x", {"langfuse.observation.type": "span"}, Kind.OTHER),
        ("x", {"traceloop.span.kind": "tool"}, Kind.TOOL),
        ("x", {"llm.request.type": "chat"}, Kind.LLM),
        ("POST", {"http.method": "POST"}, Kind.OTHER),
        ("POST", {"http.request.method": "POST", "gen_ai.request.model": "gpt-4o"}, Kind.OTHER),
        ("chat gpt-4o", {"gen_ai.operation.name": "chat", "http.request.method": "POST"}, Kind.LLM),
        ("lookup", {"gen_ai.tool.name": "lookup"}, Kind.TOOL),
        ("lookup", {"tool.name": "lookup"}, Kind.TOOL),
        ("x", {"gcp.vertex.agent.llm_response": '{"a": 1}'}, Kind.LLM),
        ("x", {"gcp.vertex.agent.llm_response": "{}"}, Kind.OTHER),
        ("x", {"llm.model_name": "gpt-4o"}, Kind.LLM),
        ("joke_agent run", {"gen_ai.agent.name": "joke_agent", "gen_ai.usage.input_tokens": 1}, Kind.AGENT),
        ("call_llm", {"gen_ai.agent.name": "root"}, Kind.LLM),
        ("Web-Search", {"output.value": {"type": "tool", "tool_call_id": "1"}}, Kind.TOOL),
        ("Web-Search", {"output.value": '{"type": "tool", "tool_call_id": "1"}'}, Kind.TOOL),
        ("tools", {"output.value": {"messages": [{"type": "tool", "tool_call_id": "1"}]}}, Kind.OTHER),
        ("x", {"gen_ai.tool.name": "(merged tools)", "gen_ai.operation.name": "execute_tool"}, Kind.OTHER),
    ],
)
def test_what_a_span_declares_goes_before_its_name(name: str, attributes: dict[str, Any], kind: Kind) -> None:
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
