"""The spans of an ADK conversation, the same whichever way the agent was reached: those that ADK recorded, completed
with what the events hold (newer versions keep contents out of spans); or, from a server that keeps none, spans built
from the events alone, marked as such. No I/O here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.model.transcript import Span
from howsure.targets.adk.events import Event, author_of, function_parts, has_content
from howsure.traces import names
from howsure.traces.declared import DEFINITIONS, INSTRUCTIONS
from howsure.traces.spans import SpanKind, kind_of, tool_name
from howsure.traces.values import decode_value, pick_value, read_amount, read_count

SECOND = 1_000_000_000
FUNCTIONS = ("function_declarations", "functionDeclarations")
SOURCE = "howsure.source"
FROM_EVENTS = "events"
"""The mark of a built span. A call of a model begins with its event and ends with the next one, so it includes the
tools that it asked for; when a tool began is not known."""
CONTENTS = (
    ("usage_metadata", "usageMetadata"),
    ("model_version", "modelVersion"),
    ("finish_reason", "finishReason"),
    ("grounding_metadata", "groundingMetadata"),
)


class AdkTurn(Struct, frozen=True):
    """One turn: its events, how many seconds it took by our clock, and when it began, in seconds by the clock of the
    events (None: with its first event)."""

    events: Sequence[Event]
    seconds: float
    began: float | None = None


def join_spans(
    recorded: Sequence[Span] | None, turns: Sequence[AdkTurn], session: str, inner: Sequence[Event] = ()
) -> tuple[Span, ...] | None:
    """The spans of a conversation: the recorded ones completed by the events, with `inner` ones of agents behind a
    tool, or else built from the events."""
    if recorded:
        return tuple(_complete_spans(recorded, [*(event for turn in turns for event in turn.events), *inner]))
    return tuple(_SpanBuilder(turns, session).build()) or None


def _complete_spans(spans: Iterable[Span], events: Sequence[Event]) -> Iterator[Span]:
    by_id = {str(event["id"]): event for event in events if event.get("id") and not event.get("partial")}
    calls = {str(call["id"]): call for event in events for call in function_parts(event, "call") if call.get("id")}
    results = {str(one["id"]): one for event in events for one in function_parts(event, "response") if one.get("id")}
    spans = list(spans)
    prompted = _results_in_prompts(spans)
    for span in spans:
        added: dict[str, Any] = {}
        if kind_of(span) is SpanKind.LLM:
            event = by_id.get(str(span.attributes.get(names.EVENT_ID)))
            added = {} if event is None else _model_attributes(event)
        elif id := next((str(span.attributes[key]) for key in names.CALL_IDS if span.attributes.get(key)), ""):
            added = {"gen_ai.tool.call.arguments": calls[id].get("args") or {}} if id in calls else {}
            if id in results:
                added["gen_ai.tool.call.result"] = results[id].get("response")
            elif id not in calls and span.span_id in prompted:
                added["gen_ai.tool.call.result"] = prompted[span.span_id]
        own = {key: value for key, value in span.attributes.items() if value not in (None, "", "{}", {})}
        yield replace(span, attributes={**span.attributes, **added, **own}) if added else span


def _results_in_prompts(spans: Sequence[Span]) -> dict[str, Any]:
    """By the id of a span, what a tool gave to an agent behind an AgentTool: of a server, only that agent's next prompt
    tells. The ids in there are ADK's own: the first call of a tool is its first span."""
    results: dict[str, Any] = {}
    for agent in {span.parent_id for span in spans}:
        own = sorted((span for span in spans if span.parent_id == agent), key=lambda span: span.start_ns or 0)
        prompts = [list(_prompt_parts(span)) for span in own]
        last = max(prompts, key=len)
        given = {part.get("id"): part.get("response") for part in last if part.get("type") == "tool_call_response"}
        tools = [span for span in own if kind_of(span) is SpanKind.TOOL]
        for part in last:
            if part.get("type") == "tool_call" and part.get("id") in given:
                span = next((span for span in tools if tool_name(span) == part.get("name")), None)
                if span is not None:
                    tools.remove(span)
                    results[span.span_id] = given[part.get("id")]
    return results


def _prompt_parts(span: Span) -> Iterator[Mapping[str, Any]]:
    messages = span.attributes.get("gen_ai.input.messages")
    for message in messages if isinstance(messages, list | tuple) else ():
        parts = pick_value(decode_value(message), "parts")
        yield from (part for part in parts if isinstance(part, Mapping)) if isinstance(parts, list) else ()


