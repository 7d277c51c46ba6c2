"""ADK conversations as rows of a simulation file, and so as Cases; the shapes that ADK writes, in either spelling of
their keys; and made-up spans for conversations that were recorded as events only. simulation_rows.py reads the rows, so
a converted file and a case read directly are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from msgspec import Struct, field

from howsure.dialects.importers.base import ImportOptions
from howsure.dialects.problems import Spot
from howsure.dialects.simulation import RepeatNumbers
from howsure.dialects.simulation_messages import arguments_of, first_present, objects_in
from howsure.dialects.simulation_rows import AGENT_DECLARES, DURATIONS, SIMULATED, read_row
from howsure.dialects.simulation_traces import SECOND, camel
from howsure.dialects.strict_json import Json
from howsure.errors import Level, Problem
from howsure.model.case import Case
from howsure.model.expectation import ExpectedCall

PRIVATE = "__"
"""The first characters of the keys that frameworks hide in a session (`__llm_request_key__`)."""


def either_case(holder: Any, name: str) -> Any:
    """The value under `name`, spelt as_here or asHere; None where there is none."""
    return first_present(holder, name, next(iter(camel({name: 0})))) if isinstance(holder, dict) else None


def parts_of(content: Any) -> list[Json]:
    return objects_in(either_case(content, "parts"))


def text_of(content: Any) -> str:
    """The text of a content, without thoughts."""
    texts = [
        part["text"] for part in parts_of(content) if isinstance(part.get("text"), str) and not part.get("thought")
    ]
    return "\n".join(texts)


def calls_in(content: Any, field: str = "function_call") -> list[Json]:
    return objects_in([either_case(part, field) for part in parts_of(content)])


def expected_calls(invocation: Json) -> tuple[ExpectedCall, ...] | None:
    """The calls of an expected invocation, in either of two forms; None where it does not mention calls."""
    data = either_case(invocation, "intermediate_data")
    if not isinstance(data, dict):
        return None
    uses = either_case(data, "tool_uses")
    events = either_case(data, "invocation_events")
    if not isinstance(uses, list) and not isinstance(events, list):
        return None
    calls = objects_in(uses) or [call for event in objects_in(events) for call in calls_in(event.get("content"))]
    return tuple(
        ExpectedCall(name=str(call.get("name", "")), arguments=arguments_of(call.get("args"))) for call in calls
    )


def without_private_keys(value: Any) -> Any:
    """The value without private keys, at any depth."""
    if isinstance(value, dict):
        return {key: without_private_keys(inner) for key, inner in value.items() if not key.startswith(PRIVATE)}
    return [without_private_keys(inner) for inner in value] if isinstance(value, list) else value


def events_of_invocation(invocation: Json) -> Iterator[Json]:
    """The events of one turn, for histories without a session: the user's text, what was done, the answer."""
    text = either_case(invocation, "user_content")
    if text is not None:
        yield {"author": "user", "content": text}
    data = either_case(invocation, "intermediate_data") or {}
    listed = either_case(data, "invocation_events")
    events, answer = objects_in(listed), either_case(invocation, "final_response")
    if events and text_of(answer) and not events[-1].get("content"):
        # The event of the answer, which ADK writes apart from it.
        events = [*events[:-1], {**events[-1], "content": answer}]
    yield from events
    if not isinstance(listed, list):
        results = {str(one.get("id")): one for one in objects_in(either_case(data, "tool_responses")) if one.get("id")}
        for call in objects_in(either_case(data, "tool_uses")):
            yield {"author": "model", "content": {"role": "model", "parts": [{"function_call": call}]}}
            if str(call.get("id")) in results:
                response = {"function_response": results[str(call.get("id"))]}
                yield {"author": "model", "content": {"role": "user", "parts": [response]}}
    if text_of(answer) and not (events and text_of(events[-1].get("content")) == text_of(answer)):
        yield {"author": "model", "content": answer}


_COUNTS = (
    "prompt_token_count",
    "candidates_token_count",
    "cached_content_token_count",
    "thoughts_token_count",
    "tool_use_prompt_token_count",
    "total_token_count",
)


