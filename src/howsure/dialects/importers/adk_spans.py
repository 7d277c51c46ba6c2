"""Spans for ADK conversations that were recorded as events only. They show the order of agents, model calls and tools,
what a call was given and gave, and the tokens; their times are made up, one second each, and marked as such."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from howsure.dialects.documents import Json
from howsure.dialects.importers.adk_shapes import calls_in, responses_in, told
from howsure.dialects.simulation_trace import SECOND

_COUNTS = (
    "prompt_token_count",
    "candidates_token_count",
    "cached_content_token_count",
    "thoughts_token_count",
    "total_token_count",
)


class _Trace:
    """Writes spans down, one made-up second after the other."""

    def __init__(self, session: str, start: int) -> None:
        self._session = session
        self._clock = start
        self.spans: list[Json] = []
        self._waiting: list[tuple[Json, Json]] = []
        self._invocation: Json | None = None
        self._agent: Json | None = None
        self._speaker = ""

    def user_speaks(self) -> None:
        self.close()
        self._invocation = self._span("invocation", {})

    def agent_acts(self, author: str) -> None:
        if self._invocation is None:
            self.user_speaks()
        if author != self._speaker or self._agent is None:
            self._end(self._agent)
            self._speaker = author
            self._agent = self._span(f"invoke_agent {author}", {"gen_ai.agent.name": author}, self._invocation)

    def model_called(self, event: Json) -> None:
        self._leaf("call_llm", _model_attributes(event))

    def tool_called(self, call: Json) -> None:
        name = str(call.get("name", ""))
        attributes = {"gen_ai.tool.name": name, "gcp.vertex.agent.tool_call_args": _text(call.get("args") or {})}
        if call.get("id"):
            attributes["gen_ai.tool.call.id"] = str(call["id"])
        self._waiting.append((call, self._leaf(f"execute_tool {name}", attributes)))

    def tool_answered(self, response: Json) -> None:
        """The answer belongs to the call with its id, else to the first of its name that waits for one."""
        given = (response.get("id"), response.get("name"))
        for call, span in self._waiting:
            if (call.get("id") == given[0]) if given[0] and call.get("id") else call.get("name") == given[1]:
                span["attributes"]["gcp.vertex.agent.tool_response"] = _text(response.get("response"))
                self._waiting.remove((call, span))
                return

    def close(self) -> None:
        self._end(self._agent)
        self._end(self._invocation)
        self._agent, self._invocation, self._speaker = None, None, ""

    def _leaf(self, name: str, attributes: Json) -> Json:
        span = self._span(name, attributes, self._agent)
        self._clock += SECOND
        self._end(span)
        return span

    def _span(self, name: str, attributes: Json, around: Json | None = None) -> Json:
        span: Json = {
            "name": name,
            "span_id": _hash(f"{self._session}/{len(self.spans)}")[:16],
            "trace_id": _hash(self._session)[:32],
            "parent_span_id": around["span_id"] if around else None,
            "start_time": self._clock,
            "end_time": self._clock,
            "attributes": attributes,
        }
        self.spans.append(span)
        return span

    def _end(self, span: Json | None) -> None:
        if span is not None:
            span["end_time"] = self._clock


def spans_of(events: Sequence[Json], session: str) -> list[Json]:
    """The spans that such a conversation would have had, with times that nobody measured."""
    first = next((told(event, "timestamp") for event in events), None)
    start = round(first) * SECOND if isinstance(first, int | float) else 0
    trace = _Trace(session, start)
    for event in events:
        if event.get("partial"):
            continue
        author, content = str(event.get("author") or "model"), event.get("content")
        if author == "user":
            trace.user_speaks()
            continue
        calls, responses = calls_in(content), responses_in(content)
        if content is None and told(event, "usage_metadata") is None:
            continue
        trace.agent_acts(author)
        if calls or not responses:
            trace.model_called(event)
        for call in calls:
            trace.tool_called(call)
        for response in responses:
            trace.tool_answered(response)
    trace.close()
    return trace.spans


def _model_attributes(event: Json) -> Json:
    usage = told(event, "usage_metadata")
    counts = {name: count for name in _COUNTS if type(count := told(usage, name)) is int}
    response: Json = {"usage_metadata": counts} if counts else {}
    for name in ("model_version", "finish_reason", "grounding_metadata"):
        if (value := told(event, name)) is not None:
            response[name] = value
    model = told(event, "model_version")
    attributes: Json = {"gen_ai.request.model": model} if isinstance(model, str) else {}
    return {**attributes, "gcp.vertex.agent.llm_response": _text(response)} if response else attributes


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