def _model_attributes(event: Event) -> dict[str, Any]:
    """What an event says of the call of a model that it comes from."""
    response = {spellings[0]: value for spellings in CONTENTS if (value := pick_value(event, *spellings)) is not None}
    attributes: dict[str, Any] = {names.LLM_RESPONSE: response} if response else {}
    model = response.get("model_version")
    return {**attributes, "gen_ai.response.model": model} if isinstance(model, str) and model else attributes


class _SpanBuilder:
    """Builds a turn, the runs of agents in it, and their calls, out of events."""

    def __init__(self, turns: Sequence[AdkTurn], session: str) -> None:
        self._turns = turns
        self._session = session
        self._trace = sha256(session.encode()).hexdigest()[:32]
        # Callbacks and workflow agents speak without a model: where models name themselves or count, only they call.
        self._strict = any(_model_attributes(event) for turn in turns for event in turn.events)
        self._authors = {author_of(event) for turn in turns for event in turn.events}
        self._spans: list[Span] = []

    def build(self) -> list[Span]:
        for turn in self._turns:
            events = [event for event in turn.events if author_of(event) and not event.get("partial")]
            times = [_nanoseconds(event) for event in events]
            known = [time for time in times if time is not None]
            began = round(turn.began * SECOND) if turn.began is not None else min(known, default=None)
            if not events or began is None:
                continue
            ended = max(began + round(turn.seconds * SECOND), *known, began)
            self._build_turn(events, [began if time is None else max(time, began) for time in times], (began, ended))
        return self._spans

    def _build_turn(self, events: Sequence[Event], times: Sequence[int], limits: tuple[int, int]) -> None:
        invocation = self._add("invocation", "", limits, {})
        runs: dict[str, int] = {}
        for at, (event, start) in enumerate(zip(events, times, strict=True)):
            branch = _branch(event)
            end = next((times[later] for later in range(at + 1, len(events)) if _branch(events[later]) == branch), None)
            end = limits[1] if end is None else end
            run = self._agent_run(event, runs, (start, end), invocation)
            if self._is_call(event):
                agent = {"gen_ai.agent.name": author_of(event)}
                self._add(
                    "call_llm",
                    run,
                    (start, end),
                    {**agent, names.EVENT_ID: event.get("id"), **_model_attributes(event)},
                )
            for call in function_parts(event, "call"):
                self._add_tool(call, run, zip(events[at + 1 :], times[at + 1 :], strict=True))

    def _is_call(self, event: Event) -> bool:
        asks = any(True for _ in function_parts(event, "call"))
        if self._strict:
            return asks or bool(_model_attributes(event))
        return asks or (has_content(event) and not any(True for _ in function_parts(event, "response")))

    def _agent_run(self, event: Event, runs: dict[str, int], times: tuple[int, int], invocation: str) -> str:
        """The span of the run that the event belongs to, and those of the workflow agents around it (`pipeline@1` in
        `pipeline@1/writer@1`), each made when it is first seen and longer with each event. An agent that speaks for
        itself somewhere is no workflow agent: it handed over, perhaps in an earlier turn."""
        steps = str(pick_value(pick_value(event, "node_info", "nodeInfo"), "path") or "").split("/")
        if steps[-1].partition("@")[0] != author_of(event):
            steps = [author_of(event)]
        around = invocation
        for depth, step in enumerate(steps, 1):
            path, name = "/".join(steps[:depth]), step.partition("@")[0]
            if path not in runs and depth < len(steps) and name in self._authors:
                continue
            if path not in runs:
                runs[path] = len(self._spans)
                self._add(f"invoke_agent {name}", around, times, {"gen_ai.agent.name": name})
            run = self._spans[runs[path]]
            self._spans[runs[path]] = replace(run, end_ns=max(run.end_ns or 0, times[1]))
            around = run.span_id
        return around

    def _add_tool(self, call: Mapping[str, Any], run: str, later: Iterable[tuple[Event, int]]) -> None:
        name, id = str(call.get("name") or ""), call.get("id")
        attributes = {"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": call.get("args") or {}}
        if id:
            attributes["gen_ai.tool.call.id"] = str(id)
        answer = next(
            (
                (response, time)
                for event, time in later
                for response in function_parts(event, "response")
                if (response.get("id") == id if id else response.get("name") == name)
            ),
            None,
        )
        if answer:
            attributes["gen_ai.tool.call.result"] = answer[0].get("response")
        self._add(f"execute_tool {name}", run, (None, answer[1] if answer else None), attributes)

    def _add(self, name: str, parent: str, times: tuple[int | None, int | None], attributes: Mapping[str, Any]) -> str:
        id = sha256(f"{self._session}/{len(self._spans)}".encode()).hexdigest()[:16]
        span = Span(
            name=name,
            span_id=id,
            trace_id=self._trace,
            parent_id=parent,
            start_ns=times[0],
            end_ns=times[1],
            attributes={**attributes, SOURCE: FROM_EVENTS},
        )
        self._spans.append(span)
        return id