class _Trace:
    """Builds spans, each one made-up second after the other."""

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
        usage, model = either_case(event, "usage_metadata"), either_case(event, "model_version")
        counts = {name: count for name in _COUNTS if type(count := either_case(usage, name)) is int}
        response: Json = {"usage_metadata": counts} if counts else {}
        for name in ("model_version", "finish_reason", "grounding_metadata"):
            if (value := either_case(event, name)) is not None:
                response[name] = value
        attributes: Json = {"gen_ai.request.model": model} if isinstance(model, str) else {}
        if response:
            attributes["gcp.vertex.agent.llm_response"] = _text(response)
        self._leaf("call_llm", attributes)

    def tool_called(self, call: Json) -> None:
        name = str(call.get("name", ""))
        attributes = {"gen_ai.tool.name": name, "gcp.vertex.agent.tool_call_args": _text(call.get("args") or {})}
        if call.get("id"):
            attributes["gen_ai.tool.call.id"] = str(call["id"])
        self._waiting.append((call, self._leaf(f"execute_tool {name}", attributes)))

    def tool_answered(self, response: Json) -> None:
        """Ends the call with this id, else the first open call of that name."""
        id, name = response.get("id"), response.get("name")
        for call, span in self._waiting:
            if (call.get("id") == id) if id and call.get("id") else call.get("name") == name:
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
            "span_id": _hex(f"{self._session}/{len(self.spans)}", 16),
            "trace_id": _hex(self._session, 32),
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


def _hex(text: str, digits: int) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def spans_of(events: Sequence[Json], session: str) -> list[Json]:
    """The spans that such a conversation would have: the order of agents, model calls and tools, their contents and
    tokens. Their times are made up, one second each, and marked as such."""
    first = next((either_case(event, "timestamp") for event in events), None)
    start = round(first) * SECOND if isinstance(first, int | float) else 0
    trace = _Trace(session, start)
    for event in events:
        if event.get("partial"):
            continue
        author, content = str(event.get("author") or "model"), event.get("content")
        if author == "user":
            trace.user_speaks()
            continue
        calls, responses = calls_in(content), calls_in(content, "function_response")
        if content is None and either_case(event, "usage_metadata") is None:
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


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class AdkConversation(Struct, frozen=True, kw_only=True):
    """One recorded conversation, before it becomes a case. `question` is the id of its question, where it has one."""

    events: list[Json]
    question: str = ""
    session: str = ""
    app: str = ""
    user: str = ""
    state: Json | None = None
    run: str = ""
    at: float | None = None
    answer: str | None = None
    declared: list[Json] = field(default_factory=list)
    instruction: str = ""
    durations: list[Json] = field(default_factory=list)
    reference: Json | None = None
    columns: Json = field(default_factory=dict)


class AdkRecordingReader:
    """Makes cases of conversations, and numbers those of the same question."""

    def __init__(self, options: ImportOptions) -> None:
        self._options = options
        self._numbers = RepeatNumbers()

    def read(self, conversation: AdkConversation, spot: Spot) -> Iterator[Case | Problem]:
        case, problems = read_row(self._row(conversation), spot)
        yield from problems
        if case is None or any(problem.level is Level.ERROR for problem in problems):
            return
        yield self._numbers.numbered(case)

    def _row(self, conversation: AdkConversation) -> Json:
        options, app, question = self._options, self._options.agent or conversation.app, conversation.question
        if options.prefix and question:
            question = f"{options.prefix}_{question}"
        session: Json = {
            "id": conversation.session,
            "appName": app,
            "userId": conversation.user,
            "events": without_private_keys(conversation.events),
        }
        if conversation.state is not None:
            session["state"] = without_private_keys(conversation.state)
        extracted: Json = {}
        if conversation.declared:  # by the agent itself; others are gathered from the tools that it used
            extracted |= {"tool_declarations": conversation.declared, AGENT_DECLARES: True}
        if conversation.durations:
            extracted[DURATIONS] = conversation.durations
        if conversation.instruction:
            extracted["system_instruction"] = conversation.instruction
        row: Json = {
            **({"question_id": question} if question else {}),
            "session_id": conversation.session,
            "base_url": SIMULATED,
            "app_name": app,
            "ADK_USER_ID": conversation.user,
            "run_id": conversation.run,
            "interaction_datetime": iso_time(conversation.at),
            "agents_evaluated": [app] if app else [],
            "question_metadata": dict(options.metadata),
            "final_session_state": session,
            "session_trace": spans_of(conversation.events, conversation.session or conversation.question),
            "extracted_data": extracted,
            **conversation.columns,
        }
        if conversation.reference is not None:
            row["reference_data"] = conversation.reference
        if conversation.answer is not None:
            row["final_response"] = conversation.answer
        return {name: value for name, value in row.items() if value not in ("", None, {}, [])}


def iso_time(seconds: Any) -> str:
    """Epoch seconds as ISO text; "" where there are none."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds < 4e9:
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def declarations(details: Sequence[Any]) -> list[Json]:
    """The function declarations in these, each tool once."""
    functions: dict[str, Json] = {}
    for declared in details:
        for holder in declared if isinstance(declared, list) else ():
            for function in objects_in(either_case(holder, "function_declarations")):
                if isinstance(function.get("name"), str):
                    functions.setdefault(function["name"], function)
    return [{"function_declarations": list(functions.values())}] if functions else []