def _branch(event: Event) -> str:
    """Agents that work beside one another have branches of their own."""
    return str(event.get("branch") or "")


def _nanoseconds(event: Event) -> int | None:
    seconds = read_amount(event.get("timestamp"))
    return None if seconds is None else round(seconds * SECOND)


def turn_beginnings(events: Iterable[Event]) -> dict[str, float]:
    """When the user spoke, by the id of the invocation, in the events that a server stored."""
    spoken = [event for event in events if event.get("author") == "user" and not any(function_parts(event, "response"))]
    times = [
        (pick_value(event, "invocation_id", "invocationId"), read_amount(event.get("timestamp"))) for event in spoken
    ]
    return {str(id): time for id, time in times if id and time is not None}


def read_spans(value: Any) -> tuple[Span, ...] | None:
    """The spans of a session from the trace endpoint; None: it has none."""
    spans = [_span(span) for span in value if isinstance(span, Mapping)] if isinstance(value, list | tuple) else []
    return tuple(spans) or None


def _span(span: Mapping[str, Any]) -> Span:
    # Newer versions write prompts and answers into logs under the span, older ones on the span itself.
    attributes: dict[str, Any] = {}
    logs = span.get("logs")
    for holder in (*(logs if isinstance(logs, list | tuple) else ()), span):
        own = pick_value(holder, "attributes")
        attributes.update(own if isinstance(own, Mapping) else {})
    return Span(
        name=str(span.get("name") or ""),
        span_id=_hex(pick_value(span, "span_id", "spanId"), 16),
        trace_id=_hex(pick_value(span, "trace_id", "traceId"), 32),
        parent_id=_hex(pick_value(span, "parent_span_id", "parentSpanId"), 16),
        start_ns=read_count(pick_value(span, "start_time", "startTime")),
        end_ns=read_count(pick_value(span, "end_time", "endTime")),
        attributes=attributes,
    )


def tool_definitions(tool: Any) -> list[dict[str, Any]]:
    """The functions in one entry of a request's tools, and those of the provider, such as a search."""
    if not isinstance(tool, Mapping):
        return []
    functions = [
        {
            "name": each.get("name"),
            "description": each.get("description"),
            "parameters": each.get("parameters")
            or pick_value(each, "parameters_json_schema", "parametersJsonSchema")
            or {},
        }
        for each in pick_value(tool, *FUNCTIONS) or ()
    ]
    return functions + [{"name": name, "type": name} for name in tool if name not in FUNCTIONS]


def with_declared(spans: tuple[Span, ...] | None, info: Any) -> tuple[Span, ...] | None:
    """The spans, told of the tools that a server says its agents have; and of their instructions, where no span tells
    what a model was really told."""
    agents = pick_value(info, "agents")
    listed = [agent for agent in agents.values() if isinstance(agent, Mapping)] if isinstance(agents, Mapping) else []
    if not spans or not listed:
        return spans
    first, *rest = spans
    tools = [one for agent in listed for tool in agent.get("tools") or () for one in tool_definitions(tool)]
    declared: dict[str, Any] = {DEFINITIONS: tools} if tools else {}
    if not any(INSTRUCTIONS in span.attributes for span in spans):
        texts = [str(agent["instruction"]) for agent in listed if agent.get("instruction")]
        declared[INSTRUCTIONS] = [{"content": text} for text in texts]
    return (replace(first, attributes={**first.attributes, **declared}), *rest)


def _hex(number: Any, digits: int) -> str:
    """An id as OpenTelemetry prints it; the endpoint gives numbers."""
    return f"{number:0{digits}x}" if isinstance(number, int) else str(number or "")
